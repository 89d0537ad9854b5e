"""Leap from one reading of the table to another: all patterns in which two known pairs differ are flipped at once.

A few rules of one side may say what many of the other say, and flips go from one to the other only through pairs that
nobody would draw. Warm-up keeps good pairs that differ in what they say of the rows; where a chain stands near one of
them, it takes its other rules along to the second.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray
from soar_jax.sampling.experience import NUM_READINGS, Experience
from soar_jax.sampling.kernel import Context, Kernel, Proposal, metropolis, mix_weights
from soar_jax.sampling.relatives import Kinship
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip
from soar_jax.score.problem import Problem

MAX_FLIPS = 32
NUM_JUMPS = NUM_READINGS * (NUM_READINGS - 1) // 2


def prepare(kinship: Kinship, num_slots: int, seen: Experience | None) -> np.ndarray:
    """List the flips of each jump: (NUM_JUMPS, MAX_FLIPS) int32, -1 where there are fewer."""
    jumps = np.full((NUM_JUMPS, MAX_FLIPS), -1, dtype=np.int32)
    pairs = [] if seen is None else combinations(seen.readings, 2)
    differences = [np.flatnonzero(one != other) for one, other in pairs]
    for line, flips in zip(jumps, [flips for flips in differences if 0 < len(flips) <= MAX_FLIPS], strict=False):
        line[: len(flips)] = flips
    return jumps


def propose(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: jax.Array,
    inverse_temperature: jax.Array,
) -> Proposal:
    """Flip every pattern of the chosen jump, rules that leave first.

    The same jump leads back, so that forward and reverse are equal and the ratio is target(new) / target(old). On the
    way no side has more rules than at both ends, so that a jump is possible there and back, or neither.
    """
    flips = tools[choice]
    count = (flips >= 0).sum()
    flips = _leaving_first(flips, (flips >= 0) & state.pair.included.reshape(-1)[jnp.maximum(flips, 0)])

    def flip(i: jax.Array, carry: tuple[PairState, jax.Array]) -> tuple[PairState, jax.Array]:
        current, is_possible = carry
        found = evaluate_flip(*context, current, flips[i])
        # too many rules cannot be carried out
        fits = jnp.isfinite(found.log_prior)
        return apply_flip(*context, current, found, fits), is_possible & fits

    leapt, is_possible = jax.lax.fori_loop(0, count, flip, (state, count > 0))
    return Proposal(leapt, jnp.zeros(()), jnp.where(is_possible, 0.0, -jnp.inf))


def _leaving_first(flips: jax.Array, leaves: jax.Array) -> jax.Array:
    """Order flips: those of rules that leave first, else as they are; two small tables, since sorting is slow."""
    places = jnp.arange(flips.shape[0], dtype=jnp.int32)
    is_ahead = jnp.where(leaves[None] == leaves[:, None], places[None] < places[:, None], leaves[None])
    rank = is_ahead.sum(axis=1, dtype=jnp.int32)
    return jnp.where(rank[None] == places[:, None], flips[None], 0).sum(axis=1, dtype=jnp.int32)


def weigh(problem: Problem, tools: Any, inclusion: FloatArray | None) -> FloatArray:
    """Choose jumps evenly."""
    everywhere = (np.asarray(tools)[:, 0] >= 0).astype(np.float64)
    if not everywhere.any():
        everywhere[:] = 1.0  # nowhere to leap to: every try is refused
    return mix_weights(everywhere, None, 0.0)


JUMP = Kernel("jump", 0, propose, metropolis(propose), weigh, prepare, is_prepared_anew=True)
