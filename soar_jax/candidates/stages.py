"""The stages between literals and what a search sees: which literals count, mining, listing or screening."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soar_jax._base import BoolArray, InputError, IntArray
from soar_jax.candidates.catalogue import Catalogue, build_catalogue
from soar_jax.candidates.coverage import BitLayout
from soar_jax.candidates.patterns import MinedPatterns, Threshold, mine_fpgrowth, mine_packed
from soar_jax.candidates.pools import Pool, build_pool, empty_pool
from soar_jax.candidates.wide import has_too_many_pairs, mine_best_pairs
from soar_jax.data.items import Items
from soar_jax.data.table import GroupedRows

if TYPE_CHECKING:
    from soar_jax.candidates.build import CandidateOptions

DEFAULT_LENGTH = 3


def mine(
    items: Items,
    masks: BoolArray,
    item_bits: np.ndarray,
    rows: GroupedRows,
    layout: BitLayout,
    threshold: Threshold,
    options: CandidateOptions,
) -> MinedPatterns:
    """Find all frequent patterns of the literals."""
    max_length = DEFAULT_LENGTH if options.max_length is None else options.max_length
    stop_early = options.max_length is None
    if options.miner == "packed" and stop_early and has_too_many_pairs(items, item_bits, layout, threshold):
        return mine_best_pairs(items, item_bits, layout, threshold, options.screen)
    compatible = items.compatible()
    if options.miner == "packed":
        return mine_packed(item_bits, compatible, layout, threshold, max_length, stop_early=stop_early)
    return mine_fpgrowth(masks, rows.positives, rows.negatives, item_bits, compatible, layout, threshold, max_length)


def keep_informative(items: Items, counts: Sequence[tuple[IntArray, IntArray]], threshold: Threshold) -> Items:
    """Drop literals that are true of every row or of too few, and those that the search may not use; perhaps all.

    ``counts`` has positives and negatives of each cell, for each column.
    """
    if items.sides is not None:
        allowed = np.asarray(items.sides.any(axis=0))
        if len(allowed) and not allowed.any():
            raise InputError("The constraints forbid every literal of the table; forbid less.")
        items = items.select(allowed)
    by_class = np.array(
        [[part[truth].sum() for part in counts[c]] for c, truth in zip(items.column, items.truth, strict=True)]
    )
    positives, negatives = by_class.reshape(-1, 2).astype(np.int64).T
    num_rows = sum(int(part.sum()) for part in counts[0]) if len(counts) else 0
    if threshold.total > num_rows > 0:
        raise InputError(f"The table has {num_rows} rows, fewer than a rule must cover; lower min_support.")
    return items.select((positives + negatives < num_rows) & threshold.reached(positives, negatives))


def make_source(
    patterns: MinedPatterns,
    items: Items,
    item_bits: np.ndarray,
    layout: BitLayout,
    options: CandidateOptions,
    required: tuple[IntArray, IntArray],
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
            required=required[side],
        )

    source: Catalogue | tuple[Pool, Pool]
    if options.search == "full":
        source = build_catalogue(
            patterns,
            items,
            item_bits,
            layout,
            pools=options.pools,
            screen=options.screen,
            single=single,
            required=required,
        )
        sizes = [len(listed) for listed in source.listed]
    else:
        source = pool(0), (empty_pool(layout.num_words) if single else pool(1))
        sizes = [len(found) - found.num_required for found in source]
    allowed = "" if items.sides is None else "that the constraints allow "
    for side, (name, size) in enumerate(zip(("positive", "negative"), sizes, strict=True)):
        if not size and not (single and name == "negative"):
            stays = "has the required rules only" if len(required[side]) else "stays empty"
            warnings.warn(
                f"No pattern {allowed}speaks for the {name} class more than the base rate does; its rule set {stays}.",
                stacklevel=2,
            )
    return source
