"""All mined patterns that may become rules, one of each coverage and kind, with pools made from any of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout, hash_rows
from soar_jax.candidates.patterns import MinedPatterns, pack
from soar_jax.candidates.pools import Pool, empty_pool, impurity, speaks_for
from soar_jax.data.items import Items
from soar_jax.data.literals import Literal

NO_PATTERNS: IntArray = np.zeros((0, 1), dtype=np.int64)
_CHUNK_WORDS = 1 << 14
_MOST_ORDERED = 100_000


@dataclass(frozen=True)
class Catalogue:
    """Everything that was mined from a table, ready to be looked up.

    Two patterns with the same coverage are alternatives: only one of them can help. Their price may differ with their
    kind (number of literals, cuts among them), so one of each coverage and kind is listed; the rest are aliases.

    Attributes
    ----------
    items : Items
    item_bits : (num_items, num_words) uint64
        Packed literals.
    layout : BitLayout
    mined : MinedPatterns
        All of them, aliases too.
    coverage : (num_mined,) uint64
        A hash of each pattern's coverage: equal for equal coverage, and with 64 bits hardly ever else.
    listed : (2,) tuple of (num_patterns,) int64
        Which of the mined may stand for each side: one of each coverage and kind.
    num_patterns : int
        Patterns that may stand for a side, aliases too, added up over both sides.
    screen : str
        Impurity by which first pools are filled and pools are ordered.
    is_directed : bool
        Whether a side's patterns must speak for its class more than the base rate does.
    is_screened : bool
        Whether these are the candidates that a screen left, not all that was mined.
    required : (2,) tuple of (num_required, longest) int64
        Rules of each side that must be in: literal indices, padded with -1. They are not among the mined.
    """

    items: Items
    item_bits: WordArray
    layout: BitLayout
    mined: MinedPatterns
    coverage: WordArray
    listed: tuple[IntArray, IntArray]
    num_patterns: int
    screen: str
    is_directed: bool
    is_screened: bool = False
    required: tuple[IntArray, IntArray] = (NO_PATTERNS, NO_PATTERNS)

    @cached_property
    def _by_coverage(self) -> tuple[IntArray, WordArray]:
        order = np.argsort(self.coverage, kind="stable")
        return order, self.coverage[order]

    def num_cuts(self, patterns: IntArray) -> IntArray:
        """Literals of each pattern (rows of literal indices, padded with -1) whose cut the labels placed."""
        return (np.append(self.items.choices, 1.0)[patterns] > 1).sum(axis=1)

    def aliases(self, pattern: IntArray, bits: WordArray, side: int | None = None) -> list[tuple[Literal, ...]]:
        """List the other mined patterns, that may stand for a side, which cover the same rows, shortest first."""
        order, ranked = self._by_coverage
        value = hash_rows(bits[None])[0]
        same = order[np.searchsorted(ranked, value, "left") : np.searchsorted(ranked, value, "right")]
        if side is not None:
            same = same[self.items.may_be(self.mined.items[same], side)]
        own = tuple(sorted(int(i) for i in pattern if i >= 0))
        found = (tuple(int(i) for i in self.mined.items[j] if i >= 0) for j in np.sort(same))
        return [self.literals(other) for other in found if other != own]

    def literals(self, pattern: tuple[int, ...] | IntArray) -> tuple[Literal, ...]:
        """Read a pattern's literals."""
        return tuple(self.items.literals[i] for i in pattern if i >= 0)

    def _impurity(self, positives: IntArray, negatives: IntArray) -> FloatArray:
        return impurity(positives, negatives, self.layout.num_positives, self.layout.num_negatives, self.screen)

    def first(self, side: int, size: int) -> IntArray:
        """Choose patterns to begin with: rows of literal indices, low impurity first, every literal in its turn."""
        listed, mined = self.listed[side], self.mined
        impurities = self._impurity(mined.positives[listed], mined.negatives[listed])
        if len(listed) > _MOST_ORDERED:
            best = np.sort(np.argpartition(impurities, _MOST_ORDERED)[:_MOST_ORDERED])
            listed, impurities = listed[best], impurities[best]
        return mined.items[listed[diverse_order(mined.items[listed], impurities)[:size]]]

    def may_stand_for(self, side: int, bits: WordArray) -> BoolArray:
        """Say which packed patterns may be rules of a side."""
        positives, negatives = self.layout.counts(bits)
        return speaks_for(positives, negatives, self.layout, side, is_directed=self.is_directed)

    def pool(self, patterns: IntArray, bits: WordArray, side: int | None = None) -> Pool:
        """Make a pool of some patterns (rows of literal indices, padded with -1), best impurity first.

        For a ``side``, the rules that must be in come before all others.
        """
        if not len(patterns):
            return empty_pool(self.layout.num_words)
        positives, negatives = self.layout.counts(bits)
        impurities = self._impurity(positives, negatives)
        lengths = (patterns >= 0).sum(axis=1)
        is_free = np.ones(len(patterns), dtype=bool)
        for wanted in () if side is None else self.required[side]:
            is_free &= [self.literals(pattern) != self.literals(wanted) for pattern in patterns]
        order = np.lexsort((*patterns.T[::-1], lengths, negatives, positives, np.round(impurities, 12), is_free))
        patterns, bits = patterns[order], np.ascontiguousarray(bits[order])
        return Pool(
            tuple(self.literals(pattern) for pattern in patterns),
            tuple(tuple(self.aliases(pattern, row, side)) for pattern, row in zip(patterns, bits, strict=True)),
            positives[order],
            negatives[order],
            impurities[order],
            bits,
            self.num_cuts(patterns),
            int((~is_free).sum()),
        )


def hash_coverage(patterns: IntArray, item_bits: WordArray) -> WordArray:
    """Hash the coverage of each pattern, a part at a time."""
    step = max(1, _CHUNK_WORDS // max(1, item_bits.shape[1]))
    parts = [hash_rows(pack(patterns[i : i + step], item_bits)) for i in range(0, len(patterns), step)]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def diverse_order(patterns: IntArray, impurities: FloatArray) -> IntArray:
    """Order patterns so that every literal gets its turn: by the best rank among those that share a literal.

    The best patterns by impurity alone are near-copies of a few.
    """
    order = np.lexsort((*patterns.T[::-1], np.round(impurities, 12)))
    ranked = patterns[order]
    best_rank = np.full(len(ranked), len(ranked))
    flat_items, flat_rows = ranked.ravel(), np.repeat(np.arange(len(ranked)), ranked.shape[1])
    is_item = flat_items >= 0
    flat_items, flat_rows = flat_items[is_item], flat_rows[is_item]
    by_item = np.argsort(flat_items, kind="stable")  # within a literal the order by impurity stays
    sorted_items = flat_items[by_item]
    starts = np.flatnonzero(np.diff(sorted_items, prepend=-1))
    rank = np.arange(len(sorted_items)) - np.repeat(starts, np.diff(np.append(starts, len(sorted_items))))
    np.minimum.at(best_rank, flat_rows[by_item], rank)
    return order[np.argsort(best_rank, kind="stable")]


def build_catalogue(
    mined: MinedPatterns,
    items: Items,
    item_bits: WordArray,
    layout: BitLayout,
    *,
    pools: str,
    screen: str,
    single: bool,
    required: tuple[IntArray, IntArray] = (NO_PATTERNS, NO_PATTERNS),
) -> Catalogue:
    """List what was mined, for each side.

    Parameters
    ----------
    pools : {"directed", "shared"}
        Whether a side's patterns must speak for its class more than the base rate does.
    single : bool
        One-class method: nothing for the negative side.
    required : (2,) tuple of (num_required, longest) int64
        See `Catalogue`.
    """
    coverage = hash_coverage(mined.items, item_bits)
    kind = mined.length * mined.items.shape[1] + (mined.per_literal(items.choices, 1.0) > 1).sum(axis=1)
    # mined patterns come shortest first and in order, so that the first of its kind stands for the others
    key = coverage ^ (kind.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    is_directed = pools == "directed"
    may = [
        free_patterns(mined.items, items, required[side], side)
        & speaks_for(mined.positives, mined.negatives, layout, side, is_directed=is_directed)
        for side in (0, 1)
    ]
    if single:
        may[1][:] = False
    positive, negative = (_first_of_each(key, mask) for mask in may)
    return Catalogue(
        items,
        item_bits,
        layout,
        mined,
        coverage,
        (positive, negative),
        int(sum(mask.sum() for mask in may)),
        screen,
        is_directed,
        required=required,
    )


def free_patterns(patterns: IntArray, items: Items, required: IntArray, side: int) -> BoolArray:
    """Say which patterns the search may make rules of a side: allowed ones that are not in anyway."""
    may = items.may_be(patterns, side)
    for pattern in required:
        wanted = np.sort(pattern[pattern >= 0])
        if len(wanted) <= patterns.shape[1]:
            padded = np.pad(wanted, (0, patterns.shape[1] - len(wanted)), constant_values=-1)
            may &= (patterns != padded).any(axis=1)
    return may


def _first_of_each(key: WordArray, may: BoolArray) -> IntArray:
    """Places of those that may stand, the first of each key."""
    places = np.flatnonzero(may)
    return places[np.sort(np.unique(key[places], return_index=True)[1])]


def catalogue_of_pools(
    pools: tuple[Pool, Pool], items: Items, item_bits: WordArray, layout: BitLayout, screen: str
) -> Catalogue:
    """List the candidates of two pools as if they were all that was mined."""
    place = {literal: i for i, literal in enumerate(items.literals)}

    def numbered(patterns: Iterable[tuple[Literal, ...]]) -> IntArray:
        return pad_patterns([[place[literal] for literal in pattern] for pattern in patterns])

    free = [pool.patterns[pool.num_required :] for pool in pools]
    patterns = numbered([*free[0], *free[1]])
    positives, negatives = (
        np.concatenate([getattr(pool, name)[pool.num_required :] for pool in pools])
        for name in ("positives", "negatives")
    )
    return Catalogue(
        items,
        item_bits,
        layout,
        MinedPatterns(patterns, positives, negatives),
        hash_coverage(patterns, item_bits),
        (np.arange(len(free[0])), np.arange(len(free[0]), len(patterns))),
        len(patterns),
        screen,
        False,
        is_screened=True,
        required=(
            numbered(pools[0].patterns[: pools[0].num_required]),
            numbered(pools[1].patterns[: pools[1].num_required]),
        ),
    )


def pad_patterns(rows: Sequence[Sequence[int]]) -> IntArray:
    """Put literal indices of patterns in rows, padded with -1."""
    longest = max((len(row) for row in rows), default=1)
    return np.array([[*row, *[-1] * (longest - len(row))] for row in rows], dtype=np.int64).reshape(-1, longest)
