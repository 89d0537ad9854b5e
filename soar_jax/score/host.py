"""The log joint of one pair on the host, with SciPy: the check of what the device found. Needs no JAX."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from soar_jax._base import IntArray
from soar_jax.candidates.pools import Pool
from soar_jax.score.priors import Hyperparameters
from soar_jax.states import hits_and_misses


def sizes_by_length(lengths: IntArray, num_lengths: int) -> IntArray:
    """Count patterns of length 1, ..., num_lengths."""
    return np.bincount(lengths, minlength=num_lengths + 1)[1 : num_lengths + 1].astype(np.int64)


def pool_sizes(pools: tuple[Pool, Pool]) -> IntArray:
    """Patterns by side and length: (2, longest pattern)."""
    longest = max([1, *(int(pool.length.max(initial=1)) for pool in pools)])
    return np.stack([sizes_by_length(pool.length, longest) for pool in pools])


def host_log_joint(positives: IntArray, negatives: IntArray, sizes: IntArray, hyper: Hyperparameters) -> float:
    """Compute the log joint with SciPy from plain counts, sharing no code with the device's functions.

    Parameters
    ----------
    positives, negatives : (4,) int
        Class counts by state.
    sizes : (2, max_length) int
        Rules by side and length.
    """
    hits, misses = hits_and_misses(positives, negatives)
    likelihood = betaln(hits + hyper.alpha, misses + hyper.beta) - betaln(hyper.alpha, hyper.beta)
    inside, outside = np.asarray(sizes), hyper.pool_size - np.asarray(sizes)
    prior = betaln(inside + hyper.rule_alpha, outside + hyper.rule_beta) - betaln(hyper.rule_alpha, hyper.rule_beta)
    return float(likelihood.sum() + prior.sum())
