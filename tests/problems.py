"""Random problems for the device code, built without a table."""

from dataclasses import replace

import numpy as np

from soar_jax.candidates.coverage import NEGATIVE_SHIFT, lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.target import Target
from tests.oracles import log_doubt_constant, log_rules, log_state


def random_target(seed, num_patterns=(6, 5), num_rows=40, max_weight=3, single=False, bounded=False, power=1.0):
    """A target with random covers and weights; also its boolean covers and the weights of its rows.

    ``bounded`` makes priors as the default does: consensus beyond two bounds, ambiguous between them, and doubt about
    any rules.
    """
    rng = np.random.default_rng(seed)
    positives, negatives = rng.integers(0, max_weight + 1, (2, num_rows))
    layout = lay_out(GroupedRows(np.arange(num_rows)[:, None], positives, negatives))
    covers, pools = [], []
    for side, count in enumerate(num_patterns):
        cover = rng.random((count, num_rows)) < rng.uniform(0.1, 0.6, (count, 1))
        bits = layout.pack(cover)
        p, n = layout.counts(bits)
        lengths = np.sort(rng.integers(1, 4, count))
        # nested names, so that longer patterns specialise shorter ones; the covers do not follow them
        patterns = tuple(tuple(Literal(f"s{side}l{j}", "==", 1) for j in range(k)) for k in lengths)
        pools.append(Pool(patterns, ((),) * count, p, n, np.zeros(count), bits, np.zeros(count, int)))
        covers.append(cover)
    alpha, beta = rng.uniform(0.2, 20, (2, 4))
    low, high = np.zeros(4), np.ones(4)
    if bounded:
        alpha, beta = rng.integers(1, 4, (2, 4)).astype(float)
        below, above = rng.uniform(0.15, 0.4), rng.uniform(0.6, 0.85)
        low, high = np.array([above, 1 - below, below, 1 - above]), np.array([1.0, 1.0, above, 1 - below])
    # the kind of a pattern is its length; some patterns were searched that are no candidates
    longest = max([1, *(int(pool.length.max(initial=1)) for pool in pools)])
    kind = np.repeat(np.arange(-1, longest)[:, None], longest + 1, axis=1)
    pool_size = np.stack([np.bincount(pool.length, minlength=longest + 1)[1:] for pool in pools])
    rule_alpha, rule_beta = rng.uniform(0.3, 10, (2, 2, longest))
    searched = pool_size + rng.integers(0, 20, pool_size.shape)
    hyper = Hyperparameters(
        alpha, beta, low, high, np.stack([kind, kind]), rule_alpha, rule_beta, searched.astype(float), pool_size,
        log_doubt=np.log(5.0) if bounded else 0.0, power=power,
    )  # fmt: skip
    return Target(tuple(pools), layout, hyper, single), covers, (positives, negatives)


def random_problem(*args, **kwargs):
    """The same in parts: the problem on the device, pools, covers, weights and hyper-parameters."""
    target, covers, weights = random_target(*args, **kwargs)
    return target.problem, target.pools, covers, weights, target.hyper


def tiny_target(bounded=False, power=1.0):
    """Three candidates per side, small enough to list all 64 pairs, many of which are probable."""
    return random_target(12 if bounded else 5, num_patterns=(3, 3), num_rows=30, bounded=bounded, power=power)


def constrain(target, num_required, max_rules):
    """The same target where the first candidates must be in, and sides may have only so many rules."""
    pools, hyper = list(target.pools), target.hyper
    pool_size, searched = hyper.pool_size.copy(), hyper.searched.copy()
    for side, count in enumerate(num_required):
        free = np.bincount(pools[side].length[:count], minlength=pool_size.shape[1] + 1)[1:]
        pool_size[side], searched[side] = pool_size[side] - free, searched[side] - free
        pools[side] = replace(pools[side], num_required=count)
    hyper = hyper._replace(pool_size=pool_size, searched=searched)
    return replace(target, pools=tuple(pools), hyper=hyper, max_rules=max_rules)


def are_allowed(target, subsets):
    """Which pairs of subsets, as `enumerate_log_joints` lists them, have what must be in and no more than may be."""
    sides = [
        z[:, : pool.num_required].all(axis=1) & (z.sum(axis=1) <= most)
        for z, pool, most in zip(subsets, target.pools, target.max_rules or (63, 63), strict=True)
    ]
    return sides[0][:, None] & sides[1]


def priors_by_length(alpha, beta, rule_alpha, rule_beta, searched, pool_size=None):
    """Hyper-parameters without bounds, in which the kind of a pattern is its length."""
    longest = searched.shape[1]
    kind = np.repeat(np.arange(-1, longest)[:, None], longest + 1, axis=1)
    pool_size = searched if pool_size is None else pool_size
    kinds = np.stack([kind, kind])
    return Hyperparameters(
        alpha, beta, np.zeros(4), np.ones(4), kinds, rule_alpha, rule_beta, searched.astype(float), pool_size
    )


def pack_counts(positives, negatives):
    return np.asarray(positives, np.int64) + (np.asarray(negatives, np.int64) << NEGATIVE_SHIFT)


def enumerate_log_joints(covers, weights, pools, hyper):
    """Log joint of every pair of subsets: (2**num_positive, 2**num_negative); see also `log_constant`.

    The whole likelihood, integrals of the prior included, is raised to the power.
    """
    positives, negatives = weights
    subsets, covered, log_prior = [], [], []
    for side in (0, 1):
        count = len(covers[side])
        z = (np.arange(2**count)[:, None] >> np.arange(count)) & 1 == 1
        subsets.append(z)
        covered.append((z.astype(int) @ covers[side].astype(int)) > 0)
        lengths = np.array([len(p) for p in pools[side].patterns], dtype=int)
        lengths[: pools[side].num_required] = 0  # nobody pays for what must be in
        total = np.zeros(2**count)
        for length, searched in enumerate(hyper.searched[side], start=1):
            n = z[:, lengths == length].sum(axis=1)
            total += log_rules(n, searched, hyper.rule_alpha[side, length - 1], hyper.rule_beta[side, length - 1])
        log_prior.append(total)
    value = log_prior[0][:, None] + log_prior[1][None, :]
    is_least = [~z[:, pool.num_required :].any(axis=1) for z, pool in zip(subsets, pools, strict=True)]
    value += hyper.log_doubt * (is_least[0][:, None] & is_least[1])
    plus, minus = covered[0].astype(np.int64), covered[1].astype(np.int64)
    states = [(plus, 1 - minus), (1 - plus, minus), (plus, minus), (1 - plus, 1 - minus)]
    for s, (left, right) in enumerate(states):
        p = (left * positives) @ right.T
        n = (left * negatives) @ right.T
        hits, misses = (p, n) if s in (0, 2) else (n, p)
        value += hyper.power * log_state(hits, misses, (hyper.alpha[s], hyper.beta[s], hyper.low[s], hyper.high[s]))
    return value, subsets


def log_constant(hyper):
    """Log of what the prior of all pairs of all searched patterns sums to."""
    return log_doubt_constant(hyper.searched, hyper.rule_alpha, hyper.rule_beta, hyper.log_doubt)
