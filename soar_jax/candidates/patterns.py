"""Frequent patterns: conjunctions of literals that enough rows satisfy.

Two miners give the same patterns. The packed one goes level by level over bit sets and serves
weighted rows; mlxtend's FP-growth is the reference.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout

MAX_WORK = 6_000_000_000
"""Words the packed miner may AND in one level (about ten seconds)."""
MAX_CANDIDATES = 40_000_000
MAX_KEPT_BYTES = 2_000_000_000
MAX_FREQUENT = 5_000_000
_CHUNK_WORDS = 1 << 17


class Threshold(NamedTuple):
    """Smallest row counts that make a pattern frequent: overall, or within one class.

    A pattern that reaches any of the three is kept, so a rare class gets candidates of its own.
    Each count can only fall when a literal is added, hence so can their disjunction: level-wise
    search and FP-growth stay exact.
    """

    total: int
    positives: int
    negatives: int

    def reached(self, positives: IntArray, negatives: IntArray) -> BoolArray:
        """Which patterns are frequent enough."""
        return (positives + negatives >= self.total) | (positives >= self.positives) | (negatives >= self.negatives)


@dataclass(frozen=True)
class MinedPatterns:
    """Frequent patterns with their class counts.

    Attributes
    ----------
    items : (num_patterns, max_length) int64
        Ascending literal indices, padded with -1.
    positives, negatives : (num_patterns,) int64
        Weight of the positive and negative rows covered.
    num_paired : int
        Where there are too many pairs of literals: pairs are here only with one of so many literals; 0 for all.
    """

    items: IntArray
    positives: IntArray
    negatives: IntArray
    num_paired: int = 0

    @property
    def full_length(self) -> int:
        """Up to which length all that are frequent are here."""
        return 1 if self.num_paired else self.items.shape[1]

    @property
    def length(self) -> IntArray:
        """Number of literals of each pattern."""
        return (self.items >= 0).sum(axis=1)

    def per_literal(self, values: np.ndarray, padding: float) -> np.ndarray:
        """Look up a value of each literal: (num_patterns, max_length), ``padding`` where there is none."""
        return np.append(values, padding)[self.items]

    def pack(self, item_bits: WordArray, chosen: IntArray) -> WordArray:
        """Packed coverage of some patterns from the packed literals."""
        return pack(self.items[chosen], item_bits)


def pack(patterns: IntArray, item_bits: WordArray) -> WordArray:
    """Packed coverage of patterns (rows of literal indices, padded with -1) from the packed literals."""
    with_true = np.concatenate([item_bits, np.full((1, item_bits.shape[1]), ~np.uint64(0))])
    bits = with_true[patterns[:, 0]]
    for column in patterns.T[1:]:
        bits &= with_true[column]
    return bits


class Explosion(InputError):
    """The next level of mining would be too large."""


def _check_level(level: int, candidates: int, num_words: int) -> None:
    if candidates * num_words > MAX_WORK or candidates > MAX_CANDIDATES:
        raise Explosion(
            f"Patterns of length {level} have about {candidates:,} candidates on this table, more than mining "
            f"can count here. Set max_length={level - 1}, raise min_support and min_class_support, or use fewer "
            "bins (max_bins)."
        )


def count_pairs(
    parents: WordArray, parent: IntArray, item: IntArray, item_bits: WordArray, layout: BitLayout, threshold: Threshold
) -> tuple[BoolArray, IntArray, IntArray]:
    """Count every (parent, literal) pair in chunks that fit the cache."""
    positives, negatives = np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    step = max(1, _CHUNK_WORDS // max(1, layout.num_words))
    for start in range(0, len(parent), step):
        part = slice(start, start + step)
        positives[part], negatives[part] = layout.counts(parents[parent[part]] & item_bits[item[part]])
    return threshold.reached(positives, negatives), positives, negatives


def mine_packed(
    item_bits: WordArray,
    compatible: BoolArray,
    layout: BitLayout,
    threshold: Threshold,
    max_length: int,
    *,
    stop_early: bool = False,
) -> MinedPatterns:
    """Mine level by level: each pattern is extended by later literals frequent with all of its own.

    Parameters
    ----------
    item_bits : (num_items, num_words) uint64
        Packed literals.
    compatible : (num_items, num_items) bool
        Which literals may share a pattern.
    stop_early : bool
        End with a warning at the last level that is small enough, instead of an error.

    Raises
    ------
    InputError
        Before a level whose candidates would take too long or too much memory.
    """
    num_items = len(item_bits)
    positives, negatives = layout.counts(item_bits)
    frequent = np.flatnonzero(threshold.reached(positives, negatives))
    items = frequent[:, None]
    levels = [(items, positives[frequent], negatives[frequent])]
    bits = item_bits[frequent]
    # allowed[p, j]: literal j may extend pattern p (later in order, compatible, pairwise frequent)
    later = np.triu(compatible, 1)
    later[:, np.setdiff1d(np.arange(num_items), frequent)] = False
    allowed = later[frequent]
    num_found = len(frequent)
    for level in range(2, max_length + 1):
        try:
            _check_level(level, int(allowed.sum()), layout.num_words)
            parent, item = (index.astype(np.int64) for index in np.nonzero(allowed))
            is_frequent, positives, negatives = count_pairs(bits, parent, item, item_bits, layout, threshold)
            parent, item = parent[is_frequent], item[is_frequent]
            num_found += len(parent)
            is_too_wide = level < max_length and len(parent) * (layout.num_words * 8 + num_items) > MAX_KEPT_BYTES
            if num_found > MAX_FREQUENT or (is_too_wide and not stop_early):
                raise Explosion(
                    f"{num_found:,} patterns up to length {level} are frequent, too many to keep. "
                    f"Set max_length={level - 1}, raise min_support and min_class_support, or lower max_bins."
                )
        except Explosion as explosion:
            if not stop_early:
                raise
            warnings.warn(f"Mining stopped at length {level - 1}. {explosion}", stacklevel=2)
            break
        items = np.concatenate([items[parent], item[:, None]], axis=1)
        levels.append((items, positives[is_frequent], negatives[is_frequent]))
        if level == 2:  # noqa: PLR2004
            pairwise = np.zeros((num_items, num_items), dtype=bool)
            pairwise[items[:, 0], items[:, 1]] = True
        if is_too_wide and len(parent):
            warnings.warn(
                f"Mining stopped at length {level}: its {len(parent):,} patterns are too many to be extended one by "
                "one. Longer rules are grown from the best of them.",
                stacklevel=2,
            )
        if level == max_length or not len(parent) or is_too_wide:
            break
        bits = bits[parent] & item_bits[item]
        allowed = pairwise[items[:, 0]]
        for position in range(1, level):
            allowed &= pairwise[items[:, position]]
    return _stack(levels)


def _stack(levels: list[tuple[IntArray, IntArray, IntArray]]) -> MinedPatterns:
    width = max(items.shape[1] for items, _, _ in levels)
    padded = [np.pad(items, ((0, 0), (0, width - items.shape[1])), constant_values=-1) for items, _, _ in levels]
    return MinedPatterns(
        np.concatenate(padded).astype(np.int64),
        np.concatenate([p for _, p, _ in levels]),
        np.concatenate([n for _, _, n in levels]),
    )


def mine_fpgrowth(
    item_masks: BoolArray,
    row_positives: IntArray,
    row_negatives: IntArray,
    item_bits: WordArray,
    compatible: BoolArray,
    layout: BitLayout,
    threshold: Threshold,
    max_length: int,
) -> MinedPatterns:
    """Mine with mlxtend's FP-growth: on all rows and on each class, then drop impossible conjunctions.

    FP-growth knows no weights, so grouped rows are written out again, one line each.
    """
    from mlxtend.frequent_patterns import fpgrowth

    found: set[tuple[int, ...]] = set()
    for weights, minimum in (
        (row_positives + row_negatives, threshold.total),
        (row_positives, threshold.positives),
        (row_negatives, threshold.negatives),
    ):
        num_rows = int(weights.sum())
        if minimum > num_rows:
            continue
        table = pd.DataFrame(np.repeat(item_masks.T, weights, axis=0))
        # half a row below the count, so that rounding cannot move the threshold
        itemsets = fpgrowth(table, min_support=(minimum - 0.5) / num_rows, max_len=max_length)["itemsets"]
        found.update(tuple(sorted(itemset)) for itemset in itemsets)
    possible = sorted(
        (p for p in found if all(compatible[a, b] for i, a in enumerate(p) for b in p[i + 1 :])),
        key=lambda p: (len(p), p),
    )
    items = np.full((len(possible), max(map(len, possible), default=1)), -1, dtype=np.int64)
    for i, pattern in enumerate(possible):
        items[i, : len(pattern)] = pattern
    bits = MinedPatterns(items, np.zeros(0, np.int64), np.zeros(0, np.int64)).pack(item_bits, np.arange(len(items)))
    positives, negatives = layout.counts(bits)
    return MinedPatterns(items, positives, negatives)
