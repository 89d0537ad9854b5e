"""Standard errors of inclusion: how far a share over all chains may be from the truth, as the chains tell."""

from __future__ import annotations

import numpy as np

from soar_jax._base import FloatArray

MAX_ERROR = 0.05
"""An inclusion with a larger standard error is not settled."""
_BATCHES_PER_CHAIN = 5


def standard_errors(members: np.ndarray) -> FloatArray:
    """Estimate the error of the mean of each 0 / 1 series, (num_chains, num_draws, num_series): the larger of two.

    Between chains: their means may differ though each looks settled. Between stretches of all chains: one chain alone,
    or chains that wander together, show there. A series that is constant in every chain but not the same in all has an
    error; one that is the same everywhere has none.
    """
    num_chains, num_draws = members.shape[:2]
    num_batches = max(1, min(_BATCHES_PER_CHAIN, num_draws))
    parts = np.array_split(np.arange(num_draws), num_batches)
    batches = np.stack([members[:, part].mean(axis=1) for part in parts], axis=1)
    errors = [_error(batches.reshape(num_chains * num_batches, -1)), _error(batches.mean(axis=1))]
    return np.fmax(*errors)


def _error(means: FloatArray) -> FloatArray:
    """Error of the mean of some means; NaN for one."""
    if len(means) < 2:  # noqa: PLR2004
        return np.full(means.shape[1], np.nan)
    return np.asarray(means.std(axis=0, ddof=1) / np.sqrt(len(means)))
