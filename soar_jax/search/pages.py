"""All patterns of a catalogue on the device, page by page, and the best of them for given pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import jax
import numpy as np

from soar_jax._base import FloatArray, IntArray, WordArray, in_float64
from soar_jax._threads import result_of
from soar_jax.candidates.catalogue import Catalogue
from soar_jax.candidates.patterns import pack
from soar_jax.score.pricing import PAGE_SLOTS, QUERIES_AT_ONCE, Query, price_page, stack_queries
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import Problem

MAX_KEPT_BYTES = 700_000_000
"""Pages kept on the device; those beyond are made again for every pass."""


class Priced(NamedTuple):
    """The best patterns for one query.

    Attributes
    ----------
    patterns : (num_found, longest) int64
        Literal indices, padded with -1.
    values : (num_found,) float64
        Log joint after adding each, or an upper bound; highest first.
    """

    patterns: IntArray
    values: FloatArray


class Page(NamedTuple):
    """One page: packed patterns, word-major, and 1 + kind of each."""

    bits: jax.Array
    kind: jax.Array


def make_page(bits: WordArray, kind: IntArray, num_words: int) -> Page:
    """Lay up to `PAGE_SLOTS` packed patterns out, word-major, and put them on the device."""
    words = np.zeros((num_words, PAGE_SLOTS), dtype=np.uint64)
    words[: bits.shape[1], : len(bits)] = bits.T
    kinds = np.zeros(PAGE_SLOTS, dtype=np.int32)
    kinds[: len(kind)] = kind
    return Page(*jax.device_put((words, kinds)))


class Pages:
    """A catalogue's patterns, ready to be priced."""

    def __init__(self, catalogue: Catalogue, hyper: Hyperparameters, problem: Problem) -> None:
        self._catalogue, self._hyper, self._problem = catalogue, hyper, problem
        self._num_words = int(problem.bits.shape[1])
        self._parts = [
            (side, listed[start : start + PAGE_SLOTS])
            for side, listed in enumerate(catalogue.listed)
            for start in range(0, len(listed), PAGE_SLOTS)
        ]
        self._num_kept = MAX_KEPT_BYTES // (8 * self._num_words * PAGE_SLOTS)
        self._kept: dict[int, Page] = {}

    @property
    def num_patterns(self) -> tuple[int, int]:
        """Patterns listed for each side."""
        positive, negative = (len(listed) for listed in self._catalogue.listed)
        return positive, negative

    def _page(self, index: int) -> Page:
        if index in self._kept:
            return self._kept[index]
        side, part = self._parts[index]
        patterns = self._catalogue.mined.items[part]
        kind = 1 + self._hyper.kinds_of(side, (patterns >= 0).sum(axis=1), self._catalogue.num_cuts(patterns))
        page = make_page(pack(patterns, self._catalogue.item_bits), kind, self._num_words)
        if index < self._num_kept:
            self._kept[index] = page
        return page

    @in_float64
    def _price(
        self, index: int, queries: Sequence[Query], choose: Callable[[FloatArray], IntArray], *, best_case: bool
    ) -> list[tuple[IntArray, FloatArray]]:
        """Choose from one page for each query: mined patterns, and values."""
        page, part = self._page(index), self._parts[index][1]
        found = []
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            some = queries[start : start + QUERIES_AT_ONCE]
            stacked = jax.device_put(stack_queries(some, self._num_words))
            values = np.asarray(price_page(self._problem, page.bits, page.kind, stacked, best_case=best_case))
            for of_query in values[: len(some), : len(part)]:
                chosen = choose(of_query)
                found.append((part[chosen], of_query[chosen]))
        return found

    def _look(
        self,
        queries: Sequence[Query],
        choose: Callable[[FloatArray], IntArray],
        executor: Executor,
        *,
        best_case: bool = False,
    ) -> list[Priced]:
        """Go through all pages of each query's side, several at a time."""
        by_side = [[i for i, query in enumerate(queries) if int(query.side) == side] for side in (0, 1)]
        work = [
            (asked, executor.submit(self._price, index, [queries[i] for i in asked], choose, best_case=best_case))
            for index, (side, _) in enumerate(self._parts)
            if (asked := by_side[side])
        ]
        found: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in queries]
        for asked, result in work:
            parts = result_of(result)
            for i, part in zip(asked, parts, strict=True):
                found[i].append(part)
        return [self._join(parts) for parts in found]

    def compile(self, query: Query, *, best_case: bool) -> None:
        """Price one page, so that the program is there."""
        self._price(0, [query], lambda values: np.arange(1), best_case=best_case)

    def best(
        self, queries: Sequence[Query], count: int, executor: Executor, *, best_case: bool = False
    ) -> list[Priced]:
        """Find the ``count`` best patterns of all for each query, by value or by what their children could be worth."""

        def choose(values: FloatArray) -> IntArray:
            return np.argpartition(-values, count - 1)[:count] if len(values) > count else np.arange(len(values))

        found = self._look(queries, choose, executor, best_case=best_case)
        return [Priced(priced.patterns[:count], priced.values[:count]) for priced in found]

    def above(self, queries: Sequence[Query], value: float, executor: Executor) -> list[Priced]:
        """Find all patterns that could be worth more than ``value``."""
        return self._look(queries, lambda values: np.flatnonzero(values > value), executor)

    def _join(self, parts: list[tuple[IntArray, FloatArray]]) -> Priced:
        if not parts:
            return Priced(np.zeros((0, self._catalogue.mined.items.shape[1]), np.int64), np.zeros(0))
        chosen, values = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        order = np.lexsort((chosen, -values))
        order = order[np.isfinite(values[order])]
        return Priced(self._catalogue.mined.items[chosen[order]], values[order])
