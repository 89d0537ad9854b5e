"""Metropolis kernels on pairs of rule sets, for the tempered posterior.

The target at inverse temperature beta is  prior(z) * likelihood(z) ** beta : the prior is left as it is,
so that beta = 0 is the prior and beta = 1 the posterior. Each kernel is a pure function

    step(rng_key, state, problem, moves, beta) -> (state, is_accepted)

and leaves the target invariant by detailed balance:

* ``flip``: one pattern, drawn evenly, in or out. The proposal is symmetric.
* ``exchange``: a rule, drawn evenly from both sets, leaves for one of its relatives (patterns with similar
  coverage, of either side). The number of rules stays, so the ratio of proposals is degree(out) / degree(in).
* ``heal``: flip a pattern drawn with fixed weights, then give each of its relatives in a fixed order a draw from
  its own full conditional; accepted by the exact ratio with the reverse sweep. Few acceptances, large moves:
  a rule and its shorter or longer relatives change places at once.
* ``informed``: one flip drawn in proportion to the square root of its posterior ratio (Zanella 2020), which the
  all-neighbours pass gives for all patterns at once; accepted by the ratio of the two normalisers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._base import in_float64
from .coverage import BitLayout
from .joint import log_likelihood, log_prior
from .pair import Pair, flip_row, score_flips
from .pools import Pool
from .problem import MAX_RULES, Problem
from .relatives import find_relatives

KERNELS = ("flip", "exchange", "heal", "informed")


class Moves(NamedTuple):
    """What proposals need beside the problem; patterns are numbered side * num_patterns + index.

    Attributes
    ----------
    rows : (2 * num_patterns, num_words) uint64
        Packed coverage, one contiguous row a pattern, for kernels that touch one pattern at a time.
    number : (2 * num_patterns,) int32
        Real patterns first, in order; the rest is padding.
    relatives : (2 * num_patterns, max_relatives) int32
    degree : (2 * num_patterns,) int32
    heal_cumulative : (2 * num_patterns,) float64
        Cumulative probability with which ``heal`` draws the pattern it flips; fixed while sampling.
    """

    rows: jax.Array
    number: jax.Array
    relatives: jax.Array
    degree: jax.Array
    heal_cumulative: jax.Array


class SampleState(NamedTuple):
    """A pair and the two parts of its log joint."""

    pair: Pair
    log_likelihood: jax.Array
    log_prior: jax.Array


Step = Callable[[jax.Array, SampleState, Problem, Moves, jax.Array], tuple[SampleState, jax.Array]]


@in_float64
def make_moves(problem: Problem, pools: tuple[Pool, Pool], layout: BitLayout) -> Moves:
    """Lay out rows and relatives for the kernels."""
    num_words, num_patterns = problem.bits.shape[1:]
    relatives, degree = find_relatives(pools, layout, num_patterns)
    real = np.asarray(problem.length).reshape(-1) > 0
    number = np.concatenate([np.flatnonzero(real), np.flatnonzero(~real)])
    weights = real / real.sum()
    return Moves(
        rows=jnp.asarray(np.asarray(problem.bits).transpose(0, 2, 1).reshape(2 * num_patterns, num_words)),
        number=jnp.asarray(number, jnp.int32),
        relatives=jnp.asarray(relatives, jnp.int32),
        degree=jnp.asarray(degree, jnp.int32),
        heal_cumulative=jnp.asarray(np.cumsum(weights)),
    )


def init(problem: Problem, pair: Pair) -> SampleState:
    """Score a pair."""
    return SampleState(
        pair,
        log_likelihood(pair.counts, problem.alpha, problem.beta, problem.constant),
        log_prior(pair.sizes, problem.prior),
    )


def tempered(state: SampleState, beta: jax.Array) -> jax.Array:
    """Log density of a state at inverse temperature ``beta``."""
    return beta * state.log_likelihood + state.log_prior


def flip_number(problem: Problem, moves: Moves, state: SampleState, number: jax.Array) -> SampleState:
    """State after flipping one numbered pattern; impossible sizes have log prior -inf."""
    num_patterns = problem.bits.shape[2]
    row = jnp.take(moves.rows, number, axis=0)
    flipped = init(problem, flip_row(problem, state.pair, number // num_patterns, number % num_patterns, row))
    # a side has at most MAX_RULES rules in all, not only of each length
    fits = (flipped.pair.sizes.sum(axis=1) <= MAX_RULES).all()
    return flipped._replace(log_prior=jnp.where(fits, flipped.log_prior, -jnp.inf))


def _select(is_taken: jax.Array, new: SampleState, old: SampleState) -> SampleState:
    return jax.tree.map(lambda a, b: jnp.where(is_taken, a, b), new, old)


def _accept(
    rng_key: jax.Array, proposal: SampleState, state: SampleState, beta: jax.Array, log_ratio: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Metropolis-Hastings; ``log_ratio`` is that of the reverse to the forward proposal."""
    change = tempered(proposal, beta) - tempered(state, beta) + log_ratio
    is_accepted = jnp.log(jax.random.uniform(rng_key, dtype=jnp.float64)) < change
    return _select(is_accepted, proposal, state), is_accepted


def _draw_evenly(rng_key: jax.Array, count: jax.Array) -> jax.Array:
    """Whole number in [0, count), evenly."""
    uniform = jax.random.uniform(rng_key, dtype=jnp.float64)
    return jnp.minimum(jnp.floor(uniform * count).astype(jnp.int32), jnp.maximum(count - 1, 0))


def flip_step(
    rng_key: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip one pattern drawn evenly."""
    key_index, key_accept = jax.random.split(rng_key)
    number = moves.number[_draw_evenly(key_index, problem.num_patterns.sum(dtype=jnp.int32))]
    proposal = flip_number(problem, moves, state, number)
    return _accept(key_accept, proposal, state, beta, jnp.zeros(()))


def propose_exchange(
    state: SampleState, problem: Problem, moves: Moves, out: jax.Array, new: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Exchange rule ``out`` for ``new``; the log ratio is -inf when that is no exchange."""
    safe = jnp.maximum(new, 0)
    included = state.pair.included.reshape(-1)
    is_possible = included[out] & (new >= 0) & ~included[safe]
    proposal = flip_number(problem, moves, flip_number(problem, moves, state, out), safe)
    degree = moves.degree.astype(jnp.float64)
    return proposal, jnp.where(is_possible, jnp.log(degree[out]) - jnp.log(degree[safe]), -jnp.inf)


def exchange_step(
    rng_key: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Exchange a rule for one of its relatives that is not a rule."""
    key_out, key_in, key_accept = jax.random.split(rng_key, 3)
    rank = jnp.cumsum(state.pair.included.reshape(-1), dtype=jnp.int32)
    out = (rank <= _draw_evenly(key_out, rank[-1])).sum(dtype=jnp.int32).clip(0, rank.shape[0] - 1)
    new = moves.relatives[out, _draw_evenly(key_in, moves.degree[out])]
    proposal, log_ratio = propose_exchange(state, problem, moves, out, new)
    return _accept(key_accept, proposal, state, beta, log_ratio)


def _sweep(
    problem: Problem,
    moves: Moves,
    state: SampleState,
    around: jax.Array,
    beta: jax.Array,
    wanted: tuple[jax.Array, jax.Array],
) -> tuple[SampleState, jax.Array]:
    """Visit the relatives of a pattern in order; return the end state and the log probability of the path.

    ``wanted`` is (uniforms, target): a relative is redrawn from its full conditional by its uniform, or, where
    the uniforms are NaN, brought to its membership in ``target`` at the probability that has.
    """
    uniforms, target = wanted
    is_forced = jnp.isnan(uniforms[0])

    def visit(i: jax.Array, carry: tuple[SampleState, jax.Array]) -> tuple[SampleState, jax.Array]:
        current, log_probability = carry
        number = moves.relatives[around, i]
        safe = jnp.maximum(number, 0)
        flipped = flip_number(problem, moves, current, safe)
        change = tempered(flipped, beta) - tempered(current, beta)
        is_inside = current.pair.included.reshape(-1)[safe]
        switches = jnp.where(is_forced, is_inside != target[safe], uniforms[i] < jax.nn.sigmoid(change))
        switches = switches & (number >= 0)
        log_step = jax.nn.log_sigmoid(jnp.where(switches, change, -change))
        log_probability = log_probability + jnp.where(number >= 0, log_step, 0.0)
        return _select(switches, flipped, current), log_probability

    return jax.lax.fori_loop(0, moves.relatives.shape[1], visit, (state, jnp.zeros(())))


def propose_heal(
    state: SampleState,
    problem: Problem,
    moves: Moves,
    beta: jax.Array,
    around: jax.Array,
    wanted: tuple[jax.Array, jax.Array],
) -> tuple[SampleState, jax.Array, jax.Array]:
    """Flip ``around`` and sweep its relatives: proposal, log probability of the sweep and of the way back."""
    started = flip_number(problem, moves, state, around)
    proposal, log_forward = _sweep(problem, moves, started, around, beta, wanted)
    returned = flip_number(problem, moves, proposal, around)
    back = (jnp.full_like(wanted[0], jnp.nan), state.pair.included.reshape(-1))
    _, log_reverse = _sweep(problem, moves, returned, around, beta, back)
    is_possible = jnp.isfinite(started.log_prior) & jnp.isfinite(proposal.log_prior)
    return proposal, log_forward, jnp.where(is_possible, log_reverse, -jnp.inf)


def heal_step(
    rng_key: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip a pattern, let its relatives adapt, accept by the exact ratio with the way back."""
    key_index, key_sweep, key_accept = jax.random.split(rng_key, 3)
    uniform = jax.random.uniform(key_index, dtype=jnp.float64) * moves.heal_cumulative[-1]
    around = (moves.heal_cumulative <= uniform).sum(dtype=jnp.int32).clip(0, moves.heal_cumulative.shape[0] - 1)
    uniforms = jax.random.uniform(key_sweep, (moves.relatives.shape[1],), jnp.float64)
    wanted = (uniforms, state.pair.included.reshape(-1))
    proposal, log_forward, log_reverse = propose_heal(state, problem, moves, beta, around, wanted)
    return _accept(key_accept, proposal, state, beta, log_reverse - log_forward)


def informed_weights(problem: Problem, state: SampleState, beta: jax.Array) -> jax.Array:
    """Log probability of drawing each flip: (2 * num_patterns,), -inf where impossible."""

    def one_side(side: jax.Array) -> jax.Array:
        by_kind = [score_flips(problem, state.pair, side, jnp.array(kind), beta) for kind in (False, True)]
        return jnp.where(state.pair.included[side], by_kind[1], by_kind[0])

    scores = jax.lax.map(one_side, jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    return jax.nn.log_softmax(0.5 * (scores - tempered(state, beta)))


def propose_informed(
    state: SampleState, problem: Problem, moves: Moves, beta: jax.Array, number: jax.Array, forward: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip ``number``; the log ratio compares the two normalisers."""
    proposal = flip_number(problem, moves, state, number)
    return proposal, informed_weights(problem, proposal, beta)[number] - forward[number]


def informed_step(
    rng_key: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip one pattern drawn in proportion to the square root of its posterior ratio."""
    key_index, key_accept = jax.random.split(rng_key)
    forward = informed_weights(problem, state, beta)
    number = jax.random.categorical(key_index, forward).astype(jnp.int32)
    proposal, log_ratio = propose_informed(state, problem, moves, beta, number, forward)
    return _accept(key_accept, proposal, state, beta, log_ratio)


STEPS: dict[str, Step] = {
    "flip": flip_step,
    "exchange": exchange_step,
    "heal": heal_step,
    "informed": informed_step,
}


def build_kernel(name: str) -> Step:
    """Return one of the kernels of `KERNELS`."""
    return STEPS[name]
