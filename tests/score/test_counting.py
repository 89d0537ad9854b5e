"""Both ways to count give the same numbers to the bit, and programs can be lowered for devices that are not here."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax._base import in_float64
from soar_jax.sampling.plan import DEFAULT_PLAN
from soar_jax.sampling.sampler import Sampler
from soar_jax.sampling.temper import Replicas, block
from soar_jax.score import counting
from soar_jax.score.pair import best_flip, flip_log_joints, pair_from
from soar_jax.score.pricing import Query, price_page
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
    problem = target.problem
    pair = pair_from(problem, np.zeros((2, problem.num_slots), bool))
    flags = jnp.int32(0), jnp.array(False)
    num_words = problem.bits.shape[1]
    masks = jnp.zeros((8, num_words), jnp.uint64)
    queries = Query(
        jnp.zeros(8, jnp.int32), masks, masks, jnp.zeros((8, 4), jnp.int64), jnp.zeros((8, problem.prior.shape[1]))
    )
    page = jnp.zeros((num_words, 64), jnp.uint64), jnp.zeros(64, jnp.int32)
    sampler = Sampler(
        target,
        seed=0,
        num_chains=2,
        num_temperatures=3,
        annealed=None,
        plan=DEFAULT_PLAN,
        power=1.0,
        dispersed=True,
    )
    replicas = Replicas(*jax.tree.map(jnp.asarray, tuple(sampler.replicas)))

    def rounds(setup, replicas, key_data):
        return block(setup, replicas, jax.random.wrap_key_data(key_data), jnp.int32(1), plan=DEFAULT_PLAN)

    programs = {
        "flips": (jax.jit(flip_log_joints), (problem, pair, *flags)),
        "best flip": (jax.jit(best_flip), (problem, pair, *flags)),
        "prices": (jax.jit(lambda *given: price_page(*given, best_case=False)), (problem, *page, queries)),
        "rounds": (jax.jit(rounds), (sampler.setup, replicas, jax.vmap(jax.random.key_data)(sampler.rng_keys))),
    }
    for name, (program, arguments) in programs.items():
        text = jax.export.export(program, platforms=PLATFORMS)(*arguments).mlir_module()
        assert "popcnt" in text or "population_count" in text, name
