"""The audit: what a model does to groups of rows, who gets no answer, and which rules tell the groups apart."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, IntArray
from soar_jax.control.costs import says_positive
from soar_jax.control.figures import FIGURES, SMALL, Tally, count_rows, gap_table, group_table, tally
from soar_jax.control.groups import compared_with, read_groups
from soar_jax.control.proxies import proxy_table
from soar_jax.data.columns import TableValues
from soar_jax.posterior.voting import CHUNK_ROWS, states_of_members
from soar_jax.rules import RuleSet, firing

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior

_MAX_PAIRS = 400
_SHOWN = ("no answer", "consensus error", "error", "selection rate", "true-positive rate")
_STRONG = 0.3


@dataclass(frozen=True)
class Audit:
    """What a model does to groups of rows; made by ``audit``.

    Attributes
    ----------
    groups : DataFrame
        One line per group and figure: ``value`` with an interval ``low`` to ``high``, ``hits`` among ``rows``, and
        ``small`` where those are fewer than 30. Figures: base rate, the shares of the four states, no answer, consensus
        error, error, selection rate, true-positive and false-positive rate.
    gaps : DataFrame
        One line per group and figure: ``gap`` between the group (``value``) and what it is compared ``against``
        (``other``), with an interval; ``clear`` where that leaves zero out; ``small`` as above. Each interval holds by
        itself: of twenty gaps that are none, two are "clear" at 90 %.
    rules : DataFrame
        One line per rule: whether it reads the column, how often it fires, its association with the groups (Cramer's V,
        0 for none to 1, with an interval), and the group in which it fires most or least unlike the rest.
    by : str
        What the groups come from.
    level : float
        Of the intervals.
    num_rows : int
    basis : str
        Where intervals come from: rows, or rows and posterior draws.
    reading : float, optional
        Share of the posterior's draws in which any rule reads the column; None without draws or without a column.
    is_held_out : bool, optional
        Whether these are the rows that the fit held out; None where nobody looked.
    """

    groups: pd.DataFrame
    gaps: pd.DataFrame
    rules: pd.DataFrame
    by: str
    level: float
    num_rows: int
    basis: str
    reading: float | None = None
    is_held_out: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "by": self.by,
            "level": self.level,
            "rows": self.num_rows,
            "basis": self.basis,
            "rows_held_out": self.is_held_out,
            "probability_that_the_column_is_read": self.reading,
            **{name: _records(getattr(self, name)) for name in ("groups", "gaps", "rules")},
        }

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _head(self) -> str:
        number = self.groups["group"].nunique()
        rows = f"{self.num_rows:,} rows" if self.num_rows != 1 else "1 row"
        held = " that the fit held out" if self.is_held_out else ""
        said = f"Audit of {rows}{held} by {self.by}, {number} groups; {self.level:.0%} intervals from {self.basis}."
        if self.is_held_out is False:
            said += " Were the rules learned from any of these rows, the figures flatter them."
        return said

    def _notes(self) -> list[str]:
        notes = []
        readers = self.rules.loc[self.rules["reads_column"], "id"].tolist()
        strong = self.rules[~self.rules["reads_column"] & (self.rules["association"] >= _STRONG)]
        notes.append(f"Rules that read {self.by}: {', '.join(readers) if readers else 'none'}.")
        if self.reading is not None:
            notes.append(f"Posterior probability that any rule reads it: {self.reading:.3f}.")
        notes += [
            f"{row.id} may stand in for it (association {row.association:.2f}, {row.low:.2f} to {row.high:.2f}): "
            f"{row.rule}"
            for row in strong.itertuples()
        ]
        everyone = self.groups[self.groups["figure"] == "base rate"]
        small = everyone.loc[everyone["small"], "group"].tolist()
        if small:
            notes.append(f"Fewer than {SMALL} rows, so that little can be said: {', '.join(small)}.")
        return notes

    def __str__(self) -> str:
        """Say the main figures of each group, the gaps that are clear, and the rules to look at."""
        lines = [self._head()]
        rows = self.groups[self.groups["figure"] == "base rate"].set_index("group")["rows"]
        width = max(map(len, rows.index), default=0)
        for figure in _SHOWN:
            lines += ["", figure]
            for row in self.groups[self.groups["figure"] == figure].itertuples():
                value = "no row" if np.isnan(row.value) else f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"
                mark = "  few rows" if row.small else ""
                lines.append(f"  {row.group:<{width}}  {value}  of {row.rows:,}{mark}")
        clear = self.gaps[self.gaps["clear"]]
        lines += ["", "Gaps whose interval leaves zero out:" if len(clear) else "No gap's interval leaves zero out."]
        lines += [
            f"  {row.figure}: {row.group} {row.value:.3f}, {row.against} {row.other:.3f}: {row.gap:+.3f} "
            f"({row.low:+.3f} to {row.high:+.3f}){'  few rows' if row.small else ''}"
            for row in clear.itertuples()
        ]
        return "\n".join([*lines, "", *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def show(title: str, frame: pd.DataFrame) -> str:
            body = frame.to_html(index=False, escape=True, float_format=lambda value: f"{value:.3f}", border=0)
            return f"<h4>{html.escape(title)}</h4>{body}"

        values = self.groups.assign(
            figure_text=[
                "" if np.isnan(row.value) else f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"
                for row in self.groups.itertuples()
            ]
        )
        wide = values.pivot(index="figure", columns="group", values="figure_text")
        wide = wide.reindex(index=list(FIGURES), columns=list(dict.fromkeys(self.groups["group"])))
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        return (
            f"<p>{html.escape(self._head())}</p>"
            + show("Groups", wide.rename_axis(columns=None).reset_index())
            + show("Gaps", self.gaps)
            + show("Rules", self.rules)
            + notes
        )


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Lines as plain data; JSON has no NaN."""
    plain = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return [{k: v.item() if isinstance(v, np.generic) else v for k, v in line.items()} for line in plain]


@dataclass(frozen=True)
class Judged:
    """A pair and the rows it is audited on.

    Attributes
    ----------
    sets : (RuleSet, RuleSet)
    frame : DataFrame
        Rows with the columns that the rules read.
    is_true : (num_rows,) bool
    weights : (num_rows,) int64
    says_positive : (4,) bool
        Whether ``predict`` says positive in each state.
    is_ambiguous : (4,) bool
        In which states a row has no consensus.
    states : (num_rows,) int64
    """

    sets: tuple[RuleSet, RuleSet]
    frame: pd.DataFrame
    is_true: BoolArray
    weights: IntArray
    says_positive: BoolArray
    is_ambiguous: BoolArray
    states: IntArray


def make_audit(
    judged: Judged,
    groups: pd.Series,
    posterior: Posterior | None,
    *,
    column: str | None,
    reference: str | None,
    level: float,
    num_draws: int,
    seed: int,
) -> Audit:
    """Audit a pair by groups of rows, over the draws of a posterior where there is one."""
    names, group = read_groups(groups)
    generator = np.random.Generator(np.random.Philox(seed))
    how: dict[str, Any] = {"level": level, "num_draws": num_draws}
    counts = count_rows(group, judged.states, judged.is_true, judged.weights, len(names))
    drawn = None if posterior is None else _counts_of_draws(posterior, judged, group, len(names), generator)

    def figures(of: IntArray) -> Tally:
        return tally(of, judged.says_positive, judged.is_ambiguous)

    def figures_of_draws(of: IntArray) -> Tally:
        assert drawn is not None
        return tally(of, drawn[1], judged.is_ambiguous)

    which, other, against = compared_with(counts, names, reference)
    by_pair = by_pair_gaps = None
    if drawn is not None:
        by_pair = figures_of_draws(drawn[0])
        by_pair_gaps = (
            figures_of_draws(drawn[0][..., which, :, :]),
            figures_of_draws(compared_with(drawn[0], names, reference)[1]),
        )
    gaps = gap_table([names[i] for i in which], figures(counts[which]), figures(other), by_pair_gaps, generator, **how)
    gaps.insert(1, "against", np.repeat(np.array(against, dtype=object), len(FIGURES)))
    fires = firing(judged.sets, judged.frame)
    return Audit(
        groups=group_table(names, figures(counts), by_pair, generator, **how),
        gaps=gaps,
        rules=proxy_table(judged.sets, fires, group, judged.weights, names, column, level),
        by=str(column if column is not None else groups.name if groups.name is not None else "group"),
        level=level,
        num_rows=int(judged.weights.sum()),
        basis="rows" if posterior is None else "rows and posterior draws of the pair",
        reading=None if posterior is None or column is None else _probability_of_reading(posterior, column),
    )


def _counts_of_draws(
    posterior: Posterior, judged: Judged, group: IntArray, num_groups: int, generator: np.random.Generator
) -> tuple[IntArray, BoolArray]:
    """Count rows by group, state and label in some draws, and say where each predicts positive."""
    rules, included = posterior._sampled_rules
    total = len(included[0])
    chosen = generator.choice(total, min(total, _MAX_PAIRS), replace=False)
    has = [mine[chosen] for mine in included]
    counts = np.zeros((len(chosen), num_groups, 4, 2), dtype=np.int64)
    for start in range(0, len(judged.frame), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        part = judged.frame.iloc[rows]
        states = states_of_members(TableValues(part), len(part), rules, has)
        counts += count_rows(group[rows], states, judged.is_true[rows], judged.weights[rows], num_groups)
    rates = posterior._positive_rates.reshape(-1, 4)[chosen]
    return counts, says_positive(rates, posterior.fitted.positive_index)


def _probability_of_reading(posterior: Posterior, column: str) -> float:
    rules, included = posterior._sampled_rules
    reads = np.zeros(len(included[0]), dtype=bool)
    for mine, has in zip(rules, included, strict=True):
        reads |= has[:, [column in rule.columns for rule in mine]].any(axis=1)
    return float(reads.mean())
