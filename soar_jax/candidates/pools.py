"""Screening: the candidate pool of each rule set, best patterns first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import xlogy

from soar_jax._base import BoolArray, FloatArray, IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout
from soar_jax.candidates.patterns import MinedPatterns, pack
from soar_jax.data.items import Items
from soar_jax.data.literals import Literal

SCREENS = ("entropy", "gini")
POOLS = ("directed", "shared")


@dataclass(frozen=True)
class Pool:
    """Candidates of one rule set, in screening order.

    Attributes
    ----------
    patterns : tuple of tuple of Literal
        Each candidate's literals.
    aliases : tuple of tuple of tuple of Literal
        Other patterns that cover exactly the same training rows, longer or later in order.
    positives, negatives : (num_patterns,) int64
    impurity : (num_patterns,) float64
    bits : (num_patterns, num_words) uint64
        Packed coverage of the training rows.
    num_cuts : (num_patterns,) int64
        Literals of each candidate whose cut the labels placed.
    num_required : int
        The first so many must be in, whatever they cost.
    """

    patterns: tuple[tuple[Literal, ...], ...]
    aliases: tuple[tuple[tuple[Literal, ...], ...], ...]
    positives: IntArray
    negatives: IntArray
    impurity: FloatArray
    bits: WordArray
    num_cuts: IntArray
    num_required: int = 0

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.patterns)

    @property
    def length(self) -> IntArray:
        """Number of literals of each candidate."""
        return np.array([len(p) for p in self.patterns], dtype=np.int64)

    def first(self, size: int) -> Pool:
        """Keep those that must be in and the first so many others."""
        kept = slice(self.num_required + size)
        arrays = {
            name: getattr(self, name)[kept] for name in ("positives", "negatives", "impurity", "bits", "num_cuts")
        }
        return replace(self, patterns=self.patterns[kept], aliases=self.aliases[kept], **arrays)

    def recount(
        self, layout: BitLayout, item_bits: WordArray, place: Mapping[Literal, int], *, chose_cuts: bool = False
    ) -> Pool:
        """Take the same candidates on other rows, which chose their cuts or had no say in them.

        ``item_bits`` are the packed literals on those rows, ``place`` says which line is whose.
        """
        rows = [np.bitwise_and.reduce(item_bits[[place[z] for z in pattern]], axis=0) for pattern in self.patterns]
        bits = np.stack(rows) if rows else np.zeros((0, layout.num_words), np.uint64)
        positives, negatives = layout.counts(bits)
        none, num_cuts = ((),) * len(self), self.num_cuts if chose_cuts else np.zeros(len(self), np.int64)
        return Pool(self.patterns, none, positives, negatives, self.impurity, bits, num_cuts, self.num_required)


def empty_pool(num_words: int) -> Pool:
    """Make a pool without candidates: the negative side of the one-class method."""
    none = np.zeros(0, np.int64)
    return Pool((), (), none, none, np.zeros(0), np.zeros((0, num_words), np.uint64), none)


def impurity(
    positives: IntArray, negatives: IntArray, num_positives: int, num_negatives: int, screen: str
) -> FloatArray:
    """Impurity of the label given whether the pattern holds, averaged over the rows.

    Conditional entropy in nats (0 log 0 = 0) or Gini index; smaller is better.
    """
    total = num_positives + num_negatives
    result = np.zeros(len(positives))
    for p, n in ((positives, negatives), (num_positives - positives, num_negatives - negatives)):
        rows = p + n
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(rows > 0, p / np.maximum(rows, 1), 0.0)
        if screen == "entropy":
            within = -xlogy(share, share) - xlogy(1 - share, 1 - share)
        else:
            within = 2 * share * (1 - share)
        result += rows / total * within
    return result


def speaks_for(
    positives: IntArray, negatives: IntArray, layout: BitLayout, side: int, *, is_directed: bool
) -> BoolArray:
    """Say which patterns may be rules of a side: not true of all rows and, if directed, above the base rate."""
    covered = positives + negatives
    eligible: BoolArray = covered < layout.num_rows
    if is_directed:
        # positives / covered > num_positives / num_rows in whole numbers
        excess = positives * layout.num_rows - layout.num_positives * covered
        eligible &= (excess > 0) if side == 0 else (excess < 0)
    return eligible


def _merge_equal(
    patterns: MinedPatterns, order: IntArray, item_bits: WordArray, max_patterns: int
) -> tuple[list[int], list[list[int]], list[WordArray]]:
    """Walk the patterns in order, keeping one of each coverage.

    Equal coverage means equal counts, and equal counts stand together in ``order``, so that
    comparing packed rows within such a run finds every copy.
    """
    chosen: list[int] = []
    aliases: list[list[int]] = []
    bits: list[WordArray] = []
    counts = np.stack([patterns.positives[order], patterns.negatives[order]])
    edges = np.flatnonzero(np.any(np.diff(counts, axis=1) != 0, axis=0)) + 1
    for start, stop in pairwise([0, *edges.tolist(), len(order)]):
        if len(chosen) >= max_patterns:
            break
        run = order[start:stop]
        seen: dict[bytes, int] = {}
        for index, row in zip(run, patterns.pack(item_bits, run), strict=True):
            key = row.tobytes()
            if key in seen:
                aliases[seen[key]].append(int(index))
                continue
            if len(chosen) >= max_patterns:
                continue
            seen[key] = len(chosen)
            chosen.append(int(index))
            aliases.append([])
            bits.append(row)
    return chosen, aliases, bits


def build_pool(
    patterns: MinedPatterns,
    items: Items,
    item_bits: WordArray,
    layout: BitLayout,
    *,
    side: int,
    screen: str,
    pools: str,
    max_patterns: int,
    required: IntArray | None = None,
) -> Pool:
    """Rank the patterns by impurity and keep the best as candidates of one side.

    Parameters
    ----------
    side : int
        0 for the positive rule set, 1 for the negative.
    pools : {"directed", "shared"}
        Directed pools hold only patterns whose share of the side's class beats the base rate; a
        shared pool takes any pattern, as the paper does.
    required : (num_required, longest) int64, optional
        Rules that must be in: literal indices, padded with -1. They come first, and no other candidate covers their
        rows.
    """
    impurities = impurity(patterns.positives, patterns.negatives, layout.num_positives, layout.num_negatives, screen)
    eligible = speaks_for(patterns.positives, patterns.negatives, layout, side, is_directed=pools == "directed")
    eligible &= items.may_be(patterns.items, side)
    # rounding keeps patterns with equal counts together whatever the last bit of their impurity
    keys = (
        *patterns.items.T[::-1],
        patterns.length,
        patterns.negatives,
        patterns.positives,
        np.round(impurities, 12),
    )
    order = np.lexsort(keys)
    order = order[eligible[order]]
    if required is not None and len(required):
        must = _required_pool(required, items, item_bits, layout, screen)
        same = {row.tobytes() for row in must.bits}
        is_new = [row.tobytes() not in same for row in patterns.pack(item_bits, order)]
        free = _screened(patterns, order[np.array(is_new, dtype=bool)], impurities, items, item_bits, max_patterns)
        return must if free is None else _joined(must, free)
    return _screened(patterns, order, impurities, items, item_bits, max_patterns) or empty_pool(layout.num_words)


def _screened(
    patterns: MinedPatterns,
    order: IntArray,
    impurities: FloatArray,
    items: Items,
    item_bits: WordArray,
    max_patterns: int,
) -> Pool | None:
    """Make a pool of the first patterns in order, one of each coverage; None where there is none."""
    if not len(order):
        return None
    chosen, aliases, bits = _merge_equal(patterns, order, item_bits, max_patterns)

    def literals(index: int) -> tuple[Literal, ...]:
        return tuple(items.literals[i] for i in patterns.items[index] if i >= 0)

    return Pool(
        tuple(literals(i) for i in chosen),
        tuple(tuple(literals(i) for i in group) for group in aliases),
        patterns.positives[chosen],
        patterns.negatives[chosen],
        impurities[chosen],
        np.stack(bits),
        (patterns.per_literal(items.choices, 1.0)[chosen] > 1).sum(axis=1),
    )


def _required_pool(required: IntArray, items: Items, item_bits: WordArray, layout: BitLayout, screen: str) -> Pool:
    """Make a pool of rules that must be in."""
    bits = pack(required, item_bits)
    positives, negatives = layout.counts(bits)
    return Pool(
        tuple(tuple(items.literals[i] for i in rule if i >= 0) for rule in required),
        ((),) * len(required),
        positives,
        negatives,
        impurity(positives, negatives, layout.num_positives, layout.num_negatives, screen),
        bits,
        (np.append(items.choices, 1.0)[required] > 1).sum(axis=1),
        len(required),
    )


def _joined(first: Pool, second: Pool) -> Pool:
    """Put one pool before another."""
    arrays = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("positives", "negatives", "impurity", "bits", "num_cuts")
    }
    patterns, aliases = first.patterns + second.patterns, first.aliases + second.aliases
    return Pool(patterns, aliases, **arrays, num_required=first.num_required)
