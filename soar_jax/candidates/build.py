"""From a table to the two candidate pools: columns, literals, patterns, screening in one call."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray, check_choice, check_whole
from soar_jax.candidates.catalogue import Catalogue, build_catalogue, catalogue_of_pools
from soar_jax.candidates.coverage import BitLayout, lay_out
from soar_jax.candidates.patterns import MinedPatterns, Threshold, mine_fpgrowth, mine_packed
from soar_jax.candidates.pools import POOLS, SCREENS, Pool, build_pool, empty_pool
from soar_jax.candidates.searched import Searched, count_searched, with_grown
from soar_jax.data.columns import Column, TableValues
from soar_jax.data.items import Items, build_items
from soar_jax.data.table import GroupedRows, describe_column, group_rows

MINERS = ("packed", "fpgrowth")
CUTS = ("supervised", "quantile")
DEFAULT_LENGTH = 3
GROWN_LENGTH = 6
SEARCHES = ("full", "annealing")
_SMALLEST_CLASS_COUNT = 5


@dataclass(frozen=True)
class CandidateOptions:
    """How candidates are made; the fields are the estimators' parameters of the same names."""

    max_length: int | None
    min_support: float | int
    min_class_support: float | int | None
    max_patterns: int
    screen: str
    pools: str
    miner: str
    max_bins: int
    cuts: str
    negations: bool
    missing_literals: bool
    search: str
    grow_to: int | None

    def validate(self) -> None:
        """Check every value once."""
        if self.max_length is not None:
            check_whole("max_length", self.max_length, 1)
        if self.grow_to is not None:
            check_whole("grow_to", self.grow_to, 0)
        check_whole("max_patterns", self.max_patterns, 1)
        check_whole("max_bins", self.max_bins, 2)
        for name, value in (("min_support", self.min_support), ("min_class_support", self.min_class_support)):
            if name == "min_class_support" and value is None:
                continue
            _check_support(name, value)
        for name, choices in (("screen", SCREENS), ("pools", POOLS), ("miner", MINERS), ("cuts", CUTS)):
            check_choice(name, getattr(self, name), choices)
        check_choice("search", self.search, SEARCHES)

    @property
    def grown_length(self) -> int:
        """Most literals of grown conjunctions; a given ``max_length`` alone is a limit for all rules."""
        if self.grow_to is not None:
            return int(self.grow_to)
        return GROWN_LENGTH if self.max_length is None else 0


def _check_support(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not value > 0 or (isinstance(value, float | np.floating) and value > 1):
        raise InputError(
            f"{name} must be a fraction in (0, 1] or a whole number of rows, got {value!r}; "
            "give 0.05 for five per cent, 5 for five rows."
        )


def _smallest_count(value: float | int, num_rows: int) -> int:
    # 0.05 * 1200 is a hair above 60 in floating point; a row must not be lost to that
    return math.ceil(value * num_rows - 1e-9) if isinstance(value, float | np.floating) else int(value)


def resolve_threshold(options: CandidateOptions, num_positives: int, num_negatives: int) -> Threshold:
    """Turn fractions into row counts.

    A fraction within a class is kept at five rows or more, so that a class of 20 rows does not make
    every accident a candidate.
    """
    total = max(1, _smallest_count(options.min_support, num_positives + num_negatives))
    by_class = options.min_support if options.min_class_support is None else options.min_class_support
    floor = min(_SMALLEST_CLASS_COUNT, total) if isinstance(by_class, float | np.floating) else 1
    return Threshold(
        total,
        max(floor, _smallest_count(by_class, num_positives)),
        max(floor, _smallest_count(by_class, num_negatives)),
    )


@dataclass
class Candidates:
    """Everything a search needs to know of the training table.

    Attributes
    ----------
    columns : list of Column
    layout : BitLayout
        Where each distinct row's bits lie.
    source : Catalogue or (Pool, Pool)
        All mined patterns, or the candidates of the positive and the negative rule set that a screen left.
    searched : Searched
        All that could become a rule, by length and cuts.
    seconds : dict
        Time spent in each stage.
    """

    columns: list[Column]
    layout: BitLayout
    source: Catalogue | tuple[Pool, Pool]
    searched: Searched
    seconds: dict[str, float] = field(default_factory=dict)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def _check_content(frame: pd.DataFrame) -> None:
    if frame.isna().all(axis=None):
        raise InputError("Every value of the table is missing; there is nothing to learn from.")


def build_candidates(
    frame: pd.DataFrame, y: BoolArray, weights: IntArray, options: CandidateOptions, *, single: bool
) -> Candidates:
    """Run every stage from raw columns to the patterns that may become rules.

    Parameters
    ----------
    frame : DataFrame
        Training table with text column names.
    y : (num_rows,) bool
        True for the positive class.
    weights : (num_rows,) int64
    single : bool
        Leave the negative pool empty (one-class method).
    """
    return _build(frame, y, weights, options, single=single)[0]


def build_honest_candidates(
    frame: pd.DataFrame,
    y: BoolArray,
    weights: IntArray,
    is_for_scoring: BoolArray,
    options: CandidateOptions,
    *,
    single: bool,
) -> Candidates:
    """Cut, mine and screen on some rows, and count the candidates on the others.

    The rows that score the rules then had no say in which patterns are candidates: all that was searched, as far as
    they are concerned, is the pools.
    """
    other = ~is_for_scoring
    screened = replace(options, search="annealing")
    made, items = _build(frame.loc[other], y[other], weights[other], screened, single=single)
    table = TableValues(frame.loc[is_for_scoring])
    rows = group_rows(table, made.columns, y[is_for_scoring], weights[is_for_scoring])
    layout = lay_out(rows)
    place = {literal: i for i, literal in enumerate(items.literals)}
    item_bits = layout.pack(items.masks(rows))
    assert isinstance(made.source, tuple)
    positive, negative = made.source
    pools = positive.recount(layout, item_bits, place), negative.recount(layout, item_bits, place)
    lengths = np.concatenate([pool.length for pool in pools])
    no_cuts = np.zeros(len(lengths), dtype=np.int64)
    searched = count_searched(lengths, no_cuts, np.ones(len(lengths)), made.searched.longest)
    if options.search == "annealing":
        return Candidates(made.columns, layout, pools, searched, made.seconds)
    free = replace(items, choices=np.ones(len(items.choices)))  # the labels of these rows placed no cut
    catalogue = catalogue_of_pools(pools, free, item_bits, layout, options.screen)
    return Candidates(made.columns, layout, catalogue, searched, made.seconds)


def _build(
    frame: pd.DataFrame, y: BoolArray, weights: IntArray, options: CandidateOptions, *, single: bool
) -> tuple[Candidates, Items]:
    options.validate()
    _check_content(frame)
    seconds: dict[str, float] = {}
    num_positives, num_negatives = int(weights[y].sum()), int(weights[~y].sum())
    threshold = resolve_threshold(options, num_positives, num_negatives)
    with _timed(seconds, "items"):
        table = TableValues(frame)
        columns = [
            describe_column(table[name], y, weights, threshold.reached, options.max_bins, options.cuts)
            for name in frame.columns
        ]
        items = build_items(columns, negations=options.negations, missing=options.missing_literals)
        rows = group_rows(table, columns, y, weights)
        layout = lay_out(rows)
        masks = items.masks(rows)
        items, masks, item_bits = _drop_uninformative(
            items, masks, layout, threshold, has_other=any(column.has_other for column in columns)
        )
    with _timed(seconds, "mining"):
        patterns = _mine(items, masks, item_bits, rows, layout, threshold, options)
    with _timed(seconds, "screening"):
        source = _source(patterns, items, item_bits, layout, options, single=single)
        choices = patterns.per_literal(items.choices, 1.0)
        searched = count_searched(
            patterns.length, (choices > 1).sum(axis=1), choices.prod(axis=1), patterns.items.shape[1]
        )
        if isinstance(source, Catalogue):
            searched = with_grown(searched, items, options.grown_length)
    return Candidates(columns, layout, source, searched, seconds), items


def _mine(
    items: Items,
    masks: BoolArray,
    item_bits: np.ndarray,
    rows: GroupedRows,
    layout: BitLayout,
    threshold: Threshold,
    options: CandidateOptions,
) -> MinedPatterns:
    max_length = DEFAULT_LENGTH if options.max_length is None else options.max_length
    compatible = items.compatible()
    if options.miner == "packed":
        stop_early = options.max_length is None
        return mine_packed(item_bits, compatible, layout, threshold, max_length, stop_early=stop_early)
    return mine_fpgrowth(masks, rows.positives, rows.negatives, item_bits, compatible, layout, threshold, max_length)


def _drop_uninformative(
    items: Items, masks: BoolArray, layout: BitLayout, threshold: Threshold, *, has_other: bool = False
) -> tuple[Items, BoolArray, np.ndarray]:
    """Drop literals that are true of every row or of too few."""
    bits = layout.pack(masks)
    positives, negatives = layout.counts(bits)
    telling = positives + negatives < layout.num_rows
    if not telling.any() and not has_other:
        raise InputError("No column tells rows apart: every column is constant or missing.")
    frequent = threshold.reached(positives, negatives)
    if not (telling & frequent).any():
        raise InputError(
            f"No literal is true of {threshold.total} rows ({threshold.positives} positive or "
            f"{threshold.negatives} negative ones); lower min_support or min_class_support."
        )
    keep = telling & frequent
    return items.select(keep), masks[keep], bits[keep]


def _source(
    patterns: MinedPatterns,
    items: Items,
    item_bits: np.ndarray,
    layout: BitLayout,
    options: CandidateOptions,
    *,
    single: bool,
) -> Catalogue | tuple[Pool, Pool]:
    """List all mined patterns, or screen them."""

    def pool(side: int) -> Pool:
        return build_pool(
            patterns,
            items,
            item_bits,
            layout,
            side=side,
            screen=options.screen,
            pools=options.pools,
            max_patterns=int(options.max_patterns),
        )

    source: Catalogue | tuple[Pool, Pool]
    if options.search == "full":
        source = build_catalogue(
            patterns, items, item_bits, layout, pools=options.pools, screen=options.screen, single=single
        )
        sizes = [len(listed) for listed in source.listed]
    else:
        source = pool(0), (empty_pool(layout.num_words) if single else pool(1))
        sizes = [len(found) for found in source]
    for name, size in zip(("positive", "negative"), sizes, strict=True):
        if not size and not (single and name == "negative"):
            warnings.warn(
                f"No pattern speaks for the {name} class more than the base rate does; its rule set stays empty.",
                stacklevel=2,
            )
    return source
