"""Integrals between bounds: device, host and table against high precision, from no rows to a hundred thousand."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import betaln

from soar_jax import ErrorRatio, Opinion
from soar_jax._base import in_float64
from soar_jax.score.bounded import log_mass, log_mass_above, quadrature
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import StatePriors, from_bounds, from_opinions
from soar_jax.score.rates import claims_of, mean_rates, positive_rates
from soar_jax.score.tables import state_table
from tests.oracles import log_beta_integral
from tests.problems import random_target


def precise(k, m, low, high):
    """The log integral of p^k (1 - p)^m with 30 digits, by quadrature in pieces around the peak."""
    with mpmath.workdps(30):
        k, m, low, high = (mpmath.mpf(float(v)) for v in (k, m, low, high))
        peak = min(max(k / (k + m) if k + m else (low + high) / 2, low), high)
        inside = min(max(peak, mpmath.mpf("1e-30")), 1 - mpmath.mpf("1e-30"))
        log_height = k * mpmath.log(inside) + m * mpmath.log(1 - inside)
        width = mpmath.sqrt(inside * (1 - inside) / (k + m + 2))
        slope = abs(k / inside - m / (1 - inside))
        scale = min(width, 1 / slope) if slope > 0 else width
        steps = (-300, -90, -40, -20, -9, -3, -1, 0, 1, 3, 9, 20, 40, 90, 300)
        ends = sorted({low, high, *(min(max(peak + scale * j, low), high) for j in steps)})
        area = mpmath.quad(lambda p: mpmath.exp(k * mpmath.log(p) + m * mpmath.log(1 - p) - log_height), ends)
        return float(log_height + mpmath.log(area))


def random_cases(seed, count):
    """Counts over five decades with bounds on any side of their rate: within, near and in the far tails."""
    rng = np.random.default_rng(seed)
    k, m = np.floor(10 ** rng.uniform(0, 5, (2, count)) - 1)
    low = rng.uniform(0.005, 0.9, count)
    return k, m, low, low + rng.uniform(0.01, 1, count) * (0.995 - low)


@in_float64
def on_device(k, m, low, high):
    rule = jnp.asarray(quadrature())
    between = jax.jit(jax.vmap(lambda *given: log_mass(*given, rule)))
    above = jax.jit(jax.vmap(lambda *given: log_mass_above(*given, rule)))
    whole = betaln(k + 1, m + 1)
    return np.asarray(between(k, m, low, high, whole)), np.asarray(above(k, m, low, whole))


def test_device_and_host_agree_with_high_precision():
    cases = random_cases(0, 120)
    exact = np.array([precise(*case) for case in zip(*cases, strict=True)])
    k, m, low, high = cases
    device, _ = on_device(*cases)
    scale = np.maximum(1, np.abs(exact) * 1e-3)  # float64 itself has 1e-16 of values that reach -1e6
    assert (np.abs(device - exact) / scale).max() < 1e-9
    assert (np.abs(log_beta_between(k + 1, m + 1, low, high) - exact) / scale).max() < 1e-9


def test_device_and_host_agree_on_many_cases():
    k, m, low, high = random_cases(1, 20_000)
    between, above = on_device(k, m, low, high)
    for device, host in (
        (between, log_beta_between(k + 1, m + 1, low, high)),
        (above, log_beta_between(k + 1, m + 1, low, np.ones(len(k)))),
    ):
        assert np.isfinite(device).all()
        assert (np.abs(device - host) / np.maximum(1, np.abs(host))).max() < 1e-10


def test_bounds_of_zero_and_one_are_the_beta_function():
    k, m, _, _ = random_cases(2, 500)
    assert np.array_equal(log_beta_between(k + 1, m + 1, 0.0, 1.0), betaln(k + 1, m + 1))
    device, _ = on_device(k, m, np.full(500, 1e-15), np.full(500, 1 - 1e-15))
    assert device == pytest.approx(betaln(k + 1, m + 1), rel=1e-11, abs=1e-9)


def test_the_table_of_states_equals_numerical_integration():
    hyper = random_target(3, bounded=True)[0].hyper
    table = state_table(hyper, 70, 40)
    assert table.shape == (4, 71, 41)
    positives, negatives = np.meshgrid(np.arange(71), np.arange(41), indexing="ij")
    for s in range(4):
        hits, misses = (positives, negatives) if s in (0, 2) else (negatives, positives)
        exact = log_beta_integral(hits + hyper.alpha[s], misses + hyper.beta[s], hyper.low[s], hyper.high[s])
        assert np.abs(table[s] - exact).max() < 1e-9


def test_the_table_keeps_its_digits_over_a_thousand_additions():
    hyper = random_target(4, bounded=True)[0].hyper
    table = state_table(hyper, 700, 500)
    rng = np.random.default_rng(0)
    for p, n in rng.integers(0, (701, 501), (300, 2)):
        for s in range(4):
            hits, misses = (p, n) if s in (0, 2) else (n, p)
            host = log_beta_between(hits + hyper.alpha[s], misses + hyper.beta[s], hyper.low[s], hyper.high[s])
            assert table[s, p, n] == pytest.approx(float(host), rel=1e-11, abs=1e-9)


def test_a_consensus_claims_its_bound_and_an_ambiguous_state_what_its_rows_were():
    hyper = random_target(5, bounded=True)[0].hyper
    hyper = hyper._replace(claimed=claims_of(StatePriors(*hyper[:4]), base_rate=0.2, row_weight=1.0))
    counts = np.array([[0, 0, 0, 90], [50, 50, 90, 0]])  # all against what the states speak for
    means = mean_rates(hyper, *counts)
    assert (means[:2] >= hyper.low[:2]).all()
    assert means[2:] == pytest.approx([0.4 / 92, 1.6 / 92], abs=1e-12) and (means[2:] < hyper.low[2:]).all()


@pytest.mark.parametrize("row_weight", [1.0, 3.5])
def test_a_state_without_rows_and_no_rules_at_all_claim_the_base_rate(row_weight):
    states = from_bounds(ErrorRatio(0.5), ErrorRatio(0.5), 0.03)
    hyper = random_target(5)[0].hyper._replace(**states._asdict(), claimed=claims_of(states, 0.03, row_weight))
    claimed = positive_rates(hyper, np.array([0, 0, 0, 30]), np.array([0, 0, 0, 970]))
    assert claimed[2:] == pytest.approx([0.03, 0.03], abs=1e-12)


def test_opinions_are_claimed_as_they_are():
    assert claims_of(from_opinions(Opinion(0.9), Opinion(0.5), 1000), 0.2, 1.0) is None


def test_mean_rates_lie_within_the_bounds_and_follow_the_rows():
    """As files of earlier formats claim them: within bounds for all states."""
    hyper = random_target(5, bounded=True)[0].hyper
    rng = np.random.default_rng(0)
    positives, negatives = rng.integers(0, 3000, (2, 200, 4))
    means = mean_rates(hyper, positives, negatives)
    assert (means >= hyper.low).all() and (means <= hyper.high).all()
    for s in range(4):
        hits, misses = (positives, negatives) if s in (0, 2) else (negatives, positives)
        a, b = hits[:20, s] + hyper.alpha[s], misses[:20, s] + hyper.beta[s]
        low, high = hyper.low[s], hyper.high[s]
        exact = np.exp(log_beta_integral(a + 1, b, low, high) - log_beta_integral(a, b, low, high))
        assert means[:20, s] == pytest.approx(exact, abs=1e-8)
        # far inside the bounds it is the rate of the rows
        rate = (hits[:, s] + hyper.alpha[s]) / (hits[:, s] + misses[:, s] + hyper.alpha[s] + hyper.beta[s])
        error = np.sqrt(rate * (1 - rate) / (hits[:, s] + misses[:, s] + 1))
        inside = (rate - 8 * error > low) & (rate + 8 * error < high)
        assert means[inside, s] == pytest.approx(rate[inside], abs=1e-9)
