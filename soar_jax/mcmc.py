"""A whole sampling run: warm-up that adapts ladder and weights, then draws, in blocks that can be saved.

Groups of replicas are independent of each other, so on a CPU each thread advances some of them with the same
compiled program. Nothing a run draws depends on how groups are spread over threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ._base import BoolArray, FloatArray, IntArray, in_float64
from .descent import Clock, Progress
from .flips import init
from .kernels import Weights, make_moves, make_weights
from .pair import pair_from
from .priors import Hyperparameters
from .problem import MAX_RULES, Problem
from .relatives import Kinship
from .temper import BLOCK, Plan, Replicas, RoundSums, adapt_ladder, initial_ladder, run_block

if TYPE_CHECKING:
    from .saved_run import SavedRun

_MAX_TRIES = 100
_PHASES = (1, 1, 2, 4, 8)
"""Relative lengths of the parts of warm-up; after each, ladder and weights are set anew."""


@dataclass(frozen=True)
class Draws:
    """What sampling leaves behind; arrays of draws lead with (num_draws, num_groups).

    Attributes
    ----------
    packed : (num_draws, num_groups, 2, ceil(num_patterns / 8)) uint8
        Membership, eight patterns a byte.
    num_patterns : int
    counts : (num_draws, num_groups, 4) int64
        Packed class counts of the states.
    log_likelihood, log_prior : (num_draws, num_groups) float64
    move_acceptance : (num_draws, num_groups, num_kernels) float64
        Share of each kernel's proposals accepted at the cold end since the last draw.
    ladder_swaps : (num_draws, num_groups) float64
        Mean chance of a swap over the ladder since the last draw.
    visits : (num_groups, 2, num_patterns) int64
        Rounds, of all and not only of the draws kept, in which each rule was in.
    num_rounds : int
        Rounds after warm-up.
    betas : (num_temperatures,) float64
        The ladder used, fixed after warm-up.
    acceptance : (num_kernels, num_temperatures) float64
        NaN for kernels the plan leaves out.
    swap_probability : (num_temperatures - 1,) float64
    round_trips : (num_groups,) int64
    log_evidence, log_evidence_error : float
        Log marginal likelihood by thermodynamic integration, and its standard error over groups; NaN without a ladder
        that ends at the posterior.
    was_stopped : bool
        The time budget or an interrupt ended the run, or its warm-up, early.
    """

    packed: np.ndarray
    num_patterns: int
    counts: IntArray
    log_likelihood: FloatArray
    log_prior: FloatArray
    move_acceptance: FloatArray
    ladder_swaps: FloatArray
    visits: IntArray
    num_rounds: int
    betas: FloatArray
    acceptance: FloatArray
    swap_probability: FloatArray
    round_trips: IntArray
    log_evidence: float
    log_evidence_error: float
    was_stopped: bool = False

    @property
    def included(self) -> BoolArray:
        """Membership: (num_draws, num_groups, 2, num_patterns) bool."""
        return np.unpackbits(self.packed, axis=-1, count=self.num_patterns).astype(bool)


def prior_pair(generator: np.random.Generator, hyper: Hyperparameters, lengths: IntArray) -> BoolArray:
    """Draw a pair from the prior; a draw with too many rules is drawn again, and after some tries given up.

    A prior under which nearly every pair has too many rules gives the empty pair: a start, not a draw.
    """
    for _ in range(_MAX_TRIES):
        included = np.zeros(lengths.shape, dtype=bool)
        for side in (0, 1):
            rate = generator.beta(hyper.rule_alpha[side], hyper.rule_beta[side])
            real = lengths[side] > 0
            included[side, real] = generator.random(real.sum()) < rate[lengths[side, real] - 1]
        if included.sum(axis=1).max() <= MAX_RULES:
            return included
    return np.zeros(lengths.shape, dtype=bool)


def integrate(log_likelihood: FloatArray, betas: FloatArray) -> tuple[float, float]:
    """Integrate the mean log likelihood, (num_groups, num_temperatures), over the ladder: value and error."""
    by_group: FloatArray = np.asarray(np.trapezoid(log_likelihood, betas, axis=-1))
    error = by_group.std(ddof=1) / np.sqrt(len(by_group)) if len(by_group) > 1 else np.nan
    return float(by_group.mean()), float(error)


def _num_shards(num_groups: int) -> int:
    """Threads that advance equal numbers of groups; an accelerator gets all groups at once."""
    if jax.default_backend() != "cpu":
        return 1
    return max(n for n in range(1, (os.cpu_count() or 1) + 1) if num_groups % n == 0)


def _phase_ends(num_blocks: int) -> list[int]:
    """After which warm-up blocks to adapt."""
    ends = np.unique(np.maximum(1, np.round(np.cumsum(_PHASES) / sum(_PHASES) * num_blocks))).astype(int)
    return [int(end) for end in ends] if num_blocks else []


class Sampler:
    """The state of a run between blocks: replicas, ladder, weights, and what warm-up has learnt."""

    def __init__(
        self,
        problem: Problem,
        hyper: Hyperparameters,
        kinship: Kinship,
        *,
        seed: int,
        num_groups: int,
        num_temperatures: int,
        annealed: BoolArray | None,
        plan: Plan,
        power: float,
        dispersed: bool,
    ) -> None:
        self.problem, self.hyper, self.kinship, self.plan = problem, hyper, kinship, plan
        self.lengths = np.asarray(problem.length).astype(np.int64)
        self.betas = power * initial_ladder(num_temperatures) if num_temperatures > 1 else np.array([power])
        generator = np.random.Generator(np.random.Philox(key=[seed, 2]))
        starts = [
            annealed
            if annealed is not None and (group % 2 == 1 or not dispersed)
            else prior_pair(generator, hyper, self.lengths)
            for group in range(num_groups)
            for _ in range(num_temperatures)
        ]
        pairs = [pair_from(problem, start) for start in starts]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
        states = jax.jit(jax.vmap(init, in_axes=(None, 0)))(problem, stacked)
        shape = (num_groups, num_temperatures)
        states = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*shape, *leaf.shape[1:]), states)
        self.num_groups, self.num_shards = num_groups, _num_shards(num_groups)
        self.replicas = Replicas(states, np.zeros(shape, np.int32), np.int32(0))
        keys = jax.random.key(seed)
        self.rng_keys = jax.vmap(jax.random.fold_in, (None, 0))(keys, jnp.arange(num_groups))
        self.warmup_cut = False
        self.learnt: RoundSums | None = None
        self.rounds_learnt = 0
        self.set_weights(None)

    def set_weights(self, inclusion: FloatArray | None) -> None:
        """Focus proposals by the inclusion of each pattern at each temperature: (num_temperatures, 2, num_patterns)."""
        self.inclusion = inclusion
        by_temperature = None if inclusion is None else inclusion.reshape(len(self.betas), -1)
        cold = None if by_temperature is None else by_temperature[len(self.betas) // 2 :].mean(axis=0)
        self.moves = make_moves(self.problem, self.hyper, self.kinship, cold)
        edges = np.asarray(self.moves.edges)
        each = [
            make_weights(self.problem, edges, None if by_temperature is None else row)
            for row in (self.betas if by_temperature is None else by_temperature)
        ]
        self.weights = Weights(*(jnp.asarray(np.stack(leaves)) for leaves in zip(*each, strict=True)))

    def advance(self, executor: ThreadPoolExecutor, thin: int) -> tuple[Replicas, RoundSums, Any]:
        """Run one block in all groups; the new replicas are given back, not yet kept."""
        size = self.num_groups // self.num_shards

        @in_float64
        def work(shard: int) -> Any:
            mine = slice(shard * size, (shard + 1) * size)
            part = Replicas(
                jax.tree.map(lambda leaf: jnp.asarray(leaf[mine]), self.replicas.states),
                jnp.asarray(self.replicas.journey[mine]),
                jnp.asarray(self.replicas.round, jnp.int32),
            )
            result = run_block(
                self.problem,
                self.moves,
                self.weights,
                part,
                jnp.asarray(self.betas),
                self.rng_keys[mine],
                jnp.int32(thin),
                plan=self.plan,
            )
            return jax.device_get(result)

        results = list(executor.map(work, range(self.num_shards)))
        replicas, sums, draws = zip(*results, strict=True)
        states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(r.states for r in replicas))
        journey = np.concatenate([r.journey for r in replicas])
        joined = RoundSums(
            np.sum([s.inclusion for s in sums], axis=0),
            np.concatenate([s.visits for s in sums]),
            np.concatenate([s.log_likelihood for s in sums]),
            np.concatenate([s.acceptance for s in sums]),
            np.concatenate([s.swap_probability for s in sums]),
            np.concatenate([s.round_trips for s in sums]),
        )
        moved = Replicas(states, journey, replicas[0].round)
        return moved, joined, jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *draws)

    def learn(self, sums: RoundSums, rounds: int) -> None:
        """Remember a block of warm-up until the next adaptation."""
        self.learnt = sums if self.learnt is None else jax.tree.map(np.add, self.learnt, sums)
        self.rounds_learnt += rounds

    def adapt(self) -> None:
        """Set ladder and weights from the blocks since the last adaptation."""
        if self.learnt is None:
            return
        observed = self.learnt.inclusion / (self.rounds_learnt * self.num_groups)
        if len(self.betas) > 1:
            swaps = self.learnt.swap_probability.mean(axis=0) / self.rounds_learnt
            betas = adapt_ladder(self.betas, swaps)
            # inclusion was seen at the old temperatures
            old = observed.reshape(len(self.betas), -1)
            inclusion = _interpolate(betas, self.betas, old).reshape(observed.shape)
            self.betas = betas
        else:
            inclusion = observed
        self.learnt, self.rounds_learnt = None, 0
        self.set_weights(inclusion)


def _interpolate(new: FloatArray, old: FloatArray, values: FloatArray) -> FloatArray:
    """Values, (len(old), n), at new temperatures."""
    right = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
    share = ((new - old[right - 1]) / np.maximum(old[right] - old[right - 1], 1e-300))[:, None]
    return (1 - share) * values[right - 1] + share * values[right]


@in_float64
def run(
    problem: Problem,
    hyper: Hyperparameters,
    kinship: Kinship,
    *,
    seed: int,
    num_draws: int,
    num_warmup: int,
    num_groups: int = 4,
    num_temperatures: int = 14,
    thin: int = 1,
    power: float = 1.0,
    annealed: BoolArray | None = None,
    dispersed: bool = True,
    plan: Plan | None = None,
    time_budget: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    saved: SavedRun | None = None,
) -> Draws:
    """Sample the posterior of the pair.

    Parameters
    ----------
    num_draws, num_warmup : int
        Draws of each group, and how many more to leave out before; in blocks of `BLOCK`. Ladder and weights adapt
        during warm-up and are fixed afterwards.
    num_groups, num_temperatures : int
        Independent groups of replicas, and the length of the ladder in each; 1 for no tempering.
    thin : int
        Rounds to a draw.
    power : float
        The likelihood is raised to this power at the cold end: below 1 for a coarsened posterior.
    annealed : (2, num_patterns) bool, optional
        A good pair. Every second group starts from it, the others from prior draws: overdispersed on purpose.
    dispersed : bool
        False starts every group from ``annealed``: for studies of one mode, not for verdicts.
    plan : Plan, optional
        Steps of each kernel in a round.
    time_budget : float, optional
        Seconds. Warm-up takes at most half of it; afterwards, and after an interrupt, the draws so far are returned. A
        run whose warm-up was cut short is not what it would have been without a budget, also when resumed.
    progress : callable, optional
        Called after each block.
    saved : SavedRun, optional
        Where to save blocks, and from where to resume.
    """
    plan = Plan() if plan is None else plan
    sampler = Sampler(
        problem,
        hyper,
        kinship,
        seed=seed,
        num_groups=num_groups,
        num_temperatures=num_temperatures,
        annealed=annealed,
        plan=plan,
        power=power,
        dispersed=dispersed,
    )
    warm_blocks = -(-num_warmup // BLOCK)
    draw_blocks = -(-num_draws // BLOCK)
    blocks: list[tuple[RoundSums, Any]] = []
    done = 0 if saved is None else saved.restore(sampler, blocks)
    clock = Clock(time_budget)
    warm_clock = Clock(None if time_budget is None else time_budget / 2)
    adapt_after = _phase_ends(warm_blocks)

    def report(phase: str, count: int, total: int, draws: Any) -> None:
        if progress is not None:
            score = -float(np.mean(draws.log_likelihood[-1] + draws.log_prior[-1]))
            sizes = draws.included[-1].sum(axis=-1).mean(axis=0)
            progress(Progress(phase, count, total, score, (round(sizes[0]), round(sizes[1]))))

    def advance_all() -> Iterator[None]:
        nonlocal done
        while done < warm_blocks and not blocks:
            if warm_clock.is_over():
                sampler.warmup_cut = True
                sampler.adapt()
                break
            sampler.replicas, sums, draws = sampler.advance(executor, thin)
            sampler.learn(sums, BLOCK * thin)
            done += 1
            if done in adapt_after:
                sampler.adapt()
            report("warm-up", done * BLOCK, warm_blocks * BLOCK, draws)
            yield
        while len(blocks) < draw_blocks and not (blocks and clock.is_over()):
            replicas, sums, draws = sampler.advance(executor, thin)
            block = (sums, draws._replace(included=np.packbits(draws.included, axis=-1)))
            sampler.replicas = replicas
            blocks.append(block)
            done += 1
            report("sampling", len(blocks) * BLOCK, draw_blocks * BLOCK, draws)
            yield

    with ThreadPoolExecutor(sampler.num_shards) as executor:
        try:
            for _ in advance_all():
                if saved is not None:
                    saved.keep(sampler, blocks, done)
        except KeyboardInterrupt:
            clock.stopped = True
            if not blocks:
                if saved is not None:
                    saved.finish(sampler, blocks, done)
                raise
    if saved is not None:
        saved.finish(sampler, blocks, done)
    return _join(sampler, blocks[:draw_blocks], num_draws, thin, clock.stopped or sampler.warmup_cut)


def _join(sampler: Sampler, blocks: list[tuple[RoundSums, Any]], num_draws: int, thin: int, stopped: bool) -> Draws:
    num_rounds = len(blocks) * BLOCK * thin
    sums: RoundSums = jax.tree.map(lambda *leaves: np.sum(leaves, axis=0), *(s for s, _ in blocks))
    draws = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:num_draws], *(d for _, d in blocks))
    evidence, error = np.nan, np.nan
    if len(sampler.betas) > 1 and sampler.betas[-1] == 1.0:
        evidence, error = integrate(sums.log_likelihood / num_rounds, sampler.betas)
    is_used = np.array([count > 0 for count in sampler.plan])
    return Draws(
        draws.included,
        sampler.lengths.shape[1],
        draws.counts,
        draws.log_likelihood,
        draws.log_prior,
        draws.acceptance,
        draws.swap_probability,
        sums.visits,
        num_rounds,
        sampler.betas,
        np.where(is_used[:, None], sums.acceptance.mean(axis=0) / num_rounds, np.nan),
        sums.swap_probability.mean(axis=0) / num_rounds,
        sums.round_trips.astype(np.int64),
        evidence,
        error,
        stopped,
    )


__all__ = ["Draws", "Plan", "Sampler", "integrate", "prior_pair", "run"]
