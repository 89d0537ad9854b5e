"""One step of Algorithm 1 in many restarts at once.

Which row is picked matters to Algorithm 1 only through its label and state, so drawing a wrongly
predicted row and branching on it is the same as drawing one of four moves with weights

    add to R+       PAP + CFN / 2         remove from R-   AAP + CFN / 2
    add to R-       PAN + CFP / 2         remove from R+   AAN + CFP / 2

(`Problem.wrong` holds them). What the paper leaves open is settled so: both rule sets start empty; a
set that cannot give (take) a rule takes (gives) one instead; when no row is wrong every move is
equally likely; the row may be judged by the best pair so far, as printed, or by the current one.

A small operation costs about as much for fifty chains as for one, so restarts run in batches. Which flip of a kind is
best depends on the pair alone, and most proposals are refused. So each chain remembers the best flips of its pair and
of the pair before, which covers coming back, and the pool is read only for what is not known.
The result is the same to the bit.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import NUM_PLANES, BoolArray, IntArray, Leaf
from soar_jax.score.flips import NumberedPool, PairState, apply_flip, evaluate_flip, tempered
from soar_jax.score.joint import host_log_likelihood, host_log_prior, split_counts
from soar_jax.score.pair import Pair, best_flip, eligible_flips, host_pair
from soar_jax.score.problem import Problem
from soar_jax.search.moves import MOVES

BLOCK = 100
"""Steps in one compiled call; between calls the host shows progress and watches the clock."""


_UNKNOWN = -1
_WORD = 16
_SHORT = 256
_INFO_BITS = {"move": 2, "accepted": 1, "looked_up": 1, "positive_rules": NUM_PLANES, "negative_rules": NUM_PLANES}


class Known(NamedTuple):
    """Best flips looked up before, by move: pattern, or -1 where not known.

    Attributes
    ----------
    here, before : (4,) int32
        Of the current pair and of the one before it.
    link : () int32
        The numbered pattern whose flip leads from one of the two pairs to the other.
    """

    here: Leaf
    before: Leaf
    link: Leaf


class AnnealState(NamedTuple):
    """What the next step of one restart needs; a batch stacks them.

    Attributes
    ----------
    current : PairState
    best_included : (2, num_slots) bool
    best_counts : (4,) int64
    best_log_joint : () float64
    known : Known
    """

    current: PairState
    best_included: Leaf
    best_counts: Leaf
    best_log_joint: Leaf
    known: Known


class AnnealInfo(NamedTuple):
    """What a person may want to see of one step: the log joint, and the rest packed in one number (see `unpack`)."""

    log_joint: jax.Array
    packed: jax.Array


def unpack(packed: IntArray) -> dict[str, IntArray]:
    """Read the small numbers of steps: move, acceptance, whether the pool was read, rules of each side."""
    fields = {}
    for name, bits in _INFO_BITS.items():
        fields[name], packed = packed & ((1 << bits) - 1), packed >> bits
    return fields


class Settings(NamedTuple):
    """Values of one step, all traced.

    Attributes
    ----------
    temperature : () float64
    random_share : () float64
        Probability of a random neighbour instead of the best one.
    is_active : (num_chains,) bool
        False past the last step of the run, and for chains that only fill up a batch: nothing changes.
    judge_by_best : () bool
        Pick the wrong row under the best pair so far (as printed) instead of the current one.
    """

    temperature: jax.Array
    random_share: jax.Array
    is_active: jax.Array
    judge_by_best: jax.Array


def start(problem: Problem, num_chains: int, required: BoolArray | None = None) -> AnnealState:
    """Start every chain of a batch from two empty rule sets, or from what must be in.

    On the host, where nothing needs compiling.
    """
    pair = host_pair(problem, np.zeros((2, problem.num_slots), dtype=bool) if required is None else required)
    likelihood = np.asarray(host_log_likelihood(problem, pair.counts))
    prior = np.asarray(host_log_prior(problem, pair.sizes))
    unknown = np.full(len(MOVES), _UNKNOWN, dtype=np.int32)
    known = Known(unknown, unknown, unknown[0])
    current = PairState(pair, likelihood, prior)
    one = AnnealState(current, pair.included, pair.counts, np.asarray(problem.power) * likelihood + prior, known)
    return jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], num_chains, axis=0), one)


def _choose_move(problem: Problem, pair: Pair, counts: jax.Array, uniform: jax.Array) -> jax.Array:
    """Draw one of `MOVES`, as a random wrongly predicted row would.

    Four named numbers instead of a vector of four: XLA makes one loop of them.
    """
    by_label = jnp.concatenate(split_counts(counts))
    asked = by_label @ problem.wrong.transpose(0, 2, 1).reshape(by_label.shape[0], len(MOVES))
    num_rules = pair.sizes.sum(axis=1, dtype=jnp.int32)
    limit = jnp.minimum(problem.pool_size, problem.max_rules)
    least = pair.sizes[:, 0]  # rules that must be in
    possible = [num_rules[0] < limit[0], num_rules[1] < limit[1], num_rules[0] > least[0], num_rules[1] > least[1]]
    weights = [
        jnp.where(possible[move], asked[move] + jnp.where(possible[move ^ 2], 0.0, asked[move ^ 2]), 0.0)
        for move in range(len(MOVES))
    ]
    is_nobody_wrong = weights[0] + weights[1] + weights[2] + weights[3] <= 0
    weights = [jnp.where(is_nobody_wrong, can.astype(jnp.float64), w) for can, w in zip(possible, weights, strict=True)]
    sums = list(accumulate(weights))
    first, second, third = ((s <= uniform * sums[-1]).astype(jnp.int32) for s in sums[:-1])
    return first + second + third


def _prefix_sums(values: jax.Array) -> jax.Array:
    """Cumulative sums; of a short vector by comparing all places, which is one loop."""
    if values.shape[0] > _SHORT:
        return jnp.cumsum(values, dtype=jnp.int32)
    places = jnp.arange(values.shape[0], dtype=jnp.int32)
    return jnp.where(places[:, None] >= places, values, 0).sum(axis=1, dtype=jnp.int32)


def _choose_random(eligible: jax.Array, uniform: jax.Array) -> jax.Array:
    """Draw one eligible pattern evenly: first its word of the packed list, then by halving its place in the word."""
    bits = eligible.reshape(-1, _WORD).astype(jnp.uint32)
    words = (bits << jnp.arange(_WORD, dtype=jnp.uint32)).sum(axis=1, dtype=jnp.uint32)
    sums = _prefix_sums(jax.lax.population_count(words).astype(jnp.int32))
    wanted = jnp.floor(uniform * sums[-1]).astype(jnp.int32)
    is_before = sums <= wanted
    block = is_before.sum(dtype=jnp.int32).clip(0, words.shape[0] - 1)
    word = jnp.where(jnp.arange(words.shape[0], dtype=jnp.int32) == block, words, jnp.uint32(0)).sum(dtype=jnp.uint32)
    wanted = wanted - jnp.where(is_before, sums, 0).max()
    place, width = jnp.zeros((), jnp.int32), _WORD
    while width > 1:
        width //= 2
        low = word & jnp.uint32((1 << width) - 1)
        count = jax.lax.population_count(low).astype(jnp.int32)
        is_high = wanted >= count
        wanted = jnp.where(is_high, wanted - count, wanted)
        place = jnp.where(is_high, place + width, place)
        word = jnp.where(is_high, word >> jnp.uint32(width), low)
    return block * _WORD + place


def _propose(
    problem: Problem, state: AnnealState, settings: Settings, uniforms: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Draw the move, and the pattern in case it is to be a random one."""
    pair = state.current.pair
    judged = jnp.where(settings.judge_by_best, state.best_counts, pair.counts)
    move = _choose_move(problem, pair, judged, uniforms[0])
    return move, _choose_random(eligible_flips(problem, pair, move % 2, move >= 2), uniforms[2])  # noqa: PLR2004


def _look_up(problem: Problem, pairs: Pair, moves: jax.Array, is_wanted: jax.Array, known: jax.Array) -> jax.Array:
    """Fill in the best flip of the chains that want it.

    On a CPU few chains ask at once, and one pass over the pool each, one chain after the other, is the least work. On
    other devices that loop would wait for the host in every turn: there all chains look, and those that asked keep it.
    """
    return jax.lax.platform_dependent(
        problem, pairs, moves, is_wanted, known, cpu=look_up_in_turn, default=look_up_together
    )


def look_up_in_turn(
    problem: Problem, pairs: Pair, moves: jax.Array, is_wanted: jax.Array, known: jax.Array
) -> jax.Array:
    """Look for one chain after the other."""
    chains = jnp.arange(is_wanted.shape[0], dtype=jnp.int32)

    def next_after(chain: jax.Array) -> jax.Array:
        return jnp.where(is_wanted & (chains > chain), chains, chains.size).min()

    def look(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        chain, known = carry
        pair = jax.tree.map(lambda leaf: leaf[chain], pairs)
        move = moves[chain]
        index, _ = best_flip(problem, pair, move % 2, move >= 2)  # noqa: PLR2004
        return next_after(chain), known.at[chain, move].set(index)

    start = next_after(jnp.int32(-1)), known
    return jax.lax.while_loop(lambda carry: carry[0] < chains.size, look, start)[1]


def look_up_together(
    problem: Problem, pairs: Pair, moves: jax.Array, is_wanted: jax.Array, known: jax.Array
) -> jax.Array:
    """Look for all chains at once."""
    found, _ = jax.vmap(best_flip, (None, 0, 0, 0))(problem, pairs, moves % 2, moves >= 2)  # noqa: PLR2004
    is_asked = is_wanted[:, None] & (moves[:, None] == jnp.arange(known.shape[1], dtype=moves.dtype))
    return jnp.where(is_asked, found[:, None], known)


def _accept(
    problem: Problem,
    pool: NumberedPool,
    state: AnnealState,
    number: jax.Array,
    uniform: jax.Array,
    temperature: jax.Array,
    is_active: jax.Array,
) -> tuple[AnnealState, jax.Array]:
    """Flip the numbered pattern, or not, by Metropolis' rule."""
    current, known = state.current, state.known
    flip = evaluate_flip(problem, pool, current, number)
    proposed = tempered(flip, problem.power)
    change = proposed - tempered(current, problem.power)
    is_accepted = (uniform < jnp.exp(jnp.minimum(0.0, change / temperature))) & is_active
    current = apply_flip(problem, pool, current, flip, is_accepted)
    # As printed the best pair takes note of refused proposals too, but what is better than the best is never refused.
    is_best = is_accepted & (proposed > state.best_log_joint)
    went_back = number == known.link
    return AnnealState(
        current,
        jnp.where(is_best, current.pair.included, state.best_included),
        jnp.where(is_best, flip.counts, state.best_counts),
        jnp.where(is_best, proposed, state.best_log_joint),
        Known(
            jnp.where(is_accepted, jnp.where(went_back, known.before, _UNKNOWN), known.here),
            jnp.where(is_accepted, known.here, known.before),
            jnp.where(is_accepted, number, known.link),
        ),
    ), is_accepted


def step(
    problem: Problem, pool: NumberedPool, state: AnnealState, settings: Settings, uniforms: jax.Array
) -> tuple[AnnealState, AnnealInfo]:
    """One iteration of Algorithm 1 in every chain of a batch.

    Parameters
    ----------
    uniforms : (num_chains, 4) float64
        Randomness for the move, how the pattern is chosen, the pattern and the acceptance.
    """
    move, index = jax.vmap(_propose, (None, 0, None, 0))(problem, state, settings, uniforms)
    is_drawn = move[:, None] == jnp.arange(len(MOVES), dtype=jnp.int32)
    is_greedy = uniforms[:, 1] >= settings.random_share
    is_unknown = (is_drawn & (state.known.here == _UNKNOWN)).any(axis=1)
    is_looked_up = is_greedy & settings.is_active & is_unknown
    here = _look_up(problem, state.current.pair, move, is_looked_up, state.known.here)
    state = state._replace(known=state.known._replace(here=here))
    # a chain that is not active may know nothing, and moves nowhere
    index = jnp.where(is_greedy, jnp.where(is_drawn, here, 0).sum(axis=1, dtype=jnp.int32).clip(0), index)
    number = (move % 2) * problem.num_slots + index
    new, is_accepted = jax.vmap(_accept, (None, None, 0, 0, 0, None, 0))(
        problem, pool, state, number, uniforms[:, 3], settings.temperature, settings.is_active
    )
    value = tempered(new.current, problem.power)
    num_rules = new.current.pair.sizes.sum(axis=-1, dtype=jnp.int32)
    packed, place = jnp.zeros_like(move), 0
    small = (move, is_accepted, is_looked_up, num_rules[:, 0], num_rules[:, 1])
    for field, bits in zip(small, _INFO_BITS.values(), strict=True):
        packed, place = packed | (field.astype(jnp.int32) << place), place + bits
    return new, AnnealInfo(value, packed)


class Schedule(NamedTuple):
    """How a run is cooled: T(t) = temperature / log(1 + t), t = 1, 2, ..., num_steps."""

    num_steps: Leaf
    temperature: Leaf
    random_share: Leaf
    judge_by_best: Leaf


def run_block(
    problem: Problem,
    pool: NumberedPool,
    is_real: jax.Array,
    state: AnnealState,
    uniforms: jax.Array,
    block: jax.Array,
    schedule: Schedule,
) -> tuple[AnnealState, AnnealInfo]:
    """Advance a batch of restarts by `BLOCK` steps; ``uniforms`` are (BLOCK, num_chains, 4)."""
    times = block * BLOCK + 1 + jnp.arange(BLOCK, dtype=jnp.int32)

    def advance(state: AnnealState, inputs: tuple[jax.Array, jax.Array]) -> tuple[AnnealState, AnnealInfo]:
        time_step, uniform = inputs
        settings = Settings(
            temperature=schedule.temperature / jnp.log1p(time_step.astype(jnp.float64)),
            random_share=schedule.random_share,
            is_active=is_real & (time_step <= schedule.num_steps),
            judge_by_best=schedule.judge_by_best,
        )
        return step(problem, pool, state, settings, uniform)

    return jax.lax.scan(advance, state, (times, uniforms))
