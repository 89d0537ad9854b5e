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

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from ._base import BoolArray, FloatArray, InputError, IntArray, in_float64
from .descent import MOVES, Best, Clock, DescentState, Progress, better, descend, descend_block, polish
from .devices import ROWS, place, shard_rows, spec
from .joint import log_joint, split_counts
from .pair import Pair, eligible_flips, empty_pair, flip, pair_from, score_flips
from .problem import MAX_RULES, Problem, pad_problem

BLOCK = 100
"""Steps in one compiled call; between calls the host shows progress and watches the clock."""


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
    random_share : () float64
        Probability of a random neighbour instead of the best one.
    is_active : () bool
        False past the last step of the run: nothing changes.
    judge_by_best : () bool
        Pick the wrong row under the best pair so far (as printed) instead of the current one.
    """

    temperature: jax.Array
    random_share: jax.Array
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
    uniforms : (4,) float64
        Randomness for the move, how the pattern is chosen, the pattern and the acceptance.
    """
    pair = state.pair
    judged = jnp.where(settings.judge_by_best, state.best_counts, pair.counts)
    move = _choose_move(problem, pair, judged, uniforms[0])
    side, is_removal = move % 2, move >= 2  # noqa: PLR2004
    index = jax.lax.cond(
        uniforms[1] >= settings.random_share,
        lambda: jnp.argmax(score_flips(problem, pair, side, is_removal)).astype(jnp.int32),
        lambda: _choose_random(eligible_flips(problem, pair, side, is_removal), uniforms[2]),
    )
    proposal = flip(problem, pair, side, index)
    proposed = log_joint(problem, proposal)
    chance = jnp.exp(jnp.minimum(0.0, (proposed - state.log_joint) / settings.temperature))
    is_accepted = (uniforms[3] < chance) & settings.is_active
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


def _draw(seed: int, restart: int, block: int) -> FloatArray:
    """Draw the uniforms (BLOCK, 4) of one block of one restart.

    Four numbers a step are drawn on the host by a counter-based generator keyed by the seed: the
    same on every device, and nothing to compile, unlike a generator on the device.
    """
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, restart, block])).random((BLOCK, 4))


def run_block(
    problem: Problem, state: AnnealState, uniforms: jax.Array, block: jax.Array, schedule: Schedule
) -> tuple[AnnealState, AnnealInfo]:
    """Advance one restart by `BLOCK` steps."""
    times = block * BLOCK + 1 + jnp.arange(BLOCK, dtype=jnp.int32)

    def advance(state: AnnealState, inputs: tuple[jax.Array, jax.Array]) -> tuple[AnnealState, AnnealInfo]:
        time_step, uniform = inputs
        settings = Settings(
            temperature=schedule.temperature / jnp.log1p(time_step.astype(jnp.float64)),
            random_share=schedule.random_share,
            is_active=time_step <= schedule.num_steps,
            judge_by_best=schedule.judge_by_best,
        )
        return step(problem, state, settings, uniform)

    return jax.lax.scan(advance, state, (times, uniforms))


_run_block = jax.jit(run_block, donate_argnums=(1,))
_init = jax.jit(init)


class Programs(NamedTuple):
    """The compiled parts of a search: how to begin, anneal a block and descend a block, and in how many threads."""

    problem: Problem
    init: Callable[..., AnnealState]
    run_block: Callable[..., tuple[AnnealState, AnnealInfo]]
    descend: Callable[[BoolArray], DescentState] | None
    max_threads: int


def on_mesh(problem: Problem, mesh: Mesh) -> Programs:
    """Spread a problem's rows over a mesh."""
    host = pad_problem(jax.device_get(problem), mesh.size)
    everywhere, by_row = spec(), spec(None, None, ROWS)
    specs = Problem(*(everywhere,) * len(Problem._fields))._replace(
        bits=spec(None, ROWS, None), shift=spec(ROWS), stretch_start=spec(ROWS), stretch_shift=spec(ROWS)
    )
    pair = Pair(everywhere, by_row, everywhere, everywhere)
    state = AnnealState(pair, *(everywhere,) * 4)
    info = AnnealInfo(*(everywhere,) * len(AnnealInfo._fields))
    descended = DescentState(pair, *(everywhere,) * 3)
    placed = place(host, specs, mesh)
    descend_on_mesh = shard_rows(descend_block, mesh, (specs, pair), descended)
    return Programs(
        placed,
        shard_rows(init, mesh, (specs,), state),
        shard_rows(run_block, mesh, (specs, state, everywhere, everywhere, everywhere), (state, info)),
        lambda included: descend_on_mesh(placed, place(jax.device_get(pair_from(host, included)), pair, mesh)),
        1,  # every process must start the programs of the mesh in the same order
    )


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


def _history(infos: list[list[AnnealInfo]], schedule: Schedule) -> dict[str, np.ndarray]:
    """Join the blocks of every restart: one entry a step, restart after restart."""
    num_steps = min(int(schedule.num_steps), BLOCK * min(len(blocks) for blocks in infos))
    fields = {
        name: np.concatenate([np.concatenate([getattr(b, name) for b in blocks])[:num_steps] for blocks in infos])
        for name in AnnealInfo._fields
    }
    times = np.tile(np.arange(1, num_steps + 1), len(infos))
    return {
        "restart": np.repeat(np.arange(len(infos)), num_steps),
        "iteration": times,
        "score": -fields["log_joint"],
        "best_score": -fields["best_log_joint"],
        "temperature": float(schedule.temperature) / np.log1p(times),
        "accepted": fields["is_accepted"],
        "positive_rules": fields["num_rules"][:, 0],
        "negative_rules": fields["num_rules"][:, 1],
        "move": np.array(MOVES, dtype=object)[fields["move"]],
    }


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
    mesh: Mesh | None = None,
) -> AnnealResult:
    """Anneal all restarts, then descend from their best pairs.

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
    mesh : Mesh, optional
        Spread the rows over these devices; see `soar_jax.devices`.
    """
    if mesh is not None and jax.process_count() > 1 and time_budget is not None:
        raise InputError("time_budget cannot be used with several processes: their clocks differ.")
    on_one = Programs(problem, _init, _run_block, None, max(2, min(num_restarts, os.cpu_count() or 2)))
    programs = on_one if mesh is None else on_mesh(problem, mesh)
    clock = Clock(time_budget)
    schedule = Schedule(
        jnp.int32(num_steps), jnp.float64(temperature), jnp.float64(random_share), jnp.asarray(judge_by_best)
    )
    states = [programs.init(programs.problem) for _ in range(num_restarts)]
    bests = [Best(float(state.best_log_joint), np.array(state.best_included), False) for state in states]
    infos: list[list[AnnealInfo]] = [[] for _ in states]
    if not int(problem.num_patterns.sum()):  # no candidates: the empty pair is all there is
        values = np.array([found.log_joint for found in bests])
        return AnnealResult(bests[0].included, bests[0].log_joint, True, False, values)

    def report(phase: str, done: int, total: int, best: Best) -> None:
        if progress is not None:
            sizes: IntArray = best.included.sum(axis=1)
            progress(Progress(phase, done, total, -best.log_joint, (int(sizes[0]), int(sizes[1]))))

    @in_float64
    def advance(restart: int, block: int) -> None:
        uniforms = _draw(seed, restart, block)
        states[restart], info = programs.run_block(
            programs.problem, states[restart], uniforms, jnp.int32(block), schedule
        )
        infos[restart].append(jax.device_get(info))
        bests[restart] = Best(float(states[restart].best_log_joint), np.array(states[restart].best_included), False)

    # Restarts share the cores as threads: the compiled program is small and leaves Python alone.
    with ThreadPoolExecutor(programs.max_threads) as executor:
        # The descent from two empty rule sets needs no annealing: it runs, and above all compiles, beside it.
        from_empty = executor.submit(descend, problem, bests[0].included, clock, programs.descend)
        try:
            for block in range(-(-num_steps // BLOCK)):
                for waiting in [executor.submit(advance, restart, block) for restart in range(num_restarts)]:
                    waiting.result()
                leader = max(bests, key=lambda found: found.log_joint)
                report("annealing", min((block + 1) * BLOCK, num_steps), num_steps, leader)
                if clock.is_over():
                    break
        except KeyboardInterrupt:
            clock.stopped = True
    annealed = np.array([found.log_joint for found in bests])
    ranked = [bests[i] for i in np.argsort(-annealed, kind="stable")]
    starts = list({found.included.tobytes(): found for found in ranked}.values())
    leader = better(ranked[0], from_empty.result())
    best = polish(problem, starts, seed, clock, report, leader, programs.descend)
    history = _history(infos, schedule) if all(infos) else {}
    return AnnealResult(best.included, best.log_joint, best.is_optimal, clock.stopped, annealed, history)
