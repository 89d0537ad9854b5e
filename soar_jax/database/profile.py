"""What the engine says of one column: its distinct values with class counts, or fine bins of them.

Distinct values with counts are all that typing a column and choosing its levels or cut points need, so that a column of
up to `MOST_VALUES` values is described exactly as from a data frame, by the same code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.columns import CATEGORY, DATETIME, Column, ColumnValues
from soar_jax.data.cuts import cut_points, positions_per_cut
from soar_jax.data.table import describe_column
from soar_jax.database.bins import Bins

MOST_VALUES = 100_000
"""Distinct values up to which a column is counted value by value."""

Keep = Callable[[IntArray, IntArray], BoolArray]


class Profile(ABC):
    """A column as the engine counted it."""

    values: ColumnValues

    @property
    def has_content(self) -> bool:
        """Whether any value is present."""
        return bool((~self.values.is_missing).any())

    @abstractmethod
    def describe(self, keep: Keep, max_bins: int, method: str) -> Column:
        """Type the column and choose its levels or cut points."""

    @abstractmethod
    def count_cells(self, column: Column) -> tuple[IntArray, IntArray] | None:
        """Positives and negatives of each cell; None where the engine must be asked again."""


@dataclass(frozen=True)
class Levels(Profile):
    """Distinct values, missing among them, each with its class counts.

    Attributes
    ----------
    series : Series
        As the engine gives the values of the column to pandas.
    positives, negatives : (num_values,) int64
    others : (int, int)
        Class counts of values that are too many and too rare to be listed.
    """

    series: pd.Series
    positives: IntArray
    negatives: IntArray
    others: tuple[int, int] = (0, 0)

    @cached_property
    def values(self) -> ColumnValues:  # type: ignore[override]
        """The distinct values."""
        return ColumnValues(self.series)

    def describe(self, keep: Keep, max_bins: int, method: str) -> Column:
        """Describe the values as rows of a table, once for each class, with the counts as weights."""
        twice = pd.concat([self.series, self.series], ignore_index=True)
        is_positive = np.repeat([True, False], len(self.series))
        weights = np.concatenate([self.positives, self.negatives])
        column = describe_column(ColumnValues(twice), is_positive, weights, keep, max_bins, method)
        return replace(column, has_other=True) if any(self.others) else column

    def count_cells(self, column: Column) -> tuple[IntArray, IntArray]:
        """Count the values of each cell."""
        cells = self.values.cells(column)
        counts = []
        for weights, others in zip((self.positives, self.negatives), self.others, strict=True):
            counted = np.zeros(column.num_cells, dtype=np.int64)
            np.add.at(counted, cells, weights)
            if column.kind == CATEGORY:
                counted[len(column.cell_levels)] += others
            counts.append(counted)
        return counts[0], counts[1]


@dataclass(frozen=True)
class Binned(Profile):
    """Fine bins of numbers or moments (microseconds since 1970 UTC), and the class counts of missing values."""

    name: str
    kind: str
    bins: Bins
    missing: tuple[int, int]

    @cached_property
    def values(self) -> ColumnValues:  # type: ignore[override]
        """The greatest value of each bin."""
        high = self.bins.high
        if self.kind == DATETIME:
            return ColumnValues(pd.Series(high.astype(np.int64).astype("datetime64[us]"), name=self.name))
        return ColumnValues(pd.Series(high, name=self.name))

    def describe(self, keep: Keep, max_bins: int, method: str) -> Column:
        """Cut between bins as between distinct values."""
        bins = self.bins
        cuts = cut_points(
            bins.high,
            bins.positives,
            bins.negatives,
            max_bins=max_bins,
            method=method,
            is_time=self.kind == DATETIME,
            lowest=bins.low,
        )
        choices = positions_per_cut(len(bins.high), len(cuts)) if method == "supervised" else 1.0
        return Column(self.name, self.kind, cuts=tuple(cuts), choices=choices)

    def beside(self, column: Column) -> BoolArray:
        """Say which bins end or begin at a cut."""
        after = np.searchsorted(self.bins.high, column.cuts, side="right")
        near = np.zeros(len(self.bins.high), dtype=bool)
        for places in (after - 1, after):
            near[places[(places >= 0) & (places < len(near))]] = True
        return near

    def count_cells(self, column: Column) -> tuple[IntArray, IntArray] | None:
        """Count the bins of each cell, if no cut goes through one."""
        cells, first = (_cells(column, end) for end in (self.bins.high, self.bins.low))
        if not np.array_equal(cells, first):
            return None
        counts = []
        for weights, missing in zip((self.bins.positives, self.bins.negatives), self.missing, strict=True):
            counted = np.bincount(cells, weights, column.num_cells).astype(np.int64)
            counted[column.missing_cell] += missing
            counts.append(counted)
        return counts[0], counts[1]


def _cells(column: Column, values: FloatArray) -> IntArray:
    return np.searchsorted(np.array(column.cuts), values, side="left").astype(np.int64)
