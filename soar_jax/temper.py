"""Replica exchange: several independent groups of chains at a ladder of temperatures, in one program.

Each group holds one replica at every inverse temperature of the ladder, from 0 (the prior) to 1 (the posterior).
A round is a fixed number of steps of each kernel in every replica, then swaps between neighbouring temperatures,
of even and odd pairs in turn. Replicas that wander to the prior and back carry the posterior from mode to mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._base import BoolArray, FloatArray, IntArray, in_float64
from .mcmc import KERNELS, STEPS, Moves, SampleState, init
from .pair import pair_from
from .priors import Hyperparameters
from .problem import MAX_RULES, Problem

BLOCK = 25
"""Rounds in one compiled call."""
_ADAPTATIONS = 4


class Plan(NamedTuple):
    """Steps of each kernel in one round, in the order of `KERNELS`; part of the compiled program."""

    flip: int = 200
    exchange: int = 20
    heal: int = 4
    informed: int = 0


class Replicas(NamedTuple):
    """All replicas, by group and temperature (hot to cold).

    Attributes
    ----------
    states : SampleState
        Leaves have leading axes (num_groups, num_temperatures).
    journey : (num_groups, num_temperatures) int32
        0: not yet at the cold end; 1: on its way to the prior; 2: on its way back.
    """

    states: SampleState
    journey: jax.Array


class RoundInfo(NamedTuple):
    """What one round leaves behind, by group.

    Attributes
    ----------
    included : (num_groups, 2, num_patterns) bool
        The pair at inverse temperature 1.
    counts : (num_groups, 4) int64
    log_likelihood : (num_groups, num_temperatures) float64
    log_prior : (num_groups,) float64
        Of the pair at inverse temperature 1.
    inclusion : (2, num_patterns) float64
        Mean membership over groups and the colder half of the ladder.
    acceptance : (num_kernels, num_temperatures) float64
    swap_probability : (num_groups, num_temperatures - 1) float64
    round_trips : (num_groups,) int32
        Replicas that came back from the prior in this round.
    """

    included: jax.Array
    counts: jax.Array
    log_likelihood: jax.Array
    log_prior: jax.Array
    inclusion: jax.Array
    acceptance: jax.Array
    swap_probability: jax.Array
    round_trips: jax.Array


def _local_steps(
    rng_key: jax.Array, states: SampleState, problem: Problem, moves: Moves, betas: jax.Array, plan: Plan
) -> tuple[SampleState, jax.Array]:
    """Move every replica by the plan's steps; ``betas`` has one entry a replica."""
    num_replicas = betas.shape[0]
    acceptance = []
    for name, key, count in zip(KERNELS, jax.random.split(rng_key, len(KERNELS)), plan, strict=True):
        if not count:
            acceptance.append(jnp.full((num_replicas,), jnp.nan))
            continue
        step = jax.vmap(STEPS[name], in_axes=(0, 0, None, None, 0))

        def advance(
            carry: tuple[SampleState, jax.Array], step_key: jax.Array, step: object = step
        ) -> tuple[tuple[SampleState, jax.Array], None]:
            states, accepted = carry
            keys = jax.random.split(step_key, num_replicas)
            states, is_accepted = step(keys, states, problem, moves, betas)  # type: ignore[operator]
            return (states, accepted + is_accepted), None

        start = (states, jnp.zeros((num_replicas,), jnp.int64))
        (states, accepted), _ = jax.lax.scan(advance, start, jax.random.split(key, count))
        acceptance.append(accepted / count)
    return states, jnp.stack(acceptance)


def swap_probabilities(log_likelihood: jax.Array, betas: jax.Array) -> jax.Array:
    """Chance of exchanging each two neighbours of the ladder: (..., num_temperatures - 1)."""
    gap = jnp.broadcast_to(jnp.diff(betas), log_likelihood[..., 1:].shape)
    return jnp.exp(jnp.minimum(0.0, -gap * jnp.diff(log_likelihood, axis=-1)))


def _swap(rng_key: jax.Array, replicas: Replicas, betas: jax.Array, parity: jax.Array) -> tuple[Replicas, jax.Array]:
    """Offer every second pair of neighbours an exchange."""
    probability = swap_probabilities(replicas.states.log_likelihood, betas)
    num_groups, num_gaps = probability.shape
    is_offered = jnp.broadcast_to(jnp.arange(num_gaps) % 2 == parity, probability.shape)
    takes = (jax.random.uniform(rng_key, probability.shape, jnp.float64) < probability) & is_offered
    none = jnp.zeros((num_groups, 1), jnp.int32)
    shifts = takes.astype(jnp.int32)
    position = jnp.arange(num_gaps + 1, dtype=jnp.int32)[None]
    order = position + jnp.concatenate([shifts, none], axis=1) - jnp.concatenate([none, shifts], axis=1)
    return jax.tree.map(lambda leaf: jax.vmap(lambda group, index: group[index])(leaf, order), replicas), probability


def _count_trips(journey: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Note which replicas stand at an end of the ladder; return the journeys and the trips completed."""
    hot, cold = journey[:, 0], journey[:, -1]
    trips = (cold == 2).astype(jnp.int32)  # noqa: PLR2004
    journey = journey.at[:, 0].set(jnp.where(hot == 1, 2, hot))
    return journey.at[:, -1].set(1), trips


def one_round(
    rng_key: jax.Array,
    parity: jax.Array,
    replicas: Replicas,
    problem: Problem,
    moves: Moves,
    betas: jax.Array,
    plan: Plan,
) -> tuple[Replicas, RoundInfo]:
    """Move every replica by the plan's steps, then offer swaps to the pairs of one parity."""
    num_groups, num_temperatures = replicas.journey.shape
    key_local, key_swap = jax.random.split(rng_key)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), replicas.states)
    flat, acceptance = _local_steps(key_local, flat, problem, moves, jnp.tile(betas, num_groups), plan)
    states = jax.tree.map(lambda leaf: leaf.reshape(num_groups, num_temperatures, *leaf.shape[1:]), flat)
    replicas, probability = _swap(key_swap, replicas._replace(states=states), betas, parity)
    journey, trips = _count_trips(replicas.journey)
    states = replicas.states
    cold = jax.tree.map(lambda leaf: leaf[:, -1], states)
    info = RoundInfo(
        cold.pair.included,
        cold.pair.counts,
        states.log_likelihood,
        cold.log_prior,
        states.pair.included[:, num_temperatures // 2 :].mean(axis=(0, 1), dtype=jnp.float64),
        acceptance.reshape(len(KERNELS), num_groups, num_temperatures).mean(axis=1),
        probability,
        trips,
    )
    return Replicas(states, journey), info


@partial(jax.jit, static_argnames=("plan",), donate_argnums=(2,))
def _run_block(
    problem: Problem, moves: Moves, replicas: Replicas, betas: jax.Array, rng_key: jax.Array, *, plan: Plan
) -> tuple[Replicas, RoundInfo]:
    """Advance all replicas by `BLOCK` rounds."""

    def advance(replicas: Replicas, inputs: tuple[jax.Array, jax.Array]) -> tuple[Replicas, RoundInfo]:
        key, parity = inputs
        return one_round(key, parity, replicas, problem, moves, betas, plan)

    parities = jnp.arange(BLOCK, dtype=jnp.int32) % 2
    return jax.lax.scan(advance, replicas, (jax.random.split(rng_key, BLOCK), parities))


def initial_ladder(num_temperatures: int) -> FloatArray:
    """Squares of an even grid from 0 to 1: dense near the prior, where the likelihood changes fastest."""
    return np.linspace(0.0, 1.0, num_temperatures) ** 2


def adapt_ladder(betas: FloatArray, swap_probability: FloatArray) -> FloatArray:
    """Space the ladder so that every gap is refused equally often.

    The rejection rates of neighbours add up to the communication barrier of the ladder; its inverse at equal
    steps gives the new temperatures (Syed et al. 2022).
    """
    rejection = np.clip(1.0 - swap_probability, 1e-3, 1.0)
    barrier = np.concatenate([[0.0], np.cumsum(rejection)])
    adapted = np.interp(np.linspace(0.0, barrier[-1], len(betas)), barrier, betas)
    adapted[0], adapted[-1] = 0.0, 1.0
    return adapted


def draw_from_prior(generator: np.random.Generator, hyper: Hyperparameters, lengths: IntArray) -> BoolArray:
    """Draw a pair from the prior; a draw with too many rules is drawn again."""
    while True:
        included = np.zeros(lengths.shape, dtype=bool)
        for side in (0, 1):
            rate = generator.beta(hyper.rule_alpha[side], hyper.rule_beta[side])
            real = lengths[side] > 0
            included[side, real] = generator.random(real.sum()) < rate[lengths[side, real] - 1]
        if included.sum(axis=1).max() <= MAX_RULES:
            return included


@dataclass(frozen=True)
class Draws:
    """What sampling leaves behind; arrays lead with (num_draws, num_groups).

    Attributes
    ----------
    included : (num_draws, num_groups, 2, num_patterns) bool
    counts : (num_draws, num_groups, 4) int64
        Packed class counts of the states.
    log_likelihood, log_prior : (num_draws, num_groups) float64
    betas : (num_temperatures,) float64
        The ladder used, fixed after warm-up.
    acceptance : (num_kernels, num_temperatures) float64
    swap_probability : (num_temperatures - 1,) float64
    round_trips : (num_groups,) int64
    log_evidence, log_evidence_error : float
        Log marginal likelihood by thermodynamic integration, and its standard error over groups.
    """

    included: BoolArray
    counts: IntArray
    log_likelihood: FloatArray
    log_prior: FloatArray
    betas: FloatArray
    acceptance: FloatArray
    swap_probability: FloatArray
    round_trips: IntArray
    log_evidence: float
    log_evidence_error: float


def _integrate(log_likelihood: FloatArray, betas: FloatArray) -> tuple[float, float]:
    """Integrate the mean log likelihood over the ladder, group by group: (rounds, groups, temperatures)."""
    by_group = np.trapezoid(log_likelihood.mean(axis=0), betas, axis=-1)
    error = by_group.std(ddof=1) / np.sqrt(len(by_group)) if len(by_group) > 1 else np.nan
    return float(by_group.mean()), float(error)


def _heal_weights(inclusion: FloatArray, lengths: IntArray) -> FloatArray:
    """Draw likely rules for healing more often, every pattern sometimes; fixed while sampling."""
    real = lengths.reshape(-1) > 0
    weights = np.where(real, inclusion.reshape(-1), 0.0)
    weights = 0.8 * weights / max(weights.sum(), 1e-12) + 0.2 * real / real.sum()
    return np.cumsum(weights / weights.sum())


@in_float64
def run(
    problem: Problem,
    moves: Moves,
    hyper: Hyperparameters,
    *,
    seed: int,
    num_rounds: int,
    num_warmup: int,
    num_groups: int = 4,
    num_temperatures: int = 14,
    annealed: BoolArray | None = None,
    plan: Plan | None = None,
) -> Draws:
    """Sample the posterior of the pair; one draw a round and group.

    Parameters
    ----------
    num_rounds, num_warmup : int
        Rounded up to whole blocks of `BLOCK` rounds. The ladder and the weights of ``heal`` adapt during warm-up
        and are fixed afterwards.
    annealed : (2, num_patterns) bool, optional
        A good pair. Every second group starts from it, the others from prior draws: overdispersed on purpose.
    plan : Plan, optional
        Steps of each kernel in a round.
    """
    plan = Plan() if plan is None else plan
    generator = np.random.Generator(np.random.Philox(key=[seed, 2]))
    lengths = np.asarray(problem.length).astype(np.int64)
    starts = [
        annealed if annealed is not None and group % 2 == 1 else draw_from_prior(generator, hyper, lengths)
        for group in range(num_groups)
        for _ in range(num_temperatures)
    ]
    pairs = [pair_from(problem, start) for start in starts]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pairs)
    states = jax.jit(jax.vmap(init, in_axes=(None, 0)))(problem, stacked)
    shape = (num_groups, num_temperatures)
    replicas = Replicas(
        jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), states), jnp.zeros(shape, jnp.int32)
    )
    betas = initial_ladder(num_temperatures)
    key = jax.random.key(seed)
    block = 0

    def advance(num_blocks: int) -> list[RoundInfo]:
        nonlocal replicas, block
        infos = []
        for _ in range(num_blocks):
            block_key = jax.random.fold_in(key, block)
            replicas, info = _run_block(problem, moves, replicas, jnp.asarray(betas), block_key, plan=plan)
            infos.append(jax.device_get(info))
            block += 1
        return infos

    for _ in range(_ADAPTATIONS):
        infos = advance(max(1, round(num_warmup / BLOCK / _ADAPTATIONS)))
        late = infos[len(infos) // 2 :]
        betas = adapt_ladder(betas, np.mean([i.swap_probability.mean(axis=(0, 1)) for i in late], axis=0))
        inclusion = np.mean([i.inclusion.mean(axis=0) for i in late], axis=0)
        moves = moves._replace(heal_cumulative=jnp.asarray(_heal_weights(inclusion, lengths)))
    infos = advance(max(1, -(-num_rounds // BLOCK)))

    def join(name: str) -> np.ndarray:
        return np.concatenate([getattr(info, name) for info in infos])[:num_rounds]

    log_likelihood = join("log_likelihood")
    evidence, error = _integrate(log_likelihood, betas)
    return Draws(
        join("included"),
        join("counts"),
        log_likelihood[..., -1],
        join("log_prior"),
        betas,
        join("acceptance").mean(axis=0),
        join("swap_probability").mean(axis=(0, 1)),
        join("round_trips").sum(axis=0),
        evidence,
        error,
    )
