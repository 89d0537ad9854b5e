"""One flip drawn by how much it would gain (Zanella 2020); the all-neighbours pass gives this for all flips at once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray
from soar_jax.sampling.kernel import Context, Kernel, Proposal, draw_index, metropolis
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip, tempered
from soar_jax.score.pair import flip_log_joints
from soar_jax.score.problem import Problem


def flip_log_probabilities(problem: Problem, state: PairState, inverse_temperature: jax.Array) -> jax.Array:
    """Log probability of drawing each flip: (2 * num_slots,), -inf where impossible."""

    def one_side(side: jax.Array) -> jax.Array:
        by_kind = [
            flip_log_joints(problem, state.pair, side, jnp.array(is_removal), inverse_temperature)
            for is_removal in (False, True)
        ]
        return jnp.where(state.pair.included[side], by_kind[1], by_kind[0])

    log_joints = jax.lax.map(one_side, jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    return jax.nn.log_softmax(0.5 * (log_joints - tempered(state, inverse_temperature)))


def propose(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: tuple[()],
    inverse_temperature: jax.Array,
) -> Proposal:
    """Flip one pattern drawn in proportion to the square root of its ratio  target(z') / target(z) .

    Forward and reverse are the two draws of that flip. With Z(z) the sum of the square roots over all flips of z, the
    ratio is  target(z') q(z' -> z) / (target(z) q(z -> z')) = Z(z) / Z(z') . The choice is not used: this
    kernel has to look at the state.
    """
    forward = flip_log_probabilities(context.problem, state, inverse_temperature)
    number = draw_index(jnp.cumsum(jnp.exp(forward)), uniforms[0])
    flip = evaluate_flip(*context, state, number)
    flipped = apply_flip(*context, state, flip, jnp.array(True))
    reverse = flip_log_probabilities(context.problem, flipped, inverse_temperature)
    return Proposal(flipped, forward[number], reverse[number])


def weigh(problem: Problem, tools: Any, inclusion: FloatArray | None) -> FloatArray:
    """There is one choice."""
    return np.ones(1)


INFORMED = Kernel("informed", 1, propose, metropolis(propose), weigh)
