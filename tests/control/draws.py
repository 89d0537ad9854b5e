"""Draws listed by hand, so that a posterior can be tested without a sampler."""

import itertools

import numpy as np

from soar_jax.candidates.coverage import NEGATIVE_SHIFT
from soar_jax.posterior.posterior import Posterior
from soar_jax.sampling.draws import Draws
from soar_jax.score.target import FittedPair


def every_pair(num_positive, num_negative):
    """All pairs of subsets, as two lists of bool arrays."""
    return [
        (np.array(z), np.array(w))
        for z in itertools.product([False, True], repeat=num_positive)
        for w in itertools.product([False, True], repeat=num_negative)
    ]


def posterior_of(target, pairs, times, counts, log_joint, classes=(0, 1), positive_index=1):
    """A posterior whose draws are these pairs, each so many times, in two chains; counts are by state (4,) each."""
    draws = np.repeat(np.arange(len(pairs)), times)
    draws = draws[: len(draws) // 2 * 2]
    included = np.zeros((len(pairs), 2, target.num_slots), dtype=bool)
    for row, (z, w) in zip(included, pairs, strict=True):
        row[0, : len(z)], row[1, : len(w)] = z, w
    packed = np.array([p + (n.astype(np.int64) << NEGATIVE_SHIFT) for p, n in counts])
    shape = (2, len(draws) // 2)
    return Posterior(
        FittedPair(target, included[0], np.array(classes), positive_index, ("a", "b"), "SOARClassifier"),
        Draws(
            packed=np.packbits(included[draws], axis=-1).reshape(*shape, 2, -1),
            num_slots=target.num_slots,
            counts=packed[draws].reshape(*shape, 4),
            log_likelihood=np.asarray(log_joint)[draws].reshape(shape),
            log_prior=np.zeros(shape),
            move_acceptance=np.zeros((*shape, 0)),
            ladder_swaps=np.zeros(shape),
            visits=included[draws].reshape(*shape, 2, -1).sum(axis=1),
            num_rounds=shape[1],
            ladder=np.ones(1),
            kernels=(),
            acceptance=np.zeros((0, 1)),
            swap_probability=np.zeros(0),
            arrivals=np.zeros(2, dtype=np.int64),
            log_evidence=np.nan,
            log_evidence_error=np.nan,
        ),
        seconds=0.0,
        thin=1,
    )
