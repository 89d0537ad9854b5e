"""Tables made once on the host, so that the device looks up what it would otherwise compute at every step."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln

from soar_jax._base import FloatArray
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import Hyperparameters
from soar_jax.states import ACTIVE, PASSIVE, SPEAKS_POSITIVE


def log_gamma_table(hyper: Hyperparameters, num_rows: int) -> FloatArray:
    """Tabulate log Gamma at every argument that counts of ``num_rows`` rows can lead to: (4, 3, num_rows + 1).

    By state: log Gamma(k + alpha), log Gamma(k + beta) and log Gamma(k + alpha + beta), k = 0, ..., num_rows.
    """
    shift = np.stack([hyper.alpha, hyper.beta, hyper.alpha + hyper.beta], axis=1)
    return gammaln(np.arange(num_rows + 1) + shift[..., None])


def prior_table(hyper: Hyperparameters, max_rules: int) -> FloatArray:
    """Collapsed Beta-Bernoulli prior of n rules of each side and kind, n = 0, ..., max_rules + 1.

    Small integers index it, so the device never computes a prior. Impossible sizes hold -inf.
    Shape (2, num_kinds, max_rules + 2).
    """
    inside = np.arange(max_rules + 2, dtype=np.float64)
    outside = hyper.searched[..., None] - inside
    possible = (inside <= hyper.pool_size[..., None]) & (inside <= max_rules)
    alpha, beta = hyper.rule_alpha[..., None], hyper.rule_beta[..., None]
    values = betaln(inside + alpha, np.maximum(outside, 0) + beta) - betaln(alpha, beta)
    return np.where(possible, values, -np.inf)


def state_table(hyper: Hyperparameters, num_positives: int, num_negatives: int) -> FloatArray:
    """Tabulate each state's log likelihood by its positives and negatives: (4, num_positives + 1, num_negatives + 1).

    With T(k, m) the integral of p^k (1 - p)^m between the bounds, p + (1 - p) = 1 gives

        T(k, m) = T(k + 1, m) + T(k, m + 1) ,

    a sum of positive terms. So the integrals of the longest diagonal k + m = n are computed, and those of each shorter
    one follow by additions of logarithms, without cancellation.
    """
    total = num_positives + num_negatives
    tables = np.empty((4, num_positives + 1, num_negatives + 1))
    for state, (alpha, beta, low, high) in enumerate(zip(hyper.alpha, hyper.beta, hyper.low, hyper.high, strict=True)):
        if state == PASSIVE and (alpha, beta, low, high) == _mirrored(hyper):
            tables[state] = tables[ACTIVE]  # passive is active with the labels exchanged, and both are counted by label
            continue
        hits = np.arange(total + 1)
        diagonal = log_beta_between(hits + alpha, total - hits + beta, low, high)
        for size in range(total, -1, -1):  # diagonal[k] is log T(k, size - k)
            if size < total:
                diagonal = np.logaddexp(diagonal[1:], diagonal[:-1])
            if SPEAKS_POSITIVE[state]:
                first, last = max(0, size - num_negatives), min(size, num_positives)
                positives = np.arange(first, last + 1)
                tables[state, positives, size - positives] = diagonal[first : last + 1]
            else:
                first, last = max(0, size - num_positives), min(size, num_negatives)
                negatives = np.arange(first, last + 1)
                tables[state, size - negatives, negatives] = diagonal[first : last + 1]
    return tables


def _mirrored(hyper: Hyperparameters) -> tuple[float, float, float, float]:
    """Give the prior of the active state's rate, said of the other label."""
    return hyper.beta[ACTIVE], hyper.alpha[ACTIVE], 1 - hyper.high[ACTIVE], 1 - hyper.low[ACTIVE]
