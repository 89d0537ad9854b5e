"""Raw columns: what kind each is, its values read at most once in each way, and the cells that literals tell apart.

A cell is the finest thing the literals of a column can tell apart: a level, a bin between two cut
points, "some other level" or "missing".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, InputError, IntArray, Plain
from soar_jax.data.cells import distinct_cells, moments_in, numbers_in

CATEGORY, NUMBER, DATETIME = "category", "number", "datetime"
KINDS = "soar_jax kinds"
"""Where a frame keeps the kinds that its user declared (`pandas.DataFrame.attrs`), by column."""
MOST_CELLS = 1 << 20
"""Cells of columns that are read together."""
MOST_ORDERED = 1000
"""Most levels of an ordered category; one with more is read as a plain category."""
_BINARY = 2
_TRUTH = {"true": "1", "false": "0"}
_EARLIEST, _LATEST = (int(np.datetime64(day, "us").astype(np.int64)) for day in ("0001-01-02", "9999-12-31"))


@dataclass(frozen=True)
class Column:
    """One column as the literals see it.

    Attributes
    ----------
    name : str
        As given by the user.
    kind : str
        ``"category"``, ``"number"`` or ``"datetime"``.
    levels : tuple
        Categories that get a literal of their own.
    cuts : tuple of float
        Ascending cut points (for datetimes: microseconds since 1970 UTC).
        For ordered levels: places in ``order``.
    has_other : bool
        Some training rows have a level that is too rare for a literal.
    choices : float
        How many positions each cut could have taken: 1 where the labels did not place it.
    order : tuple, optional
        All levels of an ordered category, the lowest first; each is a cell of its own.
    """

    name: str
    kind: str
    levels: tuple[Plain, ...] = ()
    cuts: tuple[float, ...] = ()
    has_other: bool = False
    choices: float = 1.0
    order: tuple[Plain, ...] | None = None

    @property
    def cell_levels(self) -> tuple[Plain, ...]:
        """Levels that are cells of their own."""
        return self.levels if self.order is None else self.order

    @property
    def num_cells(self) -> int:
        """Number of cells, the last of which is "missing"."""
        return (len(self.cell_levels) + 2) if self.kind == CATEGORY else (len(self.cuts) + 2)

    @property
    def missing_cell(self) -> int:
        """The cell of a missing value."""
        return self.num_cells - 1


class ColumnValues:
    """One raw column. Each way of reading it, as levels, numbers or moments, is done once, when it is asked for."""

    def __init__(self, series: pd.Series, declared: str | None = None) -> None:
        self.series = series
        self._declared = declared

    @cached_property
    def kind(self) -> str:
        """How the column is read."""
        return self._declared or infer_kind(self.series)

    @cached_property
    def is_missing(self) -> BoolArray:
        """Which values are missing."""
        return np.asarray(self.series.isna().to_numpy(), dtype=bool)

    @cached_property
    def levels(self) -> tuple[IntArray, list[Any]]:
        """Code of each value (-1: missing) and the value behind each code."""
        series = self.series
        if isinstance(series.dtype, pd.CategoricalDtype):
            return series.cat.codes.to_numpy().astype(np.int64), list(series.cat.categories)
        codes, uniques = distinct_cells(series)
        return codes.astype(np.int64), uniques

    @cached_property
    def level_texts(self) -> list[str]:
        """Name of the level behind each code."""
        return [level_text(value) for value in self.levels[1]]

    @cached_property
    def order(self) -> tuple[Plain, ...] | None:
        """Levels of an ordered category, the lowest first; None where the column has no order, or none that is clear.

        A column that was declared text has none: this is how an order is left aside.
        """
        dtype = self.series.dtype
        if self._declared is not None or not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
            return None
        levels = tuple(plain_value(level) for level in dtype.categories)
        # levels of one name, such as 1 and "1", cannot be told apart later
        is_clear = len({level_text(level) for level in levels}) == len(levels)
        return levels if is_clear and 0 < len(levels) <= MOST_ORDERED else None

    def ranks(self, order: Sequence[Plain]) -> FloatArray:
        """Place of each value among ordered levels, by name; NaN where it is missing or none of them."""
        places = self.level_codes(order)
        return np.where(places < len(order), places, np.nan)

    @cached_property
    def numbers(self) -> FloatArray:
        """Float64 with NaN for whatever is missing or not a number; never raises."""
        series = self.series
        if series.dtype.kind in "mM" or isinstance(series.dtype, pd.PeriodDtype | pd.DatetimeTZDtype):
            return np.full(len(series), np.nan)
        if not pd.api.types.is_numeric_dtype(series.dtype):
            return numbers_in(series)
        try:
            return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
        except ValueError:  # decimals of pyarrow with missing ones
            return numbers_in(series)

    @cached_property
    def moments(self) -> FloatArray:
        """Microseconds since 1970 UTC with NaN for whatever is missing or no moment; never raises.

        Text is read as ISO 8601 and in no other way. Numbers are no moments: nobody can tell what they count.
        """
        if not pd.api.types.is_datetime64_any_dtype(self.series.dtype):
            return moments_in(self.series).values.clip(_EARLIEST, _LATEST)
        stamps = pd.to_datetime(self.series, errors="coerce", utc=True)
        # whole microseconds, so that a cut point survives being printed and read again
        microseconds = stamps.dt.as_unit("us").astype("int64").to_numpy().clip(_EARLIEST, _LATEST)
        return np.where(stamps.isna().to_numpy(), np.nan, microseconds.astype(np.float64))

    def ordered(self, kind: str) -> FloatArray:
        """Numbers or moments."""
        return self.moments if kind == DATETIME else self.numbers

    def level_codes(self, levels: Sequence[Plain]) -> IntArray:
        """Cell of each value: the level's position, ``len(levels)`` for any other, one more for missing."""
        position = {level_text(level): i for i, level in enumerate(levels)}
        other = len(levels)
        cells = [position.get(text, other) for text in self.level_texts]
        return np.array([*cells, other + 1], dtype=np.int64)[self.levels[0]]

    def cells(self, column: Column) -> IntArray:
        """Cell of each row."""
        if column.kind == CATEGORY:
            return self.level_codes(column.cell_levels)
        values = self.ordered(column.kind)
        # x <= cuts[j]  if and only if  cell <= j
        cells = np.searchsorted(np.array(column.cuts), values, side="left")
        return np.where(np.isnan(values), column.missing_cell, cells)


def number_columns(frame: pd.DataFrame, names: Iterable[str]) -> Iterator[tuple[list[str], FloatArray]]:
    """Take columns of plain numbers many at a time: their names, and (num_rows, num_columns) float64."""
    plain = [name for name, dtype in frame.dtypes[list(names)].items() if is_plain_number(dtype)]
    step = max(1, MOST_CELLS // max(len(frame), 1))
    for start in range(0, len(plain), step):
        part = plain[start : start + step]
        yield part, frame[part].to_numpy(dtype=np.float64)


def is_plain_number(dtype: Any) -> bool:
    """Whether a type is one of NumPy's numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


class TableValues:
    """The columns of a data frame, each read at most once in each way."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._columns: dict[str, ColumnValues] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def __getitem__(self, name: str) -> ColumnValues:
        """Return one column's values."""
        if name not in self._columns:
            self._columns[name] = ColumnValues(self.frame[name], self.frame.attrs.get(KINDS, {}).get(name))
        return self._columns[name]


def values_of(table: pd.DataFrame | TableValues) -> TableValues:
    """Take a frame, or values that were partly read already."""
    return table if isinstance(table, TableValues) else TableValues(table)


def plain_value(value: Any) -> Plain:
    """Turn a NumPy or pandas scalar into a value that JSON holds unchanged."""
    if isinstance(value, np.floating) and not isinstance(value, float):
        return plain_value(float(str(value)))  # 0.1 in single precision stays 0.1
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal):
        value = float(value)  # 1.50 is 1.5 wherever a column of decimals is read
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else str(value)


def level_text(value: Any) -> str:
    """Name a level so that spellings of one value agree: 2, 2.0, "2" and "2.0"; True, 1 and "True".

    A column that is read from CSV may be numbers in one file and text in the next.
    """
    value = plain_value(value)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, str):
        if value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
        whole, _, fraction = value.partition(".")
        if fraction and not fraction.strip("0") and whole.lstrip("+-").isdigit():
            return whole
    return str(value)


def _is_spelt_otherwise(series: pd.Series) -> bool:
    """Whether a column of single precision has fractions: 0.2 is 0.20000000298 there, and no level of its own CSV."""
    if not is_single(series):
        return False
    present = series.dropna()
    return bool((present != present.round()).any())


def is_single(series: pd.Series) -> bool:
    """Whether a column holds numbers of less than double precision."""
    dtype = getattr(series.dtype, "numpy_dtype", series.dtype)
    return bool(dtype.kind == "f" and dtype.itemsize < np.dtype(np.float64).itemsize)


def infer_kind(series: pd.Series) -> str:
    """Decide how a column is read: numbers with three or more distinct values are ordered."""
    dtype = series.dtype
    if pd.api.types.is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return CATEGORY
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return DATETIME
    if pd.api.types.is_timedelta64_dtype(dtype):
        raise InputError(
            f"Column {series.name!r} holds time spans; give a number instead, for example its .dt.total_seconds()."
        )
    if isinstance(dtype, pd.PeriodDtype) or pd.api.types.infer_dtype(series, skipna=True) == "period":
        raise InputError(
            f"Column {series.name!r} holds periods; turn them into dates, for example by .dt.to_timestamp()."
        )
    if pd.api.types.is_complex_dtype(dtype):
        raise InputError(f"Column {series.name!r}: Complex data not supported; give its parts as two columns.")
    if pd.api.types.is_numeric_dtype(dtype):
        return NUMBER if series.nunique() > _BINARY or _is_spelt_otherwise(series) else CATEGORY
    present = series.dropna()
    inferred = pd.api.types.infer_dtype(present, skipna=True)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return NUMBER if present.nunique() > _BINARY else CATEGORY
    if inferred in ("datetime", "datetime64", "date"):
        return DATETIME
    return CATEGORY
