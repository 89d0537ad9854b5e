"""Detailed balance of every kernel, by the exact transition matrix on a pool small enough to list."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax.score import flips
from soar_jax.sampling import kernels
from soar_jax._base import in_float64
from soar_jax.score.pair import pair_from

from .problems import enumerate_log_joints, kinship_of, random_problem, tiny_problem

SIZES = (3, 3)
BETAS = (1.0, 0.4)


@pytest.fixture(scope="module")
def tiny():
    problem, moves, pools, covers, row_weights, hyper = tiny_problem()
    num_patterns = problem.bits.shape[2]
    numbers = [*range(SIZES[0]), *(num_patterns + np.arange(SIZES[1]))]
    states, memberships = [], []
    with jax.enable_x64(True):
        # weights that are not even, as after adaptation
        inclusion = np.zeros(2 * num_patterns)
        inclusion[numbers] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        weights = kernels.make_weights(problem, np.asarray(moves.edges), inclusion)
        chances = [np.diff(leaf, prepend=0.0) for leaf in weights]
        assert all(np.unique(chance[chance > 0].round(12)).size > 1 for chance in chances)
        for bits in itertools.product((False, True), repeat=6):
            included = np.zeros(2 * num_patterns, bool)
            included[numbers] = bits
            memberships.append(included)
            states.append(flips.init(problem, pair_from(problem, included.reshape(2, -1))))
        states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    values, _ = enumerate_log_joints(covers, row_weights, pools, hyper)
    return problem, moves, states, np.array(memberships), numbers, (weights, chances), values


def target_of(states, beta):
    log_density = beta * np.asarray(states.log_likelihood) + np.asarray(states.log_prior)
    density = np.exp(log_density - log_density.max())
    return density / density.sum(), log_density


def index_of(included, numbers):
    return int("".join("1" if z else "0" for z in np.asarray(included).reshape(-1)[numbers]), 2)


def check_balance(matrix, density):
    flow = density[:, None] * matrix
    assert np.abs(flow - flow.T).max() < 1e-12
    assert (matrix >= 0).all() and (matrix.sum(axis=1) <= 1 + 1e-12).all()
    assert matrix.sum() > 1  # it moves at all


def add(matrix, start, end, chance, log_density, log_ratio):
    if np.isfinite(log_ratio):
        matrix[start, end] += chance * min(1.0, np.exp(log_density[end] - log_density[start] + log_ratio))


@in_float64
def test_scores_of_all_states_equal_enumeration(tiny):
    _, _, states, memberships, numbers, _, values = tiny
    for k, included in enumerate(memberships):
        z = included[numbers]
        i, j = (int((part * 2 ** np.arange(3)).sum()) for part in (z[:3], z[3:]))
        assert float(states.log_likelihood[k] + states.log_prior[k]) == pytest.approx(values[i, j], rel=1e-12)


@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_exchange_keeps_detailed_balance(tiny, beta):
    problem, moves, states, _, numbers, (_, chances), _ = tiny
    density, log_density = target_of(states, beta)
    matrix = np.zeros((64, 64))
    edges = np.flatnonzero(chances[1] > 0)
    propose = jax.jit(jax.vmap(jax.vmap(kernels.propose_exchange, (None, None, None, 0)), (0, None, None, None)))
    proposals, is_possible = propose(states, problem, moves, jnp.asarray(edges))
    ends, is_possible = np.asarray(proposals.pair.included), np.asarray(is_possible)
    for k, e in np.argwhere(is_possible):
        add(matrix, k, index_of(ends[k, e], numbers), chances[1][edges[e]], log_density, 0.0)
    check_balance(matrix, density)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_heal_keeps_detailed_balance(tiny, beta, kind):
    problem, moves, states, memberships, numbers, (_, chances), _ = tiny
    density, log_density = target_of(states, beta)
    matrix = np.zeros((64, 64))
    lists = np.asarray(moves.relatives)[kind]
    forced = jnp.full((lists.shape[1],), jnp.nan)

    @jax.jit
    def propose(states, around, targets):
        one = lambda state, target: kernels.propose_heal(
            state, problem, moves, jnp.float64(beta), around, (forced, target)
        )
        over_targets = jax.vmap(one, (None, 0))
        proposal, forward, reverse = jax.vmap(over_targets)(states, targets)
        return proposal.pair.included, forward, reverse

    assert (lists[numbers] >= 0).sum() > 6  # there is something to heal
    for number in numbers:
        mine = lists[number][lists[number] >= 0]
        paths = np.array(list(itertools.product((False, True), repeat=5)))[:, : len(mine)]
        paths = np.unique(paths, axis=0)
        targets = np.repeat(memberships[:, None], 32, axis=1)
        targets[:, : len(paths), mine] = paths
        around = jnp.int32(number), jnp.asarray(lists[number])
        ends, forward, reverse = map(np.asarray, propose(states, around, jnp.asarray(targets)))
        forward = forward[:, : len(paths)]
        assert np.exp(forward).sum(axis=1) == pytest.approx(np.ones(64), abs=1e-12)  # the sweeps are a distribution
        for k, path in itertools.product(range(64), range(len(paths))):
            chance = chances[2][number] * np.exp(forward[k, path])
            log_ratio = reverse[k, path] - forward[k, path]
            add(matrix, k, index_of(ends[k, path], numbers), chance, log_density, log_ratio)
    check_balance(matrix, density)


@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_flip_and_informed_keep_detailed_balance(tiny, beta):
    problem, moves, states, _, numbers, (_, chances), _ = tiny
    density, log_density = target_of(states, beta)
    even, informed = np.zeros((64, 64)), np.zeros((64, 64))
    weigh = jax.jit(jax.vmap(lambda s: kernels.informed_weights(problem, s, jnp.float64(beta))))
    log_weights = np.asarray(weigh(states))
    assert np.exp(log_weights).sum(axis=1) == pytest.approx(np.ones(64))

    @jax.jit
    def propose(states, number, forward):
        one = lambda state, weights: kernels.propose_informed(state, problem, moves, jnp.float64(beta), number, weights)
        return jax.vmap(one)(states, forward)

    for number in numbers:
        proposals, log_ratios = propose(states, jnp.int32(number), jnp.asarray(log_weights))
        ends, log_ratios = np.asarray(proposals.pair.included), np.asarray(log_ratios)
        for k in range(64):
            end = index_of(ends[k], numbers)
            add(even, k, end, chances[0][number], log_density, 0.0)
            add(informed, k, end, np.exp(log_weights[k, number]), log_density, log_ratios[k])
    check_balance(even, density)
    check_balance(informed, density)


@pytest.mark.parametrize("name", kernels.KERNELS)
@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_each_kernel_samples_the_enumerated_posterior(tiny, name, beta):
    """1,000 chains of 30 steps from an exact draw stay exact. The exchange alone keeps the number of rules."""
    problem, moves, states, _, numbers, (weights, _), _ = tiny
    density, _ = target_of(states, beta)
    weights = kernels.Weights(*map(jnp.asarray, weights))
    num_chains = 1000
    start = np.random.default_rng(0).choice(64, num_chains, p=density)
    chains = jax.tree.map(lambda leaf: leaf[start], states)
    step = kernels.build_kernel(name)

    @jax.jit
    def run(rng_key, chains):
        def advance(chains, key):
            keys = jax.random.split(key, num_chains)
            every = jax.vmap(step, (0, 0, None, None, None, None))
            moved, accepted = every(keys, chains, problem, moves, weights, jnp.float64(beta))
            return moved, accepted.mean()

        return jax.lax.scan(advance, chains, jax.random.split(rng_key, 30))

    with jax.debug_key_reuse(True):
        chains, accepted = run(jax.random.key(1), chains)
    assert float(accepted.mean()) > 0.01
    check_frequencies(chains.pair.included, numbers, density)


@in_float64
def test_fresh_draws_at_the_hot_end_come_from_the_prior(tiny):
    problem, moves, states, _, numbers, _, _ = tiny
    density, _ = target_of(states, 0.0)
    start = jax.tree.map(lambda leaf: leaf[63], states)
    draw = jax.jit(jax.vmap(kernels.draw_from_prior, (0, None, None, None)))
    drawn = draw(jax.random.split(jax.random.key(0), 3000), start, problem, moves)
    check_frequencies(drawn.pair.included, numbers, density)
    fresh = pair_from(problem, np.asarray(drawn.pair.included[7]))
    assert all(np.array_equal(a, b[7]) for a, b in zip(fresh, drawn.pair, strict=True))


def check_frequencies(included, numbers, density):
    """Chi-square over 64 pairs with cells pooled below 5 expected; true draws fail once in 10,000 runs."""
    from scipy.stats import chi2

    found = np.asarray(included).reshape(len(included), -1)[:, numbers]
    counts = np.bincount(found @ (1 << np.arange(5, -1, -1)), minlength=64)
    expected = density * len(found)
    small = expected < 5
    observed = np.append(counts[~small], counts[small].sum())
    predicted = np.append(expected[~small], expected[small].sum())
    statistic = ((observed - predicted) ** 2 / np.maximum(predicted, 1e-9)).sum()
    assert statistic < chi2.ppf(1 - 1e-4, len(observed) - 1)


@in_float64
def test_masked_flips_equal_the_pairs_built_on_the_host():
    problem, pools, _, weights, hyper = random_problem(3, num_patterns=(6, 5))
    moves = kernels.make_moves(problem, hyper, kinship_of(problem, pools, weights))
    rng = np.random.default_rng(0)
    included = np.zeros((2, problem.bits.shape[2]), bool)
    state = flips.init(problem, pair_from(problem, included))
    step = jax.jit(
        lambda state, number, taken: flips.apply_flip(
            problem, moves.patterns, state, flips.evaluate_flip(problem, moves.patterns, state, number), taken
        )
    )
    for _ in range(60):
        side, taken = rng.integers(2), rng.random() < 0.7
        index = rng.integers(len(pools[side]))
        included[side, index] ^= taken
        state = step(state, jnp.int32(side * included.shape[1] + index), jnp.asarray(taken))
        expected = flips.init(problem, pair_from(problem, included))
        assert all(np.array_equal(a, b) for a, b in zip(state.pair, expected.pair, strict=True))
        assert float(state.log_prior) == pytest.approx(float(expected.log_prior), abs=1e-10)
        assert float(state.log_likelihood) == pytest.approx(float(expected.log_likelihood), abs=1e-10)
