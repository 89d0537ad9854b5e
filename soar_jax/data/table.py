"""A raw table becomes typed columns and, row by row, small integer cells.

Two rows with equal cells satisfy exactly the same literals, so everything downstream sees distinct rows of
cells with integer weights.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray, Plain
from soar_jax.data.columns import (
    CATEGORY,
    DATETIME,
    KINDS,
    NUMBER,
    Column,
    ColumnValues,
    TableValues,
    number_columns,
    plain_value,
)
from soar_jax.data.contract import Contract
from soar_jax.data.cuts import (
    MIN_LEAF,
    cut_points,
    cut_positions,
    cuts_in,
    positions_per_cut,
    supervised_positions_of_many,
)
from soar_jax.data.frames import from_other_library
from soar_jax.data.spelling import short_list, short_name

_BINARY = 2


def as_frame(X: Any) -> pd.DataFrame:
    """Make a data frame with text column names out of whatever table the user has."""
    given = X if isinstance(X, pd.DataFrame) else from_other_library(X)
    frame = _frame_of_array(X) if given is None else given
    names = [str(name) for name in frame.columns]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(
            f"Column names must differ, but {short_name(repeated[0])} stands more than once; rename the columns."
        )
    if names != list(frame.columns):
        frame = frame.set_axis(names, axis=1)
    return frame


def _frame_of_array(X: Any) -> pd.DataFrame:
    from scipy.sparse import issparse
    from sklearn.utils import check_array

    if issparse(X):
        raise InputError("X is a sparse matrix; rules need a dense table: give X.toarray(), or a data frame.")
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        X = pd.DataFrame(list(X)).to_numpy(dtype=object)  # keeps numbers apart from text
    array = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
    if np.iscomplexobj(array):
        raise InputError("Complex data not supported: give real numbers, text or categories.")
    frame = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])
    return frame.infer_objects() if frame.shape[1] and array.dtype == object else frame


def has_names(X: Any) -> bool:
    """Whether a table names its columns; a pandas frame numbers them 0, 1, 2, ... when nobody does."""
    if isinstance(X, pd.DataFrame):
        is_numbered = pd.api.types.is_integer_dtype(X.columns) and X.columns.equals(pd.RangeIndex(X.shape[1]))
        return not is_numbered
    return not isinstance(X, np.ndarray | list | tuple) and hasattr(X, "columns")


def match_names(X: Any, names: Sequence[str], model: str, contract: Contract | None = None) -> pd.DataFrame:
    """Give a table the names that ``model`` was fitted on.

    A table without names is matched by position and must have every column; with names, or where its columns have the
    numbers that the model knows as names, any order and further columns are fine.
    """
    frame = as_frame(X)
    if has_names(X) or (isinstance(X, pd.DataFrame) and set(names) <= set(frame.columns)):
        return frame
    if not isinstance(X, pd.DataFrame):
        if frame.shape[1] != len(names):
            raise InputError(
                f"X has {frame.shape[1]} features, but {model} is expecting {len(names)} features as input."
            )
        if len(frame) == 0:
            raise InputError(f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required.")
    if frame.shape[1] == len(names):
        frame = frame.set_axis(list(names), axis=1)
        if contract is not None and contract.has_names:
            warnings.warn(
                f"X does not have valid feature names, but {model} was fitted with feature names", stacklevel=5
            )
    return frame


def frame_to_predict(
    X: Any, names: Sequence[str], model: str, used: Sequence[str], why: str, contract: Contract | None = None
) -> pd.DataFrame:
    """Check a table to predict on against what ``model`` was fitted on, and read it by the contract.

    Only the columns ``used`` are needed.
    """
    frame = match_names(X, names, model, contract)
    require_columns(frame, used, why)
    return frame if contract is None else contract.read(frame, used)


def require_columns(frame: pd.DataFrame, needed: Sequence[str], why: str) -> None:
    """Raise when a needed column is absent, naming the nearest one present."""
    for name in needed:
        if name not in frame.columns:
            near = difflib.get_close_matches(name, [str(column) for column in frame.columns], 1)
            if near:
                hint = f" Did you mean {short_name(near[0])}?"
            elif any(other in frame.columns for other in needed):
                hint = f" It has: {short_list(frame.columns)}."
            else:  # what stands in place of the names may be the first row
                hint = f" It has {frame.shape[1]} other columns. Does its first line have the names of the columns?"
            raise InputError(f"{why} column {short_name(name)}, which the table does not have.{hint}")


def _sort_key(value: Plain) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float) and not (isinstance(value, float) and math.isnan(value))
    return (0, float(value), "") if is_number else (1, 0.0, str(value))


def _describe_category(
    values: ColumnValues, y: BoolArray, weights: IntArray, keep: Any, max_bins: int, method: str
) -> Column:
    """Choose the levels that are frequent enough for a literal of their own, and of ordered ones the cuts."""
    series = values.series
    representative: dict[str, Plain] = {}
    for text, value in zip(values.level_texts, values.levels[1], strict=True):
        representative.setdefault(text, plain_value(value))
    levels: list[Plain] = list(representative.values())
    if not isinstance(series.dtype, pd.CategoricalDtype):
        levels.sort(key=_sort_key)
    cells = values.level_codes(levels)
    positives = np.bincount(cells, weights * y, len(levels) + 2)[: len(levels)].astype(np.int64)
    negatives = np.bincount(cells, weights * ~y, len(levels) + 2)[: len(levels)].astype(np.int64)
    kept = keep(positives, negatives) & (positives + negatives > 0)
    chosen = tuple(level for level, is_kept in zip(levels, kept, strict=True) if is_kept)
    has_other = bool((~kept & (positives + negatives > 0)).any())
    column = Column(str(series.name), CATEGORY, levels=chosen, has_other=has_other, order=values.order)
    if values.order is None:
        return column
    # the names of an order differ, so that its places are those of `levels`
    seen = np.flatnonzero(positives + negatives > 0)
    if len(seen) <= _BINARY:  # "at most a" says no more than "= a"
        return column
    places = cut_positions(
        positives[seen].astype(np.float64), negatives[seen].astype(np.float64), max_bins=max_bins, method=method
    )
    choices = positions_per_cut(len(seen), len(places)) if method == "supervised" else 1.0
    return replace(column, cuts=tuple(float(seen[i]) for i in places), choices=choices)


def describe_column(
    values: ColumnValues, y: BoolArray, weights: IntArray, keep: Any, max_bins: int, method: str
) -> Column:
    """Type one column and choose its levels or cut points from the training rows.

    ``keep(positives, negatives)`` says which levels are frequent enough to matter.
    """
    kind = values.kind
    if kind == CATEGORY:
        return _describe_category(values, y, weights, keep, max_bins, method)
    numbers = values.ordered(kind)
    present = ~np.isnan(numbers) & (weights > 0)
    distinct, inverse = np.unique(numbers[present], return_inverse=True)
    positives = np.bincount(inverse, (weights * y)[present], len(distinct)).astype(np.float64)
    negatives = np.bincount(inverse, (weights * ~y)[present], len(distinct)).astype(np.float64)
    cuts = cut_points(distinct, positives, negatives, max_bins=max_bins, method=method, is_time=kind == DATETIME)
    choices = positions_per_cut(len(distinct), len(cuts)) if method == "supervised" else 1.0
    return Column(str(values.series.name), kind, cuts=tuple(cuts), choices=choices)


def describe_numbers(
    table: TableValues, names: Sequence[str], y: BoolArray, weights: IntArray, max_bins: int
) -> Iterator[Column]:
    """Choose the cut points of columns of plain numbers, many at a time, as `describe_column` does of one.

    Those of two values or fewer are left to it.
    """
    declared = table.frame.attrs.get(KINDS, {})
    asked = [name for name in names if declared.get(name, NUMBER) == NUMBER]
    for part, numbers in number_columns(table.frame, asked):
        place = np.argsort(numbers, axis=0, kind="stable")  # missing values come last
        ordered = np.take_along_axis(numbers, place, axis=0)
        seen = ~np.isnan(ordered)
        is_last = seen & np.concatenate([ordered[1:] != ordered[:-1], np.ones((1, len(part)), dtype=bool)])
        counts = np.where(seen, weights[place], 0)
        positives, distinct = counts * y[place], is_last.sum(axis=0)
        least = np.maximum(1.0, MIN_LEAF * counts.sum(axis=0))
        rows, is_cut = supervised_positions_of_many(positives, counts - positives, is_last, max_bins - 1, least)
        for i in np.flatnonzero(distinct > _BINARY):
            after = np.sort(rows[is_cut[:, i], i])
            if len(after):
                gaps = zip(ordered[after, i].tolist(), ordered[after + 1, i].tolist(), strict=True)
                choices = positions_per_cut(int(distinct[i]), len(after))
                yield Column(part[i], NUMBER, cuts=tuple(cuts_in(gaps, is_time=False)), choices=choices)


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


def group_rows(table: TableValues, columns: Sequence[Column], y: BoolArray, weights: IntArray) -> GroupedRows:
    """Merge rows with equal cells; sufficient for the likelihood, which only counts rows."""
    key = np.zeros(len(table), dtype=np.int64)
    radix = 1
    per_column = []
    for column in columns:
        cells = table[column.name].cells(column)
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
