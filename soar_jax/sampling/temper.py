"""Replica exchange: several independent chains, each a ladder of replicas at different temperatures, in one program.

Each chain holds one replica at every inverse temperature of the ladder, from 0 (the prior) to 1 (the posterior).
A round is a fixed number of steps of each kernel in every replica, a fresh prior draw at the hot end, then swaps
between neighbouring temperatures, of even and odd pairs in turn. Replicas that wander to the prior and back carry
the posterior from mode to mode.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray, Leaf
from soar_jax.sampling.kernel import Context, draw_index
from soar_jax.sampling.plan import Plan
from soar_jax.sampling.prior_draw import PriorTables, draw_from_prior
from soar_jax.score.compiled import at_most
from soar_jax.score.flips import PairState, state_of

BLOCK = 25
"""Draws in one compiled call."""
_MAX_EXPONENT = 600.0


class Setup(NamedTuple):
    """All that a round reads beside the replicas; traced, so that adaptation compiles nothing anew.

    Attributes
    ----------
    context : Context
    prior : PriorTables
    tools : tuple
        What each kernel of the plan prepared.
    weights : tuple of (num_temperatures, num_choices) float64
        By kernel of the plan: cumulative weights of its choices at each temperature.
    ladder : (num_temperatures,) float64
        Inverse temperatures, ascending.
    centre : (num_temperatures - 1,) float64
        A usual log likelihood between each two neighbours, so that the sums of bridges do not overflow.
    """

    context: Context
    prior: PriorTables
    tools: tuple[Any, ...]
    weights: tuple[Leaf, ...]
    ladder: Leaf
    centre: Leaf


class Replicas(NamedTuple):
    """All replicas, by chain and temperature (hot to cold).

    Attributes
    ----------
    states : PairState
        Leaves have leading axes (num_chains, num_temperatures).
    journey : (num_chains, num_temperatures) int32
        0: not yet at an end of the ladder; 1: last at the cold end; 2: last at the prior.
    round : () int32
        Rounds so far.
    """

    states: PairState
    journey: Leaf
    round: Leaf


class RoundSums(NamedTuple):
    """What rounds leave behind beside the draws, summed over rounds.

    Attributes
    ----------
    inclusion : (num_temperatures, 2, num_slots) int64
        Membership by temperature, summed over chains.
    visits : (num_chains, 2, num_slots) int64
        Rounds in which the pair at the cold end had each rule.
    log_likelihood : (num_chains, num_temperatures) float64
    bridge_up, bridge_down : (num_chains, num_temperatures - 1) float64
        Weights of the geometric bridge between neighbours, at the hotter and at the colder one; see `bridge_weights`.
    acceptance : (num_chains, num_kernels, num_temperatures) float64
    swap_probability : (num_chains, num_temperatures - 1) float64
    arrivals : (num_chains,) int32
        Replicas that arrived at the cold end from the prior.
    """

    inclusion: Leaf
    visits: Leaf
    log_likelihood: Leaf
    bridge_up: Leaf
    bridge_down: Leaf
    acceptance: Leaf
    swap_probability: Leaf
    arrivals: Leaf


class Draw(NamedTuple):
    """The pair at the cold end of every chain, and its figures: leaves lead with (num_chains,).

    ``acceptance``, by kernel, is that at the cold end, ``swap_probability`` the mean over the ladder, both over the
    rounds since the last draw.
    """

    included: Leaf
    counts: Leaf
    log_likelihood: Leaf
    log_prior: Leaf
    acceptance: Leaf
    swap_probability: Leaf


def _local_steps(rng_keys: jax.Array, states: PairState, setup: Setup, plan: Plan) -> tuple[PairState, jax.Array]:
    """Move every replica by the plan's steps; states lead with (num_chains, num_temperatures)."""
    num_chains, num_temperatures = states.log_prior.shape
    widths = [2 + kernel.num_uniforms for kernel, _ in plan]
    ends = np.cumsum([count * width for (_, count), width in zip(plan, widths, strict=True)])
    # all random numbers of the round in one call: every further one is a generator more to compile
    drawn = jax.vmap(partial(jax.random.uniform, shape=(num_temperatures, int(ends[-1])), dtype=jnp.float64))(rng_keys)
    shares = []
    for place, (kernel, count) in enumerate(plan):
        tools, weights, width = setup.tools[place], setup.weights[place], widths[place]
        mine = drawn[..., ends[place] - count * width : ends[place]]
        uniforms = jnp.moveaxis(mine.reshape(num_chains, num_temperatures, count, width), 2, 0)
        # and all choices: a binary search is dear inside a loop of steps
        choices = jax.vmap(draw_index, in_axes=(0, 2), out_axes=2)(weights, uniforms[..., 0])
        by_temperature = jax.vmap(kernel.step, in_axes=(0, 0, 0, None, None, 0))
        step = jax.vmap(by_temperature, in_axes=(0, 0, 0, None, None, None))

        def advance(
            carry: tuple[PairState, jax.Array],
            drawn: tuple[jax.Array, jax.Array],
            step: Callable[..., tuple[PairState, jax.Array]] = step,
            tools: Any = tools,
        ) -> tuple[tuple[PairState, jax.Array], None]:
            states, total = carry
            states, is_accepted = step(*drawn, states, setup.context, tools, setup.ladder)
            return (states, total + is_accepted), None

        start = (states, jnp.zeros((num_chains, num_temperatures), jnp.int32))
        (states, total), _ = jax.lax.scan(advance, start, (choices, uniforms[..., 1:]))
        shares.append(total / count)
    return states, jnp.stack(shares, axis=1)


def swap_probabilities(log_likelihood: jax.Array, ladder: jax.Array) -> jax.Array:
    """Chance of exchanging each two neighbours of the ladder: (..., num_temperatures - 1)."""
    gap = jnp.broadcast_to(jnp.diff(ladder), log_likelihood[..., 1:].shape)
    return jnp.exp(jnp.minimum(0.0, -gap * jnp.diff(log_likelihood, axis=-1)))


def bridge_weights(log_likelihood: jax.Array, ladder: jax.Array, centre: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights whose means give the ratio of two neighbours' normalising constants: (..., num_temperatures - 1) each.

    With d the step of the inverse temperature and c the centre, the ratio is
    exp(d c) E_hot[exp(d / 2 (l - c))] / E_cold[exp(-d / 2 (l - c))] (Bennett 1976, the geometric bridge).
    """
    half = jnp.diff(ladder) / 2
    up = jnp.exp(jnp.minimum(half * (log_likelihood[..., :-1] - centre), _MAX_EXPONENT))
    down = jnp.exp(jnp.minimum(-half * (log_likelihood[..., 1:] - centre), _MAX_EXPONENT))
    return up, down


def _swap(rng_keys: jax.Array, replicas: Replicas, ladder: jax.Array) -> tuple[Replicas, jax.Array]:
    """Offer every second pair of neighbours an exchange."""
    probability = swap_probabilities(replicas.states.log_likelihood, ladder)
    num_chains, num_gaps = probability.shape
    is_offered = jnp.broadcast_to(jnp.arange(num_gaps) % 2 == replicas.round % 2, probability.shape)
    uniforms = jax.vmap(partial(jax.random.uniform, shape=(num_gaps,), dtype=jnp.float64))(rng_keys)
    shifts = ((uniforms < probability) & is_offered).astype(jnp.int32)
    none = jnp.zeros((num_chains, 1), jnp.int32)
    position = jnp.arange(num_gaps + 1, dtype=jnp.int32)[None]
    order = position + jnp.concatenate([shifts, none], axis=1) - jnp.concatenate([none, shifts], axis=1)

    def reorder(leaf: jax.Array) -> jax.Array:
        return jax.vmap(lambda chain, index: chain[index])(leaf, order)

    return Replicas(jax.tree.map(reorder, replicas.states), reorder(replicas.journey), replicas.round), probability


def _count_arrivals(journey: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Note which replicas stand at an end of the ladder; return the journeys and the arrivals from the prior.

    At the hot end a replica is drawn afresh, so that each arrival is independent of what the chain knew before.
    """
    arrivals = (journey[:, -1] == 2).astype(jnp.int32)  # noqa: PLR2004
    return journey.at[:, 0].set(2).at[:, -1].set(1), arrivals


def one_round(rng_keys: jax.Array, replicas: Replicas, setup: Setup, plan: Plan) -> tuple[Replicas, RoundSums]:
    """Move every replica by the plan's steps, refresh the hot end, then offer swaps.

    Parameters
    ----------
    rng_keys : (num_chains,) keys
        One per chain, so that a chain's draws do not depend on which others share the program.
    """
    context, ladder = setup.context, setup.ladder
    keys = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, replicas.round), 3))(rng_keys)
    states, acceptance = _local_steps(keys[:, 0], replicas.states, setup, plan)
    if ladder.shape[0] > 1:  # without tempering there is no prior to draw from
        fresh = jax.vmap(draw_from_prior, (0, None, None))(keys[:, 2], context, setup.prior)
        is_prior = ladder[0] == 0.0
        states = jax.tree.map(lambda all_, new: all_.at[:, 0].set(jnp.where(is_prior, new, all_[:, 0])), states, fresh)
    # the prior is carried along as a sum of differences: take it afresh before rounding can add up
    states = jax.vmap(jax.vmap(state_of, (None, 0)), (None, 0))(context.problem, states.pair)
    replicas, probability = _swap(keys[:, 1], replicas._replace(states=states), ladder)
    journey, arrivals = _count_arrivals(replicas.journey)
    states = replicas.states
    included = states.pair.included
    sums = RoundSums(
        included.sum(axis=0, dtype=jnp.int64),
        included[:, -1].astype(jnp.int64),
        states.log_likelihood,
        *bridge_weights(states.log_likelihood, ladder, setup.centre),
        acceptance,
        probability,
        arrivals,
    )
    return Replicas(states, journey, replicas.round + 1), sums


def run_block(
    setup: Setup, replicas: Replicas, rng_keys: jax.Array, thin: Leaf, *, plan: Plan
) -> tuple[Replicas, RoundSums, Draw]:
    """Advance all replicas by `BLOCK` draws of ``thin`` rounds each."""
    return _program(jax.default_backend())(setup, replicas, rng_keys, thin, plan=plan)


@cache
def _program(platform: str) -> Callable[..., tuple[Replicas, RoundSums, Draw]]:
    # LLVM's later passes take much of the compilation and make this program no faster
    options: Any = {"xla_backend_optimization_level": 1} if platform == "cpu" else None
    program = jax.jit(block, static_argnames=("plan",), donate_argnums=(1,), compiler_options=options)
    return at_most(6, program)


def block(
    setup: Setup, replicas: Replicas, rng_keys: jax.Array, thin: Leaf, *, plan: Plan
) -> tuple[Replicas, RoundSums, Draw]:
    """`run_block`, not compiled."""
    num_chains, num_temperatures = replicas.journey.shape
    members = replicas.states.pair.included.shape[2:]
    zero = RoundSums(
        jnp.zeros((num_temperatures, *members), jnp.int64),
        jnp.zeros((num_chains, *members), jnp.int64),
        jnp.zeros((num_chains, num_temperatures)),
        jnp.zeros((num_chains, num_temperatures - 1)),
        jnp.zeros((num_chains, num_temperatures - 1)),
        jnp.zeros((num_chains, len(plan), num_temperatures)),
        jnp.zeros((num_chains, num_temperatures - 1)),
        jnp.zeros((num_chains,), jnp.int32),
    )

    def one_draw(carry: tuple[Replicas, RoundSums], _: None) -> tuple[tuple[Replicas, RoundSums], Draw]:
        def advance(_: jax.Array, carry: tuple[Replicas, RoundSums]) -> tuple[Replicas, RoundSums]:
            replicas, sums = carry
            replicas, new = one_round(rng_keys, replicas, setup, plan)
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


def adapt_ladder(ladder: FloatArray, swap_probability: FloatArray) -> FloatArray:
    """Space the ladder so that every gap is refused equally often.

    The rejection rates of neighbours add up to the communication barrier of the ladder; its inverse at equal
    steps gives the new temperatures (Syed et al. 2022).
    """
    rejection = np.clip(1.0 - swap_probability, 1e-3, 1.0)
    barrier = np.concatenate([[0.0], np.cumsum(rejection)])
    adapted = np.interp(np.linspace(0.0, barrier[-1], len(ladder)), barrier, ladder)
    adapted[0], adapted[-1] = ladder[0], ladder[-1]
    return adapted


def interpolate(new: FloatArray, old: FloatArray, values: FloatArray) -> FloatArray:
    """Values, (len(old), n), seen at the old temperatures, at new ones."""
    right = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
    share = ((new - old[right - 1]) / np.maximum(old[right] - old[right - 1], 1e-300))[:, None]
    return (1 - share) * values[right - 1] + share * values[right]
