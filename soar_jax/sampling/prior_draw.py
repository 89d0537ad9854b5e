"""Independent draws from the prior: the exact kernel at the hot end of the ladder."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln, logsumexp

from soar_jax._base import MAX_RULES, BoolArray, FloatArray, Leaf, in_float64
from soar_jax.sampling.kernel import Context
from soar_jax.score.flips import PairState, flip, state_of
from soar_jax.score.pair import Pair, host_pair
from soar_jax.score.priors import Hyperparameters


class PriorTables(NamedTuple):
    """What a draw from the prior looks up.

    Attributes
    ----------
    size_cumulative : (num_kinds, 2, MAX_RULES + 1, MAX_RULES + 1) float64
        By kind, side and how many rules the side still has room for: cumulative probability of 0, 1, ... rules of that
        kind, given that the rules of all later kinds find room too.
    room : (2,) int32
        How many rules each side has room for beside those that must be in.
    kind_start : (2 * num_kinds,) int32
        How many patterns have a smaller kind; here a kind is one of a side.
    least : Pair
        The rules that must be in, alone.
    none_probability : () float64
        With which probability no rules are drawn at once, so that none are as probable as the prior's doubt makes them.
    log_mass : () float64
        Log prior probability that every pattern outside the pools is out, and no side has more rules than it may: what
        a law over the pools alone leaves out.
    """

    size_cumulative: Leaf
    room: Leaf
    kind_start: Leaf
    least: Pair
    none_probability: Leaf
    log_mass: Leaf


@in_float64
def make_prior_tables(context: Context, hyper: Hyperparameters, required: BoolArray) -> PriorTables:
    """Tabulate the law of the number of rules of each kind, given that patterns outside the pools are out.

    With w_k(n) the prior weight of n rules of kind k, and S_k(m) the weight of all ways to have at most m rules of the
    kinds from k on, S_k(m) = sum_n w_k(n) S_(k+1)(m - n), and w_k(n) S_(k+1)(m - n) / S_k(m) is the probability of n
    rules of kind k where m find room. So draws kind by kind keep to the limit, and none is refused.

    Doubt d counts no rules d times. With M the weight of all pairs without doubt, and E that of no rules, the law is a
    mixture of the draws kind by kind, M / (M + (d - 1) E), and of no rules, (d - 1) E / (M + (d - 1) E).
    """
    prior, n = np.asarray(context.problem.prior), np.arange(MAX_RULES + 1)
    room = np.asarray(context.problem.max_rules) - required.sum(axis=1)
    table = np.ones((prior.shape[1], 2, MAX_RULES + 1, MAX_RULES + 1))
    log_mass = log_none = 0.0
    for side, sizes in enumerate(hyper.pool_size):
        log_ways = np.zeros(MAX_RULES + 1)
        for kind in range(len(sizes), 0, -1):
            size = sizes[kind - 1]
            ways = gammaln(size + 1) - gammaln(n + 1) - gammaln(np.maximum(size - n, 0) + 1)
            log_weights = np.where(n <= size, ways + prior[side, kind, : MAX_RULES + 1], -np.inf)
            log_ways, table[kind, side] = _with_kind(log_weights, log_ways)
        log_mass += float(log_ways[room[side]])
        log_none += float(prior[side, 1 : len(sizes) + 1, 0].sum())
    log_doubted = log_none + np.log(np.expm1(hyper.log_doubt)) if hyper.log_doubt > 0 else -np.inf
    log_total = np.logaddexp(log_mass, log_doubted)
    kinds = np.arange(2 * prior.shape[1])
    kind_start = np.searchsorted(np.sort(context.pool.kind), kinds).astype(np.int32)
    least = host_pair(context.problem, required)
    none_probability, left_in = np.exp(log_doubted - log_total), np.asarray(log_total - hyper.log_constant)
    return PriorTables(*jax.device_put((table, room.astype(np.int32), kind_start, least, none_probability, left_in)))


def _with_kind(log_weights: FloatArray, log_ways: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add a kind before others: log S_k, and the cumulative law of its rules by the room there is."""
    n = np.arange(MAX_RULES + 1)
    left = n[:, None] - n  # of room m, after n rules
    joint = np.where(left >= 0, log_weights + log_ways[np.maximum(left, 0)], -np.inf)
    total = logsumexp(joint, axis=1)
    cumulative = np.cumsum(np.exp(joint - total[:, None]), axis=1)
    return total, np.where(left > 0, cumulative, 1.0)


def draw_from_prior(rng_key: jax.Array, context: Context, tables: PriorTables) -> PairState:
    """Draw a pair from the prior, independent of all else.

    The number of rules of each kind comes from its Beta-binomial law, given that no side has more rules than it may,
    or is none throughout, as the prior's doubt has it; the rules themselves are drawn evenly. What must be in is in.
    """
    key_sizes, key_patterns = jax.random.split(rng_key)
    num_kinds = tables.size_cumulative.shape[0]
    drawn = jax.random.uniform(key_sizes, (2 * num_kinds + 1,), jnp.float64)
    has_any, uniforms = drawn[-1] >= tables.none_probability, drawn[:-1].reshape(2, num_kinds)

    def draw_size(room: jax.Array, given: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        table, uniform = given
        cumulative = jnp.stack([table[0, room[0]], table[1, room[1]]])
        size = (cumulative < uniform[:, None]).sum(axis=1, dtype=jnp.int32)
        return room - size, size

    _, by_kind = jax.lax.scan(draw_size, tables.room, (tables.size_cumulative, uniforms.T))
    sizes = jnp.where(has_any, by_kind.T.reshape(-1), 0)
    kind = context.pool.kind
    order = jnp.argsort(kind + jax.random.uniform(key_patterns, kind.shape, jnp.float64))
    rank = jnp.arange(kind.shape[0], dtype=jnp.int32) - tables.kind_start[kind[order]]
    included = jnp.zeros(kind.shape, bool).at[order].set(rank < sizes[kind[order]])
    members = jnp.nonzero(included, size=2 * MAX_RULES, fill_value=0)[0].astype(jnp.int32)
    total = included.sum(dtype=jnp.int32)

    def add(carry: tuple[jax.Array, Pair]) -> tuple[jax.Array, Pair]:
        i, pair = carry
        return i + 1, flip(*context, pair, members[i])

    start = (jnp.zeros((), jnp.int32), tables.least)
    _, pair = jax.lax.while_loop(lambda carry: carry[0] < total, add, start)
    return state_of(context.problem, pair)
