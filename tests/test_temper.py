import numpy as np
import pytest
from scipy.special import logsumexp

from soar_jax import temper

from .problems import enumerate_log_joints, tiny_problem


@pytest.fixture(scope="module")
def sampled():
    problem, moves, pools, covers, weights, hyper = tiny_problem()
    values, subsets = enumerate_log_joints(covers, weights, pools, hyper)

    def run(seed=0, **changes):
        settings = dict(num_rounds=1500, num_warmup=100, num_groups=16, num_temperatures=6)
        return temper.run(problem, moves, hyper, seed=seed, plan=temper.Plan(6, 2, 1), **{**settings, **changes})

    return run, values, subsets


def test_default_mixture_with_tempering_samples_the_enumerated_posterior(sampled):
    """24,000 draws of 64 pairs: total variation of a perfect sampler is about 0.02."""
    run, values, subsets = sampled
    draws = run()
    exact = np.exp(values - logsumexp(values))
    code = [draws.included[:, :, side, :3].reshape(-1, 3) @ (1 << np.arange(3)) for side in (0, 1)]
    visited = np.zeros_like(exact)
    np.add.at(visited, (code[0], code[1]), 1 / len(code[0]))
    assert 0.5 * np.abs(visited - exact).sum() <= 0.03
    for side in (0, 1):
        truth = exact.sum(axis=1 - side) @ subsets[side]
        by_chain = draws.included[:, :, side, :3].mean(axis=0)
        error = by_chain.std(axis=0, ddof=1) / np.sqrt(len(by_chain))
        # five Monte Carlo errors: a correct sampler fails about once in 10,000 runs
        assert (np.abs(by_chain.mean(axis=0) - truth) < 5 * error).all()
    # the trapezoid of six temperatures is not exact; a wrong sign or factor would be off by nats
    assert draws.log_evidence == pytest.approx(logsumexp(values), abs=0.5)
    assert (draws.round_trips > 0).all()
    assert draws.betas[0] == 0 and draws.betas[-1] == 1 and (np.diff(draws.betas) > 0).all()


def test_same_seed_gives_the_same_draws(sampled):
    run, _, _ = sampled
    first, again, other = run(3, num_rounds=50), run(3, num_rounds=50), run(4, num_rounds=50)
    assert np.array_equal(first.included, again.included)
    assert not np.array_equal(first.included, other.included)


def test_ladder_adapts_towards_equal_rejection():
    betas = temper.initial_ladder(5)
    adapted = temper.adapt_ladder(betas, np.array([0.1, 0.9, 0.9, 0.9]))
    assert np.diff(adapted)[0] < np.diff(betas)[0] and (np.diff(adapted) > 0).all()
