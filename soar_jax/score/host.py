"""The log joint of one pair on the host, with SciPy: the check of what the device found. Needs no JAX."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from soar_jax._base import IntArray
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import Hyperparameters
from soar_jax.states import hits_and_misses


def host_log_joint(positives: IntArray, negatives: IntArray, sizes: IntArray, hyper: Hyperparameters) -> float:
    """Compute the log joint with SciPy from plain counts.

    On tables of many rows it shares nothing with the device's way; on small ones the device looks up sums that were
    made on the host.

    Parameters
    ----------
    positives, negatives : (4,) int
        Class counts by state.
    sizes : (2, num_kinds) int
        Rules by side and kind.
    """
    hits, misses = hits_and_misses(positives, negatives)
    likelihood = log_beta_between(hits + hyper.alpha, misses + hyper.beta, hyper.low, hyper.high)
    likelihood = likelihood - log_beta_between(hyper.alpha, hyper.beta, hyper.low, hyper.high)
    inside, outside = np.asarray(sizes), hyper.searched - np.asarray(sizes)
    prior = betaln(inside + hyper.rule_alpha, outside + hyper.rule_beta) - betaln(hyper.rule_alpha, hyper.rule_beta)
    doubt = 0.0 if inside.any() else hyper.log_doubt
    return float(hyper.power * likelihood.sum() + prior.sum() + doubt)
