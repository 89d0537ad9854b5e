"""Defaults of a sampling run, each in one place; nothing heavy is imported here, so that ``--help`` can show them."""

from __future__ import annotations

import math

NUM_CHAINS = 4
NUM_TEMPERATURES = 20
"""Length of a ladder from the prior to the posterior, where nothing is known of the barrier between them."""
TIME_BUDGET = 150.0
"""Seconds after which a run without a given length ends, trusted or not."""
_LADDERS = (8, 12, 16, 20, 24)


def ladder_length(gain: float) -> int:
    """Choose the ladder's length for a fitted pair that gains so many nats over the empty one.

    Twice the communication barrier is about right (Syed et al. 2022), and over tables of many kinds the barrier grows
    like the logarithm of the gain (``experiments/results/posterior_convergence.md`` lists it).
    """
    barrier = 1.6 * math.log(max(gain, 1.0)) - 2.8
    return next((length for length in _LADDERS if length >= 2 * barrier + 2), _LADDERS[-1])
