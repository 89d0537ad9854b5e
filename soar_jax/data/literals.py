"""Literals: one condition on one column. Each kind of condition is one class, listed in `KINDS`.

A kind says when it is offered for a column and what it is true of, how it holds on raw values, and how it reads.
In JSON a literal is the triple (column, op, value), whatever its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, Plain
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER, Column, ColumnValues, level_text
from soar_jax.data.moments import microseconds_of, moment_text
from soar_jax.data.spelling import bound_level_as_text, format_value, level_as_text, moment_as_text, name_text, suggest


class LiteralOptions(NamedTuple):
    """Which kinds beside the usual ones are offered."""

    negations: bool
    missing: bool


class Offer(NamedTuple):
    """A literal that a column offers: its place among the column's literals, its value, its truth on the cells."""

    rank: tuple[int, int]
    value: Plain | None
    truth: BoolArray


class Kind(ABC):
    """A kind of literal."""

    op: ClassVar[str]
    is_lower_bound: ClassVar[bool] = False
    is_upper_bound: ClassVar[bool] = False

    @property
    def is_bound(self) -> bool:
        """Whether it compares with a cut point."""
        return self.is_lower_bound or self.is_upper_bound

    @abstractmethod
    def offer(self, column: Column, options: LiteralOptions) -> Iterator[Offer]:
        """Yield the literals of this kind that a column gives rise to."""

    @abstractmethod
    def holds(self, values: ColumnValues, value: Any) -> BoolArray:
        """Evaluate on raw values; unseen, odd or missing values give False."""

    @abstractmethod
    def meaning(self, value: Any) -> Hashable:
        """Give what two values share if and only if they say the same."""

    @abstractmethod
    def text(self, column: str, value: Any) -> str:
        """Say the condition as a reader would, and so that `soar_jax.data.parse` reads it back."""


class Equal(Kind):
    """``column = level``."""

    op = "=="

    def offer(self, column: Column, options: LiteralOptions) -> Iterator[Offer]:
        """One literal per level."""
        cells = np.arange(column.num_cells)
        for i, level in _levels_and_cells(column):
            yield Offer((0, i), level, cells == i)

    def holds(self, values: ColumnValues, value: Any) -> BoolArray:
        """Levels agree by name; see `level_text`."""
        return values.level_codes((value,)) == 0

    def meaning(self, value: Any) -> Hashable:
        """Levels agree by name."""
        return level_text(value)

    def text(self, column: str, value: Any) -> str:
        """Print with one equals sign."""
        return f"{name_text(column)} = {level_as_text(value)}"


def _levels_and_cells(column: Column) -> Iterator[tuple[int, Plain]]:
    """Cell of each level that gets a literal of its own, and the level."""
    if column.kind != CATEGORY:
        return
    cells = {level_text(level): i for i, level in enumerate(column.cell_levels)}
    for level in column.levels:
        yield cells[level_text(level)], level


class NotEqual(Kind):
    """``column is not level``."""

    op = "!="

    def offer(self, column: Column, options: LiteralOptions) -> Iterator[Offer]:
        """One literal per level, on request; of two levels in all, "is not a" says no more than "= b"."""
        if not options.negations or column.kind != CATEGORY or not (len(column.levels) > 2 or column.has_other):  # noqa: PLR2004
            return
        cells = np.arange(column.num_cells)
        present = cells != column.missing_cell
        for i, level in _levels_and_cells(column):
            yield Offer((1, i), level, present & (cells != i))

    def holds(self, values: ColumnValues, value: Any) -> BoolArray:
        """Hold for every other level, not for a missing value."""
        return values.level_codes((value,)) == 1

    def meaning(self, value: Any) -> Hashable:
        """Levels agree by name."""
        return level_text(value)

    def text(self, column: str, value: Any) -> str:
        """Print in words."""
        return f"{name_text(column)} is not {level_as_text(value)}"


class _Bound(Kind):
    """A cut point of a number or date, or one of the levels of an ordered category.

    Dates are written as ISO 8601 text. A literal on ordered levels has their order; see `Literal`.
    """

    _place: ClassVar[int]

    @abstractmethod
    def _compare(self, numbers: np.ndarray, bound: float) -> BoolArray: ...

    def offer(self, column: Column, options: LiteralOptions) -> Iterator[Offer]:
        """One literal per cut point; both kinds of bound of a cut stand side by side."""
        cells = np.arange(column.num_cells)
        if column.order is not None:
            is_level = cells < len(column.order)
            for place in map(int, column.cuts):
                # after the equalities, of which there is one per cell
                rank = len(column.order) + 2 * place + self._place
                yield Offer((0, rank), column.order[place], is_level & self._compare(cells, place))
            return
        present = cells != column.missing_cell
        for i, cut in enumerate(column.cuts):
            value: Plain = moment_text(cut) if column.kind == DATETIME else cut
            # cell j holds the values in (cuts[j - 1], cuts[j]]
            yield Offer((0, 2 * i + self._place), value, present & self._compare(cells, i))

    def holds(self, values: ColumnValues, value: Any) -> BoolArray:
        """Compare as numbers, or as moments where the cut is text."""
        is_moment = isinstance(value, str)
        try:
            bound = microseconds_of(value) if is_moment else float(value)
        except ValueError:
            raise InputError(
                f"Column {values.series.name!r} is compared with {value!r}, which is neither a number nor a date; a "
                "level can be compared with where the order of the levels is known, as in an ordered category."
            ) from None
        with np.errstate(invalid="ignore"):
            return self._compare(values.ordered(DATETIME if is_moment else NUMBER), bound)

    def holds_in(self, order: Sequence[Plain], values: ColumnValues, value: Any) -> BoolArray:
        """Compare places in an order; a level that is not in it, or no value, gives False."""
        with np.errstate(invalid="ignore"):
            return self._compare(values.ranks(order), place_in_order(order, value))

    def members(self, order: Sequence[Plain], value: Any) -> tuple[Plain, ...]:
        """Levels for which the comparison holds, the lowest first."""
        holds = self._compare(np.arange(len(order)), place_in_order(order, value))
        return tuple(level for level, is_member in zip(order, holds, strict=True) if is_member)

    def meaning(self, value: Any) -> Hashable:
        """Numbers and moments are compared as such, however they are written; what is neither is itself."""
        if isinstance(value, Real):
            return float(value)
        if not isinstance(value, str):
            return value
        try:
            return ("moment", microseconds_of(value))
        except ValueError:
            return value

    def text(self, column: str, value: Any) -> str:
        """Print the comparison."""
        return f"{name_text(column)} {self.op} {cut_text(value)}"


class AtMost(_Bound):
    """``column <= cut``."""

    op = "<="
    is_upper_bound = True
    _place = 0

    def _compare(self, numbers: np.ndarray, bound: float) -> BoolArray:
        return numbers <= bound


class Above(_Bound):
    """``column > cut``."""

    op = ">"
    is_lower_bound = True
    _place = 1

    def _compare(self, numbers: np.ndarray, bound: float) -> BoolArray:
        return numbers > bound


class Missing(Kind):
    """``column is missing``."""

    op = "missing"

    def offer(self, column: Column, options: LiteralOptions) -> Iterator[Offer]:
        """One literal per column, on request."""
        if options.missing:
            yield Offer((2, 0), None, np.arange(column.num_cells) == column.missing_cell)

    def holds(self, values: ColumnValues, value: Any) -> BoolArray:
        """Hold for missing values only."""
        return values.is_missing

    def meaning(self, value: Any) -> Hashable:
        """There is only one."""
        return None

    def text(self, column: str, value: Any) -> str:
        """Print in words."""
        return f"{name_text(column)} is missing"


KINDS: dict[str, Kind] = {kind.op: kind for kind in (Equal(), NotEqual(), AtMost(), Above(), Missing())}
OPERATORS = tuple(KINDS)


@dataclass(frozen=True)
class Literal:
    """One condition on one column.

    Two literals are equal when they say the same: levels 2, 2.0 and "2" agree, and so do 30 and 30.0 as cut points.

    Attributes
    ----------
    column : str
    op : str
        One of ``==``, ``!=``, ``<=``, ``>``, ``missing``.
    value : str, int, float, bool or None
        A level, or a cut point (for datetimes an ISO 8601 text); None for ``missing``.
    order : tuple, optional
        Where ``<=`` or ``>`` compares levels of an ordered category: all of them, the lowest first. A rule compares by
        this order whatever the type of a table says. It is no part of what two literals must share to be equal.
    """

    column: str
    op: str
    value: Plain | None = None
    order: tuple[Plain, ...] | None = None

    @property
    def kind(self) -> Kind:
        """What the operator means."""
        return KINDS[self.op]

    @property
    def _meaning(self) -> tuple[str, str, Hashable]:
        if self.order is not None:
            return self.column, self.op, level_text(self.value)
        return self.column, self.op, self.kind.meaning(self.value)

    def __eq__(self, other: object) -> bool:
        """Say whether two literals say the same."""
        return self._meaning == other._meaning if isinstance(other, Literal) else NotImplemented

    def __hash__(self) -> int:
        """Hash what the literal says."""
        return hash(self._meaning)

    def __str__(self) -> str:
        """Say the condition as a reader would."""
        if self.order is not None:
            return f"{name_text(self.column)} {self.op} {self.bound_text}"
        return self.kind.text(self.column, self.value)

    @property
    def bound_text(self) -> str:
        """Spell what ``<=`` and ``>`` compare with."""
        return cut_text(self.value) if self.order is None else bound_level_as_text(self.value)

    @property
    def members(self) -> tuple[Plain, ...]:
        """Levels for which a comparison of ordered levels holds: what it says without an order."""
        assert isinstance(self.kind, _Bound) and self.order is not None
        return self.kind.members(self.order, self.value)

    def in_order(self, order: Sequence[Plain] | None) -> Literal:
        """Compare by an order of the column's levels, if it has one and the literal compares."""
        if not self.kind.is_bound or order is None:
            return self
        if self.value is None:
            raise InputError(f"{self.column!r} {self.op} needs a level of that column to compare with.")
        order = tuple(order)
        return replace(self, value=order[place_in_order(order, self.value, self.column)], order=order)

    def holds(self, values: pd.Series | ColumnValues) -> BoolArray:
        """Evaluate on raw values of the column; unseen, odd or missing values give False."""
        values = values if isinstance(values, ColumnValues) else ColumnValues(values)
        if isinstance(self.kind, _Bound):
            order = self.order if self.order is not None else self._order_of_type(values)
            if order is not None:
                return self.kind.holds_in(order, values, self.value)
        return self.kind.holds(values, self.value)

    def _order_of_type(self, values: ColumnValues) -> tuple[Plain, ...] | None:
        """Take the order of the column itself where the literal has none and compares with one of its levels."""
        order = values.order
        return order if order is not None and level_text(self.value) in map(level_text, order) else None


def offers(column: Column, options: LiteralOptions) -> list[tuple[Literal, BoolArray]]:
    """List all literals of one column with their truth on its cells."""
    found = [(offer, kind.op) for kind in KINDS.values() for offer in kind.offer(column, options)]
    found.sort(key=lambda pair: pair[0].rank)
    return [(Literal(column.name, op, offer.value).in_order(column.order), offer.truth) for offer, op in found]


def place_in_order(order: Sequence[Plain], value: Any, column: str = "") -> int:
    """Find a level in an order, by name."""
    wanted = level_text(value)
    for place, level in enumerate(order):
        if level_text(level) == wanted:
            return place
    where = f" of {column!r}" if column else ""
    raise InputError(f"{value!r} is no level{where}, whose levels have an order. {suggest(wanted, map(str, order))}")


def cut_text(value: Plain | None) -> str:
    """Spell a cut point: a number, or a moment in ISO 8601."""
    return moment_as_text(value) if isinstance(value, str) else format_value(None if value is None else float(value))
