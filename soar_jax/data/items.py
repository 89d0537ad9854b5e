"""Columns become literals: the named yes/no questions that patterns are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.columns import Column
from soar_jax.data.literals import Literal, LiteralOptions, offers
from soar_jax.data.table import GroupedRows


@dataclass(frozen=True)
class Items:
    """All literals of a table, what they are true of, and which may stand together.

    Attributes
    ----------
    literals : tuple of Literal
    column : (num_items,) int64
        Position of each literal's column.
    truth : tuple of bool arrays
        For each literal, whether it holds in each cell of its column.
    choices : (num_items,) float64
        How many literals each one stands for: those of a cut that the labels placed elsewhere.
    sides : (2, num_items) bool, optional
        Which literals may stand in rules of each side that the search makes; all when not given.
    apart : tuple of (int, int)
        Positions of columns whose literals may not share a pattern.
    """

    literals: tuple[Literal, ...]
    column: IntArray
    truth: tuple[BoolArray, ...]
    choices: FloatArray
    sides: BoolArray | None = None
    apart: tuple[tuple[int, int], ...] = ()

    def masks(self, rows: GroupedRows) -> BoolArray:
        """Evaluate every literal on every distinct row: (num_items, num_distinct)."""
        out = np.empty((len(self.literals), len(rows.cells)), dtype=bool)
        for i, (column, truth) in enumerate(zip(self.column, self.truth, strict=True)):
            out[i] = truth[rows.cells[:, column]]
        return out

    def select(self, keep: BoolArray) -> Items:
        """Keep some of the literals."""
        chosen = np.flatnonzero(keep)
        literals, truth = tuple(self.literals[i] for i in chosen), tuple(self.truth[i] for i in chosen)
        sides = None if self.sides is None else self.sides[:, chosen]
        return Items(literals, self.column[chosen], truth, self.choices[chosen], sides, self.apart)

    def may_stand_for(self, side: int) -> BoolArray:
        """Which literals the search may use in rules of a side."""
        return np.ones(len(self.literals), dtype=bool) if self.sides is None else self.sides[side]

    def may_be(self, patterns: IntArray, side: int) -> BoolArray:
        """Which patterns (rows of literal indices, padded with -1) the search may make rules of a side."""
        return np.asarray(np.append(self.may_stand_for(side), True)[patterns].all(axis=1))

    @cached_property
    def intervals(self) -> dict[int, list[int]]:
        """For each bound, the bounds of the other kind of its column that leave a gap between them."""
        by_column: dict[int, tuple[list[int], list[int]]] = {}
        for i, literal in enumerate(self.literals):
            of_column = by_column.setdefault(int(self.column[i]), ([], []))
            if literal.kind.is_lower_bound:
                of_column[0].append(i)
            if literal.kind.is_upper_bound:
                of_column[1].append(i)
        found: dict[int, list[int]] = {}
        for lower, upper in by_column.values():
            if not (lower and upper):
                continue
            meet = np.array([self.truth[i] for i in lower]) @ np.array([self.truth[j] for j in upper]).T
            for place, other in np.argwhere(meet).tolist():
                found.setdefault(lower[place], []).append(upper[other])
                found.setdefault(upper[other], []).append(lower[place])
        return found

    def compatible(self) -> BoolArray:
        """Which two literals may share a pattern: see `compatible_with`."""
        return self.compatible_with(np.arange(len(self.literals)))

    def compatible_with(self, chosen: IntArray) -> BoolArray:
        """Which literals may share a pattern with each of some: (num_chosen, num_items).

        Literals of different columns may; of one column only a lower and an upper bound that leave a
        gap between them, which print as one interval. There must be a side that both may stand for, and the columns
        must not be kept apart.
        """
        column = self.column[chosen]
        allowed = column[:, None] != self.column[None, :]
        for row, i in enumerate(chosen):
            allowed[row, self.intervals.get(int(i), [])] = True
        for pair in self.apart:
            for one, other in (pair, pair[::-1]):
                allowed[np.ix_(column == one, self.column == other)] = False
        if self.sides is not None:
            # each literal has one side or both: literals that share a side two by two share one all together
            allowed &= (self.sides[:, chosen, None] & self.sides[:, None, :]).any(axis=0)
        return allowed


def build_items(columns: Sequence[Column], *, negations: bool, missing: bool) -> Items:
    """List the literals of each column with their truth on its cells."""
    options = LiteralOptions(negations, missing)
    found = [(index, *offer) for index, column in enumerate(columns) for offer in offers(column, options)]
    return Items(
        tuple(literal for _, literal, _ in found),
        np.array([index for index, _, _ in found], dtype=np.int64),
        tuple(truth for _, _, truth in found),
        np.array([columns[index].choices if literal.kind.is_bound else 1.0 for index, literal, _ in found]),
    )
