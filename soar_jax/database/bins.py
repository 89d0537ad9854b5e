"""Fine bins of a column of very many distinct values, counted by the engine.

The range is cut into equal bins; those that hold too many rows are cut again, and so on. Bins are found by arithmetic
that never decreases (subtract, multiply by a positive number, round down), so that they are in order and do not
overlap whatever is lost in rounding, and the engine gives the least and greatest value in each: a cut between two
neighbours is exact. No sorting and no random sample is needed, and the answer does not depend on the order of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray
from soar_jax.database.engine import Engine
from soar_jax.database.expressions import number_literal
from soar_jax.database.target import LabelledRows

BINS = 4096
"""Equal bins of the first pass."""
PIECES = 256
"""Equal bins that a heavy bin is cut into."""
HEAVY = 1 / 500
"""Share of the rows beyond which a bin is cut again: a fifth of the smallest part that a cut may leave."""
AT_ONCE = 16
"""Bins that one pass cuts, the heaviest first."""
MOST_PASSES = 6


@dataclass(frozen=True)
class Bins:
    """Ordered bins that hold all present values: least and greatest value, and class counts."""

    low: FloatArray
    high: FloatArray
    positives: FloatArray
    negatives: FloatArray


class Binner:
    """Counts bins of one column.

    Parameters
    ----------
    engine : Engine
    rows : LabelledRows
    value : ibis expression
        The column as float64, NULL where it is missing.
    name : str
        The column's name, for messages.
    factors : (int, int)
        Further weight of positive and negative rows.
    """

    def __init__(self, engine: Engine, rows: LabelledRows, value: Any, name: str, factors: tuple[int, int]) -> None:
        self._engine, self._rows, self._name, self._factors = engine, rows, name, factors
        narrow = rows.narrow(value)
        self._table = narrow.filter(narrow.x.notnull())

    def count(self) -> Bins:
        """Count fine bins of all values."""
        table, largest = self._table, number_literal(float(np.finfo(np.float64).max))
        is_finite = (table.x >= -largest) & (table.x <= largest)
        range_of = table.agg(low=table.x.min(where=is_finite), high=table.x.max(where=is_finite))
        edges = self._engine.fetch(f"find the range of column {self._name!r}", range_of)
        found = self._cut([(float(edges["low"][0]), float(edges["high"][0]))], BINS, with_rest=True)
        total = float((found["positives"] + found["negatives"]).sum())
        for _ in range(MOST_PASSES):
            heavy = _heavy(found, total)
            if not heavy.any():
                break
            parts = self._cut_bins(found, heavy)
            if len(parts) <= heavy.sum():
                break
            found = _joined(found[~heavy], parts)
        return _bins(found)

    def refine(self, bins: Bins, near: BoolArray) -> Bins:
        """Cut some bins into finer ones."""
        found = pd.DataFrame(vars(bins))
        chosen = near & (bins.high > bins.low) & np.isfinite(bins.low) & np.isfinite(bins.high)
        return _bins(_joined(found[~chosen], self._cut_bins(found, chosen))) if chosen.any() else bins

    def _cut_bins(self, found: pd.DataFrame, which: BoolArray) -> pd.DataFrame:
        """Cut some bins, neighbours together."""
        places = np.flatnonzero(which)
        runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        low, high = found["low"].to_numpy(), found["high"].to_numpy()
        return self._cut([(float(low[run[0]]), float(high[run[-1]])) for run in runs], PIECES)

    def _cut(self, ranges: list[tuple[float, float]], pieces: int, *, with_rest: bool = False) -> pd.DataFrame:
        """Cut each closed range into equal pieces; infinite values are ``with_rest``, each in a bin of its own."""
        import ibis

        x, branches, inside = self._table.x, [], []
        for i, (low, high) in enumerate(ranges):
            share = 1.0 if math.isfinite(high - low) else 0.5  # what spans more than float64 holds is halved first
            scale = pieces / (high * share - low * share) if high > low else 0.0
            scale = scale if math.isfinite(scale) else 0.0
            ahead = x - number_literal(low) if share == 1.0 else x * share - number_literal(low * share)
            place = (ahead * number_literal(scale)).floor().cast("int64")
            inside.append((x >= number_literal(low)) & (x <= number_literal(high)))
            branches.append((inside[-1], place + i * (pieces + 1)))
        rest = ibis.ifelse(x < number_literal(ranges[0][0]), -1, len(ranges) * (pieces + 1))
        rows = self._table if with_rest else self._table.filter(reduce(or_, inside))
        keyed = rows.mutate(soar_bin=ibis.cases(*branches, else_=rest))
        counted = keyed.group_by("soar_bin").agg(low=keyed.x.min(), high=keyed.x.max(), **self._rows.counted(keyed))
        what = f"count column {self._name!r} in {len(ranges) * pieces:,} bins"
        found = self._engine.fetch(what, counted).drop(columns="soar_bin").sort_values("low", ignore_index=True)
        for part, factor in zip(("positives", "negatives"), self._factors, strict=True):
            found[part] = found[part].astype(np.int64) * factor
        return found


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([first, second]).sort_values("low", ignore_index=True)


def _bins(found: pd.DataFrame) -> Bins:
    return Bins(*(found[part].to_numpy(dtype=np.float64) for part in ("low", "high", "positives", "negatives")))


def _heavy(bins: pd.DataFrame, total: float) -> BoolArray:
    """Which bins to cut: too many rows, more than one value."""
    rows = (bins["positives"] + bins["negatives"]).to_numpy()
    is_heavy = (rows > HEAVY * total) & (bins["high"] > bins["low"]).to_numpy()
    heaviest = np.argsort(np.where(is_heavy, -rows, np.inf), kind="stable")[:AT_ONCE]
    chosen = np.zeros(len(bins), dtype=bool)
    chosen[heaviest] = True
    return is_heavy & chosen
