"""Drift without labels: state shares and firing rates of a batch beside what the training rows lead one to expect.

Of n training rows k had a property (a state, a rule that fires). With Jeffreys' prior the share has posterior
Beta(k + 1/2, n - k + 1/2), and of m new rows from the same source a Beta-binomial number has the property. For T
properties its quantiles at (1 - level) / (2 T) from either end hold all of them together with probability ``level`` at
least (Bonferroni), as far as the training rows are a random sample of that source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv, betaln, gammaln

from soar_jax._base import FloatArray, InputError, IntArray
from soar_jax.data.columns import TableValues
from soar_jax.database.engine import Engine
from soar_jax.database.predict import predict_lazily
from soar_jax.export.content import ModelContent
from soar_jax.rules import RuleSet, firing
from soar_jax.states import STATES, counts_from_taxonomy, states_of

_EXACT_ROWS = 200_000
"""Rows of a batch up to which quantiles are summed term by term."""
DRIFT_EXIT = 3
"""Exit code of the command when a batch has drifted."""


@dataclass(frozen=True)
class BatchCounts:
    """Rows of a batch, by state (four) and by rule that fires (in the order of the rule ids)."""

    num_rows: int
    states: IntArray
    rules: IntArray


def count_table(table: Any, content: ModelContent) -> BatchCounts:
    """Count a batch in its database, by one grouped query."""
    judged = predict_lazily(table, content, keep=())
    lines = Engine(judged).fetch("count states and rules", judged.group_by(["state", "rules"]).agg(rows=judged.count()))
    rows = lines["rows"].to_numpy().astype(np.int64)
    states = np.array([rows[lines["state"].to_numpy() == state].sum() for state in STATES], dtype=np.int64)
    fired = [set(text.split()) for text in lines["rules"]]
    rules = [sum(int(n) for n, ids in zip(rows, fired, strict=True) if rule.id in ids) for rule in content.rules]
    return BatchCounts(int(rows.sum()), states, np.array(rules, dtype=np.int64))


def count_frame(frame: pd.DataFrame, sets: Sequence[RuleSet]) -> BatchCounts:
    """Count a batch that is a data frame."""
    fires = firing(sets, TableValues(frame))
    size = len(sets[0].rules)
    states = states_of(*(np.asarray(part.any(axis=1)) for part in (fires[:, :size], fires[:, size:])))
    return BatchCounts(
        len(frame), np.bincount(states, minlength=4).astype(np.int64), fires.sum(axis=0).astype(np.int64)
    )


def predictive_interval(hits: int, rows: int, new_rows: int, tail: float) -> tuple[int, int]:
    """Quantiles at ``tail`` and ``1 - tail`` of the Beta-binomial number of new rows with a property.

    For batches beyond `_EXACT_ROWS` a Beta distribution of equal mean and variance stands in for the share.
    """
    a, b = hits + 0.5, rows - hits + 0.5
    if new_rows <= _EXACT_ROWS:
        k = np.arange(new_rows + 1)
        log_mass = gammaln(new_rows + 1) - gammaln(k + 1) - gammaln(new_rows - k + 1)
        log_mass += betaln(k + a, new_rows - k + b) - betaln(a, b)
        mass = np.exp(log_mass - log_mass.max())
        mass /= mass.sum()
        low = int(np.searchsorted(np.cumsum(mass), tail))
        high = new_rows - int(np.searchsorted(np.cumsum(mass[::-1]), tail))
        return low, max(low, high)
    total = new_rows * (a + b + 1) / (a + b + new_rows) - 1
    mean = a / (a + b)
    low_share, high_share = (betaincinv(total * mean, total * (1 - mean), end) for end in (tail, 1 - tail))
    return int(np.floor(low_share * new_rows)), int(np.ceil(high_share * new_rows))


@dataclass(frozen=True)
class Monitoring:
    """A batch beside its expectation.

    Attributes
    ----------
    num_rows : int
        Rows of the batch.
    level : float
        Probability that all intervals together hold a batch without drift.
    table : DataFrame
        A line per state and rule: ``expected`` share, ``low`` to ``high``, ``seen`` share, ``rows``, ``is_outside``.
    """

    num_rows: int
    level: float
    table: pd.DataFrame

    @property
    def has_drifted(self) -> bool:
        """Whether any share lies outside its interval."""
        return bool(self.table["is_outside"].any())

    @property
    def exit_code(self) -> int:
        """For a scheduler: 0 without drift, 3 with it."""
        return DRIFT_EXIT if self.has_drifted else 0

    def to_frame(self) -> pd.DataFrame:
        """Give a copy of the table."""
        return self.table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        lines = self.table.reset_index().to_dict(orient="records")
        return {"rows": self.num_rows, "level": self.level, "has_drifted": self.has_drifted, "shares": lines}

    def verdict(self) -> str:
        """Say in a sentence whether the batch drifted."""
        outside = int(self.table["is_outside"].sum())
        verdict = (
            f"Drift: {outside} of {len(self.table)} shares lie outside what the training rows lead one to expect"
            if outside
            else f"No drift: all {len(self.table)} shares lie within what the training rows lead one to expect"
        )
        return f"{verdict} ({self.num_rows:,} rows, {self.level:.0%} together)."

    def __str__(self) -> str:
        """Read it aloud: the verdict, then a line per state and rule."""
        lines = [self.verdict()]
        for name, row in self.table.iterrows():
            mark = "  <- outside" if row["is_outside"] else ""
            lines.append(
                f"  {name:9s} seen {row['seen']:.4f}  expected {row['expected']:.4f} "
                f"({row['low']:.4f} to {row['high']:.4f}){mark}  {row['what']}"
            )
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw intervals as bars and seen shares as points; those outside are red."""
        import matplotlib.pyplot as plt

        table = self.table.iloc[::-1]
        ax = plt.subplots(figsize=(7, 0.4 * len(table) + 1.2))[1] if ax is None else ax
        places = np.arange(len(table))
        ax.hlines(places, table["low"], table["high"], color="0.7", linewidth=6)
        colours = ["tab:red" if outside else "tab:blue" for outside in table["is_outside"]]
        ax.scatter(table["seen"], places, c=colours, zorder=3)
        ax.set_yticks(places, list(table.index))
        ax.set_xlabel("share of rows; grey: expected")
        ax.set_title("drift" if self.has_drifted else "no drift")
        return ax


def compare(
    found: BatchCounts, content: ModelContent, taxonomy: pd.Series, rules: pd.DataFrame, level: float
) -> Monitoring:
    """Put the counts of a batch beside their predictive intervals.

    Parameters
    ----------
    found : BatchCounts
    content : ModelContent
    taxonomy : Series
        The eight cases on the training rows.
    rules : DataFrame
        Training figures of each rule, ``support`` among them.
    level : float
    """
    if not found.num_rows:
        raise InputError("The batch has no rows.")
    by_state = np.add(*counts_from_taxonomy(taxonomy)).astype(np.int64)
    num_rows = int(by_state.sum())
    hits = [*by_state.tolist(), *(int(support) for support in rules["support"])]
    seen = np.concatenate([found.states, found.rules])
    tail = (1 - level) / (2 * len(hits))
    ends: FloatArray = np.array(
        [predictive_interval(k, num_rows, found.num_rows, tail) for k in hits], dtype=np.float64
    )
    table = pd.DataFrame(
        {
            "what": [*(f"rows whose state is {state}" for state in STATES), *(rule.sentence for rule in content.rules)],
            "expected": np.array(hits) / num_rows,
            "low": ends[:, 0] / found.num_rows,
            "high": ends[:, 1] / found.num_rows,
            "seen": seen / found.num_rows,
            "rows": seen,
            "is_outside": (seen < ends[:, 0]) | (seen > ends[:, 1]),
        },
        index=pd.Index([*STATES, *(rule.id for rule in content.rules)], name="name"),
    )
    return Monitoring(found.num_rows, level, table)
