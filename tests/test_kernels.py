"""Detailed balance of every kernel, by the exact transition matrix on a pool small enough to list."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax import mcmc
from soar_jax._base import in_float64
from soar_jax.pair import pair_from

from .problems import enumerate_log_joints, tiny_problem

SIZES = (3, 3)
BETAS = (1.0, 0.4)


@pytest.fixture(scope="module")
def tiny():
    problem, moves, pools, covers, weights, hyper = tiny_problem()
    num_patterns = problem.bits.shape[2]
    numbers = [*range(SIZES[0]), *(num_patterns + np.arange(SIZES[1]))]
    states, memberships = [], []
    with jax.enable_x64(True):
        # weights that are not even, as after adaptation
        weights_heal = np.zeros(2 * num_patterns)
        weights_heal[numbers] = [1, 2, 3, 4, 5, 6]
        moves = moves._replace(heal_cumulative=jnp.asarray(np.cumsum(weights_heal / 21)))
        for bits in itertools.product((False, True), repeat=6):
            included = np.zeros(2 * num_patterns, bool)
            included[numbers] = bits
            memberships.append(included)
            states.append(mcmc.init(problem, pair_from(problem, included.reshape(2, -1))))
        states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    values, _ = enumerate_log_joints(covers, weights, pools, hyper)
    return problem, moves, states, np.array(memberships), numbers, weights_heal / 21, values


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


def without_edges(moves, edges):
    """Relatives with some mutual edges taken out, so that degrees differ."""
    lists = [[int(r) for r in row if r >= 0] for row in np.asarray(moves.relatives)]
    for a, b in edges:
        lists[a].remove(b)
        lists[b].remove(a)
    relatives = np.full(moves.relatives.shape, -1, np.int32)
    for i, mine in enumerate(lists):
        relatives[i, : len(mine)] = mine
    return moves._replace(relatives=jnp.asarray(relatives), degree=jnp.asarray([len(m) for m in lists], jnp.int32))


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
    problem, moves, states, memberships, numbers, _, _ = tiny
    density, log_density = target_of(states, beta)
    moves = without_edges(moves, [(numbers[0], numbers[1]), (numbers[0], numbers[4])])
    matrix = np.zeros((64, 64))
    degree, relatives = np.asarray(moves.degree), np.asarray(moves.relatives)
    assert len(set(degree[numbers])) > 1  # else the ratio of degrees would not be tested
    choices = [
        (k, out, new)
        for k, included in enumerate(memberships)
        for out in np.flatnonzero(included)
        for new in relatives[out][: degree[out]]
    ]
    start, out, new = np.array(choices).T
    propose = jax.jit(jax.vmap(mcmc.propose_exchange, (0, None, None, 0, 0)))
    chosen = jax.tree.map(lambda leaf: leaf[start], states)
    proposals, log_ratios = propose(chosen, problem, moves, jnp.asarray(out), jnp.asarray(new))
    ends, log_ratios = np.asarray(proposals.pair.included), np.asarray(log_ratios)
    for k, o, end, log_ratio in zip(start, out, ends, log_ratios, strict=True):
        chance = 1 / memberships[k].sum() / degree[o]
        add(matrix, k, index_of(end, numbers), chance, log_density, log_ratio)
    check_balance(matrix, density)


@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_heal_keeps_detailed_balance(tiny, beta):
    problem, moves, states, memberships, numbers, weights, _ = tiny
    density, log_density = target_of(states, beta)
    matrix = np.zeros((64, 64))
    forced = jnp.full((moves.relatives.shape[1],), jnp.nan)

    relatives = np.asarray(moves.relatives)

    @jax.jit
    def propose(states, around, targets):
        one = lambda state, target: mcmc.propose_heal(
            state, problem, moves, jnp.float64(beta), around, (forced, target)
        )
        over_targets = jax.vmap(one, (None, 0))
        proposal, forward, reverse = jax.vmap(over_targets)(states, targets)
        return proposal.pair.included, forward, reverse

    for around in numbers:
        mine = relatives[around][relatives[around] >= 0]
        assert len(mine) == 5  # on so small a pool everyone is a relative
        paths = np.array(list(itertools.product((False, True), repeat=5)))
        targets = np.repeat(memberships[:, None], 32, axis=1)
        targets[:, :, mine] = paths
        ends, forward, reverse = map(np.asarray, propose(states, jnp.int32(around), jnp.asarray(targets)))
        assert np.exp(forward).sum(axis=1) == pytest.approx(np.ones(64), abs=1e-12)  # the sweeps are a distribution
        for k, path in itertools.product(range(64), range(32)):
            chance = weights[around] * np.exp(forward[k, path])
            log_ratio = reverse[k, path] - forward[k, path]
            add(matrix, k, index_of(ends[k, path], numbers), chance, log_density, log_ratio)
    check_balance(matrix, density)


@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_flip_and_informed_keep_detailed_balance(tiny, beta):
    problem, moves, states, _, numbers, _, _ = tiny
    density, log_density = target_of(states, beta)
    even, informed = np.zeros((64, 64)), np.zeros((64, 64))
    weigh = jax.jit(jax.vmap(lambda s: mcmc.informed_weights(problem, s, jnp.float64(beta))))
    log_weights = np.asarray(weigh(states))
    assert np.exp(log_weights).sum(axis=1) == pytest.approx(np.ones(64))

    @jax.jit
    def propose(states, number, forward):
        one = lambda state, weights: mcmc.propose_informed(state, problem, moves, jnp.float64(beta), number, weights)
        return jax.vmap(one)(states, forward)

    for number in numbers:
        proposals, log_ratios = propose(states, jnp.int32(number), jnp.asarray(log_weights))
        ends, log_ratios = np.asarray(proposals.pair.included), np.asarray(log_ratios)
        for k in range(64):
            end = index_of(ends[k], numbers)
            add(even, k, end, 1 / 6, log_density, 0.0)
            add(informed, k, end, np.exp(log_weights[k, number]), log_density, log_ratios[k])
    check_balance(even, density)
    check_balance(informed, density)


@pytest.mark.parametrize("name", mcmc.KERNELS)
@pytest.mark.parametrize("beta", BETAS)
@in_float64
def test_each_kernel_samples_the_enumerated_posterior(tiny, name, beta):
    """1,000 chains of 30 steps from an exact draw stay exact. The exchange alone keeps the number of rules.

    Chi-square over 64 states with cells pooled below 5 expected; a correct kernel fails once in 10,000 runs.
    """
    from scipy.stats import chi2

    problem, moves, states, _, numbers, _, _ = tiny
    density, _ = target_of(states, beta)
    num_chains = 1000
    start = np.random.default_rng(0).choice(64, num_chains, p=density)
    chains = jax.tree.map(lambda leaf: leaf[start], states)
    step = mcmc.build_kernel(name)

    @jax.jit
    def run(rng_key, chains):
        def advance(chains, key):
            keys = jax.random.split(key, num_chains)
            moved, accepted = jax.vmap(step, (0, 0, None, None, None))(keys, chains, problem, moves, jnp.float64(beta))
            return moved, accepted.mean()

        return jax.lax.scan(advance, chains, jax.random.split(rng_key, 30))

    with jax.debug_key_reuse(True):
        chains, accepted = run(jax.random.key(1), chains)
    assert float(accepted.mean()) > 0.01
    found = np.asarray(chains.pair.included).reshape(num_chains, -1)[:, numbers]
    counts = np.bincount(found @ (1 << np.arange(5, -1, -1)), minlength=64)
    expected = density * num_chains
    small = expected < 5
    observed = np.append(counts[~small], counts[small].sum())
    predicted = np.append(expected[~small], expected[small].sum())
    statistic = ((observed - predicted) ** 2 / np.maximum(predicted, 1e-9)).sum()
    assert statistic < chi2.ppf(1 - 1e-4, len(observed) - 1)
