"""Replica exchange: several independent groups of chains at a ladder of temperatures, in one program.

Each group holds one replica at every inverse temperature of the ladder, from 0 (the prior) to 1 (the posterior).
A round is a fixed number of steps of each kernel in every replica, a fresh prior draw at the hot end, then swaps
between neighbouring temperatures, of even and odd pairs in turn. Replicas that wander to the prior and back carry
the posterior from mode to mode.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._base import FloatArray, Leaf
from .flips import SampleState, init
from .kernels import KERNELS, STEPS, Moves, Weights, choose, draw_from_prior, num_uniforms
from .problem import Problem

BLOCK = 25
"""Draws in one compiled call."""


class Plan(NamedTuple):
    """Steps of each kernel in one round, in the order of `KERNELS`; part of the compiled program."""

    flip: int = 200
    exchange: int = 20
    heal: int = 8
    informed: int = 0


class Replicas(NamedTuple):
    """All replicas, by group and temperature (hot to cold).

    Attributes
    ----------
    states : SampleState
        Leaves have leading axes (num_groups, num_temperatures).
    journey : (num_groups, num_temperatures) int32
        0: not yet at the cold end; 1: on its way to the prior; 2: on its way back.
    round : () int32
        Rounds so far.
    """

    states: SampleState
    journey: Leaf
    round: Leaf


class RoundSums(NamedTuple):
    """What rounds leave behind beside the draws, summed over rounds.

    Attributes
    ----------
    inclusion : (num_temperatures, 2, num_patterns) int64
        Membership by temperature, summed over groups.
    visits : (num_groups, 2, num_patterns) int64
        Rounds in which the pair at the cold end had each rule.
    log_likelihood : (num_groups, num_temperatures) float64
    acceptance : (num_groups, num_kernels, num_temperatures) float64
    swap_probability : (num_groups, num_temperatures - 1) float64
    round_trips : (num_groups,) int32
        Replicas that came back from the prior.
    """

    inclusion: Leaf
    visits: Leaf
    log_likelihood: Leaf
    acceptance: Leaf
    swap_probability: Leaf
    round_trips: Leaf


class Draw(NamedTuple):
    """The pair at the cold end of every group, and its figures: leaves lead with (num_groups,).

    ``acceptance``, by kernel, is that at the cold end, ``swap_probability`` the mean over the ladder, both over the
    rounds since the last draw.
    """

    included: Leaf
    counts: Leaf
    log_likelihood: Leaf
    log_prior: Leaf
    acceptance: Leaf
    swap_probability: Leaf


def _local_steps(
    rng_keys: jax.Array,
    states: SampleState,
    problem: Problem,
    moves: Moves,
    weights: Weights,
    betas: jax.Array,
    plan: Plan,
) -> tuple[SampleState, jax.Array]:
    """Move every replica by the plan's steps; states lead with (num_groups, num_temperatures)."""
    num_groups, num_temperatures = states.log_prior.shape
    accepted = []
    for kernel, (name, count) in enumerate(zip(KERNELS, plan, strict=True)):
        if not count:
            accepted.append(jnp.zeros((num_groups, num_temperatures)))
            continue
        shape = (count, num_temperatures, 1 + num_uniforms(name))
        keys = jax.vmap(jax.random.fold_in, (0, None))(rng_keys, kernel)
        # all random numbers of the round in one call: (count, num_groups, num_temperatures, num_uniforms)
        uniforms = jax.vmap(partial(jax.random.uniform, shape=shape, dtype=jnp.float64), out_axes=1)(keys)
        choices = jax.vmap(partial(choose, name), in_axes=(0, 2), out_axes=2)(weights, uniforms[..., 0])
        by_temperature = jax.vmap(STEPS[name], in_axes=(0, 0, 0, None, None, 0))
        step = jax.vmap(by_temperature, in_axes=(0, 0, 0, None, None, None))

        def advance(
            carry: tuple[SampleState, jax.Array], drawn: tuple[jax.Array, jax.Array], step: object = step
        ) -> tuple[tuple[SampleState, jax.Array], None]:
            states, total = carry
            states, is_accepted = step(*drawn, states, problem, moves, betas)  # type: ignore[operator]
            return (states, total + is_accepted), None

        start = (states, jnp.zeros((num_groups, num_temperatures), jnp.int32))
        (states, total), _ = jax.lax.scan(advance, start, (choices, uniforms[..., 1:]))
        accepted.append(total / count)
    return states, jnp.stack(accepted, axis=1)


def swap_probabilities(log_likelihood: jax.Array, betas: jax.Array) -> jax.Array:
    """Chance of exchanging each two neighbours of the ladder: (..., num_temperatures - 1)."""
    gap = jnp.broadcast_to(jnp.diff(betas), log_likelihood[..., 1:].shape)
    return jnp.exp(jnp.minimum(0.0, -gap * jnp.diff(log_likelihood, axis=-1)))


def _swap(rng_keys: jax.Array, replicas: Replicas, betas: jax.Array) -> tuple[Replicas, jax.Array]:
    """Offer every second pair of neighbours an exchange."""
    probability = swap_probabilities(replicas.states.log_likelihood, betas)
    num_groups, num_gaps = probability.shape
    is_offered = jnp.broadcast_to(jnp.arange(num_gaps) % 2 == replicas.round % 2, probability.shape)
    uniforms = jax.vmap(partial(jax.random.uniform, shape=(num_gaps,), dtype=jnp.float64))(rng_keys)
    shifts = ((uniforms < probability) & is_offered).astype(jnp.int32)
    none = jnp.zeros((num_groups, 1), jnp.int32)
    position = jnp.arange(num_gaps + 1, dtype=jnp.int32)[None]
    order = position + jnp.concatenate([shifts, none], axis=1) - jnp.concatenate([none, shifts], axis=1)

    def reorder(leaf: jax.Array) -> jax.Array:
        return jax.vmap(lambda group, index: group[index])(leaf, order)

    return Replicas(jax.tree.map(reorder, replicas.states), reorder(replicas.journey), replicas.round), probability


def _count_trips(journey: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Note which replicas stand at an end of the ladder; return the journeys and the trips completed."""
    hot, cold = journey[:, 0], journey[:, -1]
    trips = (cold == 2).astype(jnp.int32)  # noqa: PLR2004
    journey = journey.at[:, 0].set(jnp.where(hot == 1, 2, hot))
    return journey.at[:, -1].set(1), trips


def one_round(
    rng_keys: jax.Array,
    replicas: Replicas,
    problem: Problem,
    moves: Moves,
    weights: Weights,
    betas: jax.Array,
    plan: Plan,
) -> tuple[Replicas, RoundSums]:
    """Move every replica by the plan's steps, refresh the hot end, then offer swaps.

    Parameters
    ----------
    rng_keys : (num_groups,) keys
        One a group, so that a group's draws do not depend on which others share the program.
    weights : Weights
        Leaves lead with (num_temperatures,).
    """
    keys = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, replicas.round), 3))(rng_keys)
    states, acceptance = _local_steps(keys[:, 0], replicas.states, problem, moves, weights, betas, plan)
    if betas.shape[0] > 1:  # without tempering there is no prior to draw from
        hot = jax.tree.map(lambda leaf: leaf[:, 0], states)
        fresh = jax.vmap(draw_from_prior, (0, 0, None, None))(keys[:, 2], hot, problem, moves)
        is_prior = betas[0] == 0.0
        states = jax.tree.map(lambda all_, new: all_.at[:, 0].set(jnp.where(is_prior, new, all_[:, 0])), states, fresh)
    # the prior is carried along as a sum of differences: take it afresh before rounding can add up
    states = jax.vmap(jax.vmap(init, (None, 0)), (None, 0))(problem, states.pair)
    replicas, probability = _swap(keys[:, 1], replicas._replace(states=states), betas)
    journey, trips = _count_trips(replicas.journey)
    states = replicas.states
    included = states.pair.included
    sums = RoundSums(
        included.sum(axis=0, dtype=jnp.int64),
        included[:, -1].astype(jnp.int64),
        states.log_likelihood,
        acceptance,
        probability,
        trips,
    )
    return Replicas(states, journey, replicas.round + 1), sums


@partial(jax.jit, static_argnames=("plan",), donate_argnums=(3,))
def run_block(
    problem: Problem,
    moves: Moves,
    weights: Weights,
    replicas: Replicas,
    betas: jax.Array,
    rng_keys: jax.Array,
    thin: jax.Array,
    *,
    plan: Plan,
) -> tuple[Replicas, RoundSums, Draw]:
    """Advance all replicas by `BLOCK` draws of ``thin`` rounds each."""
    num_groups, num_temperatures = replicas.journey.shape
    members = replicas.states.pair.included.shape[2:]
    zero = RoundSums(
        jnp.zeros((num_temperatures, *members), jnp.int64),
        jnp.zeros((num_groups, *members), jnp.int64),
        jnp.zeros((num_groups, num_temperatures)),
        jnp.zeros((num_groups, len(KERNELS), num_temperatures)),
        jnp.zeros((num_groups, num_temperatures - 1)),
        jnp.zeros((num_groups,), jnp.int32),
    )

    def one_draw(carry: tuple[Replicas, RoundSums], _: None) -> tuple[tuple[Replicas, RoundSums], Draw]:
        def advance(_: jax.Array, carry: tuple[Replicas, RoundSums]) -> tuple[Replicas, RoundSums]:
            replicas, sums = carry
            replicas, new = one_round(rng_keys, replicas, problem, moves, weights, betas, plan)
            return replicas, jax.tree.map(jnp.add, sums, new)

        replicas, sums = jax.lax.fori_loop(0, thin, advance, carry)
        cold = jax.tree.map(lambda leaf: leaf[:, -1], replicas.states)
        accepted = (sums.acceptance - carry[1].acceptance)[:, :, -1] / thin
        swapped = (sums.swap_probability - carry[1].swap_probability).sum(axis=1) / (
            thin * max(1, num_temperatures - 1)
        )
        draw = Draw(cold.pair.included, cold.pair.counts, cold.log_likelihood, cold.log_prior, accepted, swapped)
        return (replicas, sums), draw

    (replicas, sums), draws = jax.lax.scan(one_draw, (replicas, zero), None, length=BLOCK)
    return replicas, sums, draws


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
    adapted[0], adapted[-1] = betas[0], betas[-1]
    return adapted
