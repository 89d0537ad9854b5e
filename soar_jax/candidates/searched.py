"""How much was searched: the patterns that could have become rules, by length and by cuts that the labels placed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soar_jax._base import FloatArray, IntArray


@dataclass(frozen=True)
class Searched:
    """Mined patterns by number of literals and of cuts among them.

    Attributes
    ----------
    patterns : (longest + 1, longest + 1) int64
        Mined patterns with that many literals and that many cuts that were placed by the labels.
    hypotheses : (longest + 1, longest + 1) float64
        The same with each such cut counted for the positions it could have taken.
    """

    patterns: IntArray
    hypotheses: FloatArray

    @property
    def longest(self) -> int:
        """Most literals in a pattern."""
        return self.patterns.shape[0] - 1

    @property
    def total(self) -> int:
        """All mined patterns."""
        return int(self.patterns.sum())


def count_searched(length: IntArray, num_cuts: IntArray, choices: FloatArray, longest: int) -> Searched:
    """Count patterns by length and cuts.

    Parameters
    ----------
    length, num_cuts : (num_patterns,) int64
    choices : (num_patterns,) float64
        Patterns that each one stands for: the product of its cuts' possible positions.
    longest : int
        Most literals in a pattern.
    """
    shape = (longest + 1, longest + 1)
    place = np.ravel_multi_index((length, num_cuts), shape)
    size = (longest + 1) ** 2
    return Searched(
        np.bincount(place, minlength=size).reshape(shape).astype(np.int64),
        np.bincount(place, weights=choices, minlength=size).reshape(shape).astype(np.float64),
    )
