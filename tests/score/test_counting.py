"""Both ways to count give the same numbers to the bit, and programs can be lowered for devices that are not here."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks.gpu import programs
from soar_jax._base import in_float64
from soar_jax.score import counting
from soar_jax.score.pair import best_by_bounds, best_of_all, pair_from
from soar_jax.search.anneal_step import look_up_in_turn, look_up_together
from tests.problems import random_target

PLATFORMS = ("cuda", "rocm", "tpu")


@pytest.fixture(scope="module")
def target():
    return random_target(3, num_patterns=(9, 7), num_rows=400, max_weight=9, bounded=True)[0]


@in_float64
def test_words_at_once_count_as_words_one_by_one(target):
    problem = target.problem
    words = np.random.default_rng(0).integers(0, 1 << 63, (3, problem.bits.shape[1]), dtype=np.uint64)
    for side in (0, 1):
        by_words = counting.count_all(problem, jnp.int32(side), jnp.asarray(words))
        at_once = counting.count_at_once(problem, problem.bits[side], jnp.asarray(words))
        page = counting.count_page(problem, problem.bits[side], jnp.asarray(words))
        assert np.array_equal(by_words, at_once) and np.array_equal(by_words, page) and np.asarray(by_words).any()


@in_float64
def test_every_program_lowers_for_other_platforms(target):
    for name, (program, arguments) in programs(target, np.zeros((2, target.num_slots), bool)).items():
        text = jax.export.export(jax.jit(program), platforms=PLATFORMS)(*arguments).mlir_module()
        assert "popcnt" in text or "population_count" in text, name


@pytest.mark.parametrize("max_weight", [9, 90])
@in_float64
def test_the_branches_of_other_devices_give_the_same_flips(max_weight):
    """The CPU's loops and what other devices compute at once, both forced here; above 2,048 rows bounds are in play."""
    target = random_target(4, num_patterns=(40, 30), num_rows=120, max_weight=max_weight, bounded=True)[0]
    problem, rng = target.problem, np.random.default_rng(1)
    assert bool(problem.rule.size) == (max_weight > 9)
    included = rng.random((6, 2, problem.num_slots)) < 0.08
    included &= np.asarray(problem.kind) > 0
    pairs = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[pair_from(problem, z) for z in included])
    moves = jnp.asarray([0, 1, 2, 3, 0, 1], jnp.int32)
    wanted = jnp.asarray([True, True, True, False, True, False])
    known = jnp.full((6, 4), -1, jnp.int32)
    in_turn = jax.jit(look_up_in_turn)(problem, pairs, moves, wanted, known)
    together = jax.jit(look_up_together)(problem, pairs, moves, wanted, known)
    assert np.array_equal(in_turn, together) and (np.asarray(in_turn) >= 0).sum() == 4
    if problem.rule.size:
        one_way, other_way = jax.jit(best_by_bounds), jax.jit(best_of_all)
        for k in range(6):
            pair = jax.tree.map(lambda leaf, k=k: leaf[k], pairs)
            by_bounds = one_way(problem, pair, moves[k] % 2, moves[k] >= 2)
            of_all = other_way(problem, pair, moves[k] % 2, moves[k] >= 2)
            assert np.array_equal(by_bounds[0], of_all[0]) and float(by_bounds[1]) == pytest.approx(float(of_all[1]))
