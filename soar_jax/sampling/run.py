"""A whole sampling run: warm-up that adapts ladder and weights, then draws, in blocks that can be saved.

Chains are independent of each other, so on a CPU each thread advances some of them with the same compiled
program. Nothing a run draws depends on how chains are spread over threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray, in_float64
from soar_jax._progress import Clock, Progress
from soar_jax.sampling.kernel import Context
from soar_jax.sampling.plan import DEFAULT_PLAN, Plan
from soar_jax.sampling.prior_draw import make_prior_tables
from soar_jax.sampling.relatives import find_kinship
from soar_jax.sampling.settings import NUM_CHAINS, NUM_TEMPERATURES
from soar_jax.sampling.temper import (
    BLOCK,
    Draw,
    Replicas,
    RoundSums,
    Setup,
    adapt_ladder,
    initial_ladder,
    interpolate,
    run_block,
)
from soar_jax.score.flips import state_of
from soar_jax.score.pair import pair_from
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import MAX_RULES
from soar_jax.score.target import Target

_MAX_TRIES = 100
_PHASES = (1, 1, 2, 4, 8)
"""Relative lengths of the parts of warm-up; after each, ladder and weights are set anew."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """What sampling leaves behind; arrays of draws lead with (num_chains, num_draws).

    Attributes
    ----------
    packed : (num_chains, num_draws, 2, ceil(num_slots / 8)) uint8
        Membership, eight patterns per byte.
    num_slots : int
    counts : (num_chains, num_draws, 4) int64
        Packed class counts of the states.
    log_likelihood, log_prior : (num_chains, num_draws) float64
    move_acceptance : (num_chains, num_draws, num_kernels) float64
        Share of each kernel's proposals accepted at the cold end since the last draw.
    ladder_swaps : (num_chains, num_draws) float64
        Mean chance of a swap over the ladder since the last draw.
    visits : (num_chains, 2, num_slots) int64
        Rounds, of all and not only of the draws kept, in which each rule was in.
    num_rounds : int
        Rounds after warm-up.
    ladder : (num_temperatures,) float64
        The inverse temperatures used, fixed after warm-up.
    kernels : tuple of str
        Names of the plan's kernels.
    acceptance : (num_kernels, num_temperatures) float64
    swap_probability : (num_temperatures - 1,) float64
    round_trips : (num_chains,) int64
    log_evidence, log_evidence_error : float
        Log marginal likelihood by thermodynamic integration, and its standard error over chains: of the labels, and of
        every pattern outside the pools being out. NaN without a ladder that ends at the posterior.
    was_stopped : bool
        The time budget or an interrupt ended the run, or its warm-up, early.
    """

    packed: np.ndarray
    num_slots: int
    counts: IntArray
    log_likelihood: FloatArray
    log_prior: FloatArray
    move_acceptance: FloatArray
    ladder_swaps: FloatArray
    visits: IntArray
    num_rounds: int
    ladder: FloatArray
    kernels: tuple[str, ...]
    acceptance: FloatArray
    swap_probability: FloatArray
    round_trips: IntArray
    log_evidence: float
    log_evidence_error: float
    was_stopped: bool = False

    @property
    def included(self) -> BoolArray:
        """Membership: (num_chains, num_draws, 2, num_slots) bool."""
        return np.unpackbits(self.packed, axis=-1, count=self.num_slots).astype(bool)


def prior_pair(generator: np.random.Generator, hyper: Hyperparameters, kinds: IntArray) -> BoolArray:
    """Draw a pair as from the prior; a draw with too many rules is drawn again, and after some tries given up.

    It is where a chain starts, not a draw: patterns outside the pools do not count, and a prior under which nearly
    every pair has too many rules gives the empty pair.
    """
    for _ in range(_MAX_TRIES):
        included = np.zeros(kinds.shape, dtype=bool)
        for side in (0, 1):
            rate = generator.beta(hyper.rule_alpha[side], hyper.rule_beta[side])
            real = kinds[side] > 0
            included[side, real] = generator.random(real.sum()) < rate[kinds[side, real] - 1]
        if included.sum(axis=1).max() <= MAX_RULES:
            return included
    return np.zeros(kinds.shape, dtype=bool)


def integrate(log_likelihood: FloatArray, ladder: FloatArray) -> tuple[float, float]:
    """Integrate the mean log likelihood, (num_chains, num_temperatures), over the ladder: value and error."""
    by_chain: FloatArray = np.asarray(np.trapezoid(log_likelihood, ladder, axis=-1))
    error = by_chain.std(ddof=1) / np.sqrt(len(by_chain)) if len(by_chain) > 1 else np.nan
    return float(by_chain.mean()), float(error)


def _num_threads(num_chains: int) -> int:
    """Threads that advance equal numbers of chains; an accelerator gets all chains at once."""
    if jax.default_backend() != "cpu":
        return 1
    return max(n for n in range(1, (os.cpu_count() or 1) + 1) if num_chains % n == 0)


def _phase_ends(num_blocks: int) -> list[int]:
    """After which warm-up blocks to adapt."""
    ends = np.unique(np.maximum(1, np.round(np.cumsum(_PHASES) / sum(_PHASES) * num_blocks))).astype(int)
    return [int(end) for end in ends] if num_blocks else []


class Block(NamedTuple):
    """What one block of rounds leaves behind; ``draws.included`` is packed."""

    sums: RoundSums
    draws: Draw


class Sampler:
    """The state of a run between blocks: replicas, ladder, weights, and what warm-up has learnt."""

    def __init__(
        self,
        target: Target,
        *,
        seed: int,
        num_chains: int,
        num_temperatures: int,
        annealed: BoolArray | None,
        plan: Plan,
        power: float,
        dispersed: bool,
    ) -> None:
        self.target, self.plan = target, plan
        problem, hyper = target.problem, target.hyper
        self.context = Context(problem, target.numbered_pool)
        self.prior = make_prior_tables(self.context, hyper)
        self.kinship = find_kinship(*target.merged, problem.num_slots)
        self.kinds = np.asarray(problem.kind).astype(np.int64)
        self.ladder = power * initial_ladder(num_temperatures) if num_temperatures > 1 else np.array([power])
        generator = np.random.Generator(np.random.Philox(key=[seed, 2]))
        starts = [
            annealed
            if annealed is not None and (chain % 2 == 1 or not dispersed)
            else prior_pair(generator, hyper, self.kinds)
            for chain in range(num_chains)
            for _ in range(num_temperatures)
        ]
        pairs = [pair_from(problem, start) for start in starts]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
        states = jax.jit(jax.vmap(state_of, in_axes=(None, 0)))(problem, stacked)
        shape = (num_chains, num_temperatures)
        states = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*shape, *leaf.shape[1:]), states)
        self.num_chains, self.num_threads = num_chains, _num_threads(num_chains)
        self.replicas = Replicas(states, np.zeros(shape, np.int32), np.int32(0))
        keys = jax.random.key(seed)
        self.rng_keys = jax.vmap(jax.random.fold_in, (None, 0))(keys, jnp.arange(num_chains))
        self.is_warmup_cut = False
        self.learnt: RoundSums | None = None
        self.rounds_learnt = 0
        self.tools: list[Any] = [None] * len(plan)
        self.focus_on(None)

    def focus_on(self, inclusion: FloatArray | None) -> None:
        """Focus proposals by the inclusion of each pattern at each temperature: (num_temperatures, 2, num_slots)."""
        self.inclusion = inclusion
        num_temperatures = len(self.ladder)
        by_temperature = None if inclusion is None else inclusion.reshape(num_temperatures, -1).clip(0.0, 1.0)
        cold = None if by_temperature is None else by_temperature[num_temperatures // 2 :].mean(axis=0)
        weights = []
        for place, (kernel, _) in enumerate(self.plan):
            if self.tools[place] is None or kernel.is_prepared_anew:
                self.tools[place] = jax.device_put(kernel.prepare(self.kinship, self.target.problem.num_slots, cold))
            rows = [None] * num_temperatures if by_temperature is None else list(by_temperature)
            cumulative = [kernel.weigh(self.target.problem, self.tools[place], row) for row in rows]
            weights.append(jnp.asarray(np.stack(cumulative)))
        self.setup = Setup(self.context, self.prior, tuple(self.tools), tuple(weights), jnp.asarray(self.ladder))

    def advance(self, executor: ThreadPoolExecutor, thin: int) -> Block:
        """Run one block in all chains."""
        size = self.num_chains // self.num_threads

        @in_float64
        def work(thread: int) -> Any:
            mine = slice(thread * size, (thread + 1) * size)
            part = Replicas(
                jax.tree.map(lambda leaf: jnp.asarray(leaf[mine]), self.replicas.states),
                jnp.asarray(self.replicas.journey[mine]),
                jnp.asarray(self.replicas.round, jnp.int32),
            )
            return jax.device_get(run_block(self.setup, part, self.rng_keys[mine], jnp.int32(thin), plan=self.plan))

        results = list(executor.map(work, range(self.num_threads)))
        replicas, sums, draws = zip(*results, strict=True)
        self.replicas = Replicas(
            jax.tree.map(lambda *leaves: np.concatenate(leaves), *(r.states for r in replicas)),
            np.concatenate([r.journey for r in replicas]),
            replicas[0].round,
        )
        by_chain = {name: np.concatenate([getattr(s, name) for s in sums]) for name in RoundSums._fields}
        by_chain["inclusion"] = np.sum([s.inclusion for s in sums], axis=0)
        joined = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *draws)
        return Block(RoundSums(**by_chain), joined._replace(included=np.packbits(joined.included, axis=-1)))

    def learn(self, sums: RoundSums, num_rounds: int) -> None:
        """Remember a block of warm-up until the next adaptation."""
        self.learnt = sums if self.learnt is None else jax.tree.map(np.add, self.learnt, sums)
        self.rounds_learnt += num_rounds

    def adapt(self) -> None:
        """Set ladder and weights from the blocks since the last adaptation."""
        if self.learnt is None:
            return
        inclusion = self.learnt.inclusion / (self.rounds_learnt * self.num_chains)
        if len(self.ladder) > 1:
            swaps = self.learnt.swap_probability.mean(axis=0) / self.rounds_learnt
            ladder = adapt_ladder(self.ladder, swaps)
            # inclusion was seen at the old temperatures
            seen = inclusion.reshape(len(self.ladder), -1)
            inclusion = interpolate(ladder, self.ladder, seen).reshape(inclusion.shape)
            self.ladder = ladder
        self.learnt, self.rounds_learnt = None, 0
        self.focus_on(inclusion)


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
    num_done: int = 0
    """Blocks done, those of warm-up included."""

    def warm_up(self, num_blocks: int, executor: ThreadPoolExecutor) -> None:
        """Advance and adapt; nothing to do once there are draws."""
        adapt_after = _phase_ends(num_blocks)
        while self.num_done < num_blocks and not self.blocks:
            if self.warmup_clock.is_over():
                self.sampler.is_warmup_cut = True
                self.sampler.adapt()
                return
            block = self.sampler.advance(executor, self.thin)
            self.sampler.learn(block.sums, BLOCK * self.thin)
            self.num_done += 1
            if self.num_done in adapt_after:
                self.sampler.adapt()
            self._after("warm-up", block, self.num_done, num_blocks)

    def sample(self, num_blocks: int, executor: ThreadPoolExecutor) -> None:
        """Add blocks of draws until there are enough or the time is over; at least one."""
        while len(self.blocks) < num_blocks and not (self.blocks and self.clock.is_over()):
            block = self.sampler.advance(executor, self.thin)
            self.blocks.append(block)
            self.num_done += 1
            self._after("sampling", block, len(self.blocks), num_blocks)

    def _after(self, phase: str, block: Block, num_done: int, num_blocks: int) -> None:
        """Report a block, and save if it is time to."""
        if self.progress is not None:
            draws = block.draws
            score = -float(np.mean(draws.log_likelihood[-1] + draws.log_prior[-1]))
            members = np.unpackbits(draws.included[-1], axis=-1, count=self.sampler.kinds.shape[1])
            sizes = members.sum(axis=-1).mean(axis=0)
            done, total = num_done * BLOCK, num_blocks * BLOCK
            self.progress(Progress(phase, done, total, score, (round(sizes[0]), round(sizes[1]))))
        if self.saved is not None:
            self.saved.keep(self.sampler, self.blocks, self.num_done)

    def save(self) -> None:
        """Save whatever is not saved yet."""
        if self.saved is not None:
            self.saved.finish(self.sampler, self.blocks, self.num_done)


@in_float64
def run(
    target: Target,
    *,
    seed: int,
    num_draws: int,
    num_warmup: int,
    num_chains: int = NUM_CHAINS,
    num_temperatures: int = NUM_TEMPERATURES,
    thin: int = 1,
    power: float = 1.0,
    annealed: BoolArray | None = None,
    dispersed: bool = True,
    plan: Plan = DEFAULT_PLAN,
    time_budget: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    saved: Store | None = None,
) -> Draws:
    """Sample the posterior of the pair.

    Parameters
    ----------
    num_draws, num_warmup : int
        Draws per chain, and how many more to leave out before; in blocks of `BLOCK`. Ladder and weights adapt
        during warm-up and are fixed afterwards.
    num_chains, num_temperatures : int
        Independent chains, and the length of the ladder in each; 1 for no tempering.
    thin : int
        Rounds per draw.
    power : float
        The likelihood is raised to this power at the cold end: below 1 for a coarsened posterior.
    annealed : (2, num_slots) bool, optional
        A good pair. Every second chain starts from it, the others from prior draws: overdispersed on purpose.
    dispersed : bool
        False starts every chain from ``annealed``: for studies of one mode, not for verdicts.
    plan : Plan
        Steps of each kernel in a round.
    time_budget : float, optional
        Seconds. Warm-up takes at most half of it; afterwards, and after an interrupt, the draws so far are returned. A
        run whose warm-up was cut short is not what it would have been without a budget, also when resumed.
    progress : callable, optional
        Called after each block.
    saved : Store, optional
        Where to save blocks, and from where to resume.
    """
    sampler = Sampler(
        target,
        seed=seed,
        num_chains=num_chains,
        num_temperatures=num_temperatures,
        annealed=annealed,
        plan=plan,
        power=power,
        dispersed=dispersed,
    )
    warmup_clock = Clock(None if time_budget is None else time_budget / 2)
    under_way = _Run(sampler, thin, Clock(time_budget), warmup_clock, progress, saved)
    if saved is not None:
        under_way.num_done = saved.restore(sampler, under_way.blocks)
    draw_blocks = -(-num_draws // BLOCK)
    with ThreadPoolExecutor(sampler.num_threads) as executor:
        try:
            under_way.warm_up(-(-num_warmup // BLOCK), executor)
            under_way.sample(draw_blocks, executor)
        except KeyboardInterrupt:
            under_way.clock.stopped = True
            if not under_way.blocks:
                under_way.save()
                raise
    under_way.save()
    return _join(under_way, draw_blocks, num_draws)


def _join(under_way: _Run, num_blocks: int, num_draws: int) -> Draws:
    """Put the blocks of a run together, chain by chain."""
    sampler, blocks = under_way.sampler, under_way.blocks[:num_blocks]
    num_rounds = len(blocks) * BLOCK * under_way.thin
    sums: RoundSums = jax.tree.map(lambda *leaves: np.sum(leaves, axis=0), *(block.sums for block in blocks))
    draws: Draw = jax.tree.map(
        lambda *leaves: np.ascontiguousarray(np.concatenate(leaves)[:num_draws].swapaxes(0, 1)),
        *(block.draws for block in blocks),
    )
    evidence, error = np.nan, np.nan
    if len(sampler.ladder) > 1 and sampler.ladder[-1] == 1.0:
        evidence, error = integrate(sums.log_likelihood / num_rounds, sampler.ladder)
        evidence += float(sampler.prior.log_mass)
    return Draws(
        packed=draws.included,
        num_slots=sampler.kinds.shape[1],
        counts=draws.counts,
        log_likelihood=draws.log_likelihood,
        log_prior=draws.log_prior,
        move_acceptance=draws.acceptance,
        ladder_swaps=draws.swap_probability,
        visits=sums.visits,
        num_rounds=num_rounds,
        ladder=sampler.ladder,
        kernels=tuple(kernel.name for kernel, _ in sampler.plan),
        acceptance=sums.acceptance.mean(axis=0) / num_rounds,
        swap_probability=sums.swap_probability.mean(axis=0) / num_rounds,
        round_trips=sums.round_trips.astype(np.int64),
        log_evidence=evidence,
        log_evidence_error=error,
        was_stopped=under_way.clock.stopped or sampler.is_warmup_cut,
    )
