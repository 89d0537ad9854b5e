"""Where candidates come from: whatever can describe columns, count their cells and group rows by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray
from soar_jax.data.columns import Column, TableValues
from soar_jax.data.items import Items
from soar_jax.data.table import GroupedRows, describe_column, describe_numbers, group_rows

MANY_ROWS = 4096
"""Rows up to which the cuts of all columns of numbers are chosen together; of more rows a column is work enough."""

Keep = Callable[[IntArray, IntArray], BoolArray]
"""Says of positives and negatives which levels are frequent enough to matter."""


class RowSource(ABC):
    """A table of labelled rows, wherever it lives.

    Attributes
    ----------
    names : list of str
        Columns to learn from.
    num_positives, num_negatives : int
        Weight of each class.
    """

    names: list[str]
    num_positives: int
    num_negatives: int

    @abstractmethod
    def check(self, names: Sequence[str]) -> None:
        """Raise when these columns hold nothing to learn from."""

    @abstractmethod
    def describe(self, name: str, keep: Keep, max_bins: int, method: str) -> Column:
        """Type one column and choose its levels or cut points."""

    @abstractmethod
    def count_cells(self, columns: Sequence[Column]) -> list[tuple[IntArray, IntArray]]:
        """Positives and negatives of each cell, for each column."""

    @abstractmethod
    def group(self, columns: Sequence[Column], items: Items) -> GroupedRows:
        """Distinct rows of cells with class counts; rows that no literal of ``items`` tells apart may be one."""


class FrameSource(RowSource):
    """Rows of a data frame: (num_rows,) labels and whole weights beside it."""

    def __init__(self, frame: pd.DataFrame, y: BoolArray, weights: IntArray) -> None:
        self.names = list(frame.columns)
        self.num_positives, self.num_negatives = int(weights[y].sum()), int(weights[~y].sum())
        self._frame, self._y, self._weights = frame, y, weights
        self._described: dict[str, Column] | None = None

    @cached_property
    def _table(self) -> TableValues:
        return TableValues(self._frame)

    def check(self, names: Sequence[str]) -> None:
        """Raise when every value is missing."""
        if self._frame[list(names)].isna().all(axis=None):
            raise InputError("Every value of the table is missing; there is nothing to learn from.")

    def describe(self, name: str, keep: Keep, max_bins: int, method: str) -> Column:
        """Read the values of one column; those of plain numbers are all read when the first one is asked for."""
        if method == "supervised" and len(self._frame) <= MANY_ROWS and (self._weights > 0).all():
            if self._described is None:
                many = describe_numbers(self._table, self.names, self._y, self._weights, max_bins)
                self._described = {column.name: column for column in many}
            if name in self._described:
                return self._described[name]
        return describe_column(self._table[name], self._y, self._weights, keep, max_bins, method)

    def count_cells(self, columns: Sequence[Column]) -> list[tuple[IntArray, IntArray]]:
        """Count by the cells of the grouped rows."""
        self._rows = group_rows(self._table, columns, self._y, self._weights)
        return cell_counts(self._rows, columns)

    def group(self, columns: Sequence[Column], items: Items) -> GroupedRows:
        """Give the rows whose cells were counted."""
        return self._rows


def cell_counts(rows: GroupedRows, columns: Sequence[Column]) -> list[tuple[IntArray, IntArray]]:
    """Positives and negatives of each cell, for each column."""

    def counted(cells: IntArray, weights: IntArray, size: int) -> IntArray:
        return np.bincount(cells, weights, size).astype(np.int64)

    return [
        (counted(cells, rows.positives, column.num_cells), counted(cells, rows.negatives, column.num_cells))
        for cells, column in zip(rows.cells.T, columns, strict=True)
    ]
