"""Made-up cases, one per state, to begin with in the form.

Where rows were given, a case has the combination of cells that most of a state's rows have, if at least ten do; the
values in these cells are rounded. Else any values that lead to the state are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import IntArray, Plain
from soar_jax.data.columns import TableValues
from soar_jax.data.moments import moment_text
from soar_jax.reasons.cells import LEVEL, MOMENT, NUMBER, ColumnCells, parts_of
from soar_jax.reasons.conditions import example_of
from soar_jax.reasons.facts import RuleModel
from soar_jax.reasons.silence import Box, Steps, TooManySteps, silent_boxes
from soar_jax.report.fields import round_to
from soar_jax.report.numbers import LEAST_ROWS
from soar_jax.rules import firing
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE

Case = dict[str, Plain]
_MAX_STEPS = 20_000


def starts(
    model: RuleModel,
    cells: Mapping[str, ColumnCells],
    frame: pd.DataFrame | None,
    places: Mapping[str, IntArray],
    states: IntArray | None,
) -> dict[int, Case]:
    """Find a case of each state that can occur."""
    wanted = [POSITIVE, PASSIVE] if model.single else [POSITIVE, NEGATIVE, ACTIVE, PASSIVE]
    found = {}
    for state in wanted:
        case = _common_case(cells, frame, places, None if states is None else states == state)
        if case is None or _state(model, case) != state:
            case = _any_case(model, cells, state)
        if case is not None and _state(model, case) == state:
            found[state] = case
    return found


def _state(model: RuleModel, case: Case) -> int:
    if not case:
        return PASSIVE
    row = pd.DataFrame({name: pd.Series([value], dtype=object).infer_objects() for name, value in case.items()})
    return int(model.states_of(firing(model.sets, row))[0])


def _common_case(
    cells: Mapping[str, ColumnCells], frame: pd.DataFrame | None, places: Mapping[str, IntArray], chosen: Any
) -> Case | None:
    if frame is None or not cells or chosen is None:
        return None
    table = np.stack([places[name] for name in cells], axis=1)
    rows = np.flatnonzero(chosen & (table >= 0).all(axis=1))
    if not len(rows):
        return None
    combinations, inverse, counts = np.unique(table[rows], axis=0, return_inverse=True, return_counts=True)
    best = int(np.argmax(counts))
    if counts[best] < LEAST_ROWS:
        return None
    like = frame.iloc[rows[inverse.reshape(-1) == best]]
    return {
        name: _typical(column, int(place), like[name])
        for (name, column), place in zip(cells.items(), combinations[best], strict=True)
    }


def _typical(column: ColumnCells, place: int, series: pd.Series) -> Plain:
    """Give a rounded value of a cell, near the middle of the rows in it."""
    cell = column.cells[place]
    if cell.kind == NUMBER:
        values = TableValues(series.to_frame())[str(series.name)].numbers
        near = round_to(float(np.median(values)), round)
        if cell.low < near <= cell.high:
            return int(near) if near.is_integer() else near
    return _value(column, 2 << place)


def _value(column: ColumnCells, bits: int) -> Plain:
    mine = column.members(bits)
    first = mine[0]
    if first.kind == MOMENT:
        return moment_text(first.high if math.isfinite(first.high) else float(first.value))
    if first.kind == NUMBER:
        return example_of(column, bits, math.nan, math.nan)
    return next((cell.value for cell in mine if cell.kind == LEVEL), first.value)


def _any_case(model: RuleModel, cells: Mapping[str, ColumnCells], state: int) -> Case | None:
    """Search for values that lead to a state."""
    boxes = [_box(rule, cells) for rule in model.rules]
    plus, minus = boxes[: model.num_positive], boxes[model.num_positive :]
    usable = [[box for box in side if box is not None] for side in (plus, minus)]
    full = {name: column.full for name, column in cells.items()}
    if state == ACTIVE:
        pairs = (({**p, **{k: v & p.get(k, v) for k, v in n.items()}}) for p in usable[0] for n in usable[1])
        starts = [box for box in pairs if all(box.values())]
        silent: Sequence[Box] = ()
    elif state == PASSIVE:
        starts, silent = [{}], [*usable[0], *usable[1]]
    else:
        starts, silent = usable[state], usable[1 - state]
    steps = Steps(_MAX_STEPS)
    try:
        for start in starts:
            for box in silent_boxes({**full, **start}, silent, steps, {}):
                return {name: _value(cells[name], bits) for name, bits in box.items()}
    except TooManySteps:
        pass
    return None


def _box(rule: Any, cells: Mapping[str, ColumnCells]) -> Box | None:
    """Cells that suit a rule; None where no value does."""
    box = {name: cells[name].suits(literals) for name, literals in parts_of(rule).items()}
    return box if all(box.values()) else None
