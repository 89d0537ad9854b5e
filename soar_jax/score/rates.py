"""The four states' rates given the rows: how often the label is what the state speaks for (eq. 3).

Given its rows a state's rate has the Beta posterior of its hits and misses, cut off at the state's bounds.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from soar_jax._base import FloatArray, IntArray
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import Hyperparameters
from soar_jax.states import SPEAKS_POSITIVE, hits_and_misses

_HALVINGS = 60
_RESOLVED = 1e-9
"""Least share of a Beta law between the bounds for which SciPy's inverse has digits enough."""


def rate_posterior(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> tuple[FloatArray, FloatArray]:
    """Alpha and beta of each state's rate, from class counts by state: (..., 4) each; still to be cut off."""
    hits, misses = hits_and_misses(positives, negatives)
    return hits + hyper.alpha, misses + hyper.beta


def mean_rates(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> FloatArray:
    """Posterior mean of each rate: (..., 4).

    The mean of p under p^(a - 1) (1 - p)^(b - 1) between bounds is the integral with a + 1 over that with a.
    """
    a, b = rate_posterior(hyper, positives, negatives)
    if not hyper.is_bounded:
        return a / (a + b)
    log_mean = log_beta_between(a + 1, b, hyper.low, hyper.high) - log_beta_between(a, b, hyper.low, hyper.high)
    return np.exp(log_mean).clip(hyper.low, hyper.high)


def positive_rates(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> FloatArray:
    """P(positive label | state): posterior means of the rates, (..., 4)."""
    return as_positive(mean_rates(hyper, positives, negatives))


def as_positive(rates: FloatArray) -> FloatArray:
    """Turn rates of what each state speaks for into rates of the positive label."""
    return np.where(SPEAKS_POSITIVE, rates, 1 - rates)


def draw_rates(
    generator: np.random.Generator, hyper: Hyperparameters, positives: IntArray, negatives: IntArray
) -> FloatArray:
    """Draw every rate from its posterior: (..., 4)."""
    a, b = rate_posterior(hyper, positives, negatives)
    if not hyper.is_bounded:
        return generator.beta(a, b)
    a, b, low, high = np.broadcast_arrays(a, b, hyper.low, hyper.high)
    uniform = generator.random(a.shape)
    below_low, below_high = betainc(a, b, low), betainc(a, b, high)
    drawn = betaincinv(a, b, below_low + uniform * (below_high - below_low))
    # where the bounds hold hardly anything of the law, halve the interval that holds the quantile, in logarithms
    rest = below_high - below_low < _RESOLVED
    if rest.any():
        drawn[rest] = _bisect(a[rest], b[rest], low[rest], high[rest], uniform[rest])
    return drawn.clip(low, high)


def _bisect(a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray, uniform: FloatArray) -> FloatArray:
    """Find the point below which a share ``uniform`` of the cut-off law lies."""
    wanted = np.log(np.maximum(uniform, 1e-300)) + log_beta_between(a, b, low, high)
    left, right = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        is_below = log_beta_between(a, b, low, middle) < wanted
        left, right = np.where(is_below, middle, left), np.where(is_below, right, middle)
    return (left + right) / 2
