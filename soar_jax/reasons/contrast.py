"""What would change a row's outcome: the smallest changes that lead to consensus for a class."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from soar_jax._base import FloatArray, InputError, Plain
from soar_jax.data.columns import TableValues, level_text
from soar_jax.reasons.cells import ColumnCells, cells_of
from soar_jax.reasons.changes import Found, smallest_changes, suits_of
from soar_jax.reasons.conditions import alternatives_of, condition_text, direction_bits, example_of, is_ordered
from soar_jax.reasons.contrasts import Change, Contrast, Contrasts, rows_with
from soar_jax.reasons.facts import RuleModel
from soar_jax.reasons.silence import Box
from soar_jax.reasons.wording import listed, plain_cell
from soar_jax.rules import firing
from soar_jax.states import PASSIVE, STATES

MAX_LISTED = 20


@dataclass(frozen=True)
class Limits:
    """What may be changed.

    Attributes
    ----------
    fixed : tuple of str
        Columns that keep their value.
    directions : mapping
        Columns that may only grow (``"+"``) or fall (``"-"``).
    max_changes : int, optional
        Most columns to change.
    """

    fixed: tuple[str, ...] = ()
    directions: Mapping[str, str] | None = None
    max_changes: int | None = None

    def check(self, columns: Sequence[str], cells: Mapping[str, ColumnCells]) -> None:
        """Raise on a name that the model does not know, and on a direction of what has no order."""
        _check_names("fixed", self.fixed, columns)
        _check_names("directions", tuple(self.directions or ()), columns)
        for name, direction in (self.directions or {}).items():
            if direction not in ("+", "-"):
                raise InputError(f"directions[{name!r}] must be '+' (may only grow) or '-' (may only fall).")
            if name in cells and not is_ordered(cells[name]):
                raise InputError(f"directions names {name!r}, which the rules read as levels without order; fix it.")


def _check_names(what: str, names: Sequence[Any], columns: Sequence[str]) -> None:
    for name in names:
        if name not in columns:
            near = difflib.get_close_matches(str(name), columns, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" It knows: {', '.join(columns)}."
            raise InputError(f"{what} names column {name!r}, which the model does not know.{hint}")


def find_contrasts(
    model: RuleModel,
    frame: pd.DataFrame,
    to: Any,
    limits: Limits,
    known_levels: Mapping[str, Sequence[Plain]],
    probability: Callable[[pd.DataFrame, str], FloatArray] | None = None,
    note: str | None = None,
) -> Contrasts:
    """Find the smallest changes of a row; see ``contrast``.

    Parameters
    ----------
    model : RuleModel
    frame : DataFrame
        The row.
    to : label, optional
    limits : Limits
    known_levels : mapping
        Levels of each column beside those of the rules.
    probability : function, optional
        Gives the posterior probability that rows of a table are in a state.
    note : str, optional
        What a reader of the probabilities must know.
    """
    rules, row = model.rules, TableValues(frame)
    cells = cells_of(rules)
    limits.check(model.columns, cells)
    states = model.states_of(firing(model.sets, frame))
    side = _side_of(model, model.labels_of(states)[0] if to is None else to, is_other=to is None)
    suits = suits_of(rules, cells, row)
    own, other = suits[: model.num_positive], suits[model.num_positive :]
    is_silence = model.single and side == 1
    wanted = [{}] if is_silence else other if side else own
    unwanted = own if side else other
    goal = STATES[PASSIVE] if is_silence else STATES[side]

    def search(limits: Limits) -> Found:
        allowed = {name: _allowed(cells[name], row, limits) for name in cells}
        return smallest_changes(wanted, unwanted, allowed, limits.max_changes)

    found = search(limits)
    contrasts = [_contrast(model, box, cells, row, known_levels) for box in found.boxes if box]
    if probability is not None and contrasts:
        shares = probability(rows_with(frame, contrasts), goal)
        contrasts = [c.with_probability(float(share)) for c, share in zip(contrasts, shares, strict=True)]
    contrasts.sort(key=lambda c: _order(model, c))
    return Contrasts(
        frame,
        model.label(side),
        STATES[states[0]],
        goal,
        tuple(contrasts[:MAX_LISTED]),
        max(0, len(contrasts) - MAX_LISTED),
        found.is_complete,
        "" if found.boxes else _why_not(model, side, limits, search, bool(wanted)),
        note,
    )


def _side_of(model: RuleModel, label: Any, *, is_other: bool) -> int:
    """Side that speaks for a label, or the other one."""
    names = [level_text(model.label(side)) for side in (0, 1)]  # 1, 1.0, True and "1" name the same label
    if level_text(label) not in names:
        raise InputError(f"to={label!r} is not one of the labels {model.classes.tolist()}.")
    side = names.index(level_text(label))
    return 1 - side if is_other else side


def _rank(column: ColumnCells, row: TableValues) -> float:
    """Place of the row's value among ordered levels; NaN where it has none."""
    return math.nan if column.order is None else float(row[column.column].ranks(column.order)[0])


def _numbers(column: str, row: TableValues) -> tuple[float, float]:
    values = row[column]
    return float(values.numbers[0]), float(values.moments[0])


def _allowed(column: ColumnCells, row: TableValues, limits: Limits) -> int:
    if column.column in limits.fixed:
        return 0
    direction = (limits.directions or {}).get(column.column)
    if direction is None:
        return column.full
    return direction_bits(column, direction, *_numbers(column.column, row), _rank(column, row))


def _contrast(
    model: RuleModel,
    box: Box,
    cells: Mapping[str, ColumnCells],
    row: TableValues,
    known_levels: Mapping[str, Sequence[Plain]],
) -> Contrast:
    changes = []
    for name in sorted(box, key=model.columns.index):
        alternatives = alternatives_of(cells[name], box[name])
        known, rank = known_levels.get(name, ()), _rank(cells[name], row)
        example = example_of(cells[name], box[name], *_numbers(name, row), known, rank)
        text = condition_text(name, alternatives)
        changes.append(Change(name, plain_cell(row[name].series.iloc[0]), text, example, alternatives))
    contrast = Contrast(tuple(changes), ())
    fired = firing(model.sets, rows_with(row.frame, [contrast]))[0]
    return Contrast(contrast.changes, tuple(f.id for f, is_fired in zip(model.facts, fired, strict=True) if is_fired))


def _order(model: RuleModel, contrast: Contrast) -> tuple[Any, ...]:
    """Order by posterior probability, then the strongest rule that fires, then the columns in the table's order."""
    strength = min((-f.precision, -f.support) for f in model.facts if f.id in contrast.rules) if contrast.rules else ()
    places = [model.columns.index(change.column) for change in contrast.changes]
    return (-(contrast.probability or 0.0), strength, places, str(contrast))


def _why_not(model: RuleModel, side: int, limits: Limits, search: Callable[[Limits], Found], has_rules: bool) -> str:
    """Say why there is no change that leads to consensus."""
    label, rival = model.label(side), model.label(1 - side)
    if not has_rules:
        return f"The model has no rule for {label}, so that no change can lead to consensus for it."
    free = search(Limits())
    if not free.boxes and not free.is_complete:
        return "The search was stopped before it found a change; there may be one."
    if not free.boxes:
        return (
            f"No values of the columns that the rules read do it: whatever fires a rule for {label} "
            f"fires one for {rival} too."
        )
    held = [f"{listed(limits.fixed)} fixed"] if limits.fixed else []
    held += [f"{name} only {'growing' if d == '+' else 'falling'}" for name, d in (limits.directions or {}).items()]
    within = search(Limits(limits.fixed, limits.directions)) if held else free
    if within.boxes:
        return f"It takes {len(within.boxes[0])} changes, and max_changes allows {limits.max_changes}."
    size = len(free.boxes[0])
    return (
        f"With {listed(held)} there is no way. Without that it takes {size} change{'s' if size > 1 else ''}, for "
        f"instance of {listed(sorted(free.boxes[0]))}."
    )
