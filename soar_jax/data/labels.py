"""Labels, row weights and class probabilities as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length, column_or_1d

from soar_jax._base import BoolArray, FloatArray, InputError, IntArray


def plain_labels(y: Any) -> np.ndarray:
    """Labels as an array whose type says what they are."""
    labels = np.asarray(column_or_1d(y, warn=True))
    if labels.dtype == object:
        kinds = {type(label) for label in labels if not pd.isna(label)}
        if len(kinds) > 1 and str in kinds:
            raise InputError("y mixes text with other labels; turn all of them into text.")
        labels = pd.Series(labels).infer_objects().to_numpy()
    if labels.dtype.kind in "mM":
        raise InputError("y holds dates; a label must be text, a number or a boolean.")
    return labels


def whole_weights(sample_weight: Any, num_rows: int) -> IntArray:
    """Check row weights: whole numbers, not all of them zero."""
    if sample_weight is None:
        return np.ones(num_rows, dtype=np.int64)
    weights = np.asarray(column_or_1d(sample_weight))
    check_consistent_length(weights, np.empty(num_rows))
    if weights.dtype.kind not in "biuf" or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("sample_weight must hold non-negative numbers.")
    if not weights.any():
        raise InputError("sample_weight is zero for every row; no weight is left to learn from.")
    whole: IntArray = weights.astype(np.int64)
    if not np.array_equal(whole, weights):
        raise InputError(
            "sample_weight must hold whole numbers: the likelihood counts rows. "
            "Multiply the weights by a constant and round them."
        )
    return whole


def class_weights(class_weight: Any, labels: np.ndarray, weights: IntArray) -> IntArray:
    """Whole-number weight of each row by its class.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        None: 1. "balanced": the rarer class by the nearest whole ratio of the classes' weights. A dict from labels to
        whole numbers, or to positive numbers that are whole multiples of the smallest; labels left out have 1.
    labels : (num_rows,) array
    weights : (num_rows,) int64
        Row weights, which decide which class is the rarer.
    """
    ones = np.ones(len(labels), dtype=np.int64)
    if class_weight is None:
        return ones
    classes = np.unique(labels)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.array([weights[labels == label].sum() for label in classes])
        by_class = np.maximum(1, np.round(totals.max() / np.maximum(totals, 1)).astype(np.int64))
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
    values = given if np.array_equal(given, np.round(given)) else given / given.min()
    whole = np.round(values).astype(np.int64)
    if not np.allclose(whole, values, rtol=1e-9, atol=0):
        raise InputError(
            "class_weight must hold whole numbers, or whole multiples of the smallest: the likelihood counts rows. "
            f"Got {dict(class_weight)!r}; multiply the weights by a constant and round them."
        )
    return whole[np.searchsorted(classes, labels)]


def is_positive(y: Any, num_rows: int, classes: np.ndarray, positive: Any) -> BoolArray:
    """Check labels of rows to judge, and say which are positive."""
    labels = np.asarray(column_or_1d(y))
    check_consistent_length(np.empty(num_rows), labels)
    unknown = set(np.unique(labels).tolist()) - set(classes.tolist())
    if unknown:
        raise InputError(f"y has labels the model does not know: {sorted(map(str, unknown))}.")
    return labels == positive


def by_class(positive: FloatArray, positive_index: int) -> FloatArray:
    """Probabilities of both classes in order, from that of the positive one: (num_rows, 2)."""
    columns = [1 - positive, positive] if positive_index == 1 else [positive, 1 - positive]
    return np.stack(columns, axis=1)
