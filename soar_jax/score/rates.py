"""The four states' rates given the rows: how often the label is what the state speaks for (eq. 3)."""

from __future__ import annotations

import numpy as np

from soar_jax._base import FloatArray, IntArray
from soar_jax.score.priors import Hyperparameters
from soar_jax.states import SPEAKS_POSITIVE, hits_and_misses


def rate_posterior(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> tuple[FloatArray, FloatArray]:
    """Conjugate Beta posterior of each state's rate, from class counts by state: alpha and beta, (..., 4) each."""
    hits, misses = hits_and_misses(positives, negatives)
    return hits + hyper.alpha, misses + hyper.beta


def draw_rates(
    generator: np.random.Generator, hyper: Hyperparameters, positives: IntArray, negatives: IntArray
) -> FloatArray:
    """Draw every rate from its posterior: (..., 4)."""
    return generator.beta(*rate_posterior(hyper, positives, negatives))


def positive_rates(hyper: Hyperparameters, positives: IntArray, negatives: IntArray) -> FloatArray:
    """P(positive label | state): posterior means of the rates, (..., 4)."""
    alpha, beta = rate_posterior(hyper, positives, negatives)
    return as_positive(alpha / (alpha + beta))


def as_positive(rates: FloatArray) -> FloatArray:
    """Turn rates of what each state speaks for into rates of the positive label."""
    return np.where(SPEAKS_POSITIVE, rates, 1 - rates)
