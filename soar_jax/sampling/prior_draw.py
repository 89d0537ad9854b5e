"""Independent draws from the prior: the exact kernel at the hot end of the ladder."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln, logsumexp

from soar_jax._base import Leaf, in_float64
from soar_jax.sampling.kernel import Context
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip, select, state_of
from soar_jax.score.pair import empty_pair
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import MAX_RULES


class PriorTables(NamedTuple):
    """What a draw from the prior looks up; here a kind is one of a side.

    Attributes
    ----------
    size_cumulative : (2 * num_kinds, MAX_RULES + 1) float64
        By kind: cumulative prior probability of 0, 1, ... rules.
    kind_start : (2 * num_kinds,) int32
        How many patterns have a smaller kind.
    log_mass : () float64
        Log prior probability that every pattern outside the pools is out, and no kind has more than MAX_RULES rules:
        what a law over the pools alone leaves out.
    """

    size_cumulative: Leaf
    kind_start: Leaf
    log_mass: Leaf


@in_float64
def make_prior_tables(context: Context, hyper: Hyperparameters) -> PriorTables:
    """Tabulate the law of the number of rules of each kind, given that patterns outside the pools are out."""
    prior = np.asarray(context.problem.prior)
    table = np.ones((*prior.shape[:2], MAX_RULES + 1))
    n, log_mass = np.arange(MAX_RULES + 1), 0.0
    for side, sizes in enumerate(hyper.pool_size):
        for kind, size in enumerate(sizes, start=1):
            ways = gammaln(size + 1) - gammaln(n + 1) - gammaln(np.maximum(size - n, 0) + 1)
            log_weights = np.where(n <= size, ways + prior[side, kind, : MAX_RULES + 1], -np.inf)
            total = logsumexp(log_weights)
            table[side, kind] = np.cumsum(np.exp(log_weights - total))
            log_mass += total
    kinds = np.arange(2 * prior.shape[1])
    kind_start = np.searchsorted(np.sort(context.pool.kind), kinds).astype(np.int32)
    return PriorTables(*jax.device_put((table.reshape(-1, MAX_RULES + 1), kind_start, log_mass)))


def draw_from_prior(rng_key: jax.Array, state: PairState, context: Context, tables: PriorTables) -> PairState:
    """Replace the pair by an independent draw from the prior.

    The number of rules of each kind comes from its Beta-binomial law, the rules themselves evenly. A draw with more
    than MAX_RULES rules on a side is refused and the state kept, which leaves the prior so restricted invariant.
    """
    key_sizes, key_patterns = jax.random.split(rng_key)
    uniforms = jax.random.uniform(key_sizes, tables.size_cumulative.shape[:1], jnp.float64)
    sizes = (tables.size_cumulative < uniforms[:, None]).sum(axis=1, dtype=jnp.int32)
    kind = context.pool.kind
    order = jnp.argsort(kind + jax.random.uniform(key_patterns, kind.shape, jnp.float64))
    rank = jnp.arange(kind.shape[0], dtype=jnp.int32) - tables.kind_start[kind[order]]
    included = jnp.zeros(kind.shape, bool).at[order].set(rank < sizes[kind[order]])
    members = jnp.nonzero(included, size=2 * MAX_RULES, fill_value=0)[0].astype(jnp.int32)
    fits = (included.reshape(2, -1).sum(axis=1) <= MAX_RULES).all()
    total = jnp.where(fits, included.sum(dtype=jnp.int32), 0)

    def add(carry: tuple[jax.Array, PairState]) -> tuple[jax.Array, PairState]:
        i, current = carry
        flip = evaluate_flip(*context, current, members[i])
        return i + 1, apply_flip(*context, current, flip, i < total)

    start = (jnp.zeros((), jnp.int32), state_of(context.problem, empty_pair(context.problem)))
    _, drawn = jax.lax.while_loop(lambda carry: carry[0] < total, add, start)
    return select(fits, drawn, state)
