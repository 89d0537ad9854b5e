"""A rule leaves, and one of all patterns of its side takes its place, drawn by what the pair is worth with it.

Where a rule has hundreds of near-copies, single flips and exchanges along a graph spend their tries on pairs that are
worth nothing. The all-neighbours pass prices every candidate for the free place at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray
from soar_jax.sampling.kernel import Context, Kernel, Proposal, draw_index, metropolis
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip
from soar_jax.score.pair import flip_log_bounds
from soar_jax.score.problem import Problem


def propose(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: tuple[()],
    inverse_temperature: jax.Array,
) -> Proposal:
    """Take a rule of the chosen side out, and draw who comes in, the same rule included, by its price.

    Let w(j) be the price of pattern j in the pair without the rule. Forward is  1 / size * w(new) / sum w , reverse
    1 / size * w(old) / sum w : both go through the same pair without the rule. Where prices are exact the ratio is 1
    and nothing is refused; on large tables they are upper bounds, and Metropolis makes up for it.
    """
    problem = context.problem
    included = state.pair.included[choice] & (problem.kind[choice] > 0)  # what must be in stays
    size = included.sum()
    is_possible = size > 0
    leaving = jnp.argmax(jnp.cumsum(included) > jnp.minimum((uniforms[0] * size).astype(size.dtype), size - 1))
    first = choice * problem.num_slots
    place = first + leaving.astype(jnp.int32)
    without = apply_flip(*context, state, evaluate_flip(*context, state, place), is_possible)
    prices = flip_log_bounds(problem, without.pair, choice, jnp.array(False), inverse_temperature)
    log_chance = jax.nn.log_softmax(prices)
    coming = draw_index(jnp.cumsum(jnp.exp(log_chance)), uniforms[1])
    replaced = apply_flip(*context, without, evaluate_flip(*context, without, first + coming), is_possible)
    log_leaving = -jnp.log(jnp.maximum(size, 1).astype(jnp.float64))
    log_reverse = jnp.where(is_possible, log_leaving + log_chance[leaving], -jnp.inf)
    return Proposal(replaced, log_leaving + log_chance[coming], log_reverse)


def weigh(problem: Problem, tools: Any, inclusion: FloatArray | None) -> FloatArray:
    """Choose a side, evenly among those that have candidates."""
    has_any = (np.asarray(problem.kind) > 0).any(axis=1).astype(np.float64)
    return np.cumsum(has_any / has_any.sum())


REPLACE = Kernel("replace", 2, propose, metropolis(propose), weigh)
