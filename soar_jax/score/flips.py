"""One flip in many replicas at once: evaluated first, applied under a mask.

Annealing and sampling move dozens of replicas in step and refuse most proposals, so both sides' planes are passed
through arithmetic without gathers or scatters, a refused flip adds an empty row, and the prior is looked up as a
difference. Under `jax.vmap` the whole flip becomes a few fat loops. `flip` is the same for one pair that does move.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import NUM_PLANES, BoolArray, Leaf, in_float64
from soar_jax.score.devices import sum_over_devices
from soar_jax.score.joint import log_likelihood, log_prior, num_free
from soar_jax.score.pair import GAIN_FREE, GAIN_OTHER, Pair, or_planes
from soar_jax.score.problem import Problem


class PairState(NamedTuple):
    """A pair and the two parts of its log joint."""

    pair: Pair
    log_likelihood: Leaf
    log_prior: Leaf


class NumberedPool(NamedTuple):
    """Both pools in one numbering, side * num_slots + index, for code that touches one pattern at a time.

    Attributes
    ----------
    rows : (2 * num_slots, num_words) uint64
        Packed coverage, one contiguous row per pattern.
    kind : (2 * num_slots,) int32
        side * num_kinds + kind.
    prior_gain : (2 * num_kinds, MAX_RULES + 1) float64
        By kind: what the (n + 1)-th rule of that kind adds to the log prior.
    """

    rows: jax.Array
    kind: jax.Array
    prior_gain: jax.Array


class FlipResult(NamedTuple):
    """A flip that could be made: the pattern, and what it would lead to."""

    number: jax.Array
    row: jax.Array
    is_removal: jax.Array
    counts: jax.Array
    log_likelihood: jax.Array
    log_prior: jax.Array


@in_float64
def number_pool(problem: Problem) -> NumberedPool:
    """Lay out rows and the prior's differences."""
    num_words, num_slots = problem.bits.shape[1:]
    prior = np.asarray(problem.prior)
    num_kinds = prior.shape[1]
    kind = (np.arange(2)[:, None] * num_kinds + np.asarray(problem.kind)).reshape(-1)
    with np.errstate(invalid="ignore"):
        gain = np.diff(prior, axis=-1).reshape(2 * num_kinds, -1)
    rows = np.asarray(problem.bits).transpose(0, 2, 1).reshape(2 * num_slots, num_words)
    return NumberedPool(*jax.device_put((rows, kind.astype(np.int32), np.where(np.isnan(gain), -np.inf, gain))))


@in_float64
def restrict(
    problem: Problem, pool: NumberedPool, kind: np.ndarray, allowed: BoolArray
) -> tuple[Problem, NumberedPool]:
    """Make the same problem with some of the patterns out of bounds; ``kind`` is the problem's, on the host."""
    kind = np.where(allowed, kind, 0).astype(np.int32)
    of_slot, of_number = jax.device_put((kind, numbered_kinds(problem, kind)))
    return problem._replace(kind=of_slot), pool._replace(kind=of_number)


def numbered_kinds(problem: Problem, kind: np.ndarray) -> np.ndarray:
    """Turn kinds by slot, (..., 2, num_slots), into those of a `NumberedPool`, (..., 2 * num_slots)."""
    numbered = np.arange(2)[:, None] * problem.prior.shape[1] + kind
    return numbered.reshape(*kind.shape[:-2], -1).astype(np.int32)


def state_of(problem: Problem, pair: Pair) -> PairState:
    """Give a pair the two parts of its log joint."""
    return PairState(
        pair,
        log_likelihood(problem, pair.counts),
        log_prior(problem, pair.sizes),
    )


def tempered(state: PairState | FlipResult, inverse_temperature: jax.Array) -> jax.Array:
    """Log density of prior(z) * likelihood(z) ** inverse_temperature, up to a constant."""
    return inverse_temperature * state.log_likelihood + state.log_prior


def _of_side(is_negative: jax.Array, by_side: jax.Array) -> jax.Array:
    return jnp.where(is_negative, by_side[1], by_side[0])


def evaluate_flip(problem: Problem, pool: NumberedPool, state: PairState, number: jax.Array) -> FlipResult:
    """Evaluate the flip of one numbered pattern; what must stay, and impossible sizes, have log prior -inf."""
    pair, row = state.pair, pool.rows[number]
    is_negative = number >= problem.num_slots
    is_removal = pair.included.reshape(-1)[number]
    twice = jax.vmap(or_planes)(pair.planes[:, 1:])
    once = pair.planes[:, 0] | twice
    affected = row & ~jnp.where(is_removal, _of_side(is_negative, twice), _of_side(is_negative, once))
    other = _of_side(~is_negative, once)
    zero = jnp.zeros((), jnp.int64)
    # one reduction with two results: each small operation costs as much as its work
    free, shared = jax.lax.reduce(
        tuple(
            (jax.lax.population_count(words) << problem.shift).astype(jnp.int64)
            for words in (affected & ~other, affected & other)
        ),
        (zero, zero),
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        (0,),
    )
    free, shared = sum_over_devices(jnp.stack([free, shared]))
    sign = jnp.where(is_removal, -1, 1).astype(jnp.int64)
    gain = free * _of_side(is_negative, jnp.array(GAIN_FREE, jnp.int64))
    gain = gain + shared * _of_side(is_negative, jnp.array(GAIN_OTHER, jnp.int64))
    counts = pair.counts + sign * gain
    kind = pool.kind[number]
    size = pair.sizes.reshape(-1)[kind]
    prior_gain = sign.astype(jnp.float64) * pool.prior_gain[kind, size - is_removal.astype(jnp.int32)]
    num_rules = num_free(pair.sizes)
    becomes_none = (is_removal & (num_rules == 1)).astype(jnp.float64) - (num_rules == 0).astype(jnp.float64)
    prior_gain = prior_gain + becomes_none * problem.log_doubt
    fits = is_removal | (
        _of_side(is_negative, pair.sizes).sum(dtype=jnp.int32) < _of_side(is_negative, problem.max_rules)
    )
    return FlipResult(
        number,
        row,
        is_removal,
        counts,
        log_likelihood(problem, counts),
        jnp.where(fits, state.log_prior + prior_gain, -jnp.inf),
    )


def apply_flip(
    problem: Problem, pool: NumberedPool, state: PairState, flip: FlipResult, is_taken: jax.Array
) -> PairState:
    """Make an evaluated flip where ``is_taken``; else give the state back."""
    pair = state.pair
    nothing = jnp.zeros((), jnp.uint64)
    is_negative = flip.number >= problem.num_slots
    row = jnp.where(is_taken, flip.row, nothing)
    carry = jnp.stack([jnp.where(is_negative, nothing, row), jnp.where(is_negative, row, nothing)])
    # carry where adding, borrow where subtracting
    invert = jnp.where(flip.is_removal, ~nothing, nothing)
    planes = []
    for k in range(NUM_PLANES):
        plane = pair.planes[:, k]
        planes.append(plane ^ carry)
        carry = (plane ^ invert) & carry
    kinds = jnp.arange(pair.sizes.size, dtype=jnp.int32).reshape(pair.sizes.shape)
    change = jnp.where(is_taken, jnp.where(flip.is_removal, -1, 1), 0).astype(jnp.int32)
    included = pair.included.reshape(-1).at[flip.number].set(flip.is_removal ^ is_taken)
    return PairState(
        Pair(
            included=included.reshape(pair.included.shape),
            planes=jnp.stack(planes, axis=1),
            counts=jnp.where(is_taken, flip.counts, pair.counts),
            sizes=pair.sizes + jnp.where(kinds == pool.kind[flip.number], change, 0),
        ),
        jnp.where(is_taken, flip.log_likelihood, state.log_likelihood),
        jnp.where(is_taken, flip.log_prior, state.log_prior),
    )


def flip(
    problem: Problem, pool: NumberedPool, pair: Pair, number: jax.Array, is_taken: jax.Array | bool = True
) -> Pair:
    """Add the numbered pattern when it is out of its set, remove it when it is in; or leave all as it is."""
    nothing = jnp.zeros((), jnp.float64)
    state = PairState(pair, nothing, nothing)
    return apply_flip(problem, pool, state, evaluate_flip(problem, pool, state, number), jnp.asarray(is_taken)).pair


def select(is_taken: jax.Array, new: PairState, old: PairState) -> PairState:
    """Take one of two states."""
    return jax.tree.map(lambda a, b: jnp.where(is_taken, a, b), new, old)
