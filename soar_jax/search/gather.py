"""What a search gives back beside its best pair: the candidates around its readings, and how much lies beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.candidates.catalogue import hash_coverage

if TYPE_CHECKING:
    from soar_jax.search.descent import Best
    from soar_jax.search.explore import Explorer

NEAR = 30.0
"""Nats below the leader at which a reading is none that chains should know."""
_NEGLIGIBLE = 15.0
"""Nats below a reading's best pair at which a pattern's mass is no longer added up."""
_SHARE_EACH = 0.25
"""Share of the candidates that is spread evenly over the readings; the rest goes to whatever is worth most."""

_SIZES = (200, 400)
_ENOUGH = 0.03
"""Rules of a draw that may be left out where fewer candidates than allowed will do: chains among fewer mix sooner."""

Members = tuple[BoolArray, BoolArray]
Around = tuple[tuple[IntArray, IntArray], Members, list[Members]]


def known_readings(explorer: Explorer) -> list[Best]:
    """List the leader, and the best pairs of the other readings that are near it."""
    near = [pair for pair in explorer.niches.pairs if pair.log_joint > explorer.best.log_joint - NEAR]
    others = [pair for pair in near if not np.array_equal(pair.included, explorer.best.included)]
    return [explorer.best, *others]


def candidates(explorer: Explorer, most: int) -> tuple[Around, float]:
    """Choose as few candidates around all readings as leave next to nothing out, and say how much they leave out."""
    for size in (*(size for size in _SIZES if size < most), most):
        found = surroundings(explorer, size)
        beyond = left_out(explorer, found[0]) if explorer.sides else 0.0
        if beyond <= _ENOUGH:
            break
    return found, beyond


def surroundings(explorer: Explorer, size: int) -> Around:
    """Choose candidates around all readings: their rules, grown conjunctions at hand, and the best of all others.

    Gives the candidates of each side, which of them are in the leader, and which in each other reading.
    """
    readings = known_readings(explorer)
    chosen, members = zip(*(_of_side(explorer, side, size, readings) for side in (0, 1)), strict=True)
    by_reading = [(members[0][i], members[1][i]) for i in range(len(readings))]
    return (chosen[0], chosen[1]), by_reading[0], by_reading[1:]


def _of_side(explorer: Explorer, side: int, size: int, readings: Sequence[Best]) -> tuple[IntArray, BoolArray]:
    """Choose a side's candidates, and say which are in each reading: (num_readings, num_candidates)."""
    patterns, bits = explorer.working.patterns[side], explorer.catalogue.item_bits
    leading = patterns[explorer.best.included[side]]
    ruling = patterns[np.logical_or.reduce([pair.included[side] for pair in readings])]
    at_hand = patterns[explorer.working.kind[side] > 0]
    grown = at_hand[(at_hand >= 0).sum(axis=1) > explorer.catalogue.mined.items.shape[1]]
    around = _around(explorer, side, size, readings) if side in explorer.sides else at_hand
    rest = _new_coverage(explorer, np.concatenate([ruling, grown, around]), leading)[: max(0, size - len(leading))]
    chosen = np.concatenate([leading, rest])
    coverage = hash_coverage(chosen, bits)
    included = [np.isin(coverage, hash_coverage(patterns[pair.included[side]], bits)) for pair in readings]
    included[0] = np.arange(len(chosen)) < len(leading)
    return chosen, np.stack(included)


def left_out(explorer: Explorer, chosen: Sequence[IntArray]) -> float:
    """Estimate how many rules a draw would have that are not among the chosen patterns.

    An average over readings, each with a weight in proportion to its best pair's density.
    """
    readings = known_readings(explorer)
    known = [hash_coverage(some, explorer.catalogue.item_bits) for some in chosen]
    weights = np.exp([pair.log_joint - explorer.best.log_joint for pair in readings])
    expected = [_left_out_of(explorer, pair, known) for pair in readings]
    return float(np.average(expected, weights=weights))


def _left_out_of(explorer: Explorer, pair: Best, known: Sequence[np.ndarray]) -> float:
    """Estimate the same around one pair.

    Given the other rules, the place of each rule, and one more place per side, goes to a pattern with a chance in
    proportion to the pair's density with it; places are added up as if they were independent.
    """
    queries, bits = explorer.neighbours(pair.included), explorer.catalogue.item_bits
    rules = [hash_coverage(explorer.working.patterns[side][pair.included[side]], bits) for side in (0, 1)]
    found = explorer.pages.above(queries, pair.log_joint - _NEGLIGIBLE, explorer.executor)
    expected = 0.0
    for query, priced in zip(queries, found, strict=True):
        # best first: patterns of one coverage count once, as a pool has them
        coverage, first = np.unique(hash_coverage(priced.patterns, bits), return_index=True)
        weight = np.exp(priced.values[first] - pair.log_joint)
        # whoever has the place now, a rule or none, keeps it with weight 1
        is_other = ~np.isin(coverage, rules[int(query.side)])
        outside = is_other & ~np.isin(coverage, known[int(query.side)])
        expected += float(weight[outside].sum() / (1.0 + weight[is_other].sum()))
    return expected


def _new_coverage(explorer: Explorer, patterns: IntArray, taken: IntArray) -> IntArray:
    """Keep the first of those that cover the same rows, and none that covers the rows of one of ``taken``."""
    of_pattern, of_taken = (hash_coverage(some, explorer.catalogue.item_bits) for some in (patterns, taken))
    values, first = np.unique(of_pattern, return_index=True)
    return patterns[np.sort(first[~np.isin(values, of_taken)])]


def _around(explorer: Explorer, side: int, size: int, readings: Sequence[Best]) -> IntArray:
    """Rank mined patterns by the best pair that they lead to: added to a reading, or in place of one of its rules."""
    width = explorer.working.patterns.shape[2]
    listed = explorer.catalogue.mined.items[explorer.catalogue.listed[side]]
    if len(listed) > size:
        ranked = [_ranked(explorer, side, size, pair) for pair in readings]
        each = int(_SHARE_EACH * size / len(readings))
        first = [patterns[:each] for patterns, _ in ranked] if len(readings) > 1 else []
        patterns, values = (np.concatenate(part) for part in zip(*ranked, strict=True))
        listed = np.concatenate([*first, patterns[np.argsort(-values, kind="stable")]])
    return np.pad(listed, ((0, 0), (0, width - listed.shape[1])), constant_values=-1)


def _ranked(explorer: Explorer, side: int, size: int, pair: Best) -> tuple[IntArray, FloatArray]:
    """Rank mined patterns around one pair, and say what they are worth."""
    queries = [query for query in explorer.neighbours(pair.included) if int(query.side) == side]
    found = explorer.pages.best(queries, size, explorer.executor)
    patterns, values = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(-values, kind="stable")
    return patterns[order], values[order]
