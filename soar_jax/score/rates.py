"""The four states' rates given the rows: how often the label is what the state speaks for (eq. 3).

Given its rows a state's rate has the Beta posterior of its hits and misses, cut off at the state's bounds. What is
claimed of rows may follow another law (`claims_of`): a passive state that never saw a positive row is not said to
be positive as often as the bound would have it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from soar_jax._base import FloatArray, IntArray
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import Hyperparameters, StatePriors
from soar_jax.states import IS_AMBIGUOUS, SPEAKS_POSITIVE, hits_and_misses

CLAIM_ROWS = 2.0
"""As many as the flat priors of the rates are worth."""
_HALVINGS = 60
_RESOLVED = 1e-9
"""Least share of a Beta law between the bounds for which SciPy's inverse has digits enough."""


def claims_of(states: StatePriors, base_rate: float, row_weight: float) -> StatePriors | None:
    """Give the laws by which rates are claimed of rows, where they are not the priors; those of opinions are.

    A bound says which pairs are good readings of a table. What is *claimed* of rows is cut off for a consensus only,
    which promises its bound. An ambiguous state promises nothing: its rate is what its rows say, beside `CLAIM_ROWS`
    average rows of the table. So a state of few rows is claimed to be like the table, and no rules claim its base rate.

    Parameters
    ----------
    states : StatePriors
    base_rate : float
        Share of positive rows, weighted.
    row_weight : float
        What a row counts on average by the weights of the classes.
    """
    if not (states.low > 0).any():
        return None
    of_label = np.where(SPEAKS_POSITIVE, base_rate, 1 - base_rate)
    worth = CLAIM_ROWS * row_weight
    return StatePriors(
        np.where(IS_AMBIGUOUS, worth * of_label, states.alpha),
        np.where(IS_AMBIGUOUS, worth * (1 - of_label), states.beta),
        np.where(IS_AMBIGUOUS, 0.0, states.low),
        np.where(IS_AMBIGUOUS, 1.0, states.high),
    )


def rate_posterior(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> tuple[FloatArray, FloatArray]:
    """Alpha and beta of each state's rate, from class counts by state: (..., 4) each; still to be cut off."""
    hits, misses = hits_and_misses(positives, negatives)
    return hits + hyper.alpha, misses + hyper.beta


def mean_rates(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> FloatArray:
    """Mean of each rate given its rows, by the laws that are claimed of rows (`claims_of`): (..., 4).

    Between bounds the mean of p under p^(a - 1) (1 - p)^(b - 1) is the integral with a + 1 over that with a.
    """
    alpha, beta, low, high = hyper.claims
    hits, misses = hits_and_misses(positives, negatives)
    a, b = hits + alpha, misses + beta
    if not hyper.is_bounded:
        return a / (a + b)
    log_mean = log_beta_between(a + 1, b, low, high) - log_beta_between(a, b, low, high)
    is_cut = (low > 0) | (high < 1)
    return np.where(is_cut, np.exp(log_mean).clip(low, high), a / (a + b))


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
