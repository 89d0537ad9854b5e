"""A pair of rule sets on the device: membership, cover counts, and what one flip changes.

How many rules of a side cover a row is kept as bit planes: plane k holds binary digit k of that
number for every row. Adding or removing a pattern is a ripple-carry addition or subtraction of its
packed row, and "covered" or "covered more than once" are plain bit operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import NUM_PLANES, BoolArray, Leaf, WordArray, in_float64
from soar_jax.score.counting import count_all
from soar_jax.score.joint import num_free, state_log_bound, state_log_likelihood
from soar_jax.score.problem import Problem
from soar_jax.states import ACTIVE, PASSIVE

# How the states (C+, C-, active, passive) change when a row becomes covered by side 0 or 1:
# outside the other side it leaves passive for consensus, inside it leaves the other consensus for active.
GAIN_FREE = ((1, 0, 0, -1), (0, 1, 0, -1))
GAIN_OTHER = ((0, -1, 1, 0), (-1, 0, 1, 0))


_TRIED_AT_ONCE = 32


class Pair(NamedTuple):
    """Two rule sets and all that depends on the rows.

    Attributes
    ----------
    included : (2, num_slots) bool
    planes : (2, NUM_PLANES, num_words) uint64
        Binary digits of the number of rules of each side that cover each row.
    counts : (4,) int64
        Packed class counts of the states.
    sizes : (2, num_kinds) int32
        Rules by side and kind.
    """

    included: Leaf
    planes: Leaf
    counts: Leaf
    sizes: Leaf


def empty_pair(problem: Problem) -> Pair:
    """Two empty rule sets: every row is passive."""
    num_words, num_slots = problem.bits.shape[1:]
    zero = jnp.zeros((), jnp.int64)
    return Pair(
        included=jnp.zeros((2, num_slots), bool),
        planes=jnp.zeros((2, NUM_PLANES, num_words), jnp.uint64),
        counts=jnp.stack([zero, zero, zero, problem.total]),
        sizes=jnp.zeros(problem.prior.shape[:2], jnp.int32),
    )


def or_planes(planes: jax.Array) -> jax.Array:
    """Rows in any of the planes."""
    covered = planes[0]
    for plane in planes[1:]:
        covered = covered | plane
    return covered


def covered_once_or_more(pair: Pair, side: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Packed rows covered by a side at least once, and at least twice."""
    planes = pair.planes[side]
    twice = or_planes(planes[1:])
    return planes[0] | twice, twice


def eligible_flips(problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array) -> jax.Array:
    """Patterns that can be added (or removed) on a side."""
    included = jnp.where(side == 0, pair.included[0], pair.included[1])
    has_room = pair.sizes[side].sum(dtype=jnp.int32) < problem.max_rules[side]
    return jnp.where(is_removal, included, ~included & has_room) & (problem.kind[side] > 0)


class Neighbours(NamedTuple):
    """What one kind of move would change, for every pattern of a side.

    Attributes
    ----------
    eligible : (num_slots,) bool
    free, shared : (num_slots,) int64
        Packed class counts of the rows that would leave (or, removed, come back to) passive, and the other consensus.
    log_prior : (num_slots,) float64
    """

    eligible: jax.Array
    free: jax.Array
    shared: jax.Array
    log_prior: jax.Array


def _neighbours(problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array) -> Neighbours:
    once, twice = covered_once_or_more(pair, side)
    other, _ = covered_once_or_more(pair, 1 - side)
    movable = ~jnp.where(is_removal, twice, once)
    free, shared = count_all(problem, side, jnp.stack([movable & ~other, movable & other]))
    # without what is not eligible, counts stay whole and within the table of log Gamma
    eligible = eligible_flips(problem, pair, side, is_removal)
    free, shared = (jnp.where(eligible, jnp.where(is_removal, -n, n), 0) for n in (free, shared))
    sizes = pair.sizes.at[side].add(jnp.where(is_removal, -1, 1).astype(jnp.int32))
    by_kind = jnp.take_along_axis(problem.prior, jnp.stack([pair.sizes, jnp.maximum(sizes, 0)], -1), axis=-1)
    change = by_kind[side, :, 1] - by_kind[side, :, 0]
    becomes_none = is_removal & (num_free(pair.sizes) == 1)
    now = by_kind[..., 0].sum() + jnp.where(becomes_none, problem.log_doubt, 0.0)
    return Neighbours(eligible, free, shared, now + change[problem.kind[side]])


def changed_log_likelihoods(
    problem: Problem,
    counts: jax.Array,
    side: jax.Array,
    changed: tuple[jax.Array, jax.Array],
    of_state: Callable[..., jax.Array],
) -> jax.Array:
    """Sum over the states of ``of_state``, after ``changed`` rows (free, shared) have changed theirs."""
    free, shared = changed
    return (
        of_state(problem, side, counts[side] + free, is_consensus=True)
        + of_state(problem, 1 - side, counts[1 - side] - shared, is_consensus=True)
        + of_state(problem, ACTIVE, counts[ACTIVE] + shared, is_consensus=False)
        + of_state(problem, PASSIVE, counts[PASSIVE] - free, is_consensus=False)
        - problem.constant
    )


def flip_log_joints(
    problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array, power: jax.Array | None = None
) -> jax.Array:
    """Log joint of every neighbour by one kind of move: (num_slots,), -inf where it is impossible.

    ``power`` takes the place of the problem's, for tempered targets.
    """
    found = _neighbours(problem, pair, side, is_removal)
    likelihood = changed_log_likelihoods(problem, pair.counts, side, (found.free, found.shared), state_log_likelihood)
    power = problem.power if power is None else power
    return jnp.where(found.eligible, power * likelihood + found.log_prior, -jnp.inf)


def flip_log_bounds(
    problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array, power: jax.Array
) -> jax.Array:
    """Like `flip_log_joints`, but upper bounds where integrals between bounds would have to be computed."""
    if not problem.rule.size:
        return flip_log_joints(problem, pair, side, is_removal, power)
    found = _neighbours(problem, pair, side, is_removal)
    at_most = changed_log_likelihoods(problem, pair.counts, side, (found.free, found.shared), state_log_bound)
    return jnp.where(found.eligible, power * at_most + found.log_prior, -jnp.inf)


def best_flip(problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Find the best neighbour by one kind of move: its pattern and its log joint, -inf where there is none.

    Where likelihoods are dear, on large tables with bounds, a CPU tries a few neighbours at a time in the order of an
    upper bound; on other devices a loop that ends by what it finds would wait for the host in every turn, and all
    neighbours are computed at once. The result is the same.
    """
    arguments = (problem, pair, side, is_removal)
    if not problem.rule.size:
        return best_of_all(*arguments)
    return jax.lax.platform_dependent(*arguments, cpu=best_by_bounds, default=best_of_all)


def best_of_all(problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute every neighbour's log joint and take the best."""
    log_joints = flip_log_joints(problem, pair, side, is_removal)
    index = jnp.argmax(log_joints).astype(jnp.int32)
    return index, log_joints[index]


def best_by_bounds(problem: Problem, pair: Pair, side: jax.Array, is_removal: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute a few neighbours at a time, the highest upper bounds first, until none that is left can be better."""
    found = _neighbours(problem, pair, side, is_removal)
    at_most = changed_log_likelihoods(problem, pair.counts, side, (found.free, found.shared), state_log_bound)
    at_most = jnp.where(found.eligible, problem.power * at_most + found.log_prior, -jnp.inf)
    num_tried = min(_TRIED_AT_ONCE, at_most.shape[0])

    def is_open(carry: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        at_most, _, best = carry
        return at_most.max() > best

    def try_some(carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        at_most, index, best = carry
        bounds, tried = jax.lax.top_k(at_most, num_tried)
        changed = found.free[tried], found.shared[tried]
        values = changed_log_likelihoods(problem, pair.counts, side, changed, state_log_likelihood)
        values = problem.power * values + found.log_prior[tried]
        values = jnp.where(jnp.isfinite(bounds), values, -jnp.inf)
        place = jnp.argmax(values)
        is_better = values[place] > best
        index = jnp.where(is_better, tried[place].astype(jnp.int32), index)
        return at_most.at[tried].set(-jnp.inf), index, jnp.where(is_better, values[place], best)

    start = (at_most, jnp.zeros((), jnp.int32), jnp.array(-jnp.inf))
    _, index, best = jax.lax.while_loop(is_open, try_some, start)
    return index, best


@in_float64
def pair_from(problem: Problem, included: BoolArray) -> Pair:
    """Build a pair from its membership and put it on the device."""
    return Pair(*jax.device_put(tuple(host_pair(problem, included))))


def host_pair(problem: Problem, included: BoolArray) -> Pair:
    """Build a pair from its membership, with NumPy arrays."""
    shift, total = np.asarray(problem.shift), int(problem.total)
    planes = np.zeros((2, NUM_PLANES, len(shift)), dtype=np.uint64)
    sizes = np.zeros(problem.prior.shape[:2], dtype=np.int32)
    for side in (0, 1):
        members = np.flatnonzero(included[side])
        np.add.at(sizes[side], np.asarray(problem.kind)[side, members], 1)
        for carry in np.asarray(problem.bits)[side][:, members].T:
            for plane in planes[side]:
                plane[:], carry = plane ^ carry, plane & carry  # noqa: PLW2901
    positive, negative = (np.bitwise_or.reduce(planes[side], axis=0) for side in (0, 1))

    def count(words: WordArray) -> int:
        return int((np.bitwise_count(words).astype(np.uint64) << shift).sum())

    states = [count(positive & ~negative), count(negative & ~positive), count(positive & negative)]
    counts = np.array([*states, total - sum(states)], dtype=np.int64)
    # a copy of what the caller may change: the device may read it later, or share its memory
    return Pair(np.array(included), planes, counts, sizes)
