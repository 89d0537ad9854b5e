"""What the user rules out or demands, as it acts on columns and literals.

Whatever is ruled out never becomes a literal, a pattern or a candidate: nothing searched or sampled can have it.
Levels and cut points that only a required rule uses are read for that rule alone: no other rule is offered them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from soar_jax._base import BoolArray, InputError, IntArray, Plain
from soar_jax.candidates.catalogue import pad_patterns
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER, Column, ColumnValues, level_text
from soar_jax.data.items import Items, build_items
from soar_jax.data.literals import Literal, place_in_order
from soar_jax.data.moments import microseconds_of
from soar_jax.rules import Rule


@dataclass(frozen=True)
class Direction:
    """Which way a column may speak: for the positive class with high values only, or with low ones only.

    Attributes
    ----------
    is_up : bool
    values : pair, optional
        The lower and the upper value of a column of two numbers or ordered levels, whose literals are levels.
    """

    is_up: bool
    values: tuple[Plain, Plain] | None = None

    def allows(self, literal: Literal, side: int) -> bool:
        """Say whether a literal of the column may stand in rules of a side."""
        wants_high = self.is_up == (side == 0)
        if self.values is not None and literal.op == "==":
            return level_text(literal.value) == level_text(self.values[wants_high])
        return literal.kind.is_lower_bound if wants_high else literal.kind.is_upper_bound


@dataclass(frozen=True)
class Constraints:
    """What may not be, and what must be.

    Attributes
    ----------
    columns_out : frozenset of str
        Columns that no rule may read.
    apart : tuple of (str, str)
        Columns that may not stand in one rule.
    literals_out : frozenset of Literal
    required : (2,) tuple of tuple of Rule
        Rules of each side that must be in.
    directions : mapping from column to Direction
    max_rules : (int, int), optional
        Rules of each side at most, required ones included.
    max_columns : int, optional
        Columns that the rules of a pair may read at most.
    chosen : tuple of str, optional
        The columns that were chosen because of that.
    """

    columns_out: frozenset[str] = frozenset()
    apart: tuple[tuple[str, str], ...] = ()
    literals_out: frozenset[Literal] = frozenset()
    required: tuple[tuple[Rule, ...], tuple[Rule, ...]] = ((), ())
    directions: Mapping[str, Direction] = field(default_factory=dict)
    max_rules: tuple[int, int] | None = None
    max_columns: int | None = None
    chosen: tuple[str, ...] | None = None

    @property
    def has_any(self) -> bool:
        """Whether there is any constraint."""
        return self != Constraints()

    def required_literals(self) -> dict[Literal, None]:
        """All literals of required rules, each once, in order."""
        return dict.fromkeys(literal for rules in self.required for rule in rules for literal in rule.conditions)

    def limit_to(self, columns: Sequence[str], all_columns: Iterable[str]) -> Constraints:
        """Rule all columns out but the chosen ones."""
        out = self.columns_out | (set(all_columns) - set(columns))
        return replace(self, columns_out=out, chosen=tuple(columns))


NO_CONSTRAINTS = Constraints()


def cut_of(literal: Literal, kind: str) -> float:
    """Read a literal's cut point as the numbers of a column of that kind, or as a place among ordered levels."""
    if literal.order is not None:
        return float(place_in_order(literal.order, literal.value))
    if isinstance(literal.value, str):
        return microseconds_of(literal.value)
    assert kind == NUMBER and literal.value is not None
    return float(literal.value)


def check_kind(literal: Literal, kind: str, why: str) -> None:
    """Raise where a literal says nothing that cells of a column of that kind can tell."""
    example = {CATEGORY: "= or is not", NUMBER: "a number after <= or >", DATETIME: "a date after <= or >"}[kind]
    is_level = not literal.kind.is_bound or literal.order is not None
    wants = CATEGORY if is_level else DATETIME if isinstance(literal.value, str) else NUMBER
    if literal.op != "missing" and wants != kind:
        named = {CATEGORY: "a category", NUMBER: "a number", DATETIME: "a date"}[kind]
        raise InputError(f"{why} {str(literal)!r}, but column {literal.column!r} is {named} here; use {example}.")


def extend_column(column: Column, literals: Iterable[Literal]) -> Column:
    """Let the cells of a column tell apart what some literals ask for."""
    mine = [literal for literal in literals if literal.column == column.name and literal.op != "missing"]
    if not mine:
        return column
    for literal in mine:
        check_kind(literal, column.kind, "require has")
    if column.kind != CATEGORY:
        cuts = sorted({*column.cuts, *(cut_of(literal, column.kind) for literal in mine)})
        return replace(column, cuts=tuple(cuts))
    levels = {level_text(level): level for level in column.levels}
    order = next((literal.order for literal in mine if literal.order is not None), column.order)
    if order is not None:
        asked = {level_text(z.value) for z in mine if not z.kind.is_bound}
        places = {*column.cuts, *(cut_of(z, column.kind) for z in mine if z.kind.is_bound)}
        # in the order, of which every level is a cell
        named = tuple(level for level in order if level_text(level) in levels.keys() | asked)
        return replace(column, levels=named, cuts=tuple(sorted(places)), order=order)
    for literal in mine:
        assert literal.value is not None
        levels.setdefault(level_text(literal.value), literal.value)
    return replace(column, levels=tuple(levels.values()))


def truth_of(literal: Literal, column: Column) -> BoolArray:
    """Truth of a literal on the cells of its column, which tell it apart."""
    cells, missing = np.arange(column.num_cells), column.missing_cell
    if literal.op == "missing":
        return np.asarray(cells == missing)
    if literal.kind.is_bound:
        cut = cut_of(literal, column.kind)
        if column.order is not None:
            is_known = cells < len(column.order)
            return np.asarray((cells > cut if literal.kind.is_lower_bound else cells <= cut) & is_known)
        cell = column.cuts.index(cut)
        return np.asarray((cells > cell if literal.kind.is_lower_bound else cells <= cell) & (cells != missing))
    is_level = cells == [level_text(level) for level in column.cell_levels].index(level_text(literal.value))
    return np.asarray(is_level if literal.op == "==" else ~is_level & (cells != missing))


def never_holds(rule: Rule, columns: Mapping[str, Column]) -> bool:
    """Say whether the literals of a rule exclude each other on some column."""
    for name in rule.columns:
        truths = [truth_of(literal, columns[name]) for literal in rule.conditions if literal.column == name]
        if not np.logical_and.reduce(truths).any():
            return True
    return False


def two_values(values: ColumnValues) -> tuple[Plain, Plain] | None:
    """Lower and upper value of a column of at most two numbers, truth values or ordered levels; None for any other."""
    if values.order is not None:
        places = np.unique(values.level_codes(values.order))
        seen = [values.order[i] for i in places if i < len(values.order)]
        return (seen[0], seen[-1]) if 0 < len(seen) <= 2 else None  # noqa: PLR2004
    levels = values.levels[1]
    if not levels or not all(isinstance(level, int | float | np.number | np.bool_) for level in levels):
        return None
    numbers = sorted({float(level) for level in levels})
    return (numbers[0], numbers[-1]) if len(numbers) <= 2 else None  # noqa: PLR2004


def constrain_items(items: Items, columns: Sequence[Column], base: Sequence[Column], given: Constraints) -> Items:
    """Say which literals the search may use, for which side, and which columns are kept apart.

    Parameters
    ----------
    columns : sequence of Column
        With what required rules ask for.
    base : sequence of Column
        Without it: all that the search is offered.
    """
    place = {column.name: i for i, column in enumerate(columns)}
    offered = {literal for column in base for literal in _all_of(column)}
    sides = np.ones((2, len(items.literals)), dtype=bool)
    for i, literal in enumerate(items.literals):
        sides[:, i] = literal in offered and literal not in given.literals_out
        if literal.column in given.directions:
            sides[:, i] &= [given.directions[literal.column].allows(literal, side) for side in (0, 1)]
    apart = tuple((place[one], place[other]) for one, other in given.apart if one in place and other in place)
    return replace(items, sides=sides, apart=apart)


def _all_of(column: Column) -> Iterable[Literal]:
    return build_items([column], negations=True, missing=True).literals


def add_required(items: Items, columns: Sequence[Column], given: Constraints) -> Items:
    """Append the literals of required rules that the search is not offered."""
    place = {column.name: i for i, column in enumerate(columns)}
    known = set(items.literals)
    new = [literal for literal in given.required_literals() if literal not in known]
    if not new:
        return items
    column = np.array([place[literal.column] for literal in new], dtype=np.int64)
    sides = np.ones((2, len(items.literals)), dtype=bool) if items.sides is None else items.sides
    return Items(
        (*items.literals, *new),
        np.concatenate([items.column, column]),
        (*items.truth, *(truth_of(literal, columns[i]) for literal, i in zip(new, column, strict=True))),
        np.concatenate([items.choices, np.ones(len(new))]),
        np.concatenate([sides, np.zeros((2, len(new)), dtype=bool)], axis=1),
        items.apart,
    )


def number_rules(rules: Sequence[Rule], items: Items) -> IntArray:
    """Literal indices of rules, padded with -1; literals in the order of the columns."""
    place = {literal: i for i, literal in enumerate(items.literals)}
    rows = [sorted({place[literal] for literal in rule.conditions}) for rule in rules]
    return pad_patterns([sorted(row, key=lambda i: (int(items.column[i]), i)) for row in rows])
