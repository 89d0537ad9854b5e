"""How good predicted probabilities are: calibration, Brier score, and error against coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from soar_jax._base import BoolArray, FloatArray, InputError


def _checked(is_positive: ArrayLike, probability: ArrayLike) -> tuple[BoolArray, FloatArray]:
    truth, p = np.asarray(is_positive), np.asarray(probability, dtype=np.float64)
    if truth.shape != p.shape or truth.ndim != 1 or not len(truth):
        raise InputError(f"labels and probabilities must be two equally long rows, got {truth.shape} and {p.shape}.")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("probabilities must lie in [0, 1].")
    return truth.astype(bool), p


def calibration_table(is_positive: ArrayLike, probability: ArrayLike, num_bins: int = 10) -> pd.DataFrame:
    """Mean probability and share of positives in bins of equal width; empty bins are left out.

    Parameters
    ----------
    is_positive : array-like of shape (n_samples,)
        Whether the label is the positive class.
    probability : array-like of shape (n_samples,)
        Of the positive class.
    num_bins : int
        Bins between 0 and 1.

    Returns
    -------
    DataFrame
        ``bin``, ``rows``, mean ``probability`` and share of ``positives``.

    Examples
    --------
    >>> calibration_table([True, False, True], [0.9, 0.1, 0.95])["positives"].tolist()
    [0.0, 1.0]
    """
    truth, p = _checked(is_positive, probability)
    bins = np.minimum((p * num_bins).astype(int), num_bins - 1)
    rows = []
    for b in np.unique(bins):
        mine = bins == b
        rows.append(
            {"bin": int(b), "rows": int(mine.sum()), "probability": p[mine].mean(), "positives": truth[mine].mean()}
        )
    return pd.DataFrame(rows)


def calibration_error(is_positive: ArrayLike, probability: ArrayLike, num_bins: int = 10) -> float:
    """Compute the expected calibration error: the mean gap between probability and share of positives.

    Parameters are those of `calibration_table`; bins count by their rows.
    """
    table = calibration_table(is_positive, probability, num_bins)
    gap = (table["probability"] - table["positives"]).abs()
    return float((gap * table["rows"]).sum() / table["rows"].sum())


def brier_score(is_positive: ArrayLike, probability: ArrayLike) -> float:
    """Mean squared gap between probability and label.

    Examples
    --------
    >>> brier_score([True, False], [0.5, 0.5])
    0.25
    """
    truth, p = _checked(is_positive, probability)
    return float(((p - truth) ** 2).mean())


def confidence_of(probability: FloatArray) -> FloatArray:
    """Probability of the more probable class, to 12 digits, so that p and 1 - p are equally sure."""
    return np.asarray(np.round(np.maximum(probability, 1 - probability), 12), dtype=np.float64)


def risk_coverage(
    is_positive: ArrayLike, probability: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Error among the rows predicted when only the surest are: coverage and risk at every distinct confidence.

    Rows of equal confidence are taken or left together, so that the order of a table does not matter. A row of weight w
    counts as w rows.

    Returns
    -------
    coverage, risk : arrays of float64
        From the surest rows alone to all rows: the share of rows predicted, and of wrong labels among them.
    """
    truth, p = _checked(is_positive, probability)
    weights = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    confidence = confidence_of(p)
    order = np.argsort(-confidence, kind="stable")
    wrong = weights[order] * ((p > 0.5) != truth)[order]  # noqa: PLR2004
    last = np.append(np.diff(confidence[order]) != 0, True)
    number = np.cumsum(weights[order])[last]
    with np.errstate(invalid="ignore"):  # the surest rows may all have weight 0
        return number / weights.sum(), np.cumsum(wrong)[last] / number
