"""Metropolis kernels on pairs of rule sets, for the tempered posterior.

The target at inverse temperature beta is  prior(z) * likelihood(z) ** beta : the prior is left as it is,
so that beta = 0 is the prior and beta = 1 the posterior. Each kernel is a pure function

    step(choice, uniforms, state, problem, moves, beta) -> (state, is_accepted)

of a pattern or edge drawn beforehand by `choose`, and of even random numbers (`build_kernel` makes one that takes a
key and weights instead), and leaves the target invariant by detailed balance. What is chosen comes from fixed weights
that do not look at the state, which keeps proposals symmetric:

* ``flip``: one pattern in or out.
* ``exchange``: two patterns of an edge, exactly one of which is in, change places: patterns of similar coverage,
  of either side, or a pattern and one that generalises or specialises it.
* ``heal``: flip a pattern, then give each of its relatives in a fixed order a draw from its own full conditional;
  accepted by the exact ratio with the reverse sweep. Few acceptances, large moves. Relatives are patterns of similar
  coverage or, at the toss of a coin, those that generalise or specialise it: a rule and its shorter or longer
  forms change places at once.
* ``informed``: one flip drawn in proportion to the square root of its posterior ratio (Zanella 2020), which the
  all-neighbours pass gives for all patterns at once; accepted by the ratio of the two normalisers.

At beta = 0 `draw_from_prior` replaces the pair by an independent draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from ._base import FloatArray, IntArray, Leaf, in_float64
from .flips import Patterns, SampleState, Scored, apply_flip, init, make_patterns, score_flip, select, tempered
from .pair import empty_pair, score_flips
from .priors import Hyperparameters
from .problem import MAX_RULES, Problem
from .relatives import Kinship, find_edges, nearest

KERNELS = ("flip", "exchange", "heal", "informed")
NUM_RELATIVES = 12
_EDGES_EACH = 8


class Moves(NamedTuple):
    """What proposals need beside the problem; patterns are numbered side * num_patterns + index.

    Attributes
    ----------
    patterns : Patterns
    edges : (num_edges, 2) int32
        Patterns to exchange.
    relatives : (2, 2 * num_patterns, NUM_RELATIVES) int32
        What ``heal`` sweeps: patterns of similar coverage, or those that generalise or specialise; -1 where fewer.
    size_cumulative : (2 * num_lengths, MAX_RULES + 1) float64
        By kind: cumulative prior probability of 0, 1, ... rules.
    kind_start : (2 * num_lengths,) int32
        How many patterns have a smaller kind.
    """

    patterns: Patterns
    edges: jax.Array
    relatives: jax.Array
    size_cumulative: jax.Array
    kind_start: jax.Array


class Weights(NamedTuple):
    """Cumulative probabilities of what each kernel draws, fixed while sampling: patterns, edges, patterns."""

    flip: Leaf
    edge: Leaf
    heal: Leaf


Step = Callable[
    [jax.Array, jax.Array, SampleState, Problem, Moves, jax.Array],
    tuple[SampleState, jax.Array],
]
KeyStep = Callable[
    [jax.Array, SampleState, Problem, Moves, Weights, jax.Array],
    tuple[SampleState, jax.Array],
]


def _size_table(hyper: Hyperparameters, prior: FloatArray) -> FloatArray:
    """Cumulative prior probability of n rules of each kind: (2 * num_lengths, MAX_RULES + 1)."""
    table = np.ones((*prior.shape[:2], MAX_RULES + 1))
    n = np.arange(MAX_RULES + 1)
    for side, sizes in enumerate(hyper.pool_size):
        for length, size in enumerate(sizes, start=1):
            ways = gammaln(size + 1) - gammaln(n + 1) - gammaln(np.maximum(size - n, 0) + 1)
            mass = np.exp(np.where(n <= size, ways + prior[side, length, : MAX_RULES + 1], -np.inf))
            table[side, length] = np.cumsum(mass) / mass.sum()
    return table.reshape(-1, MAX_RULES + 1)


@in_float64
def make_moves(
    problem: Problem, hyper: Hyperparameters, kinship: Kinship, inclusion: FloatArray | None = None
) -> Moves:
    """Lay out rows, relatives and the prior for the kernels.

    ``inclusion``, (2 * num_patterns,), is how often each pattern was in so far: relatives that occur come first.
    """
    num_patterns = problem.bits.shape[2]
    patterns, prior = make_patterns(problem), np.asarray(problem.prior)
    kinds = np.arange(2 * prior.shape[1])
    inclusion = np.zeros(2 * num_patterns) if inclusion is None else inclusion
    lists = [nearest(kinship, num_patterns, NUM_RELATIVES, inclusion, kin_only=only) for only in (False, True)]
    return Moves(
        patterns=patterns,
        edges=jnp.asarray(find_edges(kinship, _EDGES_EACH), jnp.int32),
        relatives=jnp.asarray(np.stack(lists), jnp.int32),
        size_cumulative=jnp.asarray(_size_table(hyper, prior)),
        kind_start=jnp.asarray(np.searchsorted(np.sort(patterns.kind), kinds), jnp.int32),
    )


def make_weights(problem: Problem, edges: IntArray, inclusion: FloatArray | None = None) -> Weights:
    """Say how often each pattern and edge is tried.

    Half of the flips go to all patterns evenly, half to those that were sometimes in and sometimes out in
    ``inclusion`` (2 * num_patterns,); edges likewise, by the chance that exactly one end is in; ``heal``
    starts at patterns that occur. Without ``inclusion`` everything is even.
    """
    real = (np.asarray(problem.length).reshape(-1) > 0).astype(np.float64)
    everywhere = (edges[:, 0] != edges[:, 1]).astype(np.float64)
    if not everywhere.any():
        everywhere[:] = 1.0  # nothing to exchange: every try is refused
    if inclusion is None:
        return Weights(*(np.cumsum(w / max(w.sum(), 1)) for w in (real, everywhere, real)))
    p = np.clip(inclusion, 0.0, 1.0)
    one, other = p[edges[:, 0]], p[edges[:, 1]]
    return Weights(
        _mixture(real, p * (1 - p), 0.5),
        _mixture(everywhere, one * (1 - other) + other * (1 - one), 0.8),
        _mixture(real, p * (1.05 - p), 0.8),
    )


def _mixture(everywhere: FloatArray, focus: FloatArray, share: float) -> FloatArray:
    """Cumulative distribution of a share drawn by focus, the rest evenly."""
    total = max(everywhere.sum(), 1.0)
    focus = focus * everywhere
    if focus.sum() <= 0:
        return np.cumsum(everywhere / total)
    return np.cumsum(share * focus / focus.sum() + (1 - share) * everywhere / total)


def draw_index(cumulative: jax.Array, uniform: jax.Array) -> jax.Array:
    """Index drawn by its weight; entries of weight 0 are never drawn."""
    found = jnp.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return jnp.minimum(found, cumulative.shape[0] - 1).astype(jnp.int32)


def _is_accepted(uniform: jax.Array, new: SampleState | Scored, old: SampleState, beta: jax.Array) -> jax.Array:
    """Metropolis rule for a symmetric proposal."""
    return jnp.log(uniform) < tempered(new, beta) - tempered(old, beta)


def flip_step(
    choice: jax.Array, uniforms: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip one pattern."""
    flip = score_flip(problem, moves.patterns, state, choice)
    is_accepted = _is_accepted(uniforms[0], flip, state, beta)
    return apply_flip(problem, moves.patterns, state, flip, is_accepted), is_accepted


def propose_exchange(
    state: SampleState, problem: Problem, moves: Moves, edge: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Exchange the ends of an edge; the second value says whether exactly one was in, else it is no exchange."""
    included = state.pair.included.reshape(-1)
    one, other = moves.edges[edge, 0], moves.edges[edge, 1]
    is_possible = included[one] != included[other]
    out_first = jnp.where(included[one], jnp.stack([one, other]), jnp.stack([other, one]))

    def flip(i: jax.Array, current: SampleState) -> SampleState:
        scored = score_flip(problem, moves.patterns, current, out_first[i])
        return apply_flip(problem, moves.patterns, current, scored, jnp.array(True))

    return jax.lax.fori_loop(0, 2, flip, state), is_possible


def exchange_step(
    choice: jax.Array, uniforms: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Exchange a rule for a similar pattern, or for one that generalises or specialises it."""
    proposal, is_possible = propose_exchange(state, problem, moves, choice)
    is_accepted = is_possible & _is_accepted(uniforms[0], proposal, state, beta)
    return select(is_accepted, proposal, state), is_accepted


def propose_heal(
    state: SampleState,
    problem: Problem,
    moves: Moves,
    beta: jax.Array,
    around: tuple[jax.Array, jax.Array],
    wanted: tuple[jax.Array, jax.Array],
) -> tuple[SampleState, jax.Array, jax.Array]:
    """Flip a pattern and sweep its relatives: proposal, log probability of the sweep and of the way back.

    Parameters
    ----------
    around : (number, relatives)
        The pattern to flip, and the list to sweep.
    wanted : (uniforms, target)
        A relative is redrawn from its full conditional by its uniform or, where that is NaN, brought to its membership
        in ``target`` at the probability that has.
    """
    number, relatives = around
    original = state.pair.included.reshape(-1)
    order = jnp.concatenate([number[None], relatives])
    uniforms = jnp.concatenate([jnp.zeros((1,)), wanted[0]])

    def visit(
        i: jax.Array, carry: tuple[SampleState, jax.Array, jax.Array, jax.Array]
    ) -> tuple[SampleState, jax.Array, jax.Array, jax.Array]:
        current, log_probability, is_possible, is_return = carry
        is_real, pattern = order[i] >= 0, jnp.maximum(order[i], 0)
        flip = score_flip(problem, moves.patterns, current, pattern)
        change = tempered(flip, beta) - tempered(current, beta)
        target = jnp.where(is_return, original[pattern], wanted[1][pattern])
        is_forced = is_return | jnp.isnan(uniforms[i])
        switches = jnp.where(is_forced, flip.is_removal != target, uniforms[i] < jax.nn.sigmoid(change))
        switches = (switches | (i == 0)) & is_real
        log_step = jax.nn.log_sigmoid(jnp.where(switches, change, -change))
        log_probability = log_probability + jnp.where(is_real & (i > 0), log_step, 0.0)
        is_possible = is_possible & ((i > 0) | jnp.isfinite(flip.log_prior))
        return apply_flip(problem, moves.patterns, current, flip, switches), log_probability, is_possible, is_return

    def go(
        way: jax.Array, carry: tuple[SampleState, SampleState, jax.Array, jax.Array]
    ) -> tuple[SampleState, SampleState, jax.Array, jax.Array]:
        """There, and back to where it began: one copy of the code for both."""
        current, proposal, log_probability, is_possible = carry
        start = (current, jnp.zeros(()), is_possible, way == 1)
        current, log_path, is_possible, _ = jax.lax.fori_loop(0, order.shape[0], visit, start)
        return current, select(way == 0, current, proposal), log_probability.at[way].set(log_path), is_possible

    begin = (state, state, jnp.zeros((2,)), jnp.array(True))
    _, proposal, log_probability, is_possible = jax.lax.fori_loop(0, 2, go, begin)
    return proposal, log_probability[0], jnp.where(is_possible, log_probability[1], -jnp.inf)


def heal_step(
    choice: jax.Array, uniforms: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip a pattern, let its relatives adapt, accept by the exact ratio with the way back."""
    around = choice, moves.relatives[(uniforms[1] < 0.5).astype(jnp.int32), choice]  # noqa: PLR2004
    wanted = (uniforms[2:], state.pair.included.reshape(-1))
    proposal, log_forward, log_reverse = propose_heal(state, problem, moves, beta, around, wanted)
    change = tempered(proposal, beta) - tempered(state, beta) + log_reverse - log_forward
    is_accepted = jnp.log(uniforms[0]) < change
    return select(is_accepted, proposal, state), is_accepted


def informed_weights(problem: Problem, state: SampleState, beta: jax.Array) -> jax.Array:
    """Log probability of drawing each flip: (2 * num_patterns,), -inf where impossible."""

    def one_side(side: jax.Array) -> jax.Array:
        by_kind = [score_flips(problem, state.pair, side, jnp.array(kind), beta) for kind in (False, True)]
        return jnp.where(state.pair.included[side], by_kind[1], by_kind[0])

    scores = jax.lax.map(one_side, jnp.arange(2, dtype=jnp.int32)).reshape(-1)
    return jax.nn.log_softmax(0.5 * (scores - tempered(state, beta)))


def propose_informed(
    state: SampleState, problem: Problem, moves: Moves, beta: jax.Array, number: jax.Array, forward: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip ``number``; the log ratio compares the two normalisers."""
    flip = score_flip(problem, moves.patterns, state, number)
    proposal = apply_flip(problem, moves.patterns, state, flip, jnp.array(True))
    return proposal, informed_weights(problem, proposal, beta)[number] - forward[number]


def informed_step(
    choice: jax.Array, uniforms: jax.Array, state: SampleState, problem: Problem, moves: Moves, beta: jax.Array
) -> tuple[SampleState, jax.Array]:
    """Flip one pattern drawn in proportion to the square root of its posterior ratio."""
    del choice  # this one has to look at the state
    forward = informed_weights(problem, state, beta)
    number = draw_index(jnp.cumsum(jnp.exp(forward)), uniforms[1])
    proposal, log_ratio = propose_informed(state, problem, moves, beta, number, forward)
    is_accepted = jnp.log(uniforms[0]) < tempered(proposal, beta) - tempered(state, beta) + log_ratio
    return select(is_accepted, proposal, state), is_accepted


STEPS: dict[str, Step] = {
    "flip": flip_step,
    "exchange": exchange_step,
    "heal": heal_step,
    "informed": informed_step,
}


def num_uniforms(name: str) -> int:
    """How many even random numbers a step of this kernel takes, beside the one for its choice."""
    return {"flip": 1, "exchange": 1, "heal": 2 + NUM_RELATIVES, "informed": 2}[name]


def choose(name: str, weights: Weights, uniforms: jax.Array) -> jax.Array:
    """Draw what a kernel tries, for any number of uniforms at once: a binary search is dear inside a loop of steps."""
    cumulative = {"flip": weights.flip, "exchange": weights.edge, "heal": weights.heal}.get(name)
    return jnp.zeros(uniforms.shape, jnp.int32) if cumulative is None else draw_index(cumulative, uniforms)


def build_kernel(name: str) -> KeyStep:
    """Return one of the kernels of `KERNELS` as ``step(rng_key, state, problem, moves, weights, beta)``."""

    def step(
        rng_key: jax.Array, state: SampleState, problem: Problem, moves: Moves, weights: Weights, beta: jax.Array
    ) -> tuple[SampleState, jax.Array]:
        uniforms = jax.random.uniform(rng_key, (1 + num_uniforms(name),), jnp.float64)
        return STEPS[name](choose(name, weights, uniforms[0]), uniforms[1:], state, problem, moves, beta)

    return step


def draw_from_prior(rng_key: jax.Array, state: SampleState, problem: Problem, moves: Moves) -> SampleState:
    """Independent draw from the prior: the exact kernel at beta = 0.

    The number of rules of each kind comes from its Beta-binomial law, the rules themselves evenly. A draw with more
    than MAX_RULES rules on a side is refused and the state kept, which leaves the prior so restricted invariant.
    """
    key_sizes, key_patterns = jax.random.split(rng_key)
    uniforms = jax.random.uniform(key_sizes, moves.size_cumulative.shape[:1], jnp.float64)
    sizes = (moves.size_cumulative < uniforms[:, None]).sum(axis=1, dtype=jnp.int32)
    kind = moves.patterns.kind
    order = jnp.argsort(kind + jax.random.uniform(key_patterns, kind.shape, jnp.float64))
    rank = jnp.arange(kind.shape[0], dtype=jnp.int32) - moves.kind_start[kind[order]]
    included = jnp.zeros(kind.shape, bool).at[order].set(rank < sizes[kind[order]])
    members = jnp.nonzero(included, size=2 * MAX_RULES, fill_value=0)[0].astype(jnp.int32)
    fits = (included.reshape(2, -1).sum(axis=1) <= MAX_RULES).all()
    total = jnp.where(fits, included.sum(dtype=jnp.int32), 0)

    def add(carry: tuple[jax.Array, SampleState]) -> tuple[jax.Array, SampleState]:
        i, current = carry
        flip = score_flip(problem, moves.patterns, current, members[i])
        return i + 1, apply_flip(problem, moves.patterns, current, flip, i < total)

    start = (jnp.zeros((), jnp.int32), init(problem, empty_pair(problem)))
    _, drawn = jax.lax.while_loop(lambda carry: carry[0] < total, add, start)
    return select(fits, drawn, state)
