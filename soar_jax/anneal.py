"""MAP search: Algorithm 1 of the paper, then descents to a certified local optimum.

Which row is picked matters to Algorithm 1 only through its label and state, so drawing a wrongly
predicted row and branching on it is the same as drawing one of four moves with weights

    add to R+       PAP + CFN / 2         remove from R-   AAP + CFN / 2
    add to R-       PAN + CFP / 2         remove from R+   AAN + CFP / 2

(`Problem.wrong` holds them). What the paper leaves open is settled so: both rule sets start empty; a
set that cannot give (take) a rule takes (gives) one instead; when no row is wrong every move is
equally likely; the row may be judged by the best pair so far, as printed, or by the current one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._base import BoolArray, FloatArray, IntArray, in_float64
from .joint import split_counts
from .pair import Pair, eligible_flips, empty_pair, flip, log_joint, pair_from, score_flips
from .problem import MAX_RULES, Problem

BLOCK = 100
"""Steps in one compiled call; between calls the host shows progress and watches the clock."""
MOVES = ("add to positive", "add to negative", "remove from positive", "remove from negative")
LANES = 8
"""Descents side by side in one compiled call."""
MAX_PATIENCE = 16
"""Rounds of kicked descents in a row that may fail before the search ends, on a small problem."""
_POLISH_WORK = 1 << 19
_DESCENT_ROUNDS = 50
_KICK_SIZES = (2, 3, 4, 8, 16)
_TOLERANCE = 1e-9


class AnnealState(NamedTuple):
    """What the next step needs.

    Attributes
    ----------
    pair : Pair
        Current rule sets.
    log_joint : () float64
    best_included : (2, num_patterns) bool
    best_counts : (4,) int64
    best_log_joint : () float64
    """

    pair: Pair
    log_joint: jax.Array
    best_included: jax.Array
    best_counts: jax.Array
    best_log_joint: jax.Array


class AnnealInfo(NamedTuple):
    """What a person may want to see of one step: log joint and best so far, acceptance, move, sizes."""

    log_joint: jax.Array
    best_log_joint: jax.Array
    is_accepted: jax.Array
    move: jax.Array
    num_rules: jax.Array


class Settings(NamedTuple):
    """Values of one step, all traced.

    Attributes
    ----------
    temperature : () float64
    is_greedy : () bool
        Choose the best neighbour instead of a random one. Shared by all restarts, so that the pass
        over the pool is skipped for all of them at once when it is not needed.
    is_active : () bool
        False past the last step of the run: nothing changes.
    judge_by_best : () bool
        Pick the wrong row under the best pair so far (as printed) instead of the current one.
    """

    temperature: jax.Array
    is_greedy: jax.Array
    is_active: jax.Array
    judge_by_best: jax.Array


def init(problem: Problem) -> AnnealState:
    """Start from two empty rule sets."""
    pair = empty_pair(problem)
    start = log_joint(problem, pair)
    return AnnealState(pair, start, pair.included, pair.counts, start)


def _choose_move(problem: Problem, pair: Pair, counts: jax.Array, uniform: jax.Array) -> jax.Array:
    """Draw one of `MOVES`, as a random wrongly predicted row would."""
    positives, negatives = split_counts(counts)
    asked = problem.wrong[0] @ positives + problem.wrong[1] @ negatives
    num_rules = pair.sizes.sum(axis=1, dtype=jnp.int32)
    can_add = num_rules < jnp.minimum(problem.num_patterns, MAX_RULES)
    possible = jnp.concatenate([can_add, num_rules > 0])
    turned = jnp.where(possible, 0.0, asked)[jnp.array([2, 3, 0, 1])]
    weights = jnp.where(possible, asked + turned, 0.0)
    weights = jnp.where(weights.sum() > 0, weights, possible.astype(jnp.float64))
    cumulative = jnp.cumsum(weights)
    return (cumulative <= uniform * cumulative[-1]).sum(dtype=jnp.int32).clip(0, 3)


def _choose_random(eligible: jax.Array, uniform: jax.Array) -> jax.Array:
    """Draw one eligible pattern evenly."""
    rank = jnp.cumsum(eligible, dtype=jnp.int32)
    wanted = jnp.floor(uniform * rank[-1]).astype(jnp.int32)
    return (rank <= wanted).sum(dtype=jnp.int32).clip(0, eligible.shape[0] - 1)


def step(
    problem: Problem, state: AnnealState, settings: Settings, uniforms: jax.Array
) -> tuple[AnnealState, AnnealInfo]:
    """One iteration of Algorithm 1.

    Parameters
    ----------
    uniforms : (3,) float64
        Randomness for the move, the pattern and the acceptance.
    """
    pair = state.pair
    judged = jnp.where(settings.judge_by_best, state.best_counts, pair.counts)
    move = _choose_move(problem, pair, judged, uniforms[0])
    side, is_removal = move % 2, move >= 2  # noqa: PLR2004
    index = jax.lax.cond(
        settings.is_greedy,
        lambda: jnp.argmax(score_flips(problem, pair, side, is_removal)).astype(jnp.int32),
        lambda: _choose_random(eligible_flips(problem, pair, side, is_removal), uniforms[1]),
    )
    proposal = flip(problem, pair, side, index)
    proposed = log_joint(problem, proposal)
    chance = jnp.exp(jnp.minimum(0.0, (proposed - state.log_joint) / settings.temperature))
    is_accepted = (uniforms[2] < chance) & settings.is_active
    # The proposal counts for the best pair even when it is then refused, as printed.
    is_best = (proposed > state.best_log_joint) & settings.is_active
    current = jax.tree.map(lambda new, old: jnp.where(is_accepted, new, old), proposal, pair)
    new_state = AnnealState(
        current,
        jnp.where(is_accepted, proposed, state.log_joint),
        jnp.where(is_best, proposal.included, state.best_included),
        jnp.where(is_best, proposal.counts, state.best_counts),
        jnp.where(is_best, proposed, state.best_log_joint),
    )
    num_rules = current.sizes.sum(axis=1, dtype=jnp.int32)
    return new_state, AnnealInfo(new_state.log_joint, new_state.best_log_joint, is_accepted, move, num_rules)


class Schedule(NamedTuple):
    """How a run is cooled: T(t) = temperature / log(1 + t), t = 1, 2, ..., num_steps."""

    num_steps: jax.Array
    temperature: jax.Array
    random_share: jax.Array
    judge_by_best: jax.Array


def _draw(seed: int, block: int, num_restarts: int) -> tuple[FloatArray, FloatArray]:
    """Draw the coins (BLOCK,) and uniforms (BLOCK, num_restarts, 3) of one block.

    Three numbers a step are drawn on the host by a counter-based generator keyed by the seed and
    the block: the same on every device, and a second less to compile than a generator on the device.
    """
    generator = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, block]))
    return generator.random(BLOCK), generator.random((BLOCK, num_restarts, 3))


@partial(jax.jit, donate_argnums=(1,))
def _run_block(
    problem: Problem,
    states: AnnealState,
    draws: tuple[jax.Array, jax.Array],
    block: jax.Array,
    schedule: Schedule,
) -> tuple[AnnealState, AnnealInfo]:
    """Advance all restarts by `BLOCK` steps."""
    coins, uniforms = draws
    times = block * BLOCK + 1 + jnp.arange(BLOCK, dtype=jnp.int32)

    def advance(states: AnnealState, inputs: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[AnnealState, AnnealInfo]:
        time_step, coin, uniform = inputs
        settings = Settings(
            temperature=schedule.temperature / jnp.log1p(time_step.astype(jnp.float64)),
            is_greedy=coin >= schedule.random_share,
            is_active=time_step <= schedule.num_steps,
            judge_by_best=schedule.judge_by_best,
        )
        return jax.vmap(step, in_axes=(None, 0, None, 0))(problem, states, settings, uniform)

    return jax.lax.scan(advance, states, (times, coins, uniforms))


@partial(jax.jit, static_argnames=("num_restarts",))
def _start(problem: Problem, *, num_restarts: int) -> AnnealState:
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], num_restarts, axis=0), init(problem))


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
        # putting the same rule back is no exchange
        scores = scores.at[out].set(jnp.where(is_swap, -jnp.inf, scores[out]))
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


def _descend_one(problem: Problem, pair: Pair) -> DescentState:
    """Zero-temperature descent over additions, removals and exchanges, in bounded calls."""
    start = DescentState(pair, log_joint(problem, pair), jnp.array(False), jnp.zeros((), jnp.int64))

    def unfinished(state: DescentState) -> jax.Array:
        return ~state.is_optimal & (state.num_moves < _DESCENT_ROUNDS)

    return jax.lax.while_loop(unfinished, partial(_descend_once, problem), start)


_descend = jax.jit(jax.vmap(_descend_one, in_axes=(None, 0)))


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for a progress bar or a log."""

    phase: str
    done: int
    total: int
    score: float
    num_rules: tuple[int, int]


@dataclass
class AnnealResult:
    """What a search found.

    Attributes
    ----------
    included : (2, num_patterns) bool
        The best pair.
    log_joint : float
        Its log joint as computed on the device.
    is_local_optimum : bool
        True when no single addition, removal or exchange improves it; False when the time ran out
        before the descent could show that.
    was_stopped : bool
        The time budget or an interrupt ended the search early.
    restart_log_joints : (num_restarts,) float64
        Best log joint of each restart before the descent.
    history : dict of arrays
        One entry a step and restart.
    """

    included: BoolArray
    log_joint: float
    is_local_optimum: bool
    was_stopped: bool
    restart_log_joints: FloatArray
    history: dict[str, np.ndarray] = field(default_factory=dict)


class _Clock:
    """Says when to stop: at the end of the budget or after an interrupt."""

    def __init__(self, budget: float | None) -> None:
        self.deadline = None if budget is None else time.perf_counter() + budget
        self.stopped = False

    def is_over(self) -> bool:
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.stopped = True
        return self.stopped


def _history(infos: list[AnnealInfo], schedule: Schedule) -> dict[str, np.ndarray]:
    num_steps = min(int(schedule.num_steps), BLOCK * len(infos))
    stacked = [
        np.concatenate([np.asarray(getattr(info, name)) for info in infos])[:num_steps] for name in infos[0]._fields
    ]
    log_joints, best, accepted, move, num_rules = stacked
    num_restarts = log_joints.shape[1]
    times = np.arange(1, num_steps + 1)
    temperature = float(schedule.temperature) / np.log1p(times)

    def by_restart(values: np.ndarray) -> np.ndarray:
        return values.T.reshape(-1)

    return {
        "restart": np.repeat(np.arange(num_restarts), num_steps),
        "iteration": np.tile(times, num_restarts),
        "score": -by_restart(log_joints),
        "best_score": -by_restart(best),
        "temperature": np.tile(temperature, num_restarts),
        "accepted": by_restart(accepted),
        "positive_rules": by_restart(num_rules[..., 0]),
        "negative_rules": by_restart(num_rules[..., 1]),
        "move": np.array(MOVES, dtype=object)[by_restart(move)],
    }


class _Best(NamedTuple):
    """The best pair after descents and whether it is known to be a local optimum."""

    log_joint: float
    included: BoolArray
    is_optimal: bool


def _descend_from(problem: Problem, starts: list[BoolArray], clock: _Clock) -> list[_Best]:
    """Descend from up to `LANES` pairs at once; fewer are filled up with copies of the first."""
    lanes = starts + [starts[0]] * (LANES - len(starts))
    is_optimal = np.zeros(LANES, dtype=bool)
    while True:
        pairs = [pair_from(problem, included) for included in lanes]
        state = _descend(problem, jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs))
        included, is_optimal = np.asarray(state.pair.included), np.asarray(state.is_optimal)
        lanes = list(included)
        if is_optimal.all() or clock.is_over():
            break
    values = np.asarray(state.log_joint)
    return [_Best(float(values[i]), lanes[i].copy(), bool(is_optimal[i])) for i in range(len(starts))]


def _kick(problem: Problem, included: BoolArray, generator: np.random.Generator) -> BoolArray:
    """Flip a few patterns, or many, at random: half of the time a rule out, else a candidate in."""
    kicked = included.copy()
    for _ in range(generator.choice(_KICK_SIZES)):
        sides = np.flatnonzero(np.asarray(problem.num_patterns) > 0)
        side = generator.choice(sides)
        members = np.flatnonzero(kicked[side])
        if len(members) and (generator.random() < 0.5 or len(members) >= MAX_RULES):  # noqa: PLR2004
            kicked[side, generator.choice(members)] = False
        else:
            kicked[side, generator.integers(int(problem.num_patterns[side]))] = True
    return kicked


def _polish(
    problem: Problem,
    starts: list[BoolArray],
    seed: int,
    clock: _Clock,
    report: Callable[[str, int, int, _Best], None],
    best: _Best,
) -> _Best:
    """Descend from the restarts' best pairs, then from kicked copies of the leader until that stops helping.

    Annealing finds the right region; the last few tenths of a nat often need two or three flips at
    once, which single moves at a falling temperature rarely make.
    """
    generator = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 1, 0]))
    # a round costs in proportion to the pool's bits; large pools get fewer, small ones many
    patience = int(np.clip(_POLISH_WORK // (problem.bits.shape[1] * problem.bits.shape[2]), 1, MAX_PATIENCE))
    failures = 0
    lanes = starts
    try:
        while failures < patience and not clock.is_over():
            improved = False
            for found in _descend_from(problem, lanes[:LANES], clock):
                is_better = found.log_joint > best.log_joint + _TOLERANCE * (1 + abs(best.log_joint))
                is_first_certified = found.is_optimal and not best.is_optimal
                if is_better or (is_first_certified and found.log_joint >= best.log_joint - _TOLERANCE):
                    best, improved = found, True
            failures = 0 if improved else failures + 1
            report("polishing", failures, patience, best)
            lanes = lanes[LANES:] or [_kick(problem, best.included, generator) for _ in range(LANES)]
    except KeyboardInterrupt:
        clock.stopped = True
    return best


@in_float64
def run(
    problem: Problem,
    *,
    seed: int,
    num_steps: int,
    num_restarts: int,
    temperature: float,
    random_share: float,
    judge_by_best: bool,
    time_budget: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> AnnealResult:
    """Anneal all restarts side by side, then descend from their best pairs.

    Parameters
    ----------
    seed : int
        One seed in [0, 2**31); the same seed gives the same result to the bit.
    num_steps, num_restarts : int
    temperature : float
        T0 of the cooling schedule, in nats of the score.
    random_share : float
        Probability p of a random neighbour instead of the best one.
    judge_by_best : bool
        Which pair says that a row is wrongly predicted: the best so far, or the current one.
    time_budget : float, optional
        Seconds; afterwards, and after an interrupt from the keyboard, the best so far is returned.
    progress : callable, optional
        Called after each block.
    """
    clock = _Clock(time_budget)
    schedule = Schedule(
        jnp.int32(num_steps), jnp.float64(temperature), jnp.float64(random_share), jnp.asarray(judge_by_best)
    )
    num_blocks = -(-num_steps // BLOCK)
    states = _start(problem, num_restarts=num_restarts)
    best_included = np.array(states.best_included)
    best_values: FloatArray = np.array(states.best_log_joint)
    infos: list[AnnealInfo] = []

    def report(phase: str, done: int, total: int, best: _Best) -> None:
        if progress is not None:
            sizes: IntArray = best.included.sum(axis=1)
            progress(Progress(phase, done, total, -best.log_joint, (int(sizes[0]), int(sizes[1]))))

    def leader() -> _Best:
        i = int(np.argmax(best_values))
        return _Best(float(best_values[i]), best_included[i], False)

    try:
        for block in range(num_blocks):
            draws = _draw(seed, block, num_restarts)
            states, info = _run_block(problem, states, draws, jnp.int32(block), schedule)
            infos.append(jax.device_get(info))
            best_included, best_values = np.array(states.best_included), np.array(states.best_log_joint)
            report("annealing", min((block + 1) * BLOCK, num_steps), num_steps, leader())
            if clock.is_over():
                break
    except KeyboardInterrupt:
        clock.stopped = True
    order = np.argsort(-best_values, kind="stable")
    starts = list({best_included[i].tobytes(): best_included[i] for i in order}.values())
    best = _polish(problem, starts, seed, clock, report, leader())
    history = _history(infos, schedule) if infos else {}
    return AnnealResult(best.included, best.log_joint, best.is_optimal, clock.stopped, best_values, history)
