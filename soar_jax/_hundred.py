"""A hundred shared out by counts, so that the same rows are said in the same numbers wherever they are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def share_out(counts: Sequence[int], total: int = 100) -> list[int]:
    """Give each count its part of a total by largest remainders, so that the parts sum to it."""
    everything = sum(counts)
    if not everything:
        return [0] * len(counts)
    exact = np.array(counts, dtype=np.float64) * total / everything
    parts = np.floor(exact).astype(int)
    for i in np.argsort(parts - exact, kind="stable")[: total - int(parts.sum())]:
        parts[i] += 1
    return [int(part) for part in parts]
