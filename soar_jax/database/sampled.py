"""Candidates of a table whose rows fall into too many groups: mined on a sample, counted on all rows.

Columns, levels, cut points and frequent literals come from all rows. Patterns are mined on a sample. Each of its rows
stands for as many rows of its class as were passed over. Then the engine counts all rows by the literals that the
screened patterns use, so that every pair of them has its exact counts, and with them its exact score. Where even those
groups are too many, fewer patterns are kept, best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from soar_jax._base import IntArray
from soar_jax.candidates.build import CandidateOptions, Candidates, build_from, recount
from soar_jax.candidates.constraints import Constraints
from soar_jax.candidates.sources import Keep, RowSource
from soar_jax.data.columns import Column
from soar_jax.data.items import Items
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.database.source import TableSource, TooManyGroups

SAMPLE_ROWS = 100_000
"""Rows of each class that a sample has at most, nearly."""


def build_table_candidates(
    source: TableSource, options: CandidateOptions, constraints: Constraints, *, single: bool, seed: int
) -> Candidates:
    """Make candidates of all rows as they are grouped or, where there are too many groups, by way of a sample."""
    try:
        return build_from(source, options, constraints, single=single)[0]
    except TooManyGroups:
        sample = _Sample(source, seed)
    made, items = build_from(sample, replace(options, search="annealing"), constraints, single=single)
    assert isinstance(made.source, tuple)
    size = max(len(pool) - pool.num_required for pool in made.source)
    refused: set[Literal] = set()
    while True:
        positive, negative = (pool.first(size) for pool in made.source)
        used = {literal for pool in (positive, negative) for pattern in pool.patterns for literal in pattern}
        mine = items.select(np.array([literal in used for literal in items.literals]))
        try:
            if used == refused:  # fewer patterns of the same literals make the same groups
                raise TooManyGroups(f"The candidates split the rows into more than {source.max_groups:,} groups.")
            rows = source.group(made.columns, mine)
            break
        except TooManyGroups:
            if size <= 1:
                raise
            refused, size = used, size // 2
    kept = replace(made, source=(positive, negative), num_sampled=sample.num_rows)
    return recount(kept, mine, rows, options, chose_cuts=True)


class _Sample(RowSource):
    """All that a table's source says of columns, but grouped rows of a sample."""

    def __init__(self, source: TableSource, seed: int) -> None:
        self.names, self.num_positives, self.num_negatives = source.names, source.num_positives, source.num_negatives
        self.num_rows = 0
        self._source, self._seed = source, seed

    def check(self, names: Sequence[str]) -> None:
        """Check all rows."""
        self._source.check(names)

    def describe(self, name: str, keep: Keep, max_bins: int, method: str) -> Column:
        """Describe a column of all rows."""
        return self._source.describe(name, keep, max_bins, method)

    def count_cells(self, columns: Sequence[Column]) -> list[tuple[IntArray, IntArray]]:
        """Count all rows."""
        return self._source.count_cells(columns)

    def group(self, columns: Sequence[Column], items: Items) -> GroupedRows:
        """Group the sample."""
        source = self._source
        sizes = source.num_positives // source.factors[0], source.num_negatives // source.factors[1]
        every = -(-sizes[0] // SAMPLE_ROWS), -(-sizes[1] // SAMPLE_ROWS)
        rows, codes = source.sample(every, self._seed), source.codes(columns, items)
        found = source.grouped(columns, codes, "group a sample of the rows", rows=rows, times=every)
        self.num_rows = sum(
            int(part.sum()) // (step * factor)
            for part, step, factor in zip((found.positives, found.negatives), every, source.factors, strict=True)
        )
        return found
