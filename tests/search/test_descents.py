"""Descents in one program, as devices other than the CPU run them, forced here: the pairs of single descents."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax import SOARClassifier
from soar_jax._base import in_float64
from soar_jax._progress import Clock
from soar_jax.score.flips import flip, number_pool
from soar_jax.score.pair import pair_from
from soar_jax.search import anneal, descents, explore
from soar_jax.search.descent import flip_or_leave
from soar_jax.search.descents import Errand, OneByOne, Together
from soar_jax.search.working import WorkingPools
from tests.problems import random_problem
from tests.search.test_explore import prepare


@in_float64
def test_flips_that_are_made_and_left_change_nothing():
    problem, *_ = random_problem(2, num_patterns=(9, 7), num_rows=60)
    pool = number_pool(problem)
    pair = pair_from(problem, np.random.default_rng(0).random((2, problem.num_slots)) < 0.2)
    both = jax.jit(flip_or_leave)
    same = both(problem, pool, pair, jnp.int32(-1), jnp.int32(-1))
    assert all(np.array_equal(a, b) for a, b in zip(same, pair, strict=True))
    flipped = both(problem, pool, pair, jnp.int32(3), jnp.int32(-1))
    assert all(np.array_equal(a, b) for a, b in zip(flipped, flip(problem, pool, pair, jnp.int32(3)), strict=True))


def test_descents_together_end_in_the_pairs_of_single_descents(make_table):
    catalogue, hyper, problem = prepare(make_table, 5)
    working = WorkingPools(catalogue, hyper, problem)
    nothing = np.zeros((2, 64), bool)
    for side in (0, 1):
        working.bring_in(side, catalogue.first(side, 64), nothing)
    rng = np.random.default_rng(3)
    errands = [
        Errand((rng.random((2, 64)) < 0.06) & (working.kind > 0), rng.random((2, 64)) < 0.5 if i % 2 else None)
        for i in range(5)
    ]
    with ThreadPoolExecutor(2) as executor:
        single, together = (kind(working, Clock(None), None, executor) for kind in (OneByOne, Together))
        for how in ("sketch", "polish"):
            for a, b in zip(getattr(single, how)(errands), getattr(together, how)(errands), strict=True):
                assert np.array_equal(a.included, b.included) and a.is_optimal == b.is_optimal
                assert a.log_joint == pytest.approx(b.log_joint, rel=1e-12)
        assert together.polish([]) == []


def test_a_search_with_descents_together_finds_the_same_pair(make_table, monkeypatch):
    X, y = make_table(1, num_rows=150)
    alone = SOARClassifier(n_rounds=2, max_patterns=50).fit(X, y)
    monkeypatch.setattr(descents, "prefers_batches", lambda mesh: True)
    together = SOARClassifier(n_rounds=2, max_patterns=50).fit(X, y)
    assert alone.rules_.equals(together.rules_) and alone.score_ == together.score_
    assert explore.descents_for is descents.descents_for


def test_annealing_with_descents_together_finds_the_same_pair(make_table, monkeypatch):
    X, y = make_table(1, num_rows=150)
    how = {"search": "annealing", "n_iter": 50, "max_patterns": 50}
    alone = SOARClassifier(**how).fit(X, y)
    monkeypatch.setattr(anneal, "prefers_batches", lambda mesh: True)
    assert alone.rules_.equals(SOARClassifier(**how).fit(X, y).rules_)
