"""The schedule of a sampling run: warm-up that adapts ladder and weights, then draws, in blocks that can be saved.

A run of a given length makes its draws and ends. A run without one is judged now and then: it ends when its draws are
enough; where chains disagree for long, all that was drawn becomes warm-up, and it starts again from what that taught.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from soar_jax._base import BoolArray, in_float64
from soar_jax._progress import Clock, Progress, announce
from soar_jax.sampling.draws import Block, Draws, join
from soar_jax.sampling.plan import DEFAULT_PLAN, Plan
from soar_jax.sampling.sampler import Sampler
from soar_jax.sampling.settings import NUM_CHAINS, NUM_TEMPERATURES
from soar_jax.sampling.temper import BLOCK
from soar_jax.score.compiled import drop_surplus
from soar_jax.score.target import Target

_PHASES = (1, 1, 2, 4, 8)
"""Relative lengths of the parts of warm-up; after each, ladder and weights are set anew."""
FIRST_WARMUP = 200
"""Draws of warm-up before a run without a given length is first judged."""
FIRST_JUDGED = 400
"""Draws per chain after which it is first judged, and half as many more each time."""
EPOCH = 4
"""Where chains still disagree after so many times the draws of warm-up, these become warm-up."""
MAX_DRAWS = 20_000


def _phase_ends(num_blocks: int) -> list[int]:
    """After which warm-up blocks to adapt."""
    ends = np.unique(np.maximum(1, np.round(np.cumsum(_PHASES) / sum(_PHASES) * num_blocks))).astype(int)
    return [int(end) for end in ends] if num_blocks else []


class Verdict(NamedTuple):
    """What a judge says of the draws so far.

    Attributes
    ----------
    is_enough : bool
    agrees : bool
        Chains agree, so that more draws of the same kind will do.
    note : str
        For the progress bar.
    """

    is_enough: bool
    agrees: bool
    note: str = ""


Judge = Callable[[Draws], Verdict]


class Store(Protocol):
    """Where a run keeps its blocks; see `soar_jax.sampling.saved_run`."""

    def restore(self, sampler: Sampler, blocks: list[Block]) -> int:
        """Bring a new sampler to the saved state, fill ``blocks``, and return how many blocks are done."""
        ...

    def keep(self, sampler: Sampler, blocks: list[Block], done: int) -> None:
        """Save if it is time to."""
        ...

    def finish(self, sampler: Sampler, blocks: list[Block], done: int) -> None:
        """Save now."""
        ...


@dataclass
class _Run:
    """A run under way: the sampler, its finished blocks, and who is to be told."""

    sampler: Sampler
    thin: int
    clock: Clock
    warmup_clock: Clock
    progress: Callable[[Progress], None] | None
    saved: Store | None
    blocks: list[Block] = field(default_factory=list)
    """Of draws, since the last adaptation."""
    num_done: int = 0
    """Blocks done, those of warm-up included."""
    note: str = ""
    block_seconds: float = 0.0
    """How long the last block took; 0 where it is not known."""
    _has_compiled: bool = False

    def warm_up(self, num_blocks: int, executor: ThreadPoolExecutor) -> None:
        """Advance and adapt; nothing to do once there are draws."""
        adapt_after = _phase_ends(num_blocks)
        while self.num_done < num_blocks and not self.blocks:
            if not self.warmup_clock.has_room_for(self.block_seconds):
                self.sampler.is_warmup_cut = True
                self.sampler.adapt()
                return
            block = self._advance(executor)
            self.sampler.learn(block, BLOCK * self.thin)
            self.num_done += 1
            if self.num_done in adapt_after:
                self.sampler.adapt()
            self._after("warm-up", block, self.num_done, num_blocks)

    def sample(self, num_blocks: int, executor: ThreadPoolExecutor) -> None:
        """Add blocks of draws until there are enough or the time is over; at least one."""
        while len(self.blocks) < num_blocks and (not self.blocks or self.clock.has_room_for(self.block_seconds)):
            block = self._advance(executor)
            self.blocks.append(self.sampler.meet(block))
            self.num_done += 1
            self._after("sampling", block, len(self.blocks), num_blocks)

    def _advance(self, executor: ThreadPoolExecutor) -> Block:
        """Run one block, and note how long it took; the first one is compiled and says nothing of the others."""
        started = time.perf_counter()
        block = self.sampler.advance(executor, self.thin)
        self.block_seconds = time.perf_counter() - started if self._has_compiled else 0.0
        self._has_compiled = True
        return block

    def sample_until(self, judge: Judge, executor: ThreadPoolExecutor) -> None:
        """Add blocks until the judge is content, or the time is over."""
        while True:
            num_warmup = self.num_done - len(self.blocks)
            self.sample(_next_judgement(len(self.blocks)), executor)
            if not self.clock.has_room_for(self.block_seconds) or len(self.blocks) * BLOCK >= MAX_DRAWS:
                return
            verdict = judge(self.join())
            self.note = verdict.note
            if verdict.is_enough:
                return
            if not verdict.agrees and len(self.blocks) >= EPOCH * num_warmup and self.clock.share_left() > 0.5:  # noqa: PLR2004
                self.sampler.learn_from_draws(self.blocks, BLOCK * self.thin)
                self.sampler.adapt()
                self.blocks = []

    def _after(self, phase: str, block: Block, num_done: int, num_blocks: int) -> None:
        """Report a block, and save if it is time to."""
        if self.progress is not None:
            draws = block.draws
            power = self.sampler.ladder[-1]
            score = -float(np.mean(power * draws.log_likelihood[-1] + draws.log_prior[-1]))
            members = np.unpackbits(draws.included[-1], axis=-1, count=self.sampler.kinds.shape[1])
            sizes = members.sum(axis=-1).mean(axis=0)
            done, total = num_done * BLOCK, num_blocks * BLOCK
            self.progress(Progress(phase, done, total, score, (round(sizes[0]), round(sizes[1])), self.note))
        if self.saved is not None:
            self.saved.keep(self.sampler, self.blocks, self.num_done)

    def save(self) -> None:
        """Save whatever is not saved yet."""
        if self.saved is not None:
            self.saved.finish(self.sampler, self.blocks, self.num_done)

    def join(self, num_draws: int | None = None) -> Draws:
        """Put the draws so far together, or the first so many of each chain."""
        blocks = self.blocks[: None if num_draws is None else -(-num_draws // BLOCK)]
        was_stopped = self.clock.stopped or self.sampler.is_warmup_cut
        return join(blocks, self.sampler.info(self.thin, was_stopped=was_stopped), num_draws)


def _next_judgement(num_blocks: int) -> int:
    """After how many blocks of draws to judge next."""
    found = FIRST_JUDGED // BLOCK
    while found <= num_blocks:
        found = found * 3 // 2
    return found


@in_float64
def run(
    target: Target,
    *,
    seed: int,
    num_draws: int | None,
    num_warmup: int | None = None,
    num_chains: int = NUM_CHAINS,
    num_temperatures: int = NUM_TEMPERATURES,
    thin: int = 1,
    starts: BoolArray | None = None,
    dispersed: bool = True,
    plan: Plan = DEFAULT_PLAN,
    time_budget: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    saved: Store | None = None,
    judge: Judge | None = None,
) -> Draws:
    """Sample the posterior of the pair.

    Parameters
    ----------
    num_draws : int, optional
        Draws per chain, in blocks of `BLOCK`; without a number the run goes on until ``judge`` is content.
    num_warmup : int, optional
        How many more to leave out before; half of ``num_draws``, or `FIRST_WARMUP`, when not given. Ladder and weights
        adapt during warm-up and are fixed afterwards.
    num_chains, num_temperatures : int
        Independent chains, and the length of the ladder in each; 1 for no tempering.
    thin : int
        Rounds per draw.
    starts : (num_starts, 2, num_slots) bool, optional
        Good pairs. Every second chain starts from one of them, in turn, the others from prior draws: overdispersed on
        purpose.
    dispersed : bool
        False starts every chain from one of ``starts``: for studies of one mode, not for verdicts.
    plan : Plan
        Steps of each kernel in a round.
    time_budget : float, optional
        Seconds. Warm-up takes at most half of it; afterwards, and after an interrupt, the draws so far are returned:
        one block at least, and no block is begun that would end more than a tenth of the budget late.
        A run whose warm-up was cut short is not what it would have been without a budget, also when resumed.
    progress : callable, optional
        Called at once, and after each block.
    saved : Store, optional
        Where to save blocks, and from where to resume.
    judge : callable, optional
        Says whether the draws so far are enough; needed without ``num_draws``.
    """
    clock, warmup_clock = Clock(time_budget), Clock(None if time_budget is None else time_budget / 2)
    if num_warmup is None:
        num_warmup = FIRST_WARMUP if num_draws is None else num_draws // 2
    announce(progress, "warm-up", num_warmup)
    drop_surplus()
    sampler = Sampler(
        target,
        seed=seed,
        num_chains=num_chains,
        num_temperatures=num_temperatures,
        starts=starts,
        plan=plan,
        dispersed=dispersed,
    )
    under_way = _Run(sampler, thin, clock, warmup_clock, progress, saved)
    if saved is not None:
        under_way.num_done = saved.restore(sampler, under_way.blocks)
    with ThreadPoolExecutor(sampler.num_threads) as executor:
        try:
            under_way.warm_up(-(-num_warmup // BLOCK), executor)
            if num_draws is not None:
                under_way.sample(-(-num_draws // BLOCK), executor)
            elif judge is not None:
                under_way.sample_until(judge, executor)
            else:
                raise ValueError("a run without num_draws needs a judge")
        except KeyboardInterrupt:
            under_way.clock.stopped = True
            if not under_way.blocks:
                under_way.save()
                raise
    under_way.save()
    return under_way.join(num_draws)
