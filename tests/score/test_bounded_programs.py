"""Programs of ever new shapes do not pile up."""

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax.score import compiled


def test_a_function_with_too_many_programs_is_emptied_and_users_programs_are_not(monkeypatch):
    monkeypatch.setattr(compiled, "_bounded", [])
    ours = compiled.at_most(3, jax.jit(lambda x: x + 1))
    few = compiled.at_most(3, jax.jit(lambda x: x + 3))
    theirs = jax.jit(lambda x: x + 2)
    for size in range(1, 6):
        assert ours(np.zeros(size, np.float32)).shape == (size,)
        theirs(jnp.zeros(size))
    few(np.zeros(1, np.float32))
    assert compiled.num_kept() == 6
    compiled.drop_surplus()
    assert compiled.num_kept() == 1 and theirs._cache_size() == 5
    assert ours(np.ones(2, np.float32)).tolist() == [2.0, 2.0]


def test_all_programs_of_fits_and_draws_are_bounded():
    from soar_jax.sampling import sampler, temper
    from soar_jax.score import pricing
    from soar_jax.search import anneal

    programs = (anneal._run_block, anneal._descend, pricing.price_page, sampler._states_of, temper._program("cpu"))
    bounded = [program for program, _ in compiled._bounded]
    assert all(any(program is one for one in bounded) for program in programs)
