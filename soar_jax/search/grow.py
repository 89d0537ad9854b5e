"""Conjunctions longer than mining reaches, grown literal by literal against given pairs.

A beam: the most promising patterns of one length, by what they are worth as they stand and by what they could be worth
if further literals excluded every row of the wrong label, are extended by every literal. What it finds is priced like
any other pattern, with a prior that counts all conjunctions of its length; what it misses is not certified.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray, in_float64
from soar_jax.candidates.catalogue import Catalogue
from soar_jax.candidates.patterns import pack
from soar_jax.score.pricing import PAGE_SLOTS, Query, price_page, stack_queries
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import Problem
from soar_jax.search.pages import Priced, make_page

_MOST_TABULATED = 4096
"""Literals at most for a table of which may stand together; beyond, it is asked for parents only."""
MAX_PAGES = 2
"""Pages of children per length."""


class Grower:
    """Grows conjunctions for one side of several pairs at once; they share what they find."""

    def __init__(self, catalogue: Catalogue, hyper: Hyperparameters, problem: Problem) -> None:
        self._catalogue, self._hyper, self._problem = catalogue, hyper, problem
        few = len(catalogue.item_bits) <= _MOST_TABULATED
        self._compatible: BoolArray | None = catalogue.items.compatible() if few else None
        self.longest = hyper.kind.shape[1] - 1

    def grow(self, queries: Sequence[Query], parents: IntArray, count: int) -> Priced:
        """Find the best grown conjunctions for up to `QUERIES_AT_ONCE` queries of one side.

        Parameters
        ----------
        queries : sequence of Query
        parents : (num_parents, length) int64
            Mined patterns to begin with, most promising first.
        count : int
            How many to give back per query and length.
        """
        side = int(queries[0].side)
        found: list[IntArray] = []
        values: list[FloatArray] = []
        mined_length = self._catalogue.mined.items.shape[1]
        beam = max(4, MAX_PAGES * PAGE_SLOTS // max(1, len(self._catalogue.item_bits)))
        parents = parents[(parents >= 0).sum(axis=1) == mined_length][:beam, :mined_length]
        for _ in range(mined_length, self.longest):
            children = self._extend(parents, side)
            if not len(children):
                break
            worth, promise = self._price(side, queries, children)
            best = _leaders(worth, count)
            best = best[np.isfinite(worth[:, best].max(axis=0))]  # a side may have no prior for rules so long
            best = best[self._catalogue.may_stand_for(side, pack(children[best], self._catalogue.item_bits))]
            found.append(np.pad(children[best], ((0, 0), (0, self.longest - children.shape[1])), constant_values=-1))
            values.append(worth[:, best].max(axis=0))
            each = max(1, beam // (2 * len(queries)))
            parents = children[np.union1d(_leaders(worth, each), _leaders(promise, each))]
        if not found:
            return Priced(np.zeros((0, self.longest), np.int64), np.zeros(0))
        patterns, value = np.concatenate(found), np.concatenate(values)
        order = np.argsort(-value, kind="stable")
        return Priced(patterns[order], value[order])

    def _extend(self, parents: IntArray, side: int) -> IntArray:
        """Add every literal of a side that may stand beside those of a parent; each conjunction once, in order."""
        if not len(parents):
            return np.zeros((0, parents.shape[1] + 1), np.int64)
        items = self._catalogue.items
        if self._compatible is not None:
            allowed = self._compatible[parents].all(axis=1) & items.may_stand_for(side)
        else:
            fits = [items.compatible_with(literals) for literals in parents.T]
            allowed = np.logical_and.reduce(fits) & items.may_stand_for(side)
        parent, item = np.nonzero(allowed)
        children = np.sort(np.concatenate([parents[parent], item[:, None]], axis=1), axis=1)
        _, first = np.unique(children, axis=0, return_index=True)
        return children[np.sort(first)[: MAX_PAGES * PAGE_SLOTS]]

    @in_float64
    def _price(self, side: int, queries: Sequence[Query], patterns: IntArray) -> tuple[FloatArray, FloatArray]:
        """Price conjunctions as they are, and as they could become: (num_queries, num_patterns) each."""
        num_words = int(self._problem.bits.shape[1])
        stacked = jax.device_put(stack_queries(queries, num_words))
        parts: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        for start in range(0, len(patterns), PAGE_SLOTS):
            some = patterns[start : start + PAGE_SLOTS]
            kind = 1 + self._hyper.kinds_of(side, (some >= 0).sum(axis=1), self._catalogue.num_cuts(some))
            page = make_page(pack(some, self._catalogue.item_bits), kind, num_words)
            for best_case, part in zip((False, True), parts, strict=True):
                prices = price_page(self._problem, page.bits, page.kind, stacked, best_case=best_case)
                part.append(np.asarray(prices)[: len(queries), : len(some)])
        return np.concatenate(parts[0], axis=1), np.concatenate(parts[1], axis=1)


def _leaders(values: FloatArray, count: int) -> IntArray:
    """Places of the best few of each line, each place once."""
    count = min(count, values.shape[1])
    return np.unique(np.argpartition(-values, count - 1, axis=1)[:, :count])
