"""Flip a pattern, then let its relatives adapt: few acceptances, large moves.

Relatives are patterns of similar coverage or, at the toss of a coin, those that generalise or specialise the pattern: a
rule and its shorter or longer forms change places at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray
from soar_jax.sampling.experience import Experience
from soar_jax.sampling.kernel import Context, Kernel, Proposal, is_pattern, metropolis, mix_weights
from soar_jax.sampling.relatives import Kinship, nearest
from soar_jax.score.flips import PairState, apply_flip, evaluate_flip, select, tempered
from soar_jax.score.problem import Problem

NUM_RELATIVES = 12
_LOG_HALF = float(np.log(0.5))


class _Sweep(NamedTuple):
    """A sweep under way: where it stands, how probable its draws were, and whether it can be made at all."""

    state: PairState
    log_probability: jax.Array
    is_possible: jax.Array


def prepare(kinship: Kinship, num_slots: int, seen: Experience | None) -> np.ndarray:
    """List the relatives of each pattern, those that occur first: (2, 2 * num_slots, NUM_RELATIVES) int32.

    Patterns of similar coverage, then those that generalise or specialise it; -1 where there are fewer.
    """
    occurs = np.zeros(2 * num_slots) if seen is None else seen.inclusion
    lists = [nearest(kinship, num_slots, NUM_RELATIVES, occurs, kin_only=only) for only in (False, True)]
    return np.stack(lists).astype(np.int32)


def propose(
    choice: jax.Array,
    uniforms: jax.Array,
    state: PairState,
    context: Context,
    tools: jax.Array,
    inverse_temperature: jax.Array,
) -> Proposal:
    """Flip the chosen pattern and give each relative, in a fixed order, a draw from its own full conditional.

    The way back flips the pattern again and must draw, relative by relative in the same order, the membership that each
    had before. With q(z -> z') the product of the full conditionals met on the way, and the coin's 1/2 on both
    sides, the ratio is  target(z') q(z' -> z) / (target(z) q(z -> z')) .
    """
    relatives = tools[(uniforms[0] < 0.5).astype(jnp.int32), choice]  # noqa: PLR2004
    order = jnp.concatenate([choice[None], relatives])
    drawn = jnp.concatenate([jnp.zeros((1,)), uniforms[1:]])
    before = state.pair.included.reshape(-1)

    def visit(i: jax.Array, sweep: _Sweep, is_return: jax.Array) -> _Sweep:
        """Flip the pattern itself (i = 0), or draw a relative; on the return each goes where it was before."""
        is_real, pattern = order[i] >= 0, jnp.maximum(order[i], 0)
        flip = evaluate_flip(*context, sweep.state, pattern)
        change = tempered(flip, inverse_temperature) - tempered(sweep.state, inverse_temperature)
        switches = jnp.where(is_return, flip.is_removal != before[pattern], drawn[i] < jax.nn.sigmoid(change))
        switches = (switches | (i == 0)) & is_real
        log_draw = jax.nn.log_sigmoid(jnp.where(switches, change, -change))
        can_be = jnp.isfinite(flip.log_prior)  # else it is drawn with probability 0, and the sweep goes on without it
        return _Sweep(
            apply_flip(*context, sweep.state, flip, switches & can_be),
            sweep.log_probability + jnp.where(is_real & (i > 0), log_draw, 0.0),
            sweep.is_possible & ((i > 0) | can_be),
        )

    def walk(
        leg: jax.Array, carry: tuple[PairState, PairState, jax.Array, jax.Array]
    ) -> tuple[PairState, PairState, jax.Array, jax.Array]:
        """Sweep there (leg 0) and back (leg 1): one copy of the code for both, since compiling it is dear."""
        current, proposal, log_probability, is_possible = carry
        start = _Sweep(current, jnp.zeros(()), is_possible)
        end = jax.lax.fori_loop(0, order.shape[0], lambda i, sweep: visit(i, sweep, leg == 1), start)
        proposal = select(leg == 0, end.state, proposal)
        return end.state, proposal, log_probability.at[leg].set(end.log_probability), end.is_possible

    start = (state, state, jnp.zeros((2,)), jnp.array(True))
    _, proposal, log_probability, is_possible = jax.lax.fori_loop(0, 2, walk, start)
    log_reverse = jnp.where(is_possible, log_probability[1], -jnp.inf)
    return Proposal(proposal, _LOG_HALF + log_probability[0], _LOG_HALF + log_reverse)


def weigh(problem: Problem, tools: Any, inclusion: FloatArray | None) -> FloatArray:
    """Give a fifth of the moves to all patterns evenly, the rest to those that occur, less to near-certain ones."""
    return mix_weights(is_pattern(problem), None if inclusion is None else inclusion * (1.05 - inclusion), 0.8)


HEAL = Kernel("heal", 1 + NUM_RELATIVES, propose, metropolis(propose), weigh, prepare, is_prepared_anew=True)
