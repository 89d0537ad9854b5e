"""What a search gives back beside its best pair: the candidates around it, and how much lies beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soar_jax._base import BoolArray, IntArray
from soar_jax.candidates.catalogue import hash_coverage

if TYPE_CHECKING:
    from soar_jax.search.explore import Explorer

_NEGLIGIBLE = 15.0
"""Nats below the leader at which a pattern's mass is no longer added up."""


def surroundings(explorer: Explorer, size: int) -> tuple[tuple[IntArray, IntArray], tuple[BoolArray, BoolArray]]:
    """Choose candidates around the leader: its rules, grown conjunctions at hand, and the best of all others."""
    patterns: list[IntArray] = []
    included: list[BoolArray] = []
    width = explorer.working.patterns.shape[2]
    for side in (0, 1):
        members = explorer.working.patterns[side][explorer.best.included[side]]
        at_hand = explorer.working.patterns[side][explorer.working.kind[side] > 0]
        grown = at_hand[(at_hand >= 0).sum(axis=1) > explorer.catalogue.mined.items.shape[1]]
        others = _around(explorer, side, size, width) if side in explorer.sides else at_hand
        rest = _new_coverage(explorer, np.concatenate([grown, others]), members)[: max(0, size - len(members))]
        chosen = np.concatenate([members, rest])
        patterns.append(chosen)
        included.append(np.arange(len(chosen)) < len(members))
    return (patterns[0], patterns[1]), (included[0], included[1])


def left_out(explorer: Explorer, chosen: Sequence[IntArray]) -> float:
    """Estimate how many rules a draw around the leader would have that are not among the chosen patterns.

    Given the other rules, the place of each rule, and one more place per side, goes to a pattern with a chance in
    proportion to the pair's density with it; places are added up as if they were independent.
    """
    queries, bits = explorer.neighbours(), explorer.catalogue.item_bits
    known = [hash_coverage(some, bits) for some in chosen]
    rules = [hash_coverage(explorer.working.patterns[side][explorer.best.included[side]], bits) for side in (0, 1)]
    found = explorer.pages.above(queries, explorer.best.log_joint - _NEGLIGIBLE, explorer.executor)
    expected = 0.0
    for query, priced in zip(queries, found, strict=True):
        # best first: patterns of one coverage count once, as a pool has them
        coverage, first = np.unique(hash_coverage(priced.patterns, bits), return_index=True)
        weight = np.exp(priced.values[first] - explorer.best.log_joint)
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


def _around(explorer: Explorer, side: int, size: int, width: int) -> IntArray:
    """Rank mined patterns by the best pair that they lead to: added to the leader, or in place of a rule."""
    listed = explorer.catalogue.mined.items[explorer.catalogue.listed[side]]
    if len(listed) > size:
        queries = [query for query in explorer.neighbours() if int(query.side) == side]
        found = explorer.pages.best(queries, size, explorer.executor)
        patterns, values = (np.concatenate(part) for part in zip(*found, strict=True))
        listed = patterns[np.argsort(-values, kind="stable")]
    return np.pad(listed, ((0, 0), (0, width - listed.shape[1])), constant_values=-1)
