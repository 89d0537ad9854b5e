"""The audit in the reader's words: who gets an answer, who gets a wrong one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from soar_jax.report.content import AuditEntry, AuditLine
from soar_jax.report.numbers import LEAST_SHARED, MINUS, Share, count, is_few, per_hundred, share_of
from soar_jax.report.words import Words

if TYPE_CHECKING:
    from soar_jax.control.audit import Audit

MOST_GROUPS = 6
STRONG = 0.3
_TWO = 2


def audit_entry(audit: Audit, words: Words, yes: str, *, is_single: bool) -> AuditEntry:
    """Turn an audit into lines of a table, the largest groups first."""
    figures = {(row.group, row.figure): row for row in audit.groups.itertuples()}
    sizes = {group: int(row.rows) for (group, figure), row in figures.items() if figure == "base rate"}
    large = sorted((g for g in sizes if sizes[g] >= LEAST_SHARED), key=lambda g: -sizes[g])[:MOST_GROUPS]
    shown = [g for g in sizes if g in large]
    names = {group: words.of(audit.by).levels.get(group, group) for group in sizes}
    wanted = [
        ("base rate", f"are in fact {yes}"),
        *([] if is_single else [("no answer", "get no answer"), ("share active", "get “the rules disagree”")]),
        ("consensus error", "are answered wrongly, of those answered"),
        ("selection rate", f"are labelled {yes}, with a label forced on all"),
        ("true-positive rate", f"are labelled {yes}, of those who are in fact {yes}"),
        ("false-positive rate", f"are labelled {yes}, of those who are in fact not"),
    ]
    gaps = {(row.group, row.figure): row for row in audit.gaps.itertuples()}
    lines = []
    for figure, said in wanted:
        shares = tuple(_share(figures[g, figure]) for g in shown)
        has_gap = len(sizes) == _TWO and all(share.value is not None for share in shares)
        lines.append(AuditLine(said, shares, _gap(gaps, shown, figure) if has_gap else None))
    label = words.label(audit.by)
    return AuditEntry(
        audit.by,
        label,
        _lead(lines, [names[g] for g in shown], is_single=is_single),
        tuple((names[g], sizes[g]) for g in shown),
        tuple(names[g] for g in sizes if g not in large),
        tuple(lines),
        _notes(audit, label),
    )


def _share(row: Any) -> Share:
    """Give a group's share; not where it would tell that so and so few of the group are on one side."""
    share = share_of(row.hits, row.rows)
    return replace(share, value=None, low=None, high=None) if is_few(row.hits) or is_few(row.rows - row.hits) else share


def _gap(gaps: dict[Any, Any], shown: list[str], figure: str) -> str | None:
    row = gaps.get((shown[0], figure)) if len(shown) == _TWO else None
    if row is None or row.small or row.gap != row.gap:
        return None
    digits = 0 if abs(row.gap) >= 0.0995 else 1  # noqa: PLR2004
    said, low, high = (f"{100 * value:+.{digits}f}".replace("-", MINUS) for value in (row.gap, row.low, row.high))
    return f"{said} ({low} to {high})"


def _lead(lines: list[AuditLine], names: list[str], *, is_single: bool) -> str:
    """Say the widest gap among the first figures that leave their ranges apart."""
    line = lines[1]
    known = [
        (share.value, share, name) for share, name in zip(line.shares, names, strict=True) if share.value is not None
    ]
    if len(known) < _TWO:
        return ""
    least, most = min(known, key=lambda k: k[0]), max(known, key=lambda k: k[0])
    if (most[1].low or 0.0) <= (least[1].high or 1.0):
        return f"Between these groups no clear difference was found in how many {line.figure}." if not is_single else ""
    return (
        f"Of 100 in “{most[2]}”, {per_hundred(most[0])} {line.figure}; in “{least[2]}” it is {per_hundred(least[0])}."
    )


def _notes(audit: Audit, label: str) -> tuple[str, ...]:
    readers = audit.rules.loc[audit.rules["reads_column"], "id"].tolist()
    strong = audit.rules[~audit.rules["reads_column"] & (audit.rules["association"] >= STRONG)]
    notes = [f"Rules that read {label}: {', '.join(readers)}." if readers else f"No rule reads {label}."]
    if len(strong):
        listed = ", ".join(f"{row.id} ({row.association:.2f})" for row in strong.itertuples())
        notes.append(f"Rules that may stand in for it, by association from 0 to 1: {listed}.")
    if audit.reading is not None:
        notes.append(f"Share of the posterior draws in which any rule reads it: {per_hundred(audit.reading)} of 100.")
    notes.append(f"{audit.level:.0%} ranges from {audit.basis}; {count(audit.num_rows)} rows.".replace("%", " %"))
    return tuple(notes)
