"""Intervals of shares that were counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from soar_jax._base import FloatArray

LEVEL = 0.9


def interval(hits: Any, rows: Any, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Jeffreys' interval of a share: quantiles of Beta(hits + 1/2, misses + 1/2), ending at 0 and 1 where all agree."""
    hits, rows = np.asarray(hits, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    a, b = hits + 0.5, rows - hits + 0.5
    low = np.where(hits > 0, betaincinv(a, b, (1 - level) / 2), 0.0)
    high = np.where(hits < rows, betaincinv(a, b, (1 + level) / 2), 1.0)
    return low, high
