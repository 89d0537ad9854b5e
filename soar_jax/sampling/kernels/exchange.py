"""A rule changes places with a similar pattern, of either side, or with one that generalises or specialises it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray
from soar_jax.sampling.experience import Experience
from soar_jax.sampling.kernel import Context, Kernel, Proposal, metropolis, mix_weights
from soar_jax.sampling.relatives import Kinship, find_edges
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip
from soar_jax.score.problem import Problem

_EDGES_EACH = 8


def prepare(kinship: Kinship, num_slots: int, seen: Experience | None) -> np.ndarray:
    """List the edges, pairs of patterns that may change places: (num_edges, 2) int32."""
    return find_edges(kinship, _EDGES_EACH).astype(np.int32)


def propose(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: jax.Array,
    inverse_temperature: jax.Array,
) -> Proposal:
    """Exchange the ends of the chosen edge, if exactly one of them is in.

    The same edge leads back and has one end in there too, so that forward and reverse are equal and the ratio is
    target(new) / target(old).
    """
    included = state.pair.included.reshape(-1)
    one, other = tools[choice, 0], tools[choice, 1]
    is_possible = included[one] != included[other]
    out_first = jnp.where(included[one], jnp.stack([one, other]), jnp.stack([other, one]))

    def flip(i: jax.Array, current: PairState) -> PairState:
        return apply_flip(*context, current, evaluate_flip(*context, current, out_first[i]), jnp.array(True))

    exchanged = jax.lax.fori_loop(0, 2, flip, state)
    return Proposal(exchanged, jnp.zeros(()), jnp.where(is_possible, 0.0, -jnp.inf))


def weigh(problem: Problem, tools: Any, inclusion: FloatArray | None) -> FloatArray:
    """Give a fifth of the exchanges to all edges evenly, the rest by the chance that exactly one end is in."""
    edges = np.asarray(tools)
    everywhere = (edges[:, 0] != edges[:, 1]).astype(np.float64)
    if not everywhere.any():
        everywhere[:] = 1.0  # nothing to exchange: every try is refused
    if inclusion is None:
        return mix_weights(everywhere, None, 0.8)
    one, other = inclusion[edges[:, 0]], inclusion[edges[:, 1]]
    return mix_weights(everywhere, one * (1 - other) + other * (1 - one), 0.8)


EXCHANGE = Kernel("exchange", 0, propose, metropolis(propose), weigh, prepare)
