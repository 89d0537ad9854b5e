"""The integrals of `soar_jax.score.bounded` on the host, by SciPy: nothing shared with the device's way."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincc, betaln

from soar_jax._base import FloatArray

_SMALLEST = 1e-100
_TINY = 1e-300
_MAX_TERMS = 100_000


def _log_continued_fraction(a: FloatArray, b: FloatArray, x: FloatArray) -> FloatArray:
    """Log of I_x(a, b) B(a, b) for x far below the mean, by Lentz's evaluation of the continued fraction."""
    c, d = np.ones_like(x), 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / np.where(np.abs(d) < _TINY, _TINY, d)
    value = d.copy()
    for j in range(1, _MAX_TERMS):
        for numerator in (
            j * (b - j) * x / ((a + 2 * j - 1) * (a + 2 * j)),
            -(a + j) * (a + b + j) * x / ((a + 2 * j) * (a + 2 * j + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / np.where(np.abs(d) < _TINY, _TINY, d)
            c = 1.0 + numerator / c
            c = np.where(np.abs(c) < _TINY, _TINY, c)
            value = value * c * d
        if np.all(np.abs(c * d - 1.0) < 1e-15):  # noqa: PLR2004
            break
    return a * np.log(x) + b * np.log1p(-x) - np.log(a) + np.log(value)


def _log_below(a: FloatArray, b: FloatArray, x: FloatArray) -> FloatArray:
    """Log of the integral of p^(a - 1) (1 - p)^(b - 1) over [0, x]; -inf for x = 0."""
    share = betainc(a, b, x)
    with np.errstate(divide="ignore"):
        value = np.log(share) + betaln(a, b)
    is_lost = (share < _SMALLEST) & (x > 0)
    if is_lost.any():
        value[is_lost] = _log_continued_fraction(a[is_lost], b[is_lost], x[is_lost])
    return value


def _log_above(a: FloatArray, b: FloatArray, x: FloatArray) -> FloatArray:
    share = betaincc(a, b, x)
    with np.errstate(divide="ignore"):
        value = np.log(share) + betaln(a, b)
    is_lost = (share < _SMALLEST) & (x < 1)
    if is_lost.any():
        value[is_lost] = _log_continued_fraction(b[is_lost], a[is_lost], 1.0 - x[is_lost])
    return value


def log_beta_between(a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Log of the integral of p^(a - 1) (1 - p)^(b - 1) over [low, high]; arrays of one shape, or broadcast to one."""
    shape = np.broadcast_shapes(*(np.shape(part) for part in (a, b, low, high)))
    a, b, low, high = (np.broadcast_to(np.asarray(part, dtype=np.float64), shape).ravel() for part in (a, b, low, high))
    mean = a / (a + b)
    below, above = (_log_below(a, b, low), _log_below(a, b, high)), (_log_above(a, b, low), _log_above(a, b, high))
    # the difference of what is small on the side of the mean that the bounds lie on
    larger = np.where(mean <= low, above[0], below[1])
    smaller = np.where(mean <= low, above[1], below[0])
    whole = betaln(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))
        outside = np.logaddexp(below[0], above[1])
        within = whole + np.log1p(-np.exp(np.minimum(outside - whole, 0.0)))
    return np.where((mean <= low) | (mean >= high), beyond, within).reshape(shape)
