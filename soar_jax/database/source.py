"""A table in a database as a source of candidates: everything is counted by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import InputError, IntArray
from soar_jax.candidates.coverage import check_num_rows
from soar_jax.candidates.sources import Keep, RowSource
from soar_jax.data.columns import CATEGORY, DATETIME, Column, TableValues
from soar_jax.data.items import Items
from soar_jax.data.table import GroupedRows
from soar_jax.database.bins import Binner
from soar_jax.database.cells import Codes, coarse_codes, fine_codes, most_groups, packed_keys, unpack
from soar_jax.database.engine import Engine
from soar_jax.database.expressions import as_microseconds, as_number, kind_of_type
from soar_jax.database.profile import MOST_VALUES, Binned, Levels, Profile
from soar_jax.database.target import LabelCounts, label_rows

MOST_LEVELS = 10_000
"""Levels of a wide text column that are listed: all with a share of 1 / 5,000 or more of a class are among them."""


CLOSER_LOOKS = 2
"""How often the bins beside the cuts of a column are made finer."""
BLOCK_ROWS = 10_000_000
"""Rows in the blocks that a sample is taken from."""
LOOK_ROWS = 1_000_000
"""Rows by which the number of groups is estimated."""


class TooManyGroups(InputError):
    """The rows fall into more groups than can be searched here."""


class TableSource(RowSource):
    """A table whose columns are profiled and whose rows are grouped where they lie.

    Parameters
    ----------
    engine : Engine
        With the table.
    names : sequence of str
        Columns to learn from.
    target : str
    labels : LabelCounts
    positive_index : int
        Which of the labels is positive.
    weight : str, optional
        Column of whole row weights.
    factors : (2,) int64
        Further weight of negative and positive rows.
    max_groups : int
        Groups up to which rows are searched as they are.
    """

    def __init__(
        self,
        engine: Engine,
        names: Sequence[str],
        target: str,
        labels: LabelCounts,
        positive_index: int,
        weight: str | None,
        factors: tuple[int, int],
        max_groups: int,
    ) -> None:
        self.engine, self.names, self.max_groups = engine, list(names), max_groups
        self._kinds = {name: kind_of_type(name, engine.table[name].type()) for name in names}
        positive = labels.classes[positive_index]
        self._labelled = label_rows(engine.table, names, target, positive, weight)
        self.rows, self.factors = self._labelled.table, factors
        self._binners: dict[str, Binner] = {}
        self._described: dict[str, Column] = {}
        self._cells: dict[Column, tuple[IntArray, IntArray]] = {}
        self.num_positives = int(labels.weights[positive_index]) * factors[0]
        self.num_negatives = int(labels.weights[1 - positive_index]) * factors[1]
        check_num_rows(self.num_positives + self.num_negatives)

    # -- profiles -----------------------------------------------------------------------------

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """What the engine counted of each column."""
        asked = {f"n{i}": self.rows[name].approx_nunique() for i, name in enumerate(self.names)}
        sizes = self.engine.fetch("estimate the distinct values of all columns", self.rows.agg(**asked))
        return {name: self._profile(name, int(sizes[f"n{i}"][0])) for i, name in enumerate(self.names)}

    @property
    def values(self) -> TableValues:
        """Distinct values of each column in place of its rows."""
        return _Profiled(self.names, self.profiles)

    def _weighted(self, found: pd.DataFrame, times: tuple[int, int] = (1, 1)) -> tuple[IntArray, IntArray]:
        """Class counts of fetched lines, with the weight of the classes."""
        positives, negatives = (
            found[name].to_numpy().astype(np.int64) * factor * each
            for name, factor, each in zip(("positives", "negatives"), self.factors, times, strict=True)
        )
        return positives, negatives

    def _profile(self, name: str, size: int) -> Profile:
        kind = self._kinds[name]
        if size <= MOST_VALUES:
            return self._levels(name)
        return self._wide(name) if kind == CATEGORY else self._binned(name, kind)

    def _levels(self, name: str) -> Levels:
        """Count every distinct value; sorted, so that of two spellings of a level the same one always stands for it."""
        rows = self.rows
        found = self.engine.fetch(
            f"count the values of column {name!r}", rows.group_by(value=rows[name]).agg(**self._labelled.counted(rows))
        )
        found = found.sort_values("value", ignore_index=True)
        return Levels(found["value"].rename(name), *self._weighted(found))

    def _wide(self, name: str) -> Levels:
        """Count the most frequent levels of a column of very many."""
        import ibis

        rows = self.rows
        counted = rows.group_by(value=rows[name]).agg(**self._labelled.counted(rows))
        share = ibis.greatest(
            counted.positives.cast("float64") / max(self.num_positives, 1),
            counted.negatives.cast("float64") / max(self.num_negatives, 1),
        )
        found = self.engine.fetch(
            f"count the frequent values of column {name!r}",
            counted.mutate(share=share).order_by([ibis.desc("share"), "value"]).limit(MOST_LEVELS),
        )
        found = found.sort_values("value", ignore_index=True)
        positives, negatives = self._weighted(found)
        others = self.num_positives - int(positives.sum()), self.num_negatives - int(negatives.sum())
        return Levels(found["value"].rename(name), positives, negatives, others)

    def _binned(self, name: str, kind: str) -> Binned:
        """Count fine bins of a column of very many numbers or moments."""
        value = self.rows[name]
        x = as_microseconds(value) if kind == DATETIME else as_number(value)
        self._binners[name] = Binner(self.engine, self._labelled, x, name, self.factors)
        bins = self._binners[name].count()
        missing = self.num_positives - int(bins.positives.sum()), self.num_negatives - int(bins.negatives.sum())
        return Binned(name, kind, bins, missing)

    # -- what candidates ask for --------------------------------------------------------------

    def check(self, names: Sequence[str]) -> None:
        """Raise when every value is missing."""
        if not any(self.profiles[name].has_content for name in names):
            raise InputError("Every value of the table is missing; there is nothing to learn from.")

    def describe(self, name: str, keep: Keep, max_bins: int, method: str) -> Column:
        """Type one column from its profile, once; the bins beside its cuts are looked at more closely."""
        if name in self._described:
            return self._described[name]
        profile = self.profiles[name]
        column = profile.describe(keep, max_bins, method)
        for _ in range(CLOSER_LOOKS):
            if not isinstance(profile, Binned):
                break
            bins = self._binners[name].refine(profile.bins, profile.beside(column))
            profile = self.profiles[name] = replace(profile, bins=bins)
            column = profile.describe(keep, max_bins, method)
        self._described[name] = column
        return column

    def count_cells(self, columns: Sequence[Column]) -> list[tuple[IntArray, IntArray]]:
        """Count the profiles; the engine counts again where a cut goes through a bin."""
        for column in columns:
            if column not in self._cells:
                self._cells[column] = self.profiles[column.name].count_cells(column) or self._ask_cells(column)
        return [self._cells[column] for column in columns]

    def _ask_cells(self, column: Column) -> tuple[IntArray, IntArray]:
        rows = self.grouped([column], [fine_codes(0, column)], f"count the cells of column {column.name!r}")
        positives, negatives = np.zeros((2, column.num_cells), dtype=np.int64)
        positives[rows.cells[:, 0]], negatives[rows.cells[:, 0]] = rows.positives, rows.negatives
        return positives, negatives

    def codes(self, columns: Sequence[Column], items: Items) -> list[Codes]:
        """Give the cells that hold rows the codes that the literals ask for."""
        return coarse_codes([np.add(*counts) > 0 for counts in self.count_cells(columns)], items)

    def group(self, columns: Sequence[Column], items: Items) -> GroupedRows:
        """Group the rows by what the literals tell apart."""
        codes = self.codes(columns, items)
        expected = self._expect_groups(columns, codes)
        if expected <= self.max_groups:
            rows = self.grouped(columns, codes, "count the rows of each group", most=self.max_groups + 1)
            if len(rows.cells) <= self.max_groups:
                return rows
        raise TooManyGroups(
            f"The rows fall into more than {self.max_groups:,} groups, about {expected:,}; raise max_groups, use fewer "
            "columns or bins, or raise min_support."
        )

    def _expect_groups(self, columns: Sequence[Column], codes: Sequence[Codes]) -> int:
        """Say how many groups there will be, nearly; the engine is not asked where there cannot be many.

        Of a large table some blocks are grouped. With f1 groups met once and f2 met twice, Chao's estimator adds
        f1^2 / (2 f2): too few, where rare groups are many. Growth as a power of the rows, from a quarter of the blocks
        to all of them, gives too many, as growth slows down. Their geometric mean is taken.
        """
        num_rows = sum(self._sizes)
        most = min(most_groups(codes), float(num_rows))
        if most <= self.max_groups:
            return int(most)
        share = LOOK_ROWS / num_rows
        seen, looked, unseen = self._look(columns, codes, min(share, 1.0))
        if share < 1:
            before, fewer, _ = self._look(columns, codes, share / 4)
            slope = np.log(seen / max(before, 1)) / np.log(max(looked / max(fewer, 1), 2.0))
            grown = seen * (num_rows / max(looked, 1)) ** max(slope, 0.0)
            seen = int(min(most, np.sqrt((seen + unseen) * grown)))
        self.engine.tell(f"database: about {seen:,} groups to expect")
        return seen

    def _look(self, columns: Sequence[Column], codes: Sequence[Codes], share: float) -> tuple[int, int, float]:
        """Group a share of the blocks: groups, rows, and groups that were not met by Chao's estimator."""
        rows = self.rows if share >= 1 else self.rows.sample(share, method="block", seed=0)
        keys, _ = packed_keys(rows, columns, self.profiles, codes)
        each = rows.group_by(**{f"soar_key_{i}": key for i, key in enumerate(keys)}).agg(rows=rows.count())
        met = {name: each.count(where=each.rows == times) for name, times in (("once", 1), ("twice", 2))}
        asked = each.agg(groups=each.count(), looked=each.rows.sum().fill_null(0), **met)
        found = self.engine.fetch("estimate the number of groups", asked)
        groups, looked, once, twice = (int(found[name][0]) for name in ("groups", "looked", "once", "twice"))
        return groups, looked, once**2 / (2 * max(twice, 1))

    def grouped(
        self,
        columns: Sequence[Column],
        codes: Sequence[Codes],
        what: str,
        *,
        rows: Any = None,
        times: tuple[int, int] = (1, 1),
        most: int | None = None,
    ) -> GroupedRows:
        """Count rows by codes of cells.

        Parameters
        ----------
        what : str
            Name of the query.
        rows : ibis.Table, optional
            Some of the rows; all when not given.
        times : (int, int)
            How many rows each positive and negative row stands for.
        most : int, optional
            Groups to fetch at most.
        """
        rows = self.rows if rows is None else rows
        keys, behind = packed_keys(rows, columns, self.profiles, codes)
        names = [f"soar_key_{i}" for i in range(len(keys))]
        by = rows.group_by(**dict(zip(names, keys, strict=True))).agg(**self._labelled.counted(rows))
        found = self.engine.fetch(what, by if most is None else by.limit(most))
        numbers = found[names].to_numpy().astype(np.int64)
        order = np.lexsort(numbers.T[::-1])
        positives, negatives = self._weighted(found, times)
        cells = unpack(numbers[order], behind, len(columns))
        return GroupedRows(cells, positives[order], negatives[order])

    def sample(self, every: tuple[int, int], seed: int) -> Any:
        """Take one of so many positive and one of so many negative rows at random.

        Of a very large table blocks are taken first, many times more rows than are wanted, and rows of these.
        """
        share = max(BLOCK_ROWS / sum(self._sizes), 2 / min(every))
        rows = self.rows.sample(share, method="block", seed=seed) if share < 1 else self.rows
        label, parts = rows[self._labelled.label], []
        for mine, step in ((label, every[0]), (~label, every[1])):
            left = step * min(share, 1.0)  # one of so many of the rows in the blocks
            part = rows.filter(mine)
            parts.append(part if left <= 1 else part.sample(1 / left, method="row", seed=seed))
        return parts[0].union(parts[1])

    @property
    def _sizes(self) -> tuple[int, int]:
        """Positive and negative rows without the weight of the classes."""
        return self.num_positives // self.factors[0], self.num_negatives // self.factors[1]


class _Profiled(TableValues):
    """Columns known by their distinct values only."""

    def __init__(self, names: Sequence[str], profiles: dict[str, Profile]) -> None:
        super().__init__(pd.DataFrame(columns=list(names)))
        self._columns = {name: profile.values for name, profile in profiles.items()}
