import signal
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax import anneal
from soar_jax._base import in_float64
from soar_jax.joint import host_log_joint
from soar_jax.pair import pair_from

from .problems import enumerate_log_joints, random_problem

SETTINGS = dict(num_steps=500, num_restarts=4, temperature=3.0, random_share=0.5, judge_by_best=False)


def run(problem, seed=0, **changes):
    return anneal.run(problem, seed=seed, **{**SETTINGS, **changes})


@pytest.mark.parametrize("seed", range(30))
def test_fitted_pair_is_the_true_map_by_enumeration(seed):
    single = seed % 5 == 4
    problem, pools, covers, weights, hyper = random_problem(
        seed, num_patterns=(7, 0 if single else 7), num_rows=60, single=single
    )
    values, subsets = enumerate_log_joints(covers, weights, pools, hyper)
    result = run(problem, seed)
    assert result.log_joint == pytest.approx(values.max(), rel=1e-10)
    best = np.unravel_index(values.argmax(), values.shape)
    for side in (0, 1):
        assert np.array_equal(result.included[side][: len(covers[side])], subsets[side][best[side]])
    assert result.is_local_optimum


@pytest.mark.parametrize("judge_by_best", [False, True])
def test_same_seed_gives_the_same_bits(judge_by_best):
    problem, *_ = random_problem(3, num_patterns=(40, 40), num_rows=60)
    first, again = (run(problem, 5, num_steps=150, judge_by_best=judge_by_best) for _ in range(2))
    assert np.array_equal(first.included, again.included)
    assert first.log_joint == again.log_joint
    for name, values in first.history.items():
        assert np.array_equal(values, again.history[name]), name


def test_history_is_consistent():
    problem, *_ = random_problem(1, num_patterns=(30, 30), num_rows=60)
    result = run(problem, num_steps=150, num_restarts=4)
    history = result.history
    assert all(len(values) == 600 for values in history.values())
    assert history["iteration"].reshape(4, 150)[2].tolist() == list(range(1, 151))
    best = history["best_score"].reshape(4, 150)
    assert (np.diff(best, axis=1) <= 0).all()
    assert (best <= history["score"].reshape(4, 150) + 1e-9).all()
    assert np.allclose(-result.restart_log_joints, best[:, -1])
    assert history["temperature"][0] == pytest.approx(3.0 / np.log(2))
    sizes = history["positive_rules"].reshape(4, 150) + history["negative_rules"].reshape(4, 150)
    steps = np.abs(np.diff(np.pad(sizes, ((0, 0), (1, 0))), axis=1))
    assert np.array_equal(steps, history["accepted"].reshape(4, 150).astype(int))


@pytest.mark.parametrize("seed", range(5))
@in_float64
def test_moves_are_drawn_as_a_random_wrong_row_would_draw_them(seed):
    """Algorithm 1 literally, row by row, against the four weights; no sampling on either side."""
    problem, _, covers, weights, _ = random_problem(seed, num_rows=50, max_weight=5)
    included = np.zeros((2, problem.bits.shape[2]), bool)
    included[0, [0, 2]] = included[1, [1, 3]] = True
    pair = pair_from(problem, included)
    fires = [covers[s][included[s][: len(covers[s])]].any(axis=0) for s in (0, 1)]
    asked = np.zeros(4)  # add to R+, add to R-, remove from R+, remove from R-
    for label in (1, 0):
        own, other = (0, 1) if label else (1, 0)
        for row, weight in enumerate(weights[1 - label]):
            if fires[own][row] and fires[other][row]:
                asked[2 + other] += weight
            elif not fires[own][row] and not fires[other][row]:
                asked[own] += weight
            elif fires[other][row]:
                asked[2 + other] += weight / 2
                asked[own] += weight / 2
    grid = (np.arange(100_000) + 0.5) / 100_000
    choose = jax.jit(jax.vmap(lambda u: anneal._choose_move(problem, pair, pair.counts, u)))
    found = np.bincount(np.asarray(choose(jnp.asarray(grid))), minlength=4) / 100_000
    assert found == pytest.approx(asked / asked.sum(), abs=2e-5)


def test_no_wrong_row_exhausted_pool_and_empty_sets_do_not_stall():
    problem, *_ = random_problem(2, num_patterns=(1, 1), num_rows=10)
    result = run(problem, num_steps=100)
    assert set(result.history["move"]) == set(anneal.MOVES)


def test_device_value_equals_host_value():
    problem, _, _, _, hyper = random_problem(8, num_patterns=(50, 60), num_rows=64, max_weight=1000)
    result = run(problem, num_steps=200)
    with jax.enable_x64(True):
        pair = pair_from(problem, result.included)
    positives, negatives = np.asarray(pair.counts) & 0xFFFFFFFF, np.asarray(pair.counts) >> 32
    p, n = positives, negatives
    taxonomy = np.array([p[0], n[0], n[1], p[1], p[2], n[2], p[3], n[3]])
    longest = hyper.pool_size.shape[1]
    assert host_log_joint(taxonomy, np.asarray(pair.sizes)[:, 1 : longest + 1], hyper) == pytest.approx(
        result.log_joint, rel=1e-9
    )


def test_time_budget_returns_the_best_so_far():
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    run(problem, num_steps=100)  # compile first
    start = time.perf_counter()
    result = run(problem, num_steps=10**7, time_budget=0.5)
    assert time.perf_counter() - start < 5
    assert result.was_stopped
    assert result.log_joint >= result.restart_log_joints.max() - 1e-9
    assert len(result.history["score"]) < 4 * 10**7


def test_interrupt_returns_the_best_so_far():
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    seen = []

    def interrupt(report):
        seen.append(report)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    result = run(problem, num_steps=10**6, progress=interrupt)
    assert result.was_stopped and np.isfinite(result.log_joint)
    assert result.log_joint >= result.restart_log_joints.max()
    assert len(result.history["score"]) == 4 * 3 * anneal.BLOCK


def test_restarts_do_not_depend_on_block_boundaries():
    """A run of 150 steps is the beginning of a run of 400."""
    problem, *_ = random_problem(6, num_patterns=(40, 40), num_rows=60)
    short, long = run(problem, num_steps=150), run(problem, num_steps=400)
    a = short.history["score"].reshape(4, 150)
    assert np.array_equal(a, long.history["score"].reshape(4, 400)[:, :150])
