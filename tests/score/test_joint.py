from types import SimpleNamespace

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from soar_jax._base import in_float64
from soar_jax.candidates.coverage import LOW_HALF, NEGATIVE_SHIFT
from soar_jax.score.bounded import quadrature
from soar_jax.score.host import host_log_joint
from soar_jax.score.joint import log_beta, log_joint, log_likelihood
from soar_jax.score.problem import MAX_TABLE_ROWS, _log_gamma
from soar_jax.score.tables import prior_table
from tests.problems import pack_counts, priors_by_length, random_problem, random_target


@in_float64
def device_log_beta(a, b):
    return np.asarray(jax.jit(log_beta)(jnp.asarray(a), jnp.asarray(b)))


def test_log_beta_agrees_with_high_precision_from_tiny_to_ten_million():
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-3, 7, (2, 400))
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.log(mpmath.beta(x, y))) for x, y in zip(a, b, strict=True)])
    error = np.abs(device_log_beta(a, b) - exact) / np.maximum(1, np.abs(exact))
    assert error.max() < 1e-12


@in_float64
def device_log_joint(counts, sizes, hyper):
    packed = jnp.asarray(pack_counts(*counts))
    constant = jnp.asarray(betaln(hyper.alpha, hyper.beta).sum())
    alpha, beta = jnp.asarray(hyper.alpha), jnp.asarray(hyper.beta)
    by_formula = SimpleNamespace(
        log_gamma=jnp.zeros((4, 3, 1)),
        alpha=alpha,
        beta=beta,
        constant=constant,
        states=jnp.zeros((4, 1, 1)),
        rule=jnp.zeros((2, 0)),
        prior=jnp.pad(jnp.asarray(prior_table(hyper, 63)), ((0, 0), (1, 0), (0, 0))),  # first what must be in: nothing
        log_doubt=jnp.asarray(hyper.log_doubt),
        power=jnp.asarray(hyper.power),
    )
    sizes = jnp.pad(jnp.asarray(sizes, jnp.int32), ((0, 0), (1, 0)))
    return float(log_joint(by_formula, packed, sizes))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9), st.sampled_from([10, 10**3, 10**5, 10**7]))
def test_device_score_equals_scipy_score_to_1e_9(seed, num_rows):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(8, 0.5))
    positives, negatives = np.floor(share * num_rows).astype(np.int64).reshape(2, 4)
    pool = rng.integers(0, 900, (2, 4))
    sizes = np.minimum(rng.integers(0, 20, (2, 4)), pool) * rng.integers(0, 2)
    hyper = priors_by_length(
        *(10 ** rng.uniform(-2, np.log10(num_rows), (2, 4))), *(10 ** rng.uniform(-1, 3, (2, 2, 4))), pool
    )._replace(log_doubt=rng.uniform(0, 5), power=rng.choice([1.0, rng.uniform(0.01, 1)]))
    expected = host_log_joint(positives, negatives, sizes, hyper)
    assert device_log_joint((positives, negatives), sizes, hyper) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_passive_negatives_go_with_alpha():
    """Eq. (5) prints the last factor with alpha and beta exchanged; eq. (3) decides."""
    hyper = priors_by_length(
        np.array([1.0, 1, 1, 30]),
        np.array([1.0, 1, 1, 2]),
        np.ones((2, 1)),
        np.ones((2, 1)),
        np.zeros((2, 1), int),
    )
    many_negatives = device_log_joint((np.array([0, 0, 0, 1]), np.array([0, 0, 0, 15])), np.zeros((2, 1)), hyper)
    assert many_negatives == pytest.approx(betaln(15 + 30, 1 + 2) - betaln(30, 2))


def test_impossible_sizes_have_no_prior():
    hyper = priors_by_length(*np.ones((2, 4)), *np.ones((2, 2, 2)), np.array([[3, 0], [1, 100]]))
    table = prior_table(hyper, 63)
    assert np.isinf(table[0, 0, 4:]).all() and np.isfinite(table[0, 0, :4]).all()
    assert np.isinf(table[:, :, 64]).all() and np.isfinite(table[1, 1, :64]).all()


def test_prior_sums_to_one_over_all_subsets():
    hyper = priors_by_length(
        *np.ones((2, 4)), *np.random.default_rng(0).uniform(0.3, 5, (2, 2, 1)), np.array([[5], [3]])
    )
    table = prior_table(hyper, 63)
    from scipy.special import comb

    for side, size in enumerate((5, 3)):
        n = np.arange(size + 1)
        assert (comb(size, n) * np.exp(table[side, 0, : size + 1])).sum() == pytest.approx(1)


@in_float64
def test_looked_up_likelihood_equals_the_formula_and_large_tables_have_none():
    problem, *_, hyper = random_problem(4, num_rows=60, max_weight=40)
    rng = np.random.default_rng(0)
    total = int(problem.total) & LOW_HALF, int(problem.total) >> NEGATIVE_SHIFT
    cuts = np.sort(rng.integers(0, np.array(total)[:, None], (50, 2, 3)), axis=2)
    ends = np.zeros((50, 2, 1)), np.tile(np.array(total)[:, None], (50, 1, 1))
    parts = np.diff(np.concatenate([ends[0], cuts, ends[1]], axis=2), axis=2)
    counts = jnp.asarray(parts[:, 0].astype(np.int64) + (parts[:, 1].astype(np.int64) << NEGATIVE_SHIFT))
    looked_up = log_likelihood(problem, counts)
    without = problem._replace(log_gamma=jnp.zeros((4, 3, 1)))
    np.testing.assert_allclose(looked_up, log_likelihood(without, counts), rtol=1e-11, atol=1e-9)
    assert _log_gamma(hyper, MAX_TABLE_ROWS + 1).shape == (4, 3, 1)


def test_candidates_may_be_fewer_than_what_was_searched():
    """Screening changes which patterns can be in, not what including one costs."""
    few = priors_by_length(*np.ones((2, 4)), *np.ones((2, 2, 1)), np.array([[50], [50]]), np.array([[3], [0]]))
    whole = priors_by_length(*np.ones((2, 4)), *np.ones((2, 2, 1)), np.array([[50], [50]]))
    assert np.array_equal(prior_table(few, 63)[0, 0, :4], prior_table(whole, 63)[0, 0, :4])
    assert np.isinf(prior_table(few, 63)[0, 0, 4:]).all() and np.isinf(prior_table(few, 63)[1, 0, 1:]).all()


@pytest.mark.parametrize("max_weight", [20, 400])
@in_float64
def test_a_bounded_likelihood_looked_up_and_by_quadrature_agrees_with_the_host(max_weight):
    """Weights up to 20: all states are in one table; up to 400, small ones are, and of others the tails."""
    target, *_ = random_target(6, num_rows=60, max_weight=max_weight, bounded=True)
    problem = target.problem
    assert (max_weight > 20) == bool(problem.surfaces.size)
    by_quadrature = problem._replace(states=jnp.zeros((4, 1, 1)), rule=jnp.asarray(quadrature()), surfaces=jnp.zeros(0))
    rng = np.random.default_rng(0)
    totals = int(problem.total) & LOW_HALF, int(problem.total) >> NEGATIVE_SHIFT
    for _ in range(40):
        positives, negatives = (rng.multinomial(n, rng.dirichlet(np.full(4, 0.4))) for n in totals)
        counts = jnp.asarray(pack_counts(positives, negatives))
        nothing = np.zeros_like(target.hyper.searched)
        prior = host_log_joint(np.zeros(4), np.zeros(4), nothing, target.hyper)
        expected = host_log_joint(positives, negatives, nothing, target.hyper) - prior
        assert float(log_likelihood(problem, counts)) == pytest.approx(expected, rel=1e-10, abs=1e-9)
        assert float(log_likelihood(by_quadrature, counts)) == pytest.approx(expected, rel=1e-10, abs=1e-9)
