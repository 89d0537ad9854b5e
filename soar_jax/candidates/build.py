"""From a table to the two candidate pools: columns, literals, patterns, screening in one call."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray, check_choice, check_whole
from soar_jax.candidates.catalogue import Catalogue, catalogue_of_pools
from soar_jax.candidates.constraints import (
    NO_CONSTRAINTS,
    Constraints,
    add_required,
    constrain_items,
    extend_column,
    number_rules,
)
from soar_jax.candidates.coverage import BitLayout, lay_out
from soar_jax.candidates.patterns import Threshold
from soar_jax.candidates.pools import POOLS, SCREENS, Pool
from soar_jax.candidates.searched import Searched, count_searched, count_sides
from soar_jax.candidates.sources import FrameSource, RowSource
from soar_jax.candidates.stages import keep_informative, make_source, mine
from soar_jax.data.columns import Column, TableValues
from soar_jax.data.items import Items, build_items
from soar_jax.data.table import GroupedRows, group_rows

MINERS = ("packed", "fpgrowth")
CUTS = ("supervised", "quantile")
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
    searched : Searched or (Searched, Searched)
        All that could become a rule, by length and cuts; for each side where constraints tell them apart.
    seconds : dict
        Time spent in each stage.
    num_mined : int
        All mined patterns.
    constraints : Constraints
    num_sampled : int
        Rows that were mined where these are a sample; 0 where all were.
    """

    columns: list[Column]
    layout: BitLayout
    source: Catalogue | tuple[Pool, Pool]
    searched: Searched | tuple[Searched, Searched]
    seconds: dict[str, float] = field(default_factory=dict)
    num_mined: int = 0
    constraints: Constraints = NO_CONSTRAINTS
    num_sampled: int = 0


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def build_candidates(
    frame: pd.DataFrame,
    y: BoolArray,
    weights: IntArray,
    options: CandidateOptions,
    *,
    single: bool,
    constraints: Constraints = NO_CONSTRAINTS,
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
    constraints : Constraints
        What may not be, and what must be; they name columns of the table.
    """
    return build_from(FrameSource(frame, y, weights), options, constraints, single=single)[0]


def build_honest_candidates(
    frame: pd.DataFrame,
    y: BoolArray,
    weights: IntArray,
    is_for_scoring: BoolArray,
    options: CandidateOptions,
    *,
    single: bool,
    constraints: Constraints = NO_CONSTRAINTS,
) -> Candidates:
    """Cut, mine and screen on some rows, and count the candidates on the others.

    The rows that score the rules then had no say in which patterns are candidates: all that was searched, as far as
    they are concerned, is the pools.
    """
    other = ~is_for_scoring
    screened = replace(options, search="annealing")
    source = FrameSource(frame.loc[other], y[other], weights[other])
    made, items = build_from(source, screened, constraints, single=single)
    table = TableValues(frame.loc[is_for_scoring])
    rows = group_rows(table, made.columns, y[is_for_scoring], weights[is_for_scoring])
    longest = (made.searched if isinstance(made.searched, Searched) else made.searched[0]).longest
    free = replace(items, choices=np.ones(len(items.choices)))  # the labels of these rows placed no cut
    counted = recount(made, free, rows, options)
    assert isinstance(made.source, tuple)
    lengths = np.concatenate([pool.length[pool.num_required :] for pool in made.source])
    no_cuts = np.zeros(len(lengths), dtype=np.int64)
    searched = count_searched(lengths, no_cuts, np.ones(len(lengths)), longest)
    return replace(counted, searched=searched, num_mined=searched.total)


def recount(
    made: Candidates, items: Items, rows: GroupedRows, options: CandidateOptions, *, chose_cuts: bool = False
) -> Candidates:
    """Count the candidates that a screen left on other rows than those they were mined on.

    Parameters
    ----------
    made : Candidates
        With two pools as its source.
    items : Items
        The literals that the pools are made of, with the choices that the other rows offered.
    rows : GroupedRows
        Of cells that tell the pools' literals apart.
    chose_cuts : bool
        Whether these rows had a say in where the cuts lie.
    """
    assert isinstance(made.source, tuple)
    layout = lay_out(rows)
    place = {literal: i for i, literal in enumerate(items.literals)}
    item_bits = layout.pack(items.masks(rows))
    positive, negative = (pool.recount(layout, item_bits, place, chose_cuts=chose_cuts) for pool in made.source)
    pools = positive, negative
    source: Catalogue | tuple[Pool, Pool] = pools
    if options.search != "annealing":
        source = catalogue_of_pools(pools, items, item_bits, layout, options.screen)
    return replace(made, layout=layout, source=source)


def build_from(
    source: RowSource, options: CandidateOptions, constraints: Constraints, *, single: bool
) -> tuple[Candidates, Items]:
    """Run every stage on a source of columns and grouped rows; also give the literals that patterns are made of."""
    options.validate()
    names = [name for name in source.names if name not in constraints.columns_out]
    source.check(names)
    seconds: dict[str, float] = {}
    threshold = resolve_threshold(options, source.num_positives, source.num_negatives)
    with _timed(seconds, "items"):
        columns = [source.describe(name, threshold.reached, options.max_bins, options.cuts) for name in names]
        base, columns = columns, [extend_column(column, constraints.required_literals()) for column in columns]
        items = build_items(columns, negations=options.negations, missing=options.missing_literals)
        if constraints.has_any:
            items = constrain_items(items, columns, base, constraints)
        counts = source.count_cells(columns)
        items = keep_informative(items, counts, threshold)
        rows = source.group(columns, add_required(items, columns, constraints))
        layout = lay_out(rows)
        masks = items.masks(rows)
        item_bits = layout.pack(masks)
    with _timed(seconds, "mining"):
        patterns = mine(items, masks, item_bits, rows, layout, threshold, options)
    with _timed(seconds, "screening"):
        if any(constraints.required):
            items = add_required(items, columns, constraints)
            item_bits = layout.pack(items.masks(rows))
        positive, negative = (number_rules(rules, items) for rules in constraints.required)
        found = make_source(patterns, items, item_bits, layout, options, (positive, negative), single=single)
        grow_to = options.grown_length if isinstance(found, Catalogue) else 0
        searched = count_sides(patterns, items, (positive, negative), grow_to)
    made = Candidates(columns, layout, found, searched, seconds, len(patterns.items), constraints)
    return made, items
