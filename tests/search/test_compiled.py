"""JAX on a CPU pays for each small operation: the compiled steps keep few of them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax._base import in_float64
from soar_jax.sampling.kernel import Context
from soar_jax.sampling.plan import FLIP
from soar_jax.score import flips
from soar_jax.score.pair import pair_from
from soar_jax.search import anneal
from tests.problems import random_problem, tiny_target

FREE = {"parameter", "get-tuple-element", "tuple", "constant", "bitcast"}


def operations_by_loop(compiled):
    """How many operations that cost something the body of each loop has."""
    text = compiled.as_text()
    computations, name = {}, None
    for line in text.splitlines():
        start = re.match(r"(?:ENTRY )?%?([\w.\-]+) .*\{$", line)
        if start:
            name = start.group(1)
            computations[name] = []
        elif name is not None and (operation := re.search(r"= \S+ ([\w\-]+)\(", line)):
            computations[name].append(operation.group(1))
    bodies = set(re.findall(r"body=%?([\w.\-]+)", text))
    return sorted(sum(op not in FREE for op in computations[body]) for body in bodies)


@pytest.fixture(scope="module")
def tiny():
    return tiny_target()[0]


@in_float64
def test_a_flip_of_many_chains_stays_a_few_fat_operations(tiny):
    context = Context(tiny.problem, tiny.numbered_pool)
    problem = tiny.problem
    empty = flips.state_of(problem, pair_from(problem, np.zeros((2, problem.num_slots), bool)))
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], 8, axis=0), empty)
    step = jax.vmap(FLIP.step, (0, 0, 0, None, None, None))

    @jax.jit
    def run(states, choices, uniforms):
        advance = lambda states, drawn: (step(*drawn, states, context, (), jnp.float64(1.0))[0], None)
        return jax.lax.scan(advance, states, (choices, uniforms))[0]

    compiled = run.lower(states, jnp.zeros((50, 8), jnp.int32), jnp.zeros((50, 8, 1))).compile()
    # one loop, over the steps; 26 operations with jax 0.10.2
    assert operations_by_loop(compiled)[-1] <= 32
    assert len(operations_by_loop(compiled)) == 1


@in_float64
def test_an_annealing_step_stays_small(tiny):
    problem = tiny.problem
    schedule = anneal.Schedule(jnp.int32(500), jnp.float64(3.0), jnp.float64(0.5), jnp.asarray(False))
    is_real = jnp.ones(4, bool)
    state = anneal.start(problem, 4)
    draws = jnp.zeros((anneal.BLOCK, 4, 4))
    arguments = (problem, flips.number_pool(problem), is_real, state, draws, jnp.int32(0), schedule)
    loops = operations_by_loop(anneal._run_block.lower(*arguments).compile())
    # steps, chains that want a pass, stretches of words, words: 50, 18, 6 and 3 operations with jax 0.10.2
    assert len(loops) == 4 and loops[2] <= 22 and loops[-1] <= 58 and loops[0] <= 5


def test_a_search_compiles_two_programs_and_a_second_one_none():
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    settings = dict(num_steps=100, num_restarts=4, temperature=3.0, random_share=0.5, judge_by_best=False)
    anneal._run_block.clear_cache()  # with those of other tests it might be full, and emptied before the second run
    problem, *_ = random_problem(0, num_patterns=(130, 120), num_rows=90)  # a shape of its own
    anneal.run(problem, seed=0, **settings)
    assert len(compiled) == 2
    anneal.run(random_problem(1, num_patterns=(120, 130), num_rows=90)[0], seed=1, **settings)
    assert len(compiled) == 2
