"""Cells said as a condition, and a concrete value that meets it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from soar_jax._base import Plain
from soar_jax.data.columns import level_text
from soar_jax.data.literals import Literal
from soar_jax.data.moments import moment_text
from soar_jax.data.spelling import format_value
from soar_jax.reasons.cells import LEVEL, MOMENT, NUMBER, OTHER, Cell, ColumnCells
from soar_jax.rules import Rule

Run = tuple[float, float]
"""Neighbouring bins taken together: low < x <= high."""
_MOMENT_STEPS = (86_400e6, 3600e6, 1e6, 1.0)
_MOST_DECIMALS = 9
_HALF = 0.5


def alternatives_of(column: ColumnCells, bits: int) -> tuple[tuple[Literal, ...], ...]:
    """Say cells as conjunctions of literals, any of which may hold; one without literals leaves the value free."""
    name, mine = column.column, column.members(bits)
    spared = [c for c in column.cells if c.kind == LEVEL and c not in mine]
    found: list[tuple[Literal, ...]] = []
    for kind in (NUMBER, MOMENT):
        for low, high in runs_of(column, bits, kind):
            bounds = [] if low == -math.inf else [Literal(name, ">", _cut(low, kind))]
            bounds += [] if high == math.inf else [Literal(name, "<=", _cut(high, kind))]
            # a level that does not serve may lie in the run
            found.append((*bounds, *(Literal(name, "!=", c.value) for c in spared)))
    if any(c.kind == OTHER for c in mine):
        found.append(tuple(Literal(name, "!=", c.value) for c in spared))
    elif column.order is not None:
        found += _ordered_alternatives(column, bits)
    else:
        found += [(Literal(name, "==", c.value),) for c in mine if c.kind == LEVEL]
    return tuple(found)


def _ordered_alternatives(column: ColumnCells, bits: int) -> list[tuple[Literal, ...]]:
    """Say levels as runs along their order; the lowest level alone needs no comparison, and so for the highest."""
    name, order = column.column, column.order
    assert order is not None
    places = [place for place in range(len(column.cells)) if bits >> (place + 1) & 1]
    runs: list[list[int]] = []
    for place in places:
        # the cells after those of the order are levels that it does not have
        touches = bool(runs) and runs[-1][-1] == place - 1 and place < len(order)
        runs = [*runs[:-1], [*runs[-1], place]] if touches else [*runs, [place]]
    found: list[tuple[Literal, ...]] = []
    for run in runs:
        if len(run) == 1:
            found.append((Literal(name, "==", column.cells[run[0]].value),))
            continue
        low = [] if run[0] == 0 else [Literal(name, ">", order[run[0] - 1], order)]
        is_open = run[-1] == len(order) - 1 and bool(low)
        found.append((*low, *([] if is_open else [Literal(name, "<=", order[run[-1]], order)])))
    return found


def condition_text(column: str, alternatives: Sequence[Sequence[Literal]]) -> str:
    """Say the alternatives as a reader would."""
    if any(not literals for literals in alternatives):
        return f"{column} is not missing"
    return " or ".join(_conjunction_text(column, tuple(literals)) for literals in alternatives)


def _conjunction_text(column: str, literals: tuple[Literal, ...]) -> str:
    if len(literals) > 1 and all(z.op == "!=" for z in literals):
        return f"{column} is none of {', '.join(format_value(z.value) for z in literals)}"
    return str(Rule(literals))


def runs_of(column: ColumnCells, bits: int, kind: str) -> list[Run]:
    """Bins of a kind that are among the cells, neighbours taken together."""
    runs: list[Run] = []
    for cell in column.members(bits):
        if cell.kind == kind:
            touches = bool(runs) and runs[-1][1] == cell.low
            runs = [*runs[:-1], (runs[-1][0], cell.high)] if touches else [*runs, (cell.low, cell.high)]
    return runs


def example_of(
    column: ColumnCells,
    bits: int,
    number: float,
    moment: float,
    known_levels: Sequence[Plain] = (),
    rank: float = math.nan,
) -> Plain:
    """Pick a value in one of the cells: the nearest to a row's number or moment, or a level that is known.

    Parameters
    ----------
    column : ColumnCells
    bits : int
        The cells.
    number, moment : float
        The row's value as the column is read; NaN where it cannot be.
    known_levels : sequence
        Levels of the column beside those of the rules, tried where any other level serves.
    rank : float
        The place of the row's value among ordered levels; NaN where it has none.
    """
    mine = column.members(bits)
    has_levels = any(c.kind == LEVEL for c in column.cells)
    for kind, present in ((NUMBER, number), (MOMENT, moment)):
        bins = [c for c in mine if c.kind == kind]
        if not bins:
            continue
        if has_levels:  # a nearer value might be a level that rules name
            value = float(min(bins, key=lambda c: _gap(float(c.value), present)).value)
        else:
            step = _Step.of(column, kind, present)
            tries = [step.into(run, present) for run in runs_of(column, bits, kind)]
            value = min(tries, key=lambda v: _gap(v, present))
        return _plain(value, kind)
    levels = [c for c in mine if c.kind == LEVEL]
    if levels and column.order is not None:
        return min(levels, key=lambda c: _gap(column.cells.index(c), rank)).value
    if levels:
        return levels[0].value
    names = {level_text(c.value) for c in column.cells if c.kind == LEVEL}
    other = next((level for level in known_levels if level_text(level) not in names), None)
    return mine[0].value if other is None else other


class _Step:
    """How far beyond a cut point an example lies: whole numbers where they suit the column, whole days for dates."""

    def __init__(self, sizes: Sequence[float], is_whole: bool) -> None:
        self.sizes = sizes
        self.is_whole = is_whole

    @classmethod
    def of(cls, column: ColumnCells, kind: str, present: float) -> _Step:
        """Take the step from how the cut points and the present value are written."""
        if kind == MOMENT:
            return cls(_MOMENT_STEPS, False)
        cuts = [x for c in column.cells for x in (c.low, c.high) if c.kind == kind and math.isfinite(x)]
        values = [*cuts, present] if math.isfinite(present) else cuts
        is_whole = all(float(x / _HALF).is_integer() for x in cuts) and all(x.is_integer() for x in values[len(cuts) :])
        decimals = min(_MOST_DECIMALS, max((_decimals(x) for x in values), default=0))
        return cls([10.0**-d for d in range(decimals, _MOST_DECIMALS + 1)], is_whole)

    def into(self, run: Run, present: float) -> float:
        """Find a value in a run near the present one."""
        low, high = run
        tries: list[float] = []
        if present > high:
            tries += [float(math.floor(high))] if self.is_whole and math.isfinite(high) else []
        elif low < present:
            tries.append(present)
        elif math.isfinite(low):
            tries += [float(math.floor(low) + 1)] if self.is_whole else []
            tries += [round(low + size, _MOST_DECIMALS) for size in self.sizes]
            tries.append(math.nextafter(low, math.inf))
        elif high == math.inf:
            tries.append(0.0)
        return next((x for x in tries if low < x <= high), high)


def _decimals(number: float) -> int:
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _gap(value: float, present: float) -> float:
    return 0.0 if math.isnan(present) else abs(value - present)


def _cut(value: float, kind: str) -> Plain:
    return moment_text(value) if kind == MOMENT else value


def _plain(value: float, kind: str) -> Plain:
    if kind == MOMENT:
        return moment_text(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def direction_bits(column: ColumnCells, direction: str, number: float, moment: float, rank: float = math.nan) -> int:
    """Cells all of whose values lie above (``"+"``) or below (``"-"``) a row's value; none where it has none."""
    bits = 0
    if column.order is not None:
        places = range(len(column.order))
        return sum(2 << i for i in places if (i > rank if direction == "+" else i < rank))
    for i, cell in enumerate(column.cells):
        if _lies(cell, direction, moment if cell.kind == MOMENT else number):
            bits |= 2 << i
    return bits


def _lies(cell: Cell, direction: str, present: float) -> bool:
    if math.isnan(present):
        return False
    if cell.kind == LEVEL and not isinstance(cell.value, str):
        return cell.value > present if direction == "+" else cell.value < present
    if cell.kind in (NUMBER, MOMENT):
        return cell.low >= present if direction == "+" else cell.high < present
    return False


def is_ordered(column: ColumnCells) -> bool:
    """Whether "more" means something: the column has cut points, or its levels are numbers or have an order."""
    if column.order is not None:
        return True
    return any(c.kind in (NUMBER, MOMENT) or (c.kind == LEVEL and not isinstance(c.value, str)) for c in column.cells)
