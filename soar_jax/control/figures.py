"""Figures of groups of rows from a few counts: shares, errors and rates, their intervals, and gaps between groups.

Every figure is a share: hits among some rows of a group. Given how many rows those are, the hits are binomial, so that
a share is drawn from Beta(hits + 1/2, misses + 1/2): a Bayesian bootstrap of the rows, group by group, with Jeffreys'
half row of each kind. The plain Bayesian bootstrap, Beta(hits, misses), says that what was not seen cannot be, and its
intervals cover too seldom where errors are few (`experiments.audit_coverage` measures both). Groups do not share rows,
so that their draws are independent and a gap is the difference of two. No row is ever resampled, only counts.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.score.intervals import interval
from soar_jax.states import SPEAKS_POSITIVE, STATES

FIGURES = (
    "base rate",
    *(f"share {state}" for state in STATES),
    "no answer",
    "consensus error",
    "error",
    "selection rate",
    "true-positive rate",
    "false-positive rate",
)
"""Names of the figures, in the order of every array here; see `tally`."""
SMALL = 30
"""A figure of fewer rows is flagged."""
PRIOR = 0.5
"""Rows of each kind added to a share's hits and misses before it is drawn."""


class Tally(NamedTuple):
    """Hits and rows of every figure: (..., num_groups, len(FIGURES)) each."""

    hits: IntArray
    rows: IntArray

    @property
    def share(self) -> FloatArray:
        """Hits among rows; NaN where there are no rows."""
        return np.where(self.rows > 0, self.hits / np.maximum(self.rows, 1), np.nan)

    def draw(self, generator: np.random.Generator, num_draws: int) -> FloatArray:
        """Draw every share so many times: (num_draws, ...); NaN where there are no rows."""
        a, b = self.hits + PRIOR, self.rows - self.hits + PRIOR
        return np.where(self.rows > 0, generator.beta(a, b, (num_draws, *a.shape)), np.nan)


def count_rows(group: IntArray, states: IntArray, is_true: BoolArray, weights: IntArray, num_groups: int) -> IntArray:
    """Count rows by group, state and label (negative, positive): (..., num_groups, 4, 2).

    Parameters
    ----------
    group, is_true, weights : (num_rows,)
    states : (..., num_rows) int64
        In one pair, or in each of several.
    """
    place = (group * 4 + states) * 2 + is_true
    size = num_groups * 8
    flat = place.reshape(-1, place.shape[-1])
    shifted = flat + size * np.arange(len(flat))[:, None]
    found = np.bincount(shifted.ravel(), np.broadcast_to(weights, flat.shape).ravel(), size * len(flat))
    return found.astype(np.int64).reshape(*states.shape[:-1], num_groups, 4, 2)


def tally(counts: IntArray, says_positive: BoolArray, is_ambiguous: BoolArray) -> Tally:
    """Hits and rows of every figure from counts by group, state and label.

    ``base rate``: positives among all rows. ``share positive`` and so on: rows in that state.
    ``no answer``: rows in an ambiguous state. ``consensus error``: rows whose label is not what their consensus speaks
    for, among those in consensus. ``error``: rows that ``predict`` labels wrongly. ``selection rate``: rows that
    ``predict`` labels positive. ``true-positive rate``, ``false-positive rate``: the same among rows that are positive,
    or negative.

    Parameters
    ----------
    counts : (..., num_groups, 4, 2) int64
        See `count_rows`.
    says_positive : (..., 4) bool
        Whether ``predict`` says positive in each state.
    is_ambiguous : (4,) bool
        In which states a row has no consensus.
    """
    negatives, positives = counts[..., 0], counts[..., 1]
    rows = negatives + positives
    says = says_positive[..., None, :]
    everything = rows.sum(axis=-1)
    in_consensus = (rows * ~is_ambiguous).sum(axis=-1)
    against = np.where(SPEAKS_POSITIVE, negatives, positives)
    parts = [
        (positives.sum(axis=-1), everything),
        *((rows[..., k], everything) for k in range(4)),
        (everything - in_consensus, everything),
        ((against * ~is_ambiguous).sum(axis=-1), in_consensus),
        (np.where(says, negatives, positives).sum(axis=-1), everything),
        ((rows * says).sum(axis=-1), everything),
        ((positives * says).sum(axis=-1), positives.sum(axis=-1)),
        ((negatives * says).sum(axis=-1), negatives.sum(axis=-1)),
    ]
    hits, of = (np.stack(part, axis=-1) for part in zip(*parts, strict=True))
    return Tally(hits, of)


def quantiles(low: FloatArray, high: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Find the ends of the central interval of draws along the first axis, NaN left out: one of each array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a figure that no draw has
        return np.nanquantile(low, (1 - level) / 2, axis=0), np.nanquantile(high, (1 + level) / 2, axis=0)


def _flatten(drawn: FloatArray) -> FloatArray:
    """Put draws of rows, and of pairs where there are some, on one axis: (num, num_groups, len(FIGURES))."""
    return drawn.reshape(math.prod(drawn.shape[:-2]), *drawn.shape[-2:])


def group_table(
    names: list[str],
    own: Tally,
    by_pair: Tally | None,
    generator: np.random.Generator,
    *,
    level: float,
    num_draws: int,
) -> pd.DataFrame:
    """Figures of each group with intervals, one line per group and figure.

    Parameters
    ----------
    own : Tally
        Of the fitted pair.
    by_pair : Tally, optional
        Of several draws of the pair: (num_pairs, num_groups, len(FIGURES)). Intervals then hold their differences too.
    """
    if by_pair is None:
        low, high = interval(own.hits, own.rows, level)
    else:
        drawn = by_pair.draw(generator, max(1, num_draws // len(by_pair.hits)))
        # as Jeffreys' interval ends at 0 and 1 where all rows agree
        lowest, highest = np.where(by_pair.hits == 0, 0.0, drawn), np.where(by_pair.hits == by_pair.rows, 1.0, drawn)
        absent = np.isnan(drawn)
        lowest[absent] = highest[absent] = np.nan
        low, high = quantiles(_flatten(lowest), _flatten(highest), level)
    has_rows = own.rows > 0
    return _lines(
        {"group": names, "figure": FIGURES},
        {
            "value": own.share,
            "low": np.where(has_rows, low, np.nan),
            "high": np.where(has_rows, high, np.nan),
            "hits": own.hits,
            "rows": own.rows,
            "small": own.rows < SMALL,
        },
    )


def gap_table(
    names: list[str],
    own: Tally,
    other: Tally,
    by_pair: tuple[Tally, Tally] | None,
    generator: np.random.Generator,
    *,
    level: float,
    num_draws: int,
) -> pd.DataFrame:
    """Gaps between each group and those it is compared with, one line per group and figure."""
    mine, theirs = (own, other) if by_pair is None else by_pair
    each = num_draws if by_pair is None else max(1, num_draws // len(mine.hits))
    drawn = _flatten(mine.draw(generator, each)) - _flatten(theirs.draw(generator, each))
    low, high = quantiles(drawn, drawn, level)
    has_rows = (own.rows > 0) & (other.rows > 0)
    low, high = np.where(has_rows, low, np.nan), np.where(has_rows, high, np.nan)
    return _lines(
        {"group": names, "figure": FIGURES},
        {
            "gap": own.share - other.share,
            "low": low,
            "high": high,
            "value": own.share,
            "other": other.share,
            "clear": has_rows & ((low > 0) | (high < 0)),
            "small": np.minimum(own.rows, other.rows) < SMALL,
        },
    )


def _lines(keys: dict[str, list[str] | tuple[str, ...]], columns: dict[str, np.ndarray]) -> pd.DataFrame:
    index = pd.MultiIndex.from_product(list(keys.values()), names=list(keys))
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index).reset_index()
