"""MAP search: Algorithm 1 of the paper in several restarts, then descents to a certified local optimum.

Restarts are shared out in batches, each one program (`soar_jax.search.anneal_step`) in a thread of its own; the random
numbers of a restart do not depend on its batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from threading import Event
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from soar_jax._base import NUM_PLANES, BoolArray, FloatArray, InputError, IntArray, in_float64
from soar_jax._progress import Clock, Progress, announce
from soar_jax._threads import result_of
from soar_jax.score.compiled import at_most, drop_surplus
from soar_jax.score.devices import ROWS, place, shard_rows, spec
from soar_jax.score.flips import NumberedPool, PairState, number_pool
from soar_jax.score.pair import Pair, host_pair, pair_from
from soar_jax.score.problem import Problem, pad_problem
from soar_jax.search.anneal_step import BLOCK, AnnealInfo, AnnealState, Known, Schedule, run_block, start, unpack
from soar_jax.search.checkpoint import Checkpoint
from soar_jax.search.descent import Best, Descend, DescentState, better, descend, descend_block, polish
from soar_jax.search.descent_batch import descend_together, prefers_batches
from soar_jax.search.moves import MOVES
from soar_jax.search.resume import arrays_of_restarts, put_back_restarts

MAX_BATCH = 64
BATCH_BYTES = 1 << 20
"""Bit planes of one batch of restarts at most: what a core's cache holds."""


def _draw(seed: int, restart: int, block: int) -> FloatArray:
    """Draw the uniforms (BLOCK, 4) of one block of one restart.

    Four numbers per step are drawn on the host by a counter-based generator keyed by the seed: the
    same on every device and in every batch, and nothing to compile, unlike a generator on the device.
    """
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, restart, block])).random((BLOCK, 4))


_run_block = at_most(12, jax.jit(run_block, donate_argnums=(3,)))
_descend = at_most(32, jax.jit(descend_block))


def batch_restarts(num_restarts: int, num_words: int, num_threads: int) -> list[range]:
    """Share the restarts out in batches of like size, as many as keep the threads busy and their planes in the cache.

    A batch has at least two chains, if need be one that idles: XLA compiles a single one to far slower code. Devices
    that are no CPU get all restarts at once.
    """
    if jax.default_backend() != "cpu":
        return [range(max(2, num_restarts))]
    largest = np.clip(BATCH_BYTES // (2 * NUM_PLANES * 8 * num_words), 2, MAX_BATCH)
    num_batches = num_threads * -(-num_restarts // int(num_threads * largest))
    size = max(2, -(-num_restarts // num_batches))
    return [range(first, first + size) for first in range(0, num_restarts, size)]


class Programs(NamedTuple):
    """The parts of a search: how to begin, anneal a block and descend a block, and in how many threads."""

    problem: Problem
    pool: NumberedPool
    start: Callable[[int, BoolArray | None], AnnealState]
    run_block: Callable[..., tuple[AnnealState, AnnealInfo]]
    descend: Descend
    num_threads: int


def on_one_device(problem: Problem, pool: NumberedPool) -> Programs:
    """Use a thread for each core: the programs are small and leave Python alone."""
    return Programs(
        problem,
        pool,
        lambda num_chains, required: jax.device_put(start(problem, num_chains, required), may_alias=False),
        _run_block,
        lambda included, with_exchanges=True: _descend(
            problem, pool, pair_from(problem, included), np.bool_(with_exchanges)
        ),
        max(2, os.cpu_count() or 2),
    )


class _MeshPrograms(NamedTuple):
    """What is compiled for a mesh, and how its arguments lie on it."""

    problem: Problem
    pool: NumberedPool
    pair: Pair
    state: AnnealState
    run_block: Callable[..., tuple[AnnealState, AnnealInfo]]
    descend: Callable[..., DescentState]


@lru_cache(maxsize=8)
def _compile_for(mesh: Mesh) -> _MeshPrograms:
    """Make the programs of a mesh once: fits of like shape share their compilation."""
    everywhere = spec()
    problem = Problem(*(everywhere,) * len(Problem._fields))._replace(
        bits=spec(None, ROWS, None), shift=spec(ROWS), stretch_start=spec(ROWS), stretch_shift=spec(ROWS)
    )
    pool = NumberedPool(spec(None, ROWS), everywhere, everywhere)
    pair = Pair(everywhere, spec(None, None, ROWS), everywhere, everywhere)
    pairs = pair._replace(planes=spec(None, None, None, ROWS))
    state = AnnealState(PairState(pairs, everywhere, everywhere), *(everywhere,) * 3, Known(*(everywhere,) * 3))
    info = AnnealInfo(*(everywhere,) * len(AnnealInfo._fields))
    given = (problem, pool, everywhere, state, everywhere, everywhere, everywhere)
    descended = DescentState(pair, everywhere, everywhere)
    return _MeshPrograms(
        problem,
        pool,
        pair,
        state,
        at_most(12, shard_rows(run_block, mesh, given, (state, info))),
        at_most(32, shard_rows(descend_block, mesh, (problem, pool, pair, everywhere), descended)),
    )


def on_mesh(problem: Problem, mesh: Mesh) -> Programs:
    """Spread a problem's rows over a mesh."""
    compiled = _compile_for(mesh)
    host = pad_problem(jax.device_get(problem), mesh.size)
    placed = place(host, compiled.problem, mesh)
    pool = place(jax.device_get(number_pool(host)), compiled.pool, mesh)
    return Programs(
        placed,
        pool,
        lambda num_chains, required: place(start(host, num_chains, required), compiled.state, mesh),
        compiled.run_block,
        lambda included, with_exchanges=True: compiled.descend(
            placed, pool, place(host_pair(host, included), compiled.pair, mesh), np.bool_(with_exchanges)
        ),
        1,  # every process must start the programs of the mesh in the same order
    )


def programs_for(problem: Problem, pool: NumberedPool | None, mesh: Mesh | None) -> Programs:
    """Prepare a search on one device, or on a mesh of several."""
    if mesh is not None:
        return on_mesh(problem, mesh)
    return on_one_device(problem, number_pool(problem) if pool is None else pool)


def check_clock(mesh: Mesh | None, time_budget: float | None) -> None:
    """Refuse a time budget where processes must do the same."""
    if mesh is not None and jax.process_count() > 1 and time_budget is not None:
        raise InputError("time_budget cannot be used with several processes: their clocks differ.")


@dataclass
class AnnealResult:
    """What a search found.

    Attributes
    ----------
    included : (2, num_slots) bool
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
        One entry per step and restart.
    seconds : dict
        Where the time went: compiling the annealer (the descent compiles beside it), annealing, descents.
    """

    included: BoolArray
    log_joint: float
    is_local_optimum: bool
    was_stopped: bool
    restart_log_joints: FloatArray
    history: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def _history(
    infos: list[list[AnnealInfo]], schedule: Schedule, num_restarts: int, log_joint_of_nothing: float
) -> dict[str, np.ndarray]:
    """Join the blocks of every batch: one entry per step, restart after restart."""
    num_steps = min(int(schedule.num_steps), BLOCK * min(len(blocks) for blocks in infos))
    batches = [jax.tree.map(lambda *parts: np.concatenate(parts)[:num_steps], *blocks) for blocks in infos]
    joined = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1)[:, :num_restarts].T, *batches)
    best = np.maximum.accumulate(np.maximum(joined.log_joint, log_joint_of_nothing), axis=1)
    small = unpack(joined.packed.ravel())
    times = np.tile(np.arange(1, num_steps + 1), num_restarts)
    return {
        "restart": np.repeat(np.arange(num_restarts), num_steps),
        "iteration": times,
        "score": -joined.log_joint.ravel(),
        "best_score": -best.ravel(),
        "temperature": float(schedule.temperature) / np.log1p(times),
        "accepted": small["accepted"] > 0,
        "looked_up": small["looked_up"] > 0,
        "positive_rules": small["positive_rules"],
        "negative_rules": small["negative_rules"],
        "move": np.array(MOVES, dtype=object)[small["move"]],
    }


class Restarts:
    """All restarts of one search, in their batches: states on the device, what is known of them on the host."""

    def __init__(
        self, programs: Programs, batches: list[range], num_restarts: int, required: BoolArray | None = None
    ) -> None:
        self.programs, self.batches = programs, batches
        self.is_real = [np.array([restart < num_restarts for restart in batch]) for batch in batches]
        self.states = [programs.start(len(batch), required) for batch in batches]
        empty = Best(
            float(np.asarray(self.states[0].best_log_joint)[0]), np.array(self.states[0].best_included)[0], False
        )
        self.bests = [empty] * num_restarts
        self.infos: list[list[AnnealInfo]] = [[] for _ in batches]
        self._is_compiled = Event()
        self.compile_seconds = 0.0

    @property
    def leader(self) -> Best:
        """The best pair so far."""
        return max(self.bests, key=lambda found: found.log_joint)

    def advance(self, batch: int, block: int, seed: int, schedule: Schedule, clock: Clock) -> None:
        """Run one block of one batch, unless the time is over."""
        try:
            if batch:
                self._is_compiled.wait()  # two threads at once would compile the program twice
            if not clock.is_over():
                self._run(batch, block, seed, schedule)
        finally:  # also after an error, which the first batch's thread reports: the others must not wait for ever
            self._is_compiled.set()

    @in_float64
    def _run(self, batch: int, block: int, seed: int, schedule: Schedule) -> None:
        programs, restarts = self.programs, self.batches[batch]
        uniforms = np.stack([_draw(seed, restart, block) for restart in restarts], axis=1)
        fixed = programs.problem, programs.pool, self.is_real[batch]
        called = time.perf_counter()
        state, info = programs.run_block(*fixed, self.states[batch], uniforms, np.int32(block), schedule)
        if not batch and not block:  # a call returns once its program is compiled and started
            self.compile_seconds = time.perf_counter() - called
        self._is_compiled.set()
        self.states[batch] = state
        self.infos[batch].append(jax.device_get(info))
        self.note_bests(batch)

    def note_bests(self, batch: int) -> None:
        """Take the best pairs of a batch from its states."""
        state, restarts = self.states[batch], self.batches[batch]
        values, included = np.array(state.best_log_joint), np.array(state.best_included)
        for chain in np.flatnonzero(self.is_real[batch]):
            self.bests[restarts[chain]] = Best(float(values[chain]), included[chain], False)


@in_float64
def run(
    problem: Problem,
    *,
    pool: NumberedPool | None = None,
    required: BoolArray | None = None,
    seed: int,
    num_steps: int,
    num_restarts: int,
    temperature: float,
    random_share: float,
    judge_by_best: bool,
    time_budget: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    mesh: Mesh | None = None,
    checkpoint: Checkpoint | None = None,
) -> AnnealResult:
    """Anneal all restarts, then descend from their best pairs.

    Parameters
    ----------
    pool : NumberedPool, optional
        The problem's pools in one numbering, if they are on the device already.
    required : (2, num_slots) bool, optional
        Rules that must be in, as the problem has them.
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
        Seconds, half of them at most for annealing; afterwards, and after an interrupt from the keyboard, the best so
        far is returned.
    progress : callable, optional
        Called at once, and after each block.
    mesh : Mesh, optional
        Spread the rows over these devices; see `soar_jax.score.devices`.
    checkpoint : Checkpoint, optional
        Where to save the restarts between blocks, and from where to go on.
    """
    check_clock(mesh, time_budget)
    drop_surplus()
    announce(progress, "annealing", num_steps)
    started = time.perf_counter()
    programs = programs_for(problem, pool, mesh)
    clock = Clock(time_budget)
    # the pair that annealing leaves is better for a descent, and uncertified without one: half of the time is for it
    cooling_clock = Clock(None if time_budget is None else time_budget / 2)
    schedule = Schedule(np.int32(num_steps), np.float64(temperature), np.float64(random_share), np.bool_(judge_by_best))
    batches = batch_restarts(num_restarts, problem.bits.shape[1], programs.num_threads)
    restarts = Restarts(programs, batches, num_restarts, required)
    nothing = restarts.leader
    if not np.asarray(problem.kind).any():  # no candidates: the first pair is all there is
        return AnnealResult(nothing.included, nothing.log_joint, True, False, np.full(num_restarts, nothing.log_joint))

    def report(phase: str, done: int, total: int, best: Best) -> None:
        if progress is not None:
            sizes: IntArray = best.included.sum(axis=1)
            progress(Progress(phase, done, total, -best.log_joint, (int(sizes[0]), int(sizes[1]))))

    best, cooled = nothing, None
    executor = ThreadPoolExecutor(programs.num_threads)
    # The descent from two empty rule sets needs no annealing: it runs, and above all compiles, beside it.
    from_empty = executor.submit(descend, programs.descend, nothing.included, clock)
    try:
        saved = None if checkpoint is None else checkpoint.load()
        first = 0 if saved is None else put_back_restarts(restarts, saved)
        for block in range(first, -(-num_steps // BLOCK)):
            how = block, seed, schedule, cooling_clock
            work = [executor.submit(restarts.advance, i, *how) for i in range(len(batches))]
            for waiting in work:
                result_of(waiting)
            report("annealing", min((block + 1) * BLOCK, num_steps), num_steps, restarts.leader)
            if cooling_clock.is_over():
                break
            if checkpoint is not None:
                checkpoint.keep({"blocks": block + 1}, lambda: arrays_of_restarts(restarts))
        cooled = time.perf_counter()
        best = better(restarts.leader, result_of(from_empty))
        ranked = sorted(restarts.bests, key=lambda found: -found.log_joint)
        starts = list({found.included.tobytes(): found for found in ranked}.values())
        if prefers_batches(mesh):
            kinds = np.broadcast_to(np.asarray(problem.kind), (len(starts), *problem.kind.shape))
            included = [found.included for found in starts]
            together = descend_together(problem, programs.pool, included, kinds, clock, with_exchanges=True)
            best, starts = reduce(better, together, best), []
        best = polish(problem, programs.descend, starts, seed, clock, report, best)
    except KeyboardInterrupt:
        clock.stopped = True
        best = better(better(best, restarts.leader), from_empty.result() if from_empty.done() else best)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
    ended = time.perf_counter()
    cooled = cooled or ended
    infos, compiling = restarts.infos, restarts.compile_seconds
    return AnnealResult(
        best.included,
        best.log_joint,
        best.is_optimal,
        clock.stopped or cooling_clock.stopped,
        np.array([found.log_joint for found in restarts.bests]),
        _history(infos, schedule, num_restarts, nothing.log_joint) if all(infos) else {},
        {"compiling": compiling, "annealing": cooled - started - compiling, "descents": ended - cooled},
    )
