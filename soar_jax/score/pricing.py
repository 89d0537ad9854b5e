"""What each of very many patterns would be worth, added to a few given pairs.

The patterns lie in pages of equal shape, so that one compiled program prices them all: a pass over packed bits counts
the rows that a pattern would move, and the log joint follows from the counts. Where a state's likelihood needs an
integral, an upper bound without integrals is given (`soar_jax.score.joint.state_log_bound`), and `exact_prices` settles
the few that come near.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray, IntArray, Leaf, WordArray
from soar_jax.candidates.coverage import LOW_HALF, NEGATIVE_SHIFT, BitLayout, pad_words
from soar_jax.score.compiled import at_most
from soar_jax.score.counting import count_page
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.joint import state_log_bound, state_log_likelihood
from soar_jax.score.pair import changed_log_likelihoods
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import Problem
from soar_jax.states import ACTIVE, PASSIVE, hits_and_misses

PAGE_SLOTS = 4096
QUERIES_AT_ONCE = 8


class Query(NamedTuple):
    """A pair that a pattern of one side could be added to, without its membership.

    Attributes
    ----------
    side : () int32
    free, shared : (num_words,) uint64
        Rows that the pattern would move: those of neither side, and those of the other side alone.
    counts : (4,) int64
        Packed class counts of the states.
    log_prior : (num_kinds,) float64
        Log prior with one more rule, by 1 + its kind; -inf for padding (0) and where there is no room.
    """

    side: Leaf
    free: Leaf
    shared: Leaf
    counts: Leaf
    log_prior: Leaf


def _price_page(problem: Problem, page: jax.Array, kind: jax.Array, queries: Query, *, best_case: bool) -> jax.Array:
    """Log joint after adding each pattern of a page, or an upper bound of it: (num_queries, num_slots).

    Parameters
    ----------
    problem : Problem
        Gives priors and the layout of rows; its own patterns do not matter.
    page : (num_words, num_slots) uint64
    kind : (num_slots,) int32
        1 + kind of each pattern; 0 marks padding.
    queries : Query
        Several, stacked.
    best_case : bool
        Count only the rows whose label a side speaks for, as if literals yet to be added excluded the others.
    """
    num_queries = queries.side.shape[0]
    masks = jnp.stack([queries.free, queries.shared], axis=1).reshape(2 * num_queries, -1)
    counts = count_page(problem, page, masks)
    of_state = state_log_bound if problem.rule.size else state_log_likelihood

    def price(query: Query, free: jax.Array, shared: jax.Array) -> jax.Array:
        if best_case:
            own = jnp.where(query.side == 0, LOW_HALF, ~jnp.int64(LOW_HALF))
            free, shared = free & own, shared & own
        value = changed_log_likelihoods(problem, query.counts, query.side, (free, shared), of_state)
        log_prior = query.log_prior[kind]
        return jnp.where(jnp.isfinite(log_prior), problem.power * value + log_prior, -jnp.inf)

    return jax.vmap(price)(queries, counts[0::2], counts[1::2])


price_page = at_most(64, jax.jit(_price_page, static_argnames=("best_case",)))


def stack_queries(queries: Sequence[Query], num_words: int) -> Query:
    """Put `QUERIES_AT_ONCE` queries together, the last one repeated where there are fewer; words are padded."""
    filled = [*queries, *[queries[-1]] * (QUERIES_AT_ONCE - len(queries))]
    stacked = Query(*(np.stack(part) for part in zip(*filled, strict=True)))
    return stacked._replace(free=pad_words(stacked.free, num_words), shared=pad_words(stacked.shared, num_words))


def exact_prices(
    query: Query, bits: WordArray, kind: IntArray, layout: BitLayout, hyper: Hyperparameters
) -> FloatArray:
    """Compute the log joint after adding each of a few patterns, on the host with SciPy.

    Parameters
    ----------
    bits : (num_patterns, num_words) uint64
    kind : (num_patterns,) int
        1 + kind.
    """
    side, other = int(query.side), 1 - int(query.side)
    counts = np.stack([query.counts & LOW_HALF, query.counts >> NEGATIVE_SHIFT])  # by label and state
    after = np.repeat(counts[:, None], len(bits), axis=1)
    for mask, gains, loses in ((query.free, side, PASSIVE), (query.shared, ACTIVE, other)):
        moved = np.stack(layout.counts(bits & mask))
        after[..., gains] += moved
        after[..., loses] -= moved
    hits, misses = hits_and_misses(*after)
    likelihood = log_beta_between(hits + hyper.alpha, misses + hyper.beta, hyper.low, hyper.high)
    likelihood = likelihood - log_beta_between(hyper.alpha, hyper.beta, hyper.low, hyper.high)
    return hyper.power * likelihood.sum(axis=1) + query.log_prior[kind]
