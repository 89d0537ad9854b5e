"""Both ways to count give the same numbers to the bit, and programs can be lowered for devices that are not here."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks.gpu import programs
from soar_jax._base import in_float64
from soar_jax.score import counting
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
