"""How much was searched: the patterns that could have become rules, by length and by cuts that the labels placed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soar_jax._base import FloatArray, IntArray
from soar_jax.data.items import Items


@dataclass(frozen=True)
class Searched:
    """Mined patterns by number of literals and of cuts among them.

    Attributes
    ----------
    patterns : (longest + 1, longest + 1) int64
        Mined patterns with that many literals and that many cuts that were placed by the labels.
    hypotheses : (longest + 1, longest + 1) float64
        The same with each such cut counted for the positions it could have taken; for lengths beyond mining, all
        conjunctions that could be grown.
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


def count_conjunctions(items: Items, longest: int) -> FloatArray:
    """Count all conjunctions by length and cuts, each cut for its positions: (longest + 1, longest + 1).

    Literals of different columns stand together freely, those of one column only as `Items.compatible` allows: no more
    than a lower and an upper bound. So the counts are the coefficients of a product of one polynomial per column,

        1 + sum_i w_i t u^c_i + sum_{i < j compatible} w_i w_j t^2 u^(c_i + c_j) ,

    where t counts literals, u cuts, and w are the literals' choices.
    """
    compatible = items.compatible()
    is_cut = (items.choices > 1).astype(np.int64)
    total = np.zeros((longest + 1, longest + 1))
    total[0, 0] = 1.0
    for column in np.unique(items.column):
        mine = np.flatnonzero(items.column == column)
        factor = np.zeros((3, 3))
        factor[0, 0] = 1.0
        np.add.at(factor[1], is_cut[mine], items.choices[mine])
        for place, i in enumerate(mine):
            for j in mine[place + 1 :]:
                if compatible[i, j]:
                    factor[2, is_cut[i] + is_cut[j]] += items.choices[i] * items.choices[j]
        product = np.zeros_like(total)
        for (literals, cuts), weight in np.ndenumerate(factor):
            if weight and literals <= longest and cuts <= longest:
                rows, columns = longest + 1 - literals, longest + 1 - cuts
                product[literals:, cuts:] += weight * total[:rows, :columns]
        total = product
    return total


def with_grown(searched: Searched, items: Items, grow_to: int) -> Searched:
    """Add all conjunctions of the lengths beyond mining, up to ``grow_to``."""
    longest = searched.longest
    if grow_to <= longest:
        return searched
    beyond = grow_to - longest
    hypotheses = np.pad(searched.hypotheses, (0, beyond))
    hypotheses[longest + 1 :] = count_conjunctions(items, grow_to)[longest + 1 :]
    return Searched(np.pad(searched.patterns, (0, beyond)), hypotheses)
