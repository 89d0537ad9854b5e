"""Detailed balance of every kernel of the plan, on a pool small enough to list all pairs.

Nothing here knows a kernel by name: what stands in `KERNELS` is tested. Three claims together give detailed balance:
a proposal and its way back name the same two probabilities, exchanged; these are the probabilities with which pairs
are proposed; and a step accepts by the rule of Metropolis and Hastings. Sampling from exact draws then checks it all.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from soar_jax._base import in_float64
from soar_jax.sampling.experience import Experience
from soar_jax.sampling.kernel import Context, metropolis, run_step
from soar_jax.sampling.plan import KERNELS
from soar_jax.sampling.prior_draw import draw_from_prior, make_prior_tables
from soar_jax.sampling.relatives import find_kinship
from soar_jax.score.flips import apply_flip, evaluate_flip, state_of
from soar_jax.score.pair import pair_from
from tests.problems import are_allowed, constrain, enumerate_log_joints, random_target, tiny_target

SIZES = (3, 3)
TEMPERATURES = (pytest.param(1.0, marks=pytest.mark.slow), 0.4)
NUM_CORNERS = 8
NUM_GRID = 512

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
each_temperature = pytest.mark.parametrize("inverse_temperature", TEMPERATURES)


class Tiny:
    """All pairs of a tiny target, 64 unless some are ruled out, and every kernel prepared with weights not even.

    Attributes
    ----------
    starts : (num_pairs,) int
        Which of the 64 pairs may be; ``states`` has these.
    """

    def __init__(self, bounded, constrained):
        target, covers, row_weights = tiny_target(bounded)
        if constrained:  # one rule must be in, and with two rules the positive side is full
            target = constrain(target, (1, 0), (2, 2))
        problem = target.problem
        self.target, self.context = target, Context(problem, target.numbered_pool)
        self.numbers = [*range(SIZES[0]), *(problem.num_slots + np.arange(SIZES[1]))]
        kinship = find_kinship(target.pools, target.layout, problem.num_slots)
        inclusion = np.zeros(2 * problem.num_slots)
        inclusion[self.numbers] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        readings = np.zeros((3, 2 * problem.num_slots), dtype=bool)
        readings[0, self.numbers[1]] = readings[1, self.numbers[0]] = readings[1, self.numbers[3]] = True
        if constrained:  # leaps between two pairs whose positive sides are both full
            readings[:, self.numbers[0]] = readings[2, self.numbers[2]] = True
        seen = Experience(inclusion, readings)
        self.tools = {k.name: jax.device_put(k.prepare(kinship, problem.num_slots, seen)) for k in KERNELS}
        self.weights = {k.name: k.weigh(problem, self.tools[k.name], inclusion) for k in KERNELS}
        self.values, subsets = enumerate_log_joints(covers, row_weights, target.pools, target.hyper)
        allowed = are_allowed(target, subsets)
        states, memberships, starts = [], [], []
        for k, bits in enumerate(itertools.product((False, True), repeat=6)):
            included = np.zeros(2 * problem.num_slots, bool)
            included[self.numbers] = bits
            if allowed[self.codes(included)]:
                starts.append(k)
                memberships.append(included)
                states.append(state_of(problem, pair_from(problem, included.reshape(2, -1))))
        self.memberships, self.starts = np.array(memberships), np.array(starts)
        self.states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)

    def codes(self, included):
        """Where a membership stands among the enumerated pairs."""
        z = included[self.numbers]
        return tuple(int((part * 2 ** np.arange(3)).sum()) for part in (z[:3], z[3:]))

    def choices(self, kernel):
        """What the kernel may choose, with its probability."""
        chance = np.diff(self.weights[kernel.name], prepend=0.0)
        chosen = np.flatnonzero(chance > 0)
        return chosen, chance[chosen]

    def target_at(self, inverse_temperature):
        log_density = inverse_temperature * np.asarray(self.states.log_likelihood) + np.asarray(self.states.log_prior)
        density = np.zeros(64)
        density[self.starts] = np.exp(log_density - log_density.max())
        return density / density.sum(), log_density

    def index_of(self, included):
        """Which of the 64 pairs each membership, (..., 2, num_slots), is."""
        flat = np.asarray(included).reshape(*np.shape(included)[:-2], -1)
        return flat[..., self.numbers] @ (1 << np.arange(5, -1, -1))

    def proposals(self, kernel, starts, choices, uniforms, inverse_temperature):
        """End, log forward and log reverse from some pairs, by choice and vector of uniforms: (starts, c, u) each."""
        temperature, tools = jnp.float64(inverse_temperature), self.tools[kernel.name]
        powers = jnp.asarray(1 << np.arange(5, -1, -1))

        def one(state, choice, drawn):
            found = kernel.propose(choice, drawn, state, self.context, tools, temperature)
            members = found.state.pair.included.reshape(-1)[jnp.asarray(self.numbers)]
            return jnp.where(members, powers, 0).sum(), found.log_forward, found.log_reverse

        over_uniforms = jax.vmap(one, (None, None, 0))
        over_choices = jax.vmap(over_uniforms, (None, 0, None))
        states = jax.tree.map(lambda leaf: leaf[np.asarray(starts)], self.states)
        # one pair after the other: all proposals at once would need gigabytes
        every = jax.jit(lambda *given: jax.lax.map(lambda state: over_choices(state, *given[1:]), given[0]))
        return [np.asarray(part) for part in every(states, jnp.asarray(choices, jnp.int32), jnp.asarray(uniforms))]


@pytest.fixture(
    scope="module",
    params=[(False, False), (True, False), (False, True)],
    ids=["opinions", "bounds", "constrained"],
)
def tiny(request):
    with jax.enable_x64(True):
        return Tiny(*request.param)


def telling_uniforms(kernel, rng):
    """Vectors of uniforms that lead a proposal along all of its paths.

    A yes-or-no decision goes either way at 0 and just below 1, so all corners of the first few uniforms are tried; a
    draw from a list by one uniform is met by a fine grid.
    """
    count = max(kernel.num_uniforms, 1)
    corners = np.array(list(itertools.product((0.0, 1 - 1e-16), repeat=min(count, NUM_CORNERS))))
    rest = rng.random((len(corners), count - corners.shape[1]))
    grid = rng.random((NUM_GRID, count))
    grid[:, 0] = (np.arange(NUM_GRID) + 0.5) / NUM_GRID
    return np.concatenate([np.concatenate([corners, rest], axis=1), grid])[:, : kernel.num_uniforms or 1]


@in_float64
def test_log_joints_of_all_states_equal_enumeration(tiny):
    for k, included in enumerate(tiny.memberships):
        value = float(tiny.states.log_likelihood[k] + tiny.states.log_prior[k])
        assert value == pytest.approx(tiny.values[tiny.codes(included)], rel=1e-12)


@each_kernel
@each_temperature
@in_float64
def test_every_proposal_and_its_way_back_name_the_same_two_probabilities(tiny, kernel, inverse_temperature):
    """For each path z -> z' there is one z' -> z by the same choice with forward and reverse exchanged, to 1e-12."""
    choices, _ = tiny.choices(kernel)
    uniforms = telling_uniforms(kernel, np.random.default_rng(0))
    places = range(len(tiny.starts))
    ends, forward, reverse = tiny.proposals(kernel, places, choices, uniforms, inverse_temperature)
    paths = [{} for _ in choices]
    for start, place, path in itertools.product(places, range(len(choices)), range(len(uniforms))):
        found = forward[start, place, path], reverse[start, place, path]
        end = int(ends[start, place, path])
        # a pair that may not be is proposed in vain: its density is zero
        if np.isfinite(found[1]) and end in tiny.starts:
            paths[place].setdefault((int(tiny.starts[start]), end), []).append(found)
    num_moves = 0
    for by_ends in paths:
        for (start, end), there in by_ends.items():
            num_moves += start != end
            back = np.array(by_ends.get((end, start), np.empty((0, 2))))
            for log_forward, log_reverse in set(there):
                if not len(back) and log_reverse < np.log(2 / NUM_GRID):
                    continue  # a way back that is rarer than the grid of uniforms is fine
                gap = np.abs(back - [log_reverse, log_forward]).max(axis=1)
                assert gap.size and gap.min() < 1e-12, (start, end)
    assert num_moves >= len(tiny.starts)  # it leads somewhere from everywhere


@each_kernel
@in_float64
def test_proposals_come_with_the_probability_they_name(tiny, kernel):
    """5,000 proposals by random uniforms from a few pairs: frequency of each end against the sum over its paths.

    Five standard errors of the mean of 1 / 0 for about 2,000 figures: a right kernel fails once in 800 runs at most.
    """
    rng = np.random.default_rng(1)
    choices = tiny.choices(kernel)[0][:4]
    drawn = rng.random((5_000, max(kernel.num_uniforms, 1)))
    last = len(tiny.starts) - 1
    ends, forward, _ = tiny.proposals(kernel, (0, last // 7, last // 2, last), choices, drawn, 1.0)
    for start, place in itertools.product(range(4), range(len(choices))):
        named = {}
        for end, log_forward in zip(ends[start, place], forward[start, place].round(10), strict=True):
            named.setdefault(int(end), set()).add(log_forward)
        for end, log_probabilities in named.items():
            seen = (ends[start, place] == end).mean()
            # paths to one end that are equally probable cannot be told apart here: then the named sum is a lower bound
            claimed = np.exp(list(log_probabilities)).sum()
            error = np.sqrt(claimed * (1 - min(claimed, 1)) / len(drawn)) + 1e-4
            assert seen > claimed - 5 * error
            if len(log_probabilities) == 1:
                multiple = seen / claimed
                assert abs(multiple - round(multiple)) * claimed < 5 * error


@each_kernel
@each_temperature
@in_float64
def test_steps_accept_by_the_rule_of_metropolis_and_hastings(tiny, kernel, inverse_temperature):
    """A kernel may write its step faster; it must decide as the generic one does and end in the same pair."""
    rng = np.random.default_rng(2)
    count = len(tiny.starts)
    choices = jnp.asarray(rng.choice(tiny.choices(kernel)[0], count), jnp.int32)
    uniforms = jnp.asarray(rng.random((count, 1 + kernel.num_uniforms)))
    tools, temperature = tiny.tools[kernel.name], jnp.float64(inverse_temperature)
    run = lambda step: jax.jit(jax.vmap(step, (0, 0, 0, None, None, None)))(
        choices, uniforms, tiny.states, tiny.context, tools, temperature
    )
    (own, is_own), (generic, is_generic) = run(kernel.step), run(metropolis(kernel.propose))
    assert np.array_equal(is_own, is_generic) and 0 < np.asarray(is_own).sum() < 64  # of at most 64 pairs
    for one, other in zip(own.pair, generic.pair, strict=True):
        assert np.array_equal(one, other)


@each_kernel
@each_temperature
@in_float64
def test_each_kernel_samples_the_enumerated_posterior(tiny, kernel, inverse_temperature):
    """1,000 chains of 30 steps from an exact draw stay exact. The exchange alone keeps the number of rules."""
    density, _ = tiny.target_at(inverse_temperature)
    weights = jnp.asarray(tiny.weights[kernel.name])
    num_chains = 1000
    start = np.random.default_rng(0).choice(len(tiny.starts), num_chains, p=density[tiny.starts])
    chains = jax.tree.map(lambda leaf: leaf[start], tiny.states)

    @jax.jit
    def run(rng_key, chains):
        def advance(chains, key):
            keys = jax.random.split(key, num_chains)
            one = lambda key, state: run_step(
                kernel, key, state, tiny.context, tiny.tools[kernel.name], weights, jnp.float64(inverse_temperature)
            )
            moved, accepted = jax.vmap(one)(keys, chains)
            return moved, accepted.mean()

        return jax.lax.scan(advance, chains, jax.random.split(rng_key, 30))

    with jax.debug_key_reuse(True):
        chains, accepted = run(jax.random.key(1), chains)
    assert float(accepted.mean()) > 0.01
    check_frequencies(tiny.index_of(chains.pair.included), density)


@in_float64
def test_fresh_draws_at_the_hot_end_come_from_the_prior(tiny):
    density, _ = tiny.target_at(0.0)
    tables = make_prior_tables(tiny.context, tiny.target.hyper, tiny.target.required)
    draw = jax.jit(jax.vmap(draw_from_prior, (0, None, None)))
    drawn = draw(jax.random.split(jax.random.key(0), 3000), tiny.context, tables)
    check_frequencies(tiny.index_of(drawn.pair.included), density)
    fresh = pair_from(tiny.target.problem, np.asarray(drawn.pair.included[7]))
    assert all(np.array_equal(a, b[7]) for a, b in zip(fresh, drawn.pair, strict=True))


def check_frequencies(found, density):
    """Chi-square over 64 pairs with cells pooled below 5 expected; true draws fail once in 10,000 runs."""
    counts = np.bincount(found, minlength=64)
    expected = density * len(found)
    small = expected < 5
    observed = np.append(counts[~small], counts[small].sum())
    predicted = np.append(expected[~small], expected[small].sum())
    statistic = ((observed - predicted) ** 2 / np.maximum(predicted, 1e-9)).sum()
    assert statistic < chi2.ppf(1 - 1e-4, len(observed) - 1)


@in_float64
def test_masked_flips_equal_the_pairs_built_on_the_host():
    target, *_ = random_target(3, num_patterns=(6, 5))
    problem, pool = target.problem, target.numbered_pool
    rng = np.random.default_rng(0)
    included = np.zeros((2, problem.num_slots), bool)
    state = state_of(problem, pair_from(problem, included))
    step = jax.jit(
        lambda state, number, taken: apply_flip(
            problem, pool, state, evaluate_flip(problem, pool, state, number), taken
        )
    )
    for _ in range(60):
        side, taken = rng.integers(2), rng.random() < 0.7
        index = rng.integers(len(target.pools[side]))
        included[side, index] ^= taken
        state = step(state, jnp.int32(side * included.shape[1] + index), jnp.asarray(taken))
        expected = state_of(problem, pair_from(problem, included))
        assert all(np.array_equal(a, b) for a, b in zip(state.pair, expected.pair, strict=True))
        assert float(state.log_prior) == pytest.approx(float(expected.log_prior), abs=1e-10)
        assert float(state.log_likelihood) == pytest.approx(float(expected.log_likelihood), abs=1e-10)


def test_exchange_gives_no_weight_to_edges_that_lead_nowhere():
    """Padding is edges from a pattern to itself; only where there is nothing else are they tried, in vain."""
    (exchange,) = (kernel for kernel in KERNELS if kernel.name == "exchange")
    chance = np.diff(exchange.weigh(None, np.array([[0, 1], [2, 2], [1, 3]]), None), prepend=0.0)
    np.testing.assert_allclose(chance, [0.5, 0.0, 0.5])
    chance = np.diff(exchange.weigh(None, np.array([[2, 2], [2, 2]]), None), prepend=0.0)
    np.testing.assert_allclose(chance, [0.5, 0.5])


def test_exchange_weighs_edges_by_the_chance_that_one_end_is_in():
    (exchange,) = (kernel for kernel in KERNELS if kernel.name == "exchange")
    inclusion = np.array([0.1, 0.4, 0.5, 0.9])
    chance = np.diff(exchange.weigh(None, np.array([[0, 1], [1, 3]]), inclusion), prepend=0.0)
    np.testing.assert_allclose(chance, [0.2 * 0.5 + 0.8 * 0.42, 0.2 * 0.5 + 0.8 * 0.58])
