"""Random problems for the device code, built without a table."""

import numpy as np

from soar_jax.candidates.coverage import NEGATIVE_SHIFT, lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.score.host import pool_sizes
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.target import Target


def random_target(seed, num_patterns=(6, 5), num_rows=40, max_weight=3, single=False):
    """A target with random covers and weights; also its boolean covers and the weights of its rows."""
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
        pools.append(Pool(patterns, ((),) * count, p, n, np.zeros(count), bits))
        covers.append(cover)
    sizes = pool_sizes(tuple(pools))
    hyper = Hyperparameters(
        *rng.uniform(0.2, 20, (2, 4)), *rng.uniform(0.3, 10, (2, 2, sizes.shape[1])), sizes.astype(np.int64)
    )
    return Target(tuple(pools), layout, hyper, single), covers, (positives, negatives)


def random_problem(*args, **kwargs):
    """The same in parts: the problem on the device, pools, covers, weights and hyper-parameters."""
    target, covers, weights = random_target(*args, **kwargs)
    return target.problem, target.pools, covers, weights, target.hyper


def tiny_target():
    """Three candidates per side, small enough to list all 64 pairs."""
    return random_target(5, num_patterns=(3, 3), num_rows=30)


def pack_counts(positives, negatives):
    return np.asarray(positives, np.int64) + (np.asarray(negatives, np.int64) << NEGATIVE_SHIFT)


def enumerate_log_joints(covers, weights, pools, hyper):
    """Log joint of every pair of subsets by scipy: (2**num_positive, 2**num_negative)."""
    from scipy.special import betaln

    positives, negatives = weights
    subsets, covered, log_prior = [], [], []
    for side in (0, 1):
        count = len(covers[side])
        z = (np.arange(2**count)[:, None] >> np.arange(count)) & 1 == 1
        subsets.append(z)
        covered.append((z.astype(int) @ covers[side].astype(int)) > 0)
        lengths = np.array([len(p) for p in pools[side].patterns], dtype=int)
        total = np.zeros(2**count)
        for length, size in enumerate(hyper.pool_size[side], start=1):
            n = z[:, lengths == length].sum(axis=1)
            a, b = hyper.rule_alpha[side, length - 1], hyper.rule_beta[side, length - 1]
            total += betaln(n + a, size - n + b) - betaln(a, b)
        log_prior.append(total)
    value = log_prior[0][:, None] + log_prior[1][None, :]
    plus, minus = covered[0].astype(np.int64), covered[1].astype(np.int64)
    states = [(plus, 1 - minus), (1 - plus, minus), (plus, minus), (1 - plus, 1 - minus)]
    for s, (left, right) in enumerate(states):
        p = (left * positives) @ right.T
        n = (left * negatives) @ right.T
        hits, misses = (p, n) if s in (0, 2) else (n, p)
        value += betaln(hits + hyper.alpha[s], misses + hyper.beta[s]) - betaln(hyper.alpha[s], hyper.beta[s])
    return value, subsets
