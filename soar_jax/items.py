"""Columns become literals: the named yes/no questions that patterns are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from ._base import BoolArray, IntArray, Plain
from .cuts import EPOCH
from .table import CATEGORY, DATETIME, Column, GroupedRows, cells_of, numeric_values

EQUAL, NOT_EQUAL, AT_MOST, ABOVE, MISSING = "==", "!=", "<=", ">", "missing"
OPERATORS = (EQUAL, NOT_EQUAL, AT_MOST, ABOVE, MISSING)


@dataclass(frozen=True)
class Literal:
    """One condition on one column.

    Attributes
    ----------
    column : str
    op : str
        One of ``==``, ``!=``, ``<=``, ``>``, ``missing``.
    value : str, int, float, bool or None
        A level, or a cut point (for datetimes an ISO 8601 text); None for ``missing``.
    """

    column: str
    op: str
    value: Plain | None = None

    def __str__(self) -> str:
        """Say the condition as a reader would."""
        if self.op == MISSING:
            return f"{self.column} is missing"
        symbol = {EQUAL: "=", NOT_EQUAL: "is not", AT_MOST: "<=", ABOVE: ">"}[self.op]
        return f"{self.column} {symbol} {format_value(self.value)}"

    def holds(self, series: pd.Series) -> BoolArray:
        """Evaluate on raw values of the column; unseen, odd or missing values give False."""
        if self.op == MISSING:
            return np.asarray(series.isna().to_numpy(), dtype=bool)
        if self.op in (EQUAL, NOT_EQUAL):
            cells = cells_of(series, Column(self.column, CATEGORY, levels=(self.value,)))  # type: ignore[arg-type]
            return cells == (0 if self.op == EQUAL else 1)
        kind = DATETIME if isinstance(self.value, str) else "number"
        values = numeric_values(series, kind)
        bound = microseconds_of(self.value) if isinstance(self.value, str) else float(self.value)  # type: ignore[arg-type]
        with np.errstate(invalid="ignore"):
            return values <= bound if self.op == AT_MOST else values > bound


def format_value(value: Plain | None) -> str:
    """Print whole floats without a fraction and text as it is."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004
        return str(int(value))
    return str(value)


def microseconds_of(text: str) -> float:
    """Read an ISO moment (UTC) as microseconds since 1970."""
    return float((datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1))


def moment_text(microseconds: float) -> str:
    """Print microseconds since 1970 as an ISO date, with the time only where there is one."""
    moment = (EPOCH + timedelta(microseconds=int(microseconds))).replace(tzinfo=None)
    return moment.date().isoformat() if moment.time() == moment.min.time() else moment.isoformat()


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
    """

    literals: tuple[Literal, ...]
    column: IntArray
    truth: tuple[BoolArray, ...]

    def masks(self, rows: GroupedRows) -> BoolArray:
        """Evaluate every literal on every distinct row: (num_items, num_distinct)."""
        out = np.empty((len(self.literals), len(rows.cells)), dtype=bool)
        for i, (column, truth) in enumerate(zip(self.column, self.truth, strict=True)):
            out[i] = truth[rows.cells[:, column]]
        return out

    def select(self, keep: BoolArray) -> Items:
        """Keep some of the literals."""
        chosen = np.flatnonzero(keep)
        return Items(tuple(self.literals[i] for i in chosen), self.column[chosen], tuple(self.truth[i] for i in chosen))

    def compatible(self) -> BoolArray:
        """Which two literals may share a pattern.

        Literals of different columns may; of one column only a lower and an upper bound that leave a
        gap between them, which print as one interval.
        """
        allowed = self.column[:, None] != self.column[None, :]
        for i, low in enumerate(self.literals):
            for j, high in enumerate(self.literals):
                if self.column[i] == self.column[j] and low.op == ABOVE and high.op == AT_MOST:
                    overlap = bool((self.truth[i] & self.truth[j]).any())
                    allowed[i, j] = allowed[j, i] = overlap
        return allowed


def build_items(columns: Sequence[Column], *, negations: bool, missing: bool) -> Items:
    """List the literals of each column with their truth on its cells."""
    literals: list[Literal] = []
    position: list[int] = []
    truth: list[BoolArray] = []

    def add(index: int, literal: Literal, cells: BoolArray) -> None:
        literals.append(literal)
        position.append(index)
        truth.append(cells)

    for index, column in enumerate(columns):
        cells = np.arange(column.num_cells)
        present = cells != column.missing_cell
        if column.kind == CATEGORY:
            for i, level in enumerate(column.levels):
                add(index, Literal(column.name, EQUAL, level), cells == i)
            # with two levels in all "is not a" says no more than "= b"
            if negations and (len(column.levels) > 2 or column.has_other):  # noqa: PLR2004
                for i, level in enumerate(column.levels):
                    add(index, Literal(column.name, NOT_EQUAL, level), present & (cells != i))
        else:
            for i, cut in enumerate(column.cuts):
                value: Plain = moment_text(cut) if column.kind == DATETIME else cut
                add(index, Literal(column.name, AT_MOST, value), cells <= i)
                add(index, Literal(column.name, ABOVE, value), present & (cells > i))
        if missing:
            add(index, Literal(column.name, MISSING), ~present)
    return Items(tuple(literals), np.array(position, dtype=np.int64), tuple(truth))
