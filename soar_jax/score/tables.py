"""Tables made once on the host, so that the device looks up what it would otherwise compute at every step."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln

from soar_jax._base import FloatArray
from soar_jax.score.priors import Hyperparameters


def log_gamma_table(hyper: Hyperparameters, num_rows: int) -> FloatArray:
    """Tabulate log Gamma at every argument that counts of ``num_rows`` rows can lead to: (4, 3, num_rows + 1).

    By state: log Gamma(k + alpha), log Gamma(k + beta) and log Gamma(k + alpha + beta), k = 0, ..., num_rows.
    """
    shift = np.stack([hyper.alpha, hyper.beta, hyper.alpha + hyper.beta], axis=1)
    return gammaln(np.arange(num_rows + 1) + shift[..., None])


def prior_table(hyper: Hyperparameters, max_rules: int) -> FloatArray:
    """Collapsed Beta-Bernoulli prior of n rules of each side and length, n = 0, ..., max_rules + 1.

    Small integers index it, so the device never computes a prior. Impossible sizes hold -inf.
    Shape (2, max_length, max_rules + 2).
    """
    inside = np.arange(max_rules + 2, dtype=np.float64)
    outside = hyper.pool_size[..., None] - inside
    possible = (outside >= 0) & (inside <= max_rules)
    alpha, beta = hyper.rule_alpha[..., None], hyper.rule_beta[..., None]
    values = betaln(inside + alpha, np.maximum(outside, 0) + beta) - betaln(alpha, beta)
    return np.where(possible, values, -np.inf)
