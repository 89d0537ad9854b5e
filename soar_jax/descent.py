"""Descents to certified local optima: additions, removals and exchanges at zero temperature.

A descent ends when no single addition, removal or exchange of a rule improves the log joint, which is
the certificate a fitted pair carries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._base import BoolArray, in_float64
from .joint import log_joint
from .pair import Pair, flip, pair_from, score_flips
from .problem import MAX_RULES, Problem

MOVES = ("add to positive", "add to negative", "remove from positive", "remove from negative")
MAX_PATIENCE = 120
"""Kicked descents in a row that may fail before the search ends, on a small problem."""
MIN_PATIENCE = 16
_POLISH_WORK = 1 << 19
_DESCENT_ROUNDS = 50
_KICK_SIZES = (2, 3, 4, 8, 16)
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for a progress bar or a log."""

    phase: str
    done: int
    total: int
    score: float
    num_rules: tuple[int, int]


class Clock:
    """Says when to stop: at the end of the budget or after an interrupt."""

    def __init__(self, budget: float | None) -> None:
        self.deadline = None if budget is None else time.perf_counter() + budget
        self.stopped = False

    def is_over(self) -> bool:
        """Look at the time."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.stopped = True
        return self.stopped


class DescentState(NamedTuple):
    """A pair on its way down, its log joint, and whether no move helps any more."""

    pair: Pair
    log_joint: jax.Array
    is_optimal: jax.Array
    num_moves: jax.Array


class _Neighbour(NamedTuple):
    """The best neighbour seen: its log joint and the one or two patterns of a side to flip."""

    log_joint: jax.Array
    side: jax.Array
    out: jax.Array
    pattern: jax.Array


def _best_neighbour(problem: Problem, pair: Pair, threshold: jax.Array) -> _Neighbour:
    """Look at all additions and removals; only when none passes the threshold, at all exchanges.

    One loop serves both: its first four rounds score the four kinds of flip, each later one takes a
    rule out (``out``) and scores every pattern that could replace it.
    """
    num_rules = pair.sizes.sum(axis=1, dtype=jnp.int32)
    members = jnp.stack(
        [jnp.nonzero(pair.included[side], size=MAX_RULES, fill_value=0)[0].astype(jnp.int32) for side in (0, 1)]
    )

    def unfinished(carry: tuple[jax.Array, _Neighbour]) -> jax.Array:
        i, best = carry
        return (i < len(MOVES)) | ((best.log_joint <= threshold) & (i < len(MOVES) + num_rules.sum(dtype=jnp.int32)))

    def look(carry: tuple[jax.Array, _Neighbour]) -> tuple[jax.Array, _Neighbour]:
        i, best = carry
        is_swap = i >= len(MOVES)
        slot = jnp.maximum(i - len(MOVES), 0)
        slot_side = (slot >= num_rules[0]).astype(jnp.int32)
        side = jnp.where(is_swap, slot_side, i % 2)
        out = members[slot_side, slot - slot_side * num_rules[0]]
        without = flip(problem, pair, side, out)
        base = jax.tree.map(lambda new, old: jnp.where(is_swap, new, old), without, pair)
        scores = score_flips(problem, base, side, (i >= 2) & ~is_swap)  # noqa: PLR2004
        # putting the same rule back scores as the pair itself, which never passes the threshold
        index = jnp.argmax(scores).astype(jnp.int32)
        found = _Neighbour(scores[index], side, jnp.where(is_swap, out, -1), index)
        return i + 1, jax.tree.map(lambda new, old: jnp.where(found.log_joint > best.log_joint, new, old), found, best)

    nothing = _Neighbour(jnp.array(-jnp.inf), *(jnp.zeros((), jnp.int32),) * 3)
    return jax.lax.while_loop(unfinished, look, (jnp.zeros((), jnp.int32), nothing))[1]


def _descend_once(problem: Problem, state: DescentState) -> DescentState:
    threshold = state.log_joint + _TOLERANCE * (1.0 + jnp.abs(state.log_joint))
    best = _best_neighbour(problem, state.pair, threshold)
    helps = best.log_joint > threshold

    def take(i: jax.Array, pair: Pair) -> Pair:
        index = jnp.where(i == 0, best.out, best.pattern)
        flipped = flip(problem, pair, best.side, jnp.maximum(index, 0))
        return jax.tree.map(lambda new, old: jnp.where(helps & (index >= 0), new, old), flipped, pair)

    pair = jax.lax.fori_loop(0, 2, take, state.pair)
    value = jnp.where(helps, best.log_joint, state.log_joint)
    return DescentState(pair, value, ~helps, state.num_moves + helps)


def descend_block(problem: Problem, pair: Pair) -> DescentState:
    """Zero-temperature descent over additions, removals and exchanges, in bounded calls."""
    start = DescentState(pair, log_joint(problem, pair), jnp.array(False), jnp.zeros((), jnp.int64))

    def unfinished(state: DescentState) -> jax.Array:
        return ~state.is_optimal & (state.num_moves < _DESCENT_ROUNDS)

    return jax.lax.while_loop(unfinished, partial(_descend_once, problem), start)


_descend = jax.jit(descend_block)


class Best(NamedTuple):
    """The best pair after descents and whether it is known to be a local optimum."""

    log_joint: float
    included: BoolArray
    is_optimal: bool


@in_float64
def descend(problem: Problem, start: BoolArray, clock: Clock, run: Callable[..., Any] | None = None) -> Best:
    """Descend from one pair until no move helps or the time is over.

    ``run(included)`` gives the state after a block of moves; by default on one device.
    """
    while True:
        state = _descend(problem, pair_from(problem, start)) if run is None else run(start)
        start = np.array(state.pair.included)
        if bool(state.is_optimal) or clock.is_over():
            return Best(float(state.log_joint), start, bool(state.is_optimal))


def _kick(problem: Problem, included: BoolArray, generator: np.random.Generator) -> BoolArray:
    """Flip a few patterns, or many, at random: half of the time a rule out, else a candidate in."""
    kicked, num_patterns = included.copy(), np.asarray(problem.num_patterns)
    for _ in range(generator.choice(_KICK_SIZES)):
        sides = np.flatnonzero(num_patterns > 0)
        side = generator.choice(sides)
        members = np.flatnonzero(kicked[side])
        if len(members) and (generator.random() < 0.5 or len(members) >= MAX_RULES):  # noqa: PLR2004
            kicked[side, generator.choice(members)] = False
        else:
            kicked[side, generator.integers(int(num_patterns[side]))] = True
    return kicked


def polish(
    problem: Problem,
    starts: list[Best],
    seed: int,
    clock: Clock,
    report: Callable[[str, int, int, Best], None],
    best: Best,
    run: Callable[..., Any] | None = None,
) -> Best:
    """Descend from the restarts' best pairs, then from kicked copies of the leader until that stops helping.

    Annealing finds the right region; the last few tenths of a nat often need two or three flips at
    once, which single moves at a falling temperature rarely make.
    """
    generator = np.random.Generator(np.random.Philox(key=[seed, 1]))
    # a descent costs in proportion to the pool's bits; large pools get fewer, small ones many
    work = problem.bits.shape[1] * problem.bits.shape[2]
    patience = int(np.clip(_POLISH_WORK // work, MIN_PATIENCE, MAX_PATIENCE))
    try:
        for start in starts:
            if clock.is_over():
                break
            best = better(best, descend(problem, start.included, clock, run))
        failures = 0
        while failures < patience and not clock.is_over():
            found = descend(problem, _kick(problem, best.included, generator), clock, run)
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
