"""How much was searched: the patterns that could have become rules, by length and by cuts that the labels placed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soar_jax._base import FloatArray, IntArray
from soar_jax.candidates.catalogue import free_patterns
from soar_jax.candidates.patterns import MinedPatterns
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

    where t counts literals, u cuts, and w are the literals' choices. Columns that are kept apart are counted by whether
    one of them is used: with it, none of those it is kept apart from is.
    """
    is_cut = (items.choices > 1).astype(np.int64)
    columns, place = np.unique(items.column, return_inverse=True)
    of_column = np.zeros((len(columns), 3, 3))
    of_column[:, 0, 0] = 1.0
    flat, size = of_column.reshape(-1), of_column[:1].size
    np.add.at(flat, size * place + 3 + is_cut, items.choices)
    pairs = sorted((i, j) for i, others in items.intervals.items() for j in others if i < j)
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    if items.sides is not None:
        may = (items.sides[:, one] & items.sides[:, other]).any(axis=0)
        one, other = one[may], other[may]
    np.add.at(flat, size * place[one] + 6 + is_cut[one] + is_cut[other], items.choices[one] * items.choices[other])
    factors = dict(zip(columns.tolist(), of_column, strict=True))
    foes: dict[int, set[int]] = {column: set() for column in factors}
    for left, right in items.apart:
        if left in foes and right in foes:
            foes[left].add(right)
            foes[right].add(left)
    total = np.zeros((longest + 1, longest + 1))
    total[0, 0] = 1.0
    for column, factor in factors.items():
        if not foes[column]:
            total = _times(total, factor)
    entangled = frozenset(column for column in factors if foes[column])
    return _times(total, _Apart(factors, foes, longest).polynomial(entangled)) if entangled else total


def _times(total: FloatArray, factor: FloatArray) -> FloatArray:
    """Multiply two polynomials, cut off at the degree of the first."""
    longest, product = len(total) - 1, np.zeros_like(total)
    for (literals, cuts), weight in np.ndenumerate(factor):
        if weight and literals <= longest and cuts <= longest:
            rows, columns = longest + 1 - literals, longest + 1 - cuts
            product[literals:, cuts:] += weight * total[:rows, :columns]
    return product


class _Apart:
    """The polynomial of columns of which some are kept apart from some others."""

    def __init__(self, factors: dict[int, FloatArray], foes: dict[int, set[int]], longest: int) -> None:
        self._factors, self._foes, self._longest = factors, foes, longest
        self._known: dict[frozenset[int], FloatArray] = {}

    def polynomial(self, columns: frozenset[int]) -> FloatArray:
        """Multiply what columns give that are not tied to each other, not even by others."""
        product = np.zeros((self._longest + 1, self._longest + 1))
        product[0, 0] = 1.0
        left = set(columns)
        while left:
            tied, new = set(), {min(left)}
            while new:
                tied |= new
                new = (set.union(*(self._foes[column] for column in new)) & left) - tied
            left -= tied
            product = _times(product, self._of_tied(frozenset(tied)))
        return product

    def _of_tied(self, columns: frozenset[int]) -> FloatArray:
        """Take the column with most foes: without it, or with it and without them."""
        if len(columns) == 1:
            return self._factors[min(columns)]
        if columns not in self._known:
            column = max(columns, key=lambda one: (len(self._foes[one] & columns), -one))
            used = self._factors[column].copy()
            used[0, 0] = 0.0
            rest = columns - {column}
            self._known[columns] = self.polynomial(rest) + _times(self.polynomial(rest - self._foes[column]), used)
        return self._known[columns]


def count_sides(
    patterns: MinedPatterns, items: Items, required: tuple[IntArray, IntArray], grow_to: int
) -> Searched | tuple[Searched, Searched]:
    """Count what the search may make rules of each side, one count for both where they may have the same rules.

    What must be in is not searched, and what constraints forbid is not either: neither is charged for.
    """
    choices = patterns.per_literal(items.choices, 1.0)
    num_cuts, product = (choices > 1).sum(axis=1), choices.prod(axis=1)
    longest = patterns.items.shape[1]
    if items.sides is None and not any(len(rules) for rules in required):
        mined = count_searched(patterns.length, num_cuts, product, longest)
        return with_grown(mined, items, grow_to, patterns.full_length)
    sides = []
    for side in (0, 1):
        may = free_patterns(patterns.items, items, required[side], side)
        mined = count_searched(patterns.length[may], num_cuts[may], product[may], longest)
        grown = with_grown(mined, items.select(items.may_stand_for(side)), grow_to, patterns.full_length)
        sides.append(_without(grown, items, required[side], side, patterns.full_length))
    return sides[0], sides[1]


def _without(searched: Searched, items: Items, required: IntArray, side: int, mined_length: int) -> Searched:
    """Take rules that must be in out of the count of what can be grown."""
    hypotheses = searched.hypotheses.copy()
    for pattern in required[items.may_be(required, side)]:
        rule = pattern[pattern >= 0]
        compatible = items.compatible_with(rule)[:, rule]
        stands = bool(compatible[np.triu_indices(len(rule), 1)].all())
        if mined_length < len(rule) <= searched.longest and stands:
            choices = items.choices[rule]
            hypotheses[len(rule), int((choices > 1).sum())] -= choices.prod()
    return Searched(searched.patterns, np.maximum(hypotheses, 0.0))


def with_grown(searched: Searched, items: Items, grow_to: int, full_length: int | None = None) -> Searched:
    """Count all conjunctions of the lengths beyond mining, up to ``grow_to``, and of those that were mined in part.

    ``full_length``: up to which all that are frequent were mined; all lengths that there are when not given. What was
    mined beyond was chosen by the labels, and is charged for as all that it was chosen from.
    """
    longest, full = searched.longest, searched.longest if full_length is None else full_length
    most = max(longest, grow_to)
    if most <= full:
        return searched
    hypotheses = np.pad(searched.hypotheses, (0, most - longest))
    hypotheses[full + 1 :] = count_conjunctions(items, most)[full + 1 :]
    return Searched(np.pad(searched.patterns, (0, most - longest)), hypotheses)
