"""A raw table becomes typed columns and, row by row, small integer *cells*.

A cell is the finest thing the literals of a column can tell apart: a level, a bin between two cut
points, "some other level" or "missing". Two rows with equal cells satisfy exactly the same literals,
so everything downstream sees distinct rows of cells with integer weights.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ._base import BoolArray, FloatArray, InputError, IntArray, Plain
from .cuts import cut_points

CATEGORY, NUMBER, DATETIME = "category", "number", "datetime"
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
    has_other : bool
        Some training rows have a level that is too rare for a literal.
    """

    name: str
    kind: str
    levels: tuple[Plain, ...] = ()
    cuts: tuple[float, ...] = ()
    has_other: bool = False

    @property
    def num_cells(self) -> int:
        """Number of cells, the last of which is "missing"."""
        return (len(self.levels) + 2) if self.kind == CATEGORY else (len(self.cuts) + 2)

    @property
    def missing_cell(self) -> int:
        """The cell of a missing value."""
        return self.num_cells - 1


def plain_value(value: Any) -> Plain:
    """Turn a NumPy or pandas scalar into a value that JSON holds unchanged."""
    if isinstance(value, np.floating) and not isinstance(value, float):
        return plain_value(float(str(value)))  # 0.1 in single precision stays 0.1
    if isinstance(value, np.generic):
        value = value.item()
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


def as_frame(X: Any) -> pd.DataFrame:
    """Make a data frame with text column names out of whatever table the user has."""
    if isinstance(X, pd.DataFrame):
        frame = X
    else:
        from sklearn.utils import check_array

        if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
            X = pd.DataFrame(list(X)).to_numpy(dtype=object)  # keeps numbers apart from text
        array = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
        if np.iscomplexobj(array):
            raise InputError("Complex data not supported: give real numbers, text or categories.")
        frame = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])
        if frame.shape[1] and array.dtype == object:
            frame = frame.infer_objects()
    names = [str(name) for name in frame.columns]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(f"Column names must differ, but {repeated[0]!r} stands more than once; rename the columns.")
    if names != list(frame.columns):
        frame = frame.set_axis(names, axis=1)
    return frame


def require_columns(frame: pd.DataFrame, needed: Sequence[str], why: str) -> None:
    """Raise when a needed column is absent, naming the nearest one present."""
    for name in needed:
        if name not in frame.columns:
            near = difflib.get_close_matches(name, [str(column) for column in frame.columns], 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" It has: {', '.join(map(str, frame.columns))}."
            raise InputError(f"{why} column {name!r}, which the table does not have.{hint}")


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
    if pd.api.types.is_complex_dtype(dtype):
        raise InputError(f"Column {series.name!r}: Complex data not supported; give its parts as two columns.")
    if pd.api.types.is_numeric_dtype(dtype):
        return NUMBER if series.nunique() > _BINARY else CATEGORY
    present = series.dropna()
    inferred = pd.api.types.infer_dtype(present, skipna=True)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return NUMBER if present.nunique() > _BINARY else CATEGORY
    if inferred in ("datetime", "datetime64", "date"):
        return DATETIME
    return CATEGORY


def numeric_values(series: pd.Series, kind: str) -> FloatArray:
    """Read a column as float64 with NaN for whatever is missing or not a number; never raises."""
    if kind == DATETIME:
        is_text = not pd.api.types.is_datetime64_any_dtype(series.dtype)
        stamps = pd.to_datetime(series, errors="coerce", utc=True, format="mixed" if is_text else None)
        # whole microseconds, so that a cut point survives being printed and read again
        microseconds = stamps.dt.as_unit("us").astype("int64").to_numpy().clip(_EARLIEST, _LATEST)
        return np.where(stamps.isna().to_numpy(), np.nan, microseconds.astype(np.float64))
    if series.dtype.kind in "mM" or isinstance(series.dtype, pd.PeriodDtype | pd.DatetimeTZDtype):
        return np.full(len(series), np.nan)
    return np.asarray(pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan))


def _factorize(series: pd.Series) -> tuple[IntArray, list[Any]]:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy().astype(np.int64), list(series.cat.categories)
    try:
        codes, uniques = pd.factorize(series)
    except TypeError as error:
        raise InputError(
            f"Column {series.name!r} holds values that cannot be compared ({error}); "
            "turn lists, sets or dictionaries into plain columns first."
        ) from None
    return codes.astype(np.int64), list(uniques)


def level_codes(series: pd.Series, levels: Sequence[Plain]) -> IntArray:
    """Cell of each value: the level's position, ``len(levels)`` for any other, one more for missing."""
    codes, uniques = _factorize(series)
    position = {level_text(level): i for i, level in enumerate(levels)}
    other = len(levels)
    lookup = np.array([position.get(level_text(value), other) for value in uniques] + [other + 1], dtype=np.int64)
    return lookup[codes]


def _sort_key(value: Plain) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float) and not (isinstance(value, float) and math.isnan(value))
    return (0, float(value), "") if is_number else (1, 0.0, str(value))


def category_column(series: pd.Series, y: BoolArray, weights: IntArray, keep: Any) -> Column:
    """Describe a categorical column: one level a literal, where the level is frequent enough.

    ``keep(positives, negatives)`` says which levels are frequent enough to matter.
    """
    _, uniques = _factorize(series)
    representative: dict[str, Plain] = {}
    for value in uniques:
        representative.setdefault(level_text(value), plain_value(value))
    levels: list[Plain] = list(representative.values())
    if not isinstance(series.dtype, pd.CategoricalDtype):
        levels.sort(key=_sort_key)
    cells = level_codes(series, levels)
    positives = np.bincount(cells, weights * y, len(levels) + 2)[: len(levels)].astype(np.int64)
    negatives = np.bincount(cells, weights * ~y, len(levels) + 2)[: len(levels)].astype(np.int64)
    kept = keep(positives, negatives) & (positives + negatives > 0)
    chosen = tuple(level for level, is_kept in zip(levels, kept, strict=True) if is_kept)
    has_other = bool((~kept & (positives + negatives > 0)).any())
    return Column(str(series.name), CATEGORY, levels=chosen, has_other=has_other)


def describe_column(
    series: pd.Series, y: BoolArray, weights: IntArray, keep: Any, max_bins: int, method: str
) -> Column:
    """Type one column and choose its levels or cut points from the training rows."""
    kind = infer_kind(series)
    if kind == CATEGORY:
        return category_column(series, y, weights, keep)
    values = numeric_values(series, kind)
    present = ~np.isnan(values) & (weights > 0)
    distinct, inverse = np.unique(values[present], return_inverse=True)
    positives = np.bincount(inverse, (weights * y)[present], len(distinct)).astype(np.float64)
    negatives = np.bincount(inverse, (weights * ~y)[present], len(distinct)).astype(np.float64)
    cuts = cut_points(distinct, positives, negatives, max_bins=max_bins, method=method, is_time=kind == DATETIME)
    return Column(str(series.name), kind, cuts=tuple(cuts))


def cells_of(series: pd.Series, column: Column) -> IntArray:
    """Cell of each row of one column."""
    if column.kind == CATEGORY:
        return level_codes(series, column.levels)
    values = numeric_values(series, column.kind)
    # x <= cuts[j]  if and only if  cell <= j
    cells = np.searchsorted(np.array(column.cuts), values, side="left")
    return np.where(np.isnan(values), column.missing_cell, cells)


@dataclass(frozen=True)
class GroupedRows:
    """Distinct rows of cells with how many positives and negatives have them.

    Attributes
    ----------
    cells : (num_distinct, num_columns) int64
    positives, negatives : (num_distinct,) int64
    """

    cells: IntArray
    positives: IntArray
    negatives: IntArray


def group_rows(frame: pd.DataFrame, columns: Sequence[Column], y: BoolArray, weights: IntArray) -> GroupedRows:
    """Merge rows with equal cells; sufficient for the likelihood, which only counts rows."""
    key = np.zeros(len(frame), dtype=np.int64)
    radix = 1
    per_column = []
    for column in columns:
        cells = cells_of(frame[column.name], column)
        if radix > (1 << 62) // column.num_cells:  # renumber before the key overflows
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            radix = int(key.max(initial=0)) + 1
        key, radix = key * column.num_cells + cells, radix * column.num_cells
        per_column.append(cells.astype(np.int32))
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    positives = np.bincount(inverse, weights * y, len(first)).astype(np.int64)
    negatives = np.bincount(inverse, weights * ~y, len(first)).astype(np.int64)
    cells = np.stack([c[first] for c in per_column], axis=1).astype(np.int64)
    present = positives + negatives > 0
    return GroupedRows(cells[present], positives[present], negatives[present])
