"""What the rules can tell apart in a column: its cells, and for each rule the cells that suit it.

A cell stands for all values of a column on which the same literals of the rules hold: a bin between two cut points, a
level, or any other level. What "any value" of a column means follows from its literals. A column with cut points holds
any number (or moment) and the levels that rules name. A column with levels only holds those and any other one, except
that True and False have no third. A column of ordered levels holds all of these, in their order, and any other one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, Plain
from soar_jax.data.columns import level_text
from soar_jax.data.literals import Literal
from soar_jax.data.moments import microseconds_of
from soar_jax.rules import Rule

NUMBER, MOMENT, LEVEL, OTHER = "number", "moment", "level", "other"
KEPT = 1
"""Among the bits of a column's cells, the one that stands for the value a row has, whatever it is."""
_DAY = 86_400_000_000.0
_LATEST = microseconds_of("9999-12-31")
_OTHER_TEXT = "any other"


@dataclass(frozen=True)
class Cell:
    """Values of a column that no literal tells apart.

    Attributes
    ----------
    kind : str
        ``"number"`` or ``"moment"``: a bin; ``"level"``; ``"other"``: whatever is no level of the rules.
    value : str, int, float or bool
        One such value; a moment in microseconds since 1970.
    low, high : float
        A bin holds low < x <= high.
    """

    kind: str
    value: Plain
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class ColumnCells:
    """The cells of one column, and on which of them its literals hold.

    Attributes
    ----------
    column : str
    literals : tuple of Literal
        The different literals that the rules have on the column.
    cells : tuple of Cell
        Bins in ascending order, then levels, then any other.
    """

    column: str
    literals: tuple[Literal, ...]
    cells: tuple[Cell, ...]

    @property
    def order(self) -> tuple[Plain, ...] | None:
        """Levels of an ordered category that rules compare, the lowest first: its first cells."""
        return next((z.order for z in self.literals if z.order is not None), None)

    @property
    def full(self) -> int:
        """All cells, one bit each; bit 0 is `KEPT`."""
        return ((1 << len(self.cells)) - 1) << 1

    @cached_property
    def truth(self) -> dict[Literal, int]:
        """Cells on which each literal holds, as bits: asked of the literal itself, on one value per cell."""
        values = [c.value for c in self.cells]
        parts: list[BoolArray] = []
        for kinds in ((NUMBER,), (MOMENT,), (LEVEL, OTHER)):
            mine = [v for v, c in zip(values, self.cells, strict=True) if c.kind in kinds]
            if mine:
                series = _series(mine, kinds[0])
                parts.append(np.stack([literal.holds(series) for literal in self.literals]))
        table = np.concatenate(parts, axis=1) if parts else np.zeros((len(self.literals), 0), dtype=bool)
        return {z: bits_of(row) for z, row in zip(self.literals, table, strict=True)}

    def suits(self, literals: Sequence[Literal]) -> int:
        """Cells on which all these literals hold, as bits."""
        suited = self.full
        for literal in literals:
            suited &= self.truth[literal]
        return suited

    def members(self, bits: int) -> list[Cell]:
        """Cells whose bit is set."""
        return [cell for i, cell in enumerate(self.cells) if bits >> (i + 1) & 1]


def bits_of(flags: BoolArray) -> int:
    """Set the bit of each cell whose flag is set."""
    return sum(2 << int(i) for i in np.flatnonzero(flags))


def cells_of(rules: Sequence[Rule]) -> dict[str, ColumnCells]:
    """Find the cells of every column that rules read."""
    by_column: dict[str, dict[Literal, None]] = {}
    for rule in rules:
        for literal in rule.conditions:
            by_column.setdefault(literal.column, {})[literal] = None
    return {name: ColumnCells(name, tuple(mine), _cells(tuple(mine))) for name, mine in by_column.items()}


def parts_of(rule: Rule) -> dict[str, tuple[Literal, ...]]:
    """Literals of a rule by column."""
    return {name: tuple(z for z in rule.conditions if z.column == name) for name in rule.columns}


def _cells(literals: tuple[Literal, ...]) -> tuple[Cell, ...]:
    order = next((z.order for z in literals if z.order is not None), ())
    levels: dict[str, Plain] = {level_text(level): level for level in order}
    for literal in literals:
        if literal.op in ("==", "!=") and literal.value is not None:
            levels.setdefault(level_text(literal.value), literal.value)
    bounds = [z.value for z in literals if z.kind.is_bound and z.value is not None and z.order is None]
    cuts = sorted({float(v) for v in bounds if not isinstance(v, str) and not math.isnan(v)})
    moments = sorted({microseconds_of(v) for v in bounds if isinstance(v, str)})
    found = _bins(NUMBER, cuts, 1.0, math.inf, set(levels))
    found += _bins(MOMENT, moments, _DAY, _LATEST, set())
    found += [Cell(LEVEL, value) for value in levels.values()]
    is_closed = bool(levels) and not order and all(isinstance(value, bool) for value in levels.values())
    if is_closed and len(levels) == 1:
        found.append(Cell(LEVEL, not next(iter(levels.values()))))
    if not bounds and not is_closed:
        found.append(Cell(OTHER, other_than(set(levels))))
    return tuple(found)


def other_than(levels: set[str]) -> str:
    """Make a level whose name is none of these."""
    text = _OTHER_TEXT
    while text in levels:
        text += "*"
    return text


def _bins(kind: str, cuts: list[float], step: float, top: float, names: set[str]) -> list[Cell]:
    """Bins between cut points, each with a value in it that is none of the named levels."""
    found = []
    edges = [-math.inf, *cuts, math.inf]
    for low, high in pairwise(edges) if cuts else ():
        if high < math.inf or low == math.inf:
            tries = [high, (low + high) / 2, math.nextafter(high, -math.inf), high - step]
        else:
            tries = [min(low + step, top), low + 2.5 * step, math.nextafter(low, math.inf)]
        inside = [x for x in tries if (low < x or x == high == -math.inf) and x <= high]
        fitting = [x for x in inside if level_text(x) not in names]
        if fitting:
            found.append(Cell(kind, fitting[0], low, high))
    return found


def _series(values: list[Plain], kind: str) -> pd.Series:
    if kind == MOMENT:
        return pd.Series(np.array([int(v) for v in values], dtype="datetime64[us]"))
    return pd.Series(values, dtype=np.float64 if kind == NUMBER else object)
