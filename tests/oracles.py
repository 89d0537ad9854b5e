"""Formulas written out for tests, sharing no code with the package."""

import numpy as np
from scipy.special import betaln, logsumexp

_PANELS, _NODES = 240, 10


def log_beta_integral(a, b, low, high):
    """Log of the integral of p^(a - 1) (1 - p)^(b - 1) over [low, high], by composite quadrature in logarithms.

    Good to 1e-12 for whole a, b >= 1 and up to some thousand rows; without bounds the Beta function itself.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    if low <= 0 and high >= 1:
        return betaln(a, b)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(low, high, _PANELS + 1)
    half = np.diff(edges) / 2
    points = (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel()
    log_weights = np.log(half[:, None] * weights).ravel()
    flat_a, flat_b = a.reshape(-1, 1), b.reshape(-1, 1)
    parts = []
    for start in range(0, len(flat_a), 512):
        part = slice(start, start + 512)
        log_values = (flat_a[part] - 1) * np.log(points) + (flat_b[part] - 1) * np.log1p(-points)
        parts.append(logsumexp(log_values + log_weights, axis=1))
    return np.concatenate(parts).reshape(a.shape)


def log_state(hits, misses, prior):
    """Log likelihood of one state's rows; ``prior`` has alpha, beta, low and high."""
    alpha, beta, low, high = prior
    return log_beta_integral(hits + alpha, misses + beta, low, high) - log_beta_integral(alpha, beta, low, high)


def log_rules(inside, searched, alpha, beta):
    """Log prior of so many rules of a kind, each as probable as any other."""
    return betaln(inside + alpha, searched - inside + beta) - betaln(alpha, beta)


def log_doubt_constant(searched, alpha, beta, log_doubt):
    """Log of what a prior sums to in which no rules count exp(log_doubt) times as much as the kinds alone say."""
    no_rules = np.exp(log_rules(0.0, np.asarray(searched), np.asarray(alpha), np.asarray(beta)).sum())
    return np.log(1 - no_rules + no_rules * np.exp(log_doubt))
