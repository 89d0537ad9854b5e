from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax._base import MAX_RULES, in_float64
from soar_jax.score import pair as pair_module
from soar_jax.score.bounded import quadrature
from soar_jax.score.flips import flip, number_pool
from soar_jax.score.joint import log_joint, state_log_bound, state_log_likelihood
from soar_jax.score.pair import best_flip, empty_pair, flip_log_joints, pair_from
from tests.problems import enumerate_log_joints, pack_counts, random_problem

flip_numbered, neighbours_jit, joint_jit = jax.jit(flip), jax.jit(flip_log_joints), jax.jit(log_joint)


def value_on_device(problem, pair):
    return float(joint_jit(problem, pair.counts, pair.sizes))


def flip_jit(problem, pair, side, index):
    number = int(side) * problem.bits.shape[2] + int(index)
    return flip_numbered(problem, number_pool(problem), pair, jnp.int32(number))


def value_of(z, covers, weights, pools, hyper):
    table, _ = enumerate_log_joints(covers, weights, pools, hyper)
    index = [int((z[s] * 2 ** np.arange(len(z[s]))).sum()) for s in (0, 1)]
    return table[index[0], index[1]]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(4))
@in_float64
def test_incremental_counts_match_recount_over_random_flips(seed, bounded):
    problem, pools, covers, weights, hyper = random_problem(seed, max_weight=1 + 5 * (seed % 3), bounded=bounded)
    rng = np.random.default_rng(seed)
    pair = empty_pair(problem)
    z = [np.zeros(len(c), bool) for c in covers]
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        for _ in range(40):
            side = int(rng.integers(2))
            index = int(rng.integers(len(covers[side])))
            pair = flip_jit(problem, pair, jnp.int32(side), jnp.int32(index))
            z[side][index] ^= True
            again = pair_from(problem, np.asarray(pair.included))
            for new, old in zip(pair, again, strict=True):
                assert np.array_equal(new, old)
        assert value_on_device(problem, pair) == pytest.approx(value_of(z, covers, weights, pools, hyper), rel=1e-12)


@pytest.mark.parametrize("is_table", [True, False])
@pytest.mark.parametrize(("seed", "bounded"), [(0, False), (1, False), (2, True), (3, True)])
@in_float64
def test_all_neighbours_pass_equals_one_flip_at_a_time(seed, bounded, is_table):
    problem, *_ = random_problem(seed, max_weight=9, bounded=bounded)
    if bounded and not is_table:  # as for a table of many rows
        problem = problem._replace(states=jnp.zeros((4, 1, 1)), rule=jnp.asarray(quadrature()))
    rng = np.random.default_rng(seed)
    pair = empty_pair(problem)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        neighbours_jit(problem, pair, jnp.int32(0), jnp.array(True))
    for _ in range(4):
        pair = flip_jit(problem, pair, jnp.int32(rng.integers(2)), jnp.int32(rng.integers(5)))
    for side in (0, 1):
        included = np.asarray(pair.included[side])
        for is_removal in (False, True):
            scores = np.asarray(neighbours_jit(problem, pair, jnp.int32(side), jnp.array(is_removal)))
            real = np.asarray(problem.kind[side]) > 0
            assert np.array_equal(np.isfinite(scores), real & (included == is_removal))
            for index in np.flatnonzero(np.isfinite(scores)):
                neighbour = flip_jit(problem, pair, jnp.int32(side), jnp.int32(index))
                assert scores[index] == pytest.approx(value_on_device(problem, neighbour), rel=1e-12)


@in_float64
def test_sixty_three_rules_over_one_row_do_not_overflow():
    problem, *_ = random_problem(0, num_patterns=(70, 3), num_rows=30)
    problem = problem._replace(bits=problem.bits.at[0, 0, :70].set(jnp.uint64(1)))
    pair = empty_pair(problem)
    for index in range(MAX_RULES):
        pair = flip_jit(problem, pair, jnp.int32(0), jnp.int32(index))
    assert not np.isfinite(neighbours_jit(problem, pair, jnp.int32(0), jnp.array(False))).any()
    for index in range(MAX_RULES):
        pair = flip_jit(problem, pair, jnp.int32(0), jnp.int32(index))
    for new, old in zip(pair, empty_pair(problem), strict=True):
        assert np.array_equal(new, old)


@pytest.mark.parametrize(
    ("seed", "bounded", "is_table", "power"),
    [(0, False, True, 1.0), (1, True, True, 0.4), (2, True, False, 1.0), (3, True, False, 0.4)],
)
@in_float64
def test_the_best_flip_is_the_best_of_all_neighbours(seed, bounded, is_table, power, monkeypatch):
    """One neighbour is tried at a time, so that stopping too early would show."""
    monkeypatch.setattr(pair_module, "_TRIED_AT_ONCE", 1)
    best_jit = jax.jit(partial(best_flip))  # a function of its own: compiled with the new number
    problem, *_ = random_problem(seed, num_patterns=(90, 12), num_rows=80, max_weight=9, bounded=bounded, power=power)
    if bounded and not is_table:  # as for a table of many rows
        problem = problem._replace(states=jnp.zeros((4, 1, 1)), rule=jnp.asarray(quadrature()))
    rng = np.random.default_rng(seed)
    pair = empty_pair(problem)
    for _ in range(8):
        for side in (0, 1):
            for is_removal in (False, True):
                given = problem, pair, jnp.int32(side), jnp.array(is_removal)
                everyone, (index, best) = np.asarray(neighbours_jit(*given)), best_jit(*given)
                assert float(best) == pytest.approx(everyone.max(), rel=1e-12)
                assert np.isinf(best) or everyone[int(index)] == pytest.approx(everyone.max(), rel=1e-12)
        pair = flip_jit(problem, pair, jnp.int32(rng.integers(2)), jnp.int32(rng.integers(12)))


@in_float64
def test_bounds_of_the_states_are_never_below_their_integrals():
    problem, *_ = random_problem(7, num_rows=60, max_weight=30, bounded=True)
    problem = problem._replace(states=jnp.zeros((4, 1, 1)), rule=jnp.asarray(quadrature()))
    rng = np.random.default_rng(0)
    total = np.array([int(problem.total) & 0xFFFFFFFF, int(problem.total) >> 32])
    counts = jnp.asarray(pack_counts(*(np.floor(total[:, None] * rng.random((2, 400)) ** 3).astype(np.int64))))
    for state in range(4):
        exact = np.asarray(state_log_likelihood(problem, state, counts, is_consensus=state < 2))
        bound = np.asarray(state_log_bound(problem, state, counts, is_consensus=state < 2))
        assert (bound >= exact).all() and np.isfinite(bound).all()
        assert np.median(bound - exact) < 8  # and of use
