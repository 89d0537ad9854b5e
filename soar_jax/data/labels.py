"""Labels, row weights and class probabilities as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length, column_or_1d

from soar_jax._base import BoolArray, FloatArray, InputError, IntArray
from soar_jax._names import list_names

MOST_COUNTED = (1 << 31) - 1
"""Rows, weights included, up to which counts are exact."""


def label_array(y: Any, *, warn: bool = False) -> np.ndarray:
    """Labels as they were given: nullable integers stay integers, truth values stay truth values."""
    if not isinstance(y, np.ndarray | list | tuple | pd.DataFrame | pd.Series | pd.Index):
        y = _of_other_library(y)
    if isinstance(y, pd.DataFrame) and y.shape[1] != 1:
        raise InputError(f"y has {y.shape[1]} columns; give the one with the labels.")
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and not isinstance(dtype, pd.SparseDtype):
        values = pd.Series(y)
        if values.isna().any():
            return values.astype(object).to_numpy()
        if pd.api.types.is_bool_dtype(dtype):
            return values.to_numpy(dtype=bool)
        if pd.api.types.is_integer_dtype(dtype):
            return values.to_numpy(dtype=dtype.numpy_dtype if hasattr(dtype, "numpy_dtype") else np.int64)
        y = values.to_numpy()
    return np.asarray(column_or_1d(y, warn=warn))


def _of_other_library(y: Any) -> Any:
    """Take a column of polars or pyarrow; anything else is left as it is."""
    import narwhals as nw

    column = nw.from_native(y, series_only=True, pass_through=True)
    return pd.Series(column.to_list()).to_numpy() if isinstance(column, nw.Series) else y


def plain_labels(y: Any) -> np.ndarray:
    """Labels as an array whose type says what they are."""
    labels = label_array(y, warn=True)
    if labels.dtype == object:
        kinds = {type(label) for label in labels if not pd.isna(label)}
        if len(kinds) > 1 and str in kinds:
            raise InputError("y mixes text with other labels; turn all of them into text.")
        labels = pd.Series(labels).infer_objects().to_numpy()
        if labels.dtype == object and kinds == {int}:
            raise InputError("y holds whole numbers beyond 64 bits; turn them into text.")
    if labels.dtype.kind in "mM":
        raise InputError("y holds dates; a label must be text, a number or a boolean.")
    return labels


def alike(labels: Any) -> str:
    """Name labels that differ by case or white space only, in a sentence; nothing where there are none."""
    spelt: dict[str, list[str]] = {}
    for label in dict.fromkeys(str(label) for label in labels if isinstance(label, str)):
        spelt.setdefault(label.strip().casefold(), []).append(label)
    found = next((sorted(mine) for mine in spelt.values() if len(mine) > 1), [])
    listed = list_names(map(repr, found))
    return f" {listed} differ by case or white space only; make one of them." if found else ""


def row_weights(sample_weight: Any, num_rows: int) -> FloatArray:
    """Check row weights: not negative, not all of them zero."""
    if sample_weight is None:
        return np.ones(num_rows)
    if np.asarray(sample_weight).ndim == 0:
        raise InputError("sample_weight must hold one number per row; leave it out to count every row once.")
    weights = np.asarray(column_or_1d(sample_weight))
    check_consistent_length(weights, np.empty(num_rows))
    if weights.dtype.kind not in "biuf" or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("sample_weight must hold non-negative numbers.")
    if not weights.any():
        raise InputError("sample_weight is zero for every row; no weight is left to learn from.")
    return weights.astype(np.float64)


def whole_weights(sample_weight: Any, num_rows: int) -> IntArray:
    """Check row weights that count rows: whole numbers, not all of them zero."""
    weights = row_weights(sample_weight, num_rows)
    whole: IntArray = weights.astype(np.int64)
    if not np.array_equal(whole, weights):
        raise InputError(
            "sample_weight must hold whole numbers here: rows are counted. "
            "Multiply the weights by a constant and round them."
        )
    return whole


def class_weights(class_weight: Any, labels: np.ndarray, weights: FloatArray) -> FloatArray:
    """Weight of each row by its class.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        None: 1. "balanced": the rarer class by the nearest whole ratio of the classes' weights. A dict from labels to
        positive numbers; labels left out have 1.
    labels : (num_rows,) array
    weights : (num_rows,) float64
        Row weights, which decide which class is the rarer.
    """
    if class_weight is None:
        return np.ones(len(labels))
    classes = np.unique(labels)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.array([weights[labels == label].sum() for label in classes])
        least = totals[totals > 0].min(initial=1.0)
        by_class = np.maximum(1.0, np.round(totals.max() / np.maximum(totals, least)))
        return by_class[np.searchsorted(classes, labels)]
    if not isinstance(class_weight, Mapping):
        raise InputError(
            f"class_weight must be None, 'balanced' or a dict from labels to numbers, got {class_weight!r}."
        )
    unknown = [key for key in class_weight if key not in classes.tolist()]
    if unknown:
        raise InputError(f"class_weight names {unknown[0]!r}, which is not one of the labels {classes.tolist()}.")
    given = np.array([class_weight.get(label, 1) for label in classes.tolist()])
    if given.dtype.kind not in "iuf" or not np.isfinite(given).all() or (given <= 0).any():
        raise InputError(f"class_weight must hold positive numbers, got {dict(class_weight)!r}.")
    return given.astype(np.float64)[np.searchsorted(classes, labels)]


def counted_weights(sample_weight: Any, class_weight: Any, labels: np.ndarray) -> IntArray:
    """How many rows each row counts as in a fit.

    Whole weights are these numbers. Weights with fractions say how much rows matter beside each other, and not how many
    there are: they are scaled to sum to the number of rows that have any, and rounded to whole numbers class by class
    so that the sums are kept all along. With s the running sum of a class's scaled weights, row i counts as

        floor(s[i] + 1/2) - floor(s[i - 1] + 1/2) ,

    which is its weight rounded up or down, with every run of rows right to within one row. Equal weights give 1. A
    class whose weights are too small for a whole row keeps one: the row that weighs most.
    """
    weights = row_weights(sample_weight, len(labels))
    with np.errstate(over="ignore"):
        weights = weights * class_weights(class_weight, labels, weights)
    if not np.isfinite(weights).all():
        raise InputError("sample_weight times class_weight is too large a number; divide one of them by a constant.")
    relative = weights / float(weights.max())  # their sum cannot overflow
    if np.array_equal(np.round(weights), weights):
        if float(relative.sum()) * float(weights.max()) > MOST_COUNTED:
            raise InputError(
                f"The weights sum to more than {MOST_COUNTED:,} rows, which is as many as can be counted exactly. "
                "Divide all of them by a constant: weights with fractions are relative."
            )
        return weights.astype(np.int64)
    scaled = relative * (np.count_nonzero(weights) / relative.sum())
    whole: IntArray = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        steps = np.floor(np.cumsum(scaled[mine]) + 0.5)
        whole[mine] = np.diff(steps, prepend=0.0).astype(np.int64)
        if not whole[mine].any() and weights[mine].any():
            whole[mine[np.argmax(weights[mine])]] = 1
    return whole


def is_positive(y: Any, num_rows: int, classes: np.ndarray, positive: Any) -> BoolArray:
    """Check labels of rows to judge, and say which are positive."""
    labels = label_array(y)
    check_consistent_length(np.empty(num_rows), labels)
    if pd.isna(labels).any():
        raise InputError("y contains missing labels; drop the rows without a label.")
    unknown = set(labels.tolist()) - set(classes.tolist())
    if unknown:
        known = " and ".join(repr(label) for label in classes.tolist())
        raise InputError(f"y has {len(unknown):,} labels the model does not know; it knows {known}.")
    return labels == positive


def by_class(positive: FloatArray, positive_index: int) -> FloatArray:
    """Probabilities of both classes in order, from that of the positive one: (num_rows, 2)."""
    columns = [1 - positive, positive] if positive_index == 1 else [positive, 1 - positive]
    return np.stack(columns, axis=1)
