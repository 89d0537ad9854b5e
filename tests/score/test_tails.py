"""Far tails looked up: against SciPy for bounds of every kind, and in the log joint of a large table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import betaln

from soar_jax._base import in_float64
from soar_jax.score.bounded import join_above, join_between
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.tails import FEW, NARROWEST, WIDEST, log_far_tail, tail_tables


def counts(rng, bound, size):
    """Exponents over four decades, half of them with a rate near the bound, some with no hits or no misses."""
    n = np.floor(10 ** rng.uniform(np.log10(FEW), 6.5, size)) + 1
    rate = rng.uniform(0, 1, size) ** rng.choice([1, 4], size)
    near = bound + rng.normal(0, 4, size) * np.sqrt(bound * (1 - bound) / n)
    k = np.clip(np.round(n * np.where(rng.random(size) < 0.5, near, rate)), 0, n)
    k = np.where(rng.random(size) < 0.02, rng.choice([0.0, 1.0], size) * n, k)
    is_exact = rng.random(size) < 0.05  # rates of exactly the bound, where rounding decides on which side the peak is
    n = np.where(is_exact, np.ceil(n / 1000) * 1000, n)
    return np.where(is_exact, np.round(bound * n), k), n - np.where(is_exact, np.round(bound * n), k)


@jax.jit
def above_and_between(k, m, whole, edges, surfaces):
    at_low, at_high = (log_far_tail(k, m, edges[0, i], surfaces) for i in (0, 1))
    return join_above(at_low, whole), join_between(at_low, at_high, whole)


@in_float64
def on_device(k, m, edges, surfaces):
    found = above_and_between(*map(jnp.asarray, (k, m, betaln(k + 1, m + 1), edges, surfaces)))
    return [np.asarray(part) for part in found]


@pytest.mark.parametrize(
    "low, high",
    [
        (0.12, 0.62),
        (0.025, 0.975),
        (0.85, 0.995),
        *(pytest.param(*bounds, marks=pytest.mark.slow) for bounds in ((0.005, 0.5), (0.3, 0.7), (0.5, 0.9))),
    ],
)
def test_tails_looked_up_agree_with_the_host(low, high):
    """Within 1e-9 of a nat, or of 1e-3 of a log integral beyond a thousand (which float64 itself rounds)."""
    surfaces, edges = tail_tables(np.full(4, low), np.full(4, high))
    rng = np.random.default_rng(0)
    k, m = (np.concatenate(part) for part in zip(counts(rng, low, 2500), counts(rng, high, 2500), strict=True))
    above, between = on_device(k, m, edges, surfaces)
    for device, host in (
        (above, log_beta_between(k + 1, m + 1, low, np.ones(len(k)))),
        (between, log_beta_between(k + 1, m + 1, low, high)),
    ):
        # where a narrow state is asked for a rate far beyond both bounds, SciPy's own difference has few digits
        assert np.isfinite(device).all()
        assert (np.abs(device - host) / np.maximum(1, 1e-3 * np.abs(host))).max() < 1e-9


def test_bounds_next_to_zero_or_one_are_left_to_the_quadrature():
    for low, high in ((NARROWEST / 2, 0.5), (0.5, (1 + WIDEST) / 2)):
        surfaces, _ = tail_tables(np.full(4, low), np.full(4, high))
        assert not surfaces.size
    assert not tail_tables(np.zeros(4), np.ones(4))[0].size
