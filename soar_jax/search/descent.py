"""Descents to certified local optima: additions, removals and exchanges at zero temperature.

A descent ends when no single addition, removal or exchange of a rule improves the log joint, which is
the certificate a fitted pair carries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import BoolArray, in_float64
from soar_jax._progress import Clock
from soar_jax.score.flips import NumberedPool, flip
from soar_jax.score.joint import log_joint
from soar_jax.score.pair import Pair, best_flip
from soar_jax.score.problem import Problem
from soar_jax.search.moves import MOVES

MAX_PATIENCE = 120
"""Kicked descents in a row that may fail before the search ends, on a small problem."""
MIN_PATIENCE = 16
_POLISH_WORK = 1 << 19
BLOCK_PASSES = 200
"""Passes of one compiled descent, and those to its next move; then the host watches the clock."""
_KICK_SIZES = (2, 3, 4, 8, 16)
_TOLERANCE = 1e-9


class DescentState(NamedTuple):
    """A pair on its way down, its log joint, and whether no move helps any more."""

    pair: Pair
    log_joint: jax.Array
    is_optimal: jax.Array


class _Search(NamedTuple):
    """Where a descent stands.

    Attributes
    ----------
    pair : Pair
        The pair, without rule ``out``.
    log_joint : () float64
        Of the whole pair.
    stage : () int32
        Which of `MOVES` is looked at next; afterwards, exchanges.
    out : () int32
        Numbered pattern that is taken out to look for a better one in its place; -1 for none.
    best_value, best_number : () float64, () int32
        The best flip seen since the last move.
    """

    pair: Pair
    log_joint: jax.Array
    stage: jax.Array
    out: jax.Array
    best_value: jax.Array
    best_number: jax.Array
    is_optimal: jax.Array
    num_passes: jax.Array


def _flip_both(problem: Problem, pool: NumberedPool, pair: Pair, first: jax.Array, second: jax.Array) -> Pair:
    """Flip up to two numbered patterns, -1 for none.

    A CPU compiles one flip and skips what is not asked for; elsewhere a loop whose length the data decide would wait
    for the host, and both flips are made, and taken or left.
    """

    def in_a_loop(pair: Pair, first: jax.Array, second: jax.Array) -> Pair:
        return jax.lax.fori_loop(
            (first < 0).astype(jnp.int32),
            1 + (second >= 0).astype(jnp.int32),
            lambda i, pair: flip(problem, pool, pair, jnp.where(i == 0, first, second)),
            pair,
        )

    return jax.lax.platform_dependent(pair, first, second, cpu=in_a_loop, default=partial(flip_or_leave, problem, pool))


def flip_or_leave(problem: Problem, pool: NumberedPool, pair: Pair, first: jax.Array, second: jax.Array) -> Pair:
    """Make both flips and take those that were asked for."""
    for number in (first, second):
        pair = flip(problem, pool, pair, jnp.maximum(number, 0), is_taken=number >= 0)
    return pair


def _look(problem: Problem, pool: NumberedPool, with_exchanges: jax.Array, search: _Search) -> _Search:
    """Make one pass over the neighbours, and move when all that is needed has been seen.

    First come all additions and removals. Only when none of them helps, each rule in turn is taken out and every
    pattern scored in its place. One loop serves both, with one pass and one flip in it: little to compile.
    """
    num_slots = problem.num_slots
    is_exchange = search.stage == len(MOVES)
    side = jnp.where(is_exchange, search.out // num_slots, search.stage % 2)
    is_removal = ~is_exchange & (search.stage >= 2)  # noqa: PLR2004
    # putting the same rule back gives the pair itself, which never passes the threshold
    index, value = best_flip(problem, search.pair, side, is_removal)
    is_better = value > search.best_value
    best_value = jnp.where(is_better, value, search.best_value)
    best_number = jnp.where(is_better, side * num_slots + index, search.best_number)
    is_complete = search.stage >= len(MOVES) - 1
    is_taken = is_complete & (best_value > search.log_joint + _TOLERANCE * (1.0 + jnp.abs(search.log_joint)))
    numbers = jnp.arange(2 * num_slots, dtype=jnp.int32)
    is_later = (search.pair.included & (problem.kind > 0)).reshape(-1) & (numbers > search.out)
    following = jnp.where(is_later, numbers, numbers.size).min()
    is_next = is_complete & ~is_taken & (following < numbers.size) & with_exchanges
    put_back = jnp.where(is_taken, -1, search.out)  # a rule taken out goes back, unless its successor was found
    next_flip = jnp.where(is_taken, best_number, jnp.where(is_next, following, -1))
    pair = _flip_both(problem, pool, search.pair, put_back, next_flip)
    return _Search(
        pair,
        jnp.where(is_taken, best_value, search.log_joint),
        jnp.where(is_taken, 0, jnp.minimum(search.stage + 1, len(MOVES))),
        jnp.where(is_next, following, -1),
        jnp.where(is_taken, -jnp.inf, best_value),
        best_number,
        is_complete & ~is_taken & ~is_next,
        search.num_passes + 1,
    )


def descend_block(
    problem: Problem, pool: NumberedPool, pair: Pair, with_exchanges: jax.Array | bool = True
) -> DescentState:
    """Zero-temperature descent over additions and removals and, if wanted, exchanges, in bounded calls."""
    zero = jnp.zeros((), jnp.int32)
    start = _Search(
        pair,
        log_joint(problem, pair.counts, pair.sizes),
        zero,
        zero - 1,
        jnp.array(-jnp.inf),
        zero - 1,
        jnp.array(False),
        zero,
    )

    def unfinished(search: _Search) -> jax.Array:
        return ~search.is_optimal & ((search.num_passes < BLOCK_PASSES) | (search.stage > 0))

    end = jax.lax.while_loop(unfinished, partial(_look, problem, pool, jnp.asarray(with_exchanges)), start)
    return DescentState(end.pair, end.log_joint, end.is_optimal)


class Best(NamedTuple):
    """The best pair after descents and whether it is known to be a local optimum."""

    log_joint: float
    included: BoolArray
    is_optimal: bool


Descend = Callable[..., DescentState]
"""Runs a block of moves from a membership, with exchanges unless told otherwise."""


@in_float64
def descend(run: Descend, start: BoolArray, clock: Clock, *, with_exchanges: bool = True) -> Best:
    """Descend from one pair until no move helps or the time is over; certified only if exchanges were tried."""
    while True:
        state = run(start, with_exchanges)
        start = np.array(state.pair.included)
        if bool(state.is_optimal) or clock.is_over():
            return Best(float(state.log_joint), start, bool(state.is_optimal) and with_exchanges)


def _kick(problem: Problem, included: BoolArray, generator: np.random.Generator) -> BoolArray:
    """Flip a few patterns, or many, at random: half of the time a rule out, else a candidate in."""
    kicked, pool_size = included.copy(), np.asarray(problem.pool_size)
    is_free, max_rules = np.asarray(problem.kind) > 0, np.asarray(problem.max_rules)
    for _ in range(generator.choice(_KICK_SIZES)):
        sides = np.flatnonzero(pool_size > 0)
        side = generator.choice(sides)
        members = np.flatnonzero(kicked[side] & is_free[side])
        has_room = kicked[side].sum() < max_rules[side]
        if len(members) and (generator.random() < 0.5 or not has_room):  # noqa: PLR2004
            kicked[side, generator.choice(members)] = False
        elif has_room:
            kicked[side, generator.integers(int(pool_size[side]))] = True
    return kicked


def polish(
    problem: Problem,
    run: Descend,
    starts: list[Best],
    seed: int,
    clock: Clock,
    report: Callable[[str, int, int, Best], None],
    best: Best,
) -> Best:
    """Descend from the restarts' best pairs, then from kicked copies of the leader until that stops helping.

    Annealing finds the right region; the last few tenths of a nat often need two or three flips at
    once, which single moves at a falling temperature rarely make.
    """
    generator = np.random.Generator(np.random.Philox(key=[seed, 1]))
    # a descent costs in proportion to the pool's bits; large pools get fewer, small ones many
    work = problem.bits.shape[1] * problem.num_slots
    patience = int(np.clip(_POLISH_WORK // work, MIN_PATIENCE, MAX_PATIENCE))
    try:
        for start in starts:
            if clock.is_over():
                break
            best = better(best, descend(run, start.included, clock))
        failures = 0
        while failures < patience and not clock.is_over():
            found = descend(run, _kick(problem, best.included, generator), clock)
            winner = better(best, found)
            failures = failures + 1 if winner is best else 0
            best = winner
            report("polishing", failures, patience, best)
    except KeyboardInterrupt:
        clock.stopped = True
    return best


def better(old: Best, new: Best) -> Best:
    """Prefer the higher log joint; among equals the one that is certified."""
    slack = _TOLERANCE * (1 + abs(old.log_joint))
    if new.log_joint > old.log_joint + slack or (
        new.log_joint > old.log_joint - slack and new.is_optimal > old.is_optimal
    ):
        return new
    return old
