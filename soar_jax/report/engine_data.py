"""What the page computes cases with: rules, cells and rates as plain data, checked by tests against the library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soar_jax._base import IntArray
from soar_jax.data.columns import TableValues
from soar_jax.export.content import describe
from soar_jax.reasons.cells import cells_of, parts_of
from soar_jax.reasons.near import is_about_missing, is_contradictory
from soar_jax.report.content import StateEntry
from soar_jax.report.fields import bits_text, cell_places, describe_field
from soar_jax.report.measured import Measured
from soar_jax.report.numbers import LEAST_SHARED, share_of
from soar_jax.report.phrases import phrase
from soar_jax.report.starts import starts
from soar_jax.report.subject import Subject, Tested
from soar_jax.report.words import Words
from soar_jax.rules import firing

_LARGE = 1e300


def engine_data(
    subject: Subject, words: Words, states: tuple[StateEntry, ...], measured: Measured, tested: Tested | None
) -> dict[str, Any]:
    """Gather everything that the form needs."""
    model = subject.model
    frame = None if tested is None else tested.frame
    cells = {name: column for name, column in cells_of(model.rules).items() if column.cells or column.literals}
    places: dict[str, IntArray] = {}
    state_of_rows = None
    if frame is not None:
        values = TableValues(frame)
        places = {name: cell_places(column, values) for name, column in cells.items()}
        state_of_rows = model.states_of(firing(model.sets, values))
    found = starts(model, cells, frame, places, state_of_rows)
    return {
        "numPositive": model.num_positive,
        "single": model.single,
        "columns": [
            describe_field(column, words, subject.resolution(name), frame, places.get(name))
            for name, column in cells.items()
        ],
        "rules": _rules(subject, words, list(cells)),
        "states": [
            {
                "name": s.name, "say": s.say, "short": s.short, "why": s.why, "technical": s.technical,
                "chance": float(model.rates[k]), "rows": s.rows,
                "share": s.positive.value, "low": s.positive.low, "high": s.positive.high,
            }
            for k, s in enumerate(states)
        ],
        "patterns": _patterns(measured),
        "testedRows": measured.num_rows,
        "starts": {str(state): case for state, case in found.items()},
    }  # fmt: skip


def _rules(subject: Subject, words: Words, columns: list[str]) -> list[dict[str, Any]]:
    model = subject.model
    cells = cells_of(model.rules)
    exported = describe(
        model.sets, model.classes, model.positive_index, model.rates, subject.estimator, subject.contract
    )
    rules = []
    for rule, plain in zip(model.rules, exported.rules, strict=True):
        suits = [
            [columns.index(name), bits_text(cells[name].suits(mine), cells[name])]
            for name, literals in parts_of(rule).items()
            if (mine := [z for z in literals if not is_about_missing(z)])
        ]
        conditions = [
            [columns.index(c.column), c.op, c.reading, _finite(c.value), phrase(words, literal)]
            for c, literal in zip(plain.conditions, rule.conditions, strict=True)
        ]
        rules.append(
            {
                "id": plain.id,
                "conditions": conditions,
                "suits": suits,
                "never": is_contradictory(rule),
            }
        )
    return rules


def _finite(value: Any) -> Any:
    """JSON has no infinity; no moment is beyond this."""
    return math.copysign(_LARGE, value) if isinstance(value, float) and math.isinf(value) else value


def _patterns(measured: Measured) -> dict[str, list[Any]]:
    """Outcome by the exact set of rules that apply, where enough rows have it."""
    found = {}
    for rules, (rows, hits) in measured.patterns.items():
        if rows >= LEAST_SHARED:
            share = share_of(hits, rows)
            found[",".join(map(str, rules))] = [rows, share.value, share.low, share.high]
    return found


def plain_data(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, at any depth."""
    if isinstance(value, dict):
        return {str(k): plain_data(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value
