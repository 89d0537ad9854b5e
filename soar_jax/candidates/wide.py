"""Tables with too many pairs of literals to mine them all: two thousand columns have eight million pairs and more.

Every literal is kept, and every pair in which one of the best literals stands. The prior still counts all pairs: the
labels chose which of them to look at.
"""

from __future__ import annotations

import warnings

import numpy as np

from soar_jax._base import BoolArray, IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout
from soar_jax.candidates.patterns import MAX_CANDIDATES, MAX_FREQUENT, MAX_WORK, MinedPatterns, Threshold, count_pairs
from soar_jax.candidates.pools import impurity
from soar_jax.data.items import Items

MAX_PAIRS = 1_000_000
"""Pairs that are counted where there are too many."""
_SAMPLED = 20_000
_OF_COLUMN = 2
"""Literals of a column that come before the third of any other: cuts of one column are near-copies."""


def _num_pairs(items: Items) -> int:
    """Count pairs of literals of different columns."""
    sizes = np.unique(items.column, return_counts=True)[1].astype(np.int64)
    total = int(sizes.sum())
    return (total * total - int((sizes * sizes).sum())) // 2


def has_too_many_pairs(items: Items, item_bits: WordArray, layout: BitLayout, threshold: Threshold) -> bool:
    """Say whether frequent pairs are too many to count, or by a sample of them too many to keep."""
    num_pairs = _num_pairs(items)
    if num_pairs > MAX_CANDIDATES or num_pairs * layout.num_words > MAX_WORK:
        return True
    if num_pairs <= MAX_FREQUENT:
        return False
    drawn = np.random.default_rng(0).integers(len(item_bits), size=(2, _SAMPLED))
    one, other = drawn[:, items.column[drawn[0]] != items.column[drawn[1]]]
    is_frequent = count_pairs(item_bits, one, other, item_bits, layout, threshold)[0]
    return bool(is_frequent.mean() * num_pairs > MAX_FREQUENT)


def mine_best_pairs(
    items: Items, item_bits: WordArray, layout: BitLayout, threshold: Threshold, screen: str
) -> MinedPatterns:
    """Mine all literals, and all pairs with at least one of those that tell the classes apart best."""
    num_items = len(item_bits)
    positives, negatives = layout.counts(item_bits)
    impurities = impurity(positives, negatives, layout.num_positives, layout.num_negatives, screen)
    best = _best_literals(items, impurities, max(1, MAX_PAIRS // num_items))
    warnings.warn(
        f"The table has {_num_pairs(items):,} pairs of literals, too many to mine them all: all {num_items:,} literals "
        f"and their pairs with the {len(best)} best of them are searched, and longer rules are grown. Fewer columns, "
        "or fewer bins (max_bins), let more be searched.",
        stacklevel=3,
    )
    allowed = items.compatible_with(best)
    # a pair of two of the best is counted with the first of them
    for place, literal in enumerate(best):
        allowed[place + 1 :, literal] = False
    parent, other = (index.astype(np.int64) for index in np.nonzero(allowed))
    is_frequent, *counts = count_pairs(item_bits[best], parent, other, item_bits, layout, threshold)
    pairs = np.sort(np.stack([best[parent], other], axis=1)[is_frequent], axis=1)
    order = np.lexsort(pairs.T[::-1])
    alone = np.stack([np.arange(num_items), np.full(num_items, -1)], axis=1)
    return MinedPatterns(
        np.concatenate([alone, pairs[order]]).astype(np.int64),
        np.concatenate([positives, counts[0][is_frequent][order]]),
        np.concatenate([negatives, counts[1][is_frequent][order]]),
        num_paired=len(best),
    )


def _best_literals(items: Items, impurities: np.ndarray, count: int) -> IntArray:
    """Choose literals of low impurity, two of each column before the third of any."""
    order = np.lexsort((np.arange(len(impurities)), np.round(impurities, 12)))
    rank = np.empty(len(order), dtype=np.int64)
    seen: dict[int, int] = {}
    for i in order:
        column = int(items.column[i])
        rank[i] = seen[column] = seen.get(column, -1) + 1
    by_turn: BoolArray = rank[order] >= _OF_COLUMN
    return np.sort(order[np.argsort(by_turn, kind="stable")][:count])
