"""What ``soar audit`` prints: group by group what the model does, beside the others, and a legend in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soar_jax._names import short_name
from soar_jax.cli.screen import heading, paragraph, percent, plural, table
from soar_jax.control.figures import SMALL

if TYPE_CHECKING:
    from soar_jax.control.audit import Audit

SHOWN_GROUPS = 10
_FINE = 0.0995


def audit_view(audit: Audit, positive: str, *, is_single: bool) -> list[Any]:
    """Lay an audit out for the screen; ``positive`` is the class that a selected row is given."""
    legend = _legend(short_name(positive), is_single=is_single)
    figures = {(row.group, row.figure): row for row in audit.groups.itertuples()}
    gaps = {(row.group, row.figure): row for row in audit.gaps.itertuples()}
    sizes = {row.group: int(row.rows) for row in audit.groups.itertuples() if row.figure == "base rate"}
    shown = sorted(sizes, key=lambda group: -sizes[group])[:SHOWN_GROUPS]
    parts: list[Any] = [paragraph(audit._head())]
    for group in (group for group in sizes if group in shown):
        few = ", too few to say much" if sizes[group] < SMALL else ""
        parts.append(heading(f"{short_name(group, 60)}: {plural(sizes[group], 'row')}{few}"))
        against = next((row.against for (name, _), row in gaps.items() if name == group), None)
        rows = [
            (name, _share(figures[group, name]), *(() if against is None else _compared(gaps[group, name])))
            for name in legend
            if figures[group, name].rows
        ]
        columns = [("", "left"), ("here", "left")]
        if against is not None:
            columns += [(short_name(against, 16), "right"), ("difference", "left")]
        parts.append(table(columns, rows) if rows else paragraph("(no row)"))
    if len(sizes) > len(shown):
        parts.append(paragraph(f"and {len(sizes) - len(shown):,} smaller groups; --json lists them", style="dim"))
    parts.append(heading("Rules"))
    notes = audit._notes()
    parts += [paragraph(note) for note in notes]
    if any("association" in note for note in notes):
        said = "association: 0 where a rule applies as often in every group, 1 where the group alone decides."
        parts.append(paragraph(said, style="dim"))
    parts.append(heading("What the figures mean"))
    parts.append(table([("", "left"), ("", "wrap")], legend.items()))
    parts.append(paragraph(_about_intervals(audit), style="dim"))
    return parts


def _legend(positive: str, *, is_single: bool) -> dict[str, str]:
    """Say in words what each figure counts."""
    forced = f"labelled {positive}, with a label forced on every row"
    return {
        "base rate": f"rows that are truly {positive}",
        **({} if is_single else {"no answer": "rows on which the rules disagree, or none applies"}),
        "consensus error": "rows answered wrongly, among those that get an answer",
        "error": "rows labelled wrongly, with a label forced on every row",
        "selection rate": f"rows {forced}",
        "true-positive rate": f"the same, among those that are truly {positive}",
    }


def _about_intervals(audit: Audit) -> str:
    text = f"In brackets: {audit.level:.0%} intervals. A difference is in hundredths"
    if audit.gaps["clear"].any():
        text += "; * where its interval leaves zero out, which chance alone does now and then where many are compared"
    if (audit.groups["small"] & (audit.groups["rows"] > 0)).any():
        text += f". ? fewer than {SMALL} rows"
    return text + "."


def _share(row: Any) -> str:
    ends = f"{percent(row.low, '')} to {percent(row.high, '')}"
    return f"{percent(row.value)} ({ends}){' ?' if row.small else ''}"


def _compared(row: Any) -> tuple[str, str]:
    """Give the share of the others, and how far this group is from it."""
    if row.gap != row.gap:
        return "no row", ""
    digits = 0 if abs(row.gap) >= _FINE else 1
    said, low, high = (f"{100 * value:+.{digits}f}" for value in (row.gap, row.low, row.high))
    return percent(row.other), f"{said} ({low} to {high}){' *' if row.clear else ''}{' ?' if row.small else ''}"
