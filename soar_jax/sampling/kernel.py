"""What a Metropolis kernel is: one value that says what it draws, what it proposes and how it is tuned.

The target at inverse temperature t is  prior(z) * likelihood(z) ** t : the prior is left as it is, so that t = 0 is
the prior and t = 1 the posterior. One step of any kernel

* draws a *choice* (a pattern, an edge) by fixed weights that do not look at the state, and are the same there and
  back, so that they cancel;
* proposes a pair from the choice and some uniforms, and says with which probability it was proposed and with which
  the way back would be;
* accepts it with probability  min(1, target(new) * reverse / (target(old) * forward)) , which makes the flow between
  any two pairs equal in both directions (detailed balance).

A new kernel is one file under `soar_jax.sampling.kernels` with a `Kernel` in it, and its line in
`soar_jax.sampling.plan`; the suites of detailed balance and enumeration find it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray
from soar_jax.sampling.experience import Experience
from soar_jax.sampling.relatives import Kinship
from soar_jax.score.flips import NumberedPool, PairState, select, tempered
from soar_jax.score.problem import Problem


class Context(NamedTuple):
    """What every kernel reads. Patterns are numbered side * num_slots + index."""

    problem: Problem
    pool: NumberedPool


class Proposal(NamedTuple):
    """A pair that could be next.

    Attributes
    ----------
    state : PairState
    log_forward : () float64
        Log probability of all that was drawn on the way, given the choice.
    log_reverse : () float64
        Log probability of drawing the way back; -inf where there is none.
    """

    state: PairState
    log_forward: jax.Array
    log_reverse: jax.Array


Propose = Callable[[jax.Array, jax.Array, PairState, Context, Any, jax.Array], Proposal]
"""``(choice, uniforms, state, context, tools, inverse_temperature)``, with ``num_uniforms`` uniforms."""
Step = Callable[[jax.Array, jax.Array, PairState, Context, Any, jax.Array], tuple[PairState, jax.Array]]
"""The same with one more uniform in front, for the acceptance; gives the next state and whether it is new."""
Prepare = Callable[[Kinship, int, Experience | None], Any]
"""``(kinship, num_slots, seen)`` -> arrays of the kernel's own; nothing is seen before warm-up."""
Weigh = Callable[[Problem, Any, FloatArray | None], FloatArray]
"""``(problem, tools, inclusion)`` -> cumulative weights of the choices."""


def metropolis(propose: Propose) -> Step:
    """Turn proposals into a step by the rule of Metropolis and Hastings."""

    def step(
        choice: jax.Array,
        uniforms: jax.Array,
        state: PairState,
        context: Context,
        tools: Any,
        inverse_temperature: jax.Array,
    ) -> tuple[PairState, jax.Array]:
        proposal = propose(choice, uniforms[1:], state, context, tools, inverse_temperature)
        change = tempered(proposal.state, inverse_temperature) - tempered(state, inverse_temperature)
        is_accepted = jnp.log(uniforms[0]) < change + proposal.log_reverse - proposal.log_forward
        return select(is_accepted, proposal.state, state), is_accepted

    return step


def no_tools(kinship: Kinship, num_slots: int, seen: Experience | None) -> tuple[()]:
    """Prepare nothing."""
    return ()


@dataclass(frozen=True)
class Kernel:
    """A Metropolis kernel.

    Attributes
    ----------
    name : str
    num_uniforms : int
        Uniforms of one proposal, beside the one for its choice and the one for its acceptance.
    propose : callable
        See `Propose`.
    step : callable
        See `Step`; `metropolis(propose)` or the same written faster.
    weigh : callable
        See `Weigh`. ``inclusion``, (2 * num_slots,), is how often each pattern was in during warm-up, None before.
    prepare : callable
        See `Prepare`.
    is_prepared_anew : bool
        Whether what ``prepare`` gives depends on what was seen.
    """

    name: str
    num_uniforms: int
    propose: Propose
    step: Step
    weigh: Weigh
    prepare: Prepare = no_tools
    is_prepared_anew: bool = False


def is_pattern(problem: Problem) -> FloatArray:
    """1 for every slot that holds a pattern, 0 for padding: (2 * num_slots,)."""
    return (np.asarray(problem.kind).reshape(-1) > 0).astype(np.float64)


def mix_weights(everywhere: FloatArray, focus: FloatArray | None, share: float) -> FloatArray:
    """Cumulative distribution of choices: a share of them drawn by ``focus``, the rest evenly.

    Without a focus everything is even.
    """
    total = max(everywhere.sum(), 1.0)
    if focus is None or (focus * everywhere).sum() <= 0:
        return np.cumsum(everywhere / total)
    focus = focus * everywhere
    return np.cumsum(share * focus / focus.sum() + (1 - share) * everywhere / total)


def draw_index(cumulative: jax.Array, uniform: jax.Array) -> jax.Array:
    """Index drawn by its weight; entries of weight 0 are never drawn."""
    found = jnp.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return jnp.minimum(found, cumulative.shape[0] - 1).astype(jnp.int32)


def run_step(
    kernel: Kernel,
    rng_key: jax.Array,
    state: PairState,
    context: Context,
    tools: Any,
    weights: jax.Array,
    inverse_temperature: jax.Array,
) -> tuple[PairState, jax.Array]:
    """Take one step of one chain, with a key instead of uniforms."""
    uniforms = jax.random.uniform(rng_key, (2 + kernel.num_uniforms,), jnp.float64)
    choice = draw_index(weights, uniforms[0])
    return kernel.step(choice, uniforms[1:], state, context, tools, inverse_temperature)
