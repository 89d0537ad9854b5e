"""The state of a sampling run between blocks, and how a block is run.

Chains are independent of each other, so on a CPU each thread advances some of them with the same compiled
program. Nothing a run draws depends on how chains are spread over threads.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import MAX_RULES, BoolArray, FloatArray, IntArray, in_float64
from soar_jax._threads import map_in
from soar_jax.sampling.draws import Block, RunInfo
from soar_jax.sampling.experience import Experience, Memory
from soar_jax.sampling.kernel import Context
from soar_jax.sampling.plan import Plan
from soar_jax.sampling.prior_draw import make_prior_tables
from soar_jax.sampling.relatives import find_kinship
from soar_jax.sampling.temper import (
    Draw,
    Replicas,
    RoundSums,
    Setup,
    adapt_ladder,
    initial_ladder,
    interpolate,
    run_block,
)
from soar_jax.score.compiled import at_most
from soar_jax.score.flips import state_of
from soar_jax.score.pair import host_pair
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.target import Target

_MAX_TRIES = 100


def prior_pair(
    generator: np.random.Generator,
    hyper: Hyperparameters,
    kinds: IntArray,
    required: BoolArray | None = None,
    max_rules: Sequence[int] = (MAX_RULES, MAX_RULES),
) -> BoolArray:
    """Draw a pair as from the prior; a draw with too many rules is drawn again, and after some tries given up.

    It is where a chain starts, not a draw: patterns outside the pools do not count, and a prior under which nearly
    every pair has too many rules gives the empty pair, or what must be in alone.
    """
    least: BoolArray = np.zeros(kinds.shape, dtype=bool) if required is None else required
    for _ in range(_MAX_TRIES):
        included = np.zeros(kinds.shape, dtype=bool)
        for side in (0, 1):
            rate = generator.beta(hyper.rule_alpha[side], hyper.rule_beta[side])
            real = kinds[side] > 0
            included[side, real] = generator.random(real.sum()) < rate[kinds[side, real] - 1]
        if ((included | least).sum(axis=1) <= max_rules).all():
            return included | least
    return least


def _num_threads(num_chains: int) -> int:
    """Threads that advance equal numbers of chains; an accelerator gets all chains at once."""
    if jax.default_backend() != "cpu":
        return 1
    return max(n for n in range(1, (os.cpu_count() or 1) + 1) if num_chains % n == 0)


_states_of = at_most(32, jax.jit(jax.vmap(state_of, in_axes=(None, 0))))


class Sampler:
    """The state of a run between blocks: replicas, ladder, weights, and what warm-up has learnt."""

    def __init__(
        self,
        target: Target,
        *,
        seed: int,
        num_chains: int,
        num_temperatures: int,
        starts: BoolArray | None,
        plan: Plan,
        dispersed: bool,
    ) -> None:
        self.target, self.plan = target, plan
        problem, hyper = target.problem, target.hyper
        self.context = Context(problem, target.numbered_pool)
        self.prior = make_prior_tables(self.context, hyper, target.required)
        self.kinship = find_kinship(*target.merged, problem.num_slots)
        self.kinds = np.asarray(problem.kind).astype(np.int64)
        power = float(hyper.power)
        self.ladder = power * initial_ladder(num_temperatures) if num_temperatures > 1 else np.array([power])
        generator = np.random.Generator(np.random.Philox(key=[seed, 2]))
        max_rules = [int(most) for most in np.asarray(problem.max_rules)]
        step = 2 if dispersed else 1
        pairs = [
            host_pair(problem, starts[chain // step % len(starts)])
            if starts is not None and (chain % 2 == 1 or not dispersed)
            else host_pair(problem, prior_pair(generator, hyper, self.kinds, target.required, max_rules))
            for chain in range(num_chains)
            for _ in range(num_temperatures)
        ]
        states = _states_of(problem, jax.tree.map(lambda *leaves: np.stack(leaves), *pairs))
        shape = (num_chains, num_temperatures)
        states = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(*shape, *leaf.shape[1:]), states)
        self.num_chains, self.num_threads = num_chains, _num_threads(num_chains)
        self.replicas = Replicas(states, np.zeros(shape, np.int32), np.int32(0))
        keys = jax.random.key(seed)
        self.rng_keys = jax.vmap(jax.random.fold_in, (None, 0))(keys, jnp.arange(num_chains))
        self.memory = Memory(target)
        self.is_warmup_cut = False
        self.learnt: RoundSums | None = None
        self.rounds_learnt = 0
        self.met: RoundSums | None = None
        """What rounds of draws left behind: warm-up may yet be made of them."""
        self.tools: list[Any] = [None] * len(plan)
        self.centre = _between(states.log_likelihood.mean(axis=0))
        self._is_compiled = False
        self.focus_on(None)

    def focus_on(self, inclusion: FloatArray | None) -> None:
        """Focus proposals by the inclusion of each pattern at each temperature: (num_temperatures, 2, num_slots)."""
        self.inclusion = inclusion
        num_temperatures = len(self.ladder)
        by_temperature = None if inclusion is None else inclusion.reshape(num_temperatures, -1).clip(0.0, 1.0)
        cold = None if by_temperature is None else by_temperature[num_temperatures // 2 :].mean(axis=0)
        seen = None if cold is None else Experience(cold, self.memory.pairs)
        weights = []
        for place, (kernel, _) in enumerate(self.plan):
            if self.tools[place] is None or kernel.is_prepared_anew:
                self.tools[place] = jax.device_put(kernel.prepare(self.kinship, self.target.problem.num_slots, seen))
            rows = [None] * num_temperatures if by_temperature is None else list(by_temperature)
            cumulative = [kernel.weigh(self.target.problem, self.tools[place], row) for row in rows]
            weights.append(np.stack(cumulative))
        # put on the device as they are: each `jnp.asarray` or `jnp.stack` would compile a program of its own
        self.setup = Setup(
            self.context,
            self.prior,
            tuple(self.tools),
            *jax.device_put((tuple(weights), self.ladder, self.centre), may_alias=False),
        )

    def advance(self, executor: ThreadPoolExecutor, thin: int) -> Block:
        """Run one block in all chains."""
        size = self.num_chains // self.num_threads

        @in_float64
        def work(thread: int) -> Any:
            mine = slice(thread * size, (thread + 1) * size)
            part = Replicas(
                jax.tree.map(lambda leaf: leaf[mine], self.replicas.states),
                self.replicas.journey[mine],
                np.asarray(self.replicas.round, np.int32),
            )
            part = jax.device_put(part, may_alias=False)  # the program takes its memory over
            return jax.device_get(run_block(self.setup, part, self.rng_keys[mine], np.int32(thin), plan=self.plan))

        if not self._is_compiled:
            # one thread first: two that meet the program at once would both compile it
            results = [work(0), *map_in(executor, work, range(1, self.num_threads))]
            self._is_compiled = True
        else:
            results = map_in(executor, work, range(self.num_threads))
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

    def learn(self, block: Block, num_rounds: int) -> None:
        """Remember a block of warm-up until the next adaptation."""
        self.learnt = _added(self.learnt, block.sums)
        self._remember(block.draws)
        self.rounds_learnt += num_rounds

    def meet(self, block: Block) -> Block:
        """Add a block of draws to what was met; give back what is kept of it beside the draws: little."""
        self.met = _added(self.met, block.sums)
        return block._replace(sums=block.sums._replace(inclusion=np.zeros(0, np.int64)))

    def learn_from_draws(self, blocks: Sequence[Block], num_rounds: int) -> None:
        """Make warm-up of all blocks of draws since the last adaptation, of so many rounds each."""
        self.learnt, self.rounds_learnt = self.met, len(blocks) * num_rounds
        for block in blocks:
            self._remember(block.draws)

    def _remember(self, draws: Draw) -> None:
        log_joint = (self.ladder[-1] * draws.log_likelihood + draws.log_prior).reshape(-1)
        self.memory.keep(draws.included.reshape(len(log_joint), 2, -1), log_joint)

    def adapt(self) -> None:
        """Set ladder and weights from the blocks since the last adaptation."""
        if self.learnt is None:
            return
        inclusion = self.learnt.inclusion / (self.rounds_learnt * self.num_chains)
        log_likelihood = self.learnt.log_likelihood.mean(axis=0) / self.rounds_learnt
        if len(self.ladder) > 1:
            swaps = self.learnt.swap_probability.mean(axis=0) / self.rounds_learnt
            ladder = adapt_ladder(self.ladder, swaps)
            # both were seen at the old temperatures
            seen = inclusion.reshape(len(self.ladder), -1)
            inclusion = interpolate(ladder, self.ladder, seen).reshape(inclusion.shape)
            log_likelihood = interpolate(ladder, self.ladder, log_likelihood[:, None])[:, 0]
            self.ladder = ladder
        self.centre = _between(log_likelihood)
        self.learnt, self.rounds_learnt, self.met = None, 0, None
        self.focus_on(inclusion)

    def info(self, thin: int, *, was_stopped: bool) -> RunInfo:
        """Say how the blocks since the last adaptation were made."""
        return RunInfo(
            self.kinds.shape[1],
            thin,
            self.ladder,
            self.centre,
            tuple(kernel.name for kernel, _ in self.plan),
            float(self.prior.log_mass),
            was_stopped,
        )


def _added(total: RoundSums | None, more: RoundSums) -> RoundSums:
    return more if total is None else jax.tree.map(np.add, total, more)


def _between(values: FloatArray) -> FloatArray:
    """Mean of each two neighbours."""
    return np.asarray((values[1:] + values[:-1]) / 2)
