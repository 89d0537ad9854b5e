"""One pattern in or out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from soar_jax._base import FloatArray
from soar_jax.sampling.kernel import Context, Kernel, Proposal, is_pattern, mix_weights
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip, tempered
from soar_jax.score.problem import Problem


def propose(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: tuple[()],
    inverse_temperature: jax.Array,
) -> Proposal:
    """Flip the chosen pattern.

    Flipping it again leads back, so that forward and reverse are equal and the ratio is target(new) / target(old).
    """
    flip = evaluate_flip(*context, state, choice)
    nothing = jnp.zeros(())
    return Proposal(apply_flip(*context, state, flip, jnp.array(True)), nothing, nothing)


def step(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: Any,
    inverse_temperature: jax.Array,
) -> tuple[PairState, jax.Array]:
    """Evaluate first and flip under a mask: most flips are refused, and a refused one need not be carried out."""
    flip = evaluate_flip(*context, state, choice)
    change = tempered(flip, inverse_temperature) - tempered(state, inverse_temperature)
    is_accepted = jnp.log(uniforms[0]) < change
    return apply_flip(*context, state, flip, is_accepted), is_accepted


def weigh(problem: Problem, tools: Any, inclusion: FloatArray | None) -> FloatArray:
    """Give half of the flips to all patterns evenly, half to those that were sometimes in and sometimes out."""
    return mix_weights(is_pattern(problem), None if inclusion is None else inclusion * (1 - inclusion), 0.5)


FLIP = Kernel("flip", 0, propose, step, weigh)
