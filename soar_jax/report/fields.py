"""The fields of the form: one per column that rules read, with what the rules can tell apart in it.

No cell of the table goes into them. A range is that of the middle 98 % of the rows, rounded outwards to two digits; the
levels offered are those that rules or the author name, and "any other".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import FloatArray, IntArray
from soar_jax.data.columns import TableValues, level_text
from soar_jax.data.moments import moment_text
from soar_jax.data.spelling import is_number
from soar_jax.reasons.cells import LEVEL, MOMENT, NUMBER, OTHER, Cell, ColumnCells
from soar_jax.report.numbers import LEAST_ROWS, LEAST_SHARED
from soar_jax.report.phrases import value_text
from soar_jax.report.words import Words

MOST_SMALL_CELLS = 28
"""Cells that fit, with one more bit, into the whole numbers on which JavaScript has bitwise operators."""
TEXT = "text"
_MIDDLE = (0.01, 0.99)
_BODY = (0.05, 0.95)
_DIGITS = 2


def field_kind(column: ColumnCells) -> str:
    """How a value is entered: as number, moment or level, or as text where rules read it in two of these ways."""
    kinds = {LEVEL if cell.kind == OTHER else cell.kind for cell in column.cells}
    return kinds.pop() if len(kinds) == 1 else TEXT if kinds else LEVEL


def bits_text(bits: int, column: ColumnCells) -> int | str:
    """Bits of cells as JSON can hold them."""
    return bits if len(column.cells) <= MOST_SMALL_CELLS else hex(bits)


def cell_places(column: ColumnCells, values: TableValues) -> IntArray:
    """Cell of each row, by which literals hold on it; -1 where its value is missing or none of the cells."""
    weights = 1 << np.arange(len(column.literals), dtype=object)  # Python's whole numbers: there may be many literals
    of_cell: dict[int, int] = {}
    num_ordered = 0 if column.order is None else len(column.order)
    for place in range(num_ordered, len(column.cells)):
        truth = [bool(column.truth[z] >> (place + 1) & 1) for z in column.literals]
        of_cell.setdefault(int(sum(w for w, holds in zip(weights, truth, strict=True) if holds)), place)
    series = values[column.column]
    holds = np.stack([z.holds(series) for z in column.literals], axis=1)
    distinct, inverse = np.unique(holds, axis=0, return_inverse=True)
    codes = [int(sum(w for w, is_true in zip(weights, row, strict=True) if is_true)) for row in distinct]
    found = np.array([of_cell.get(code, -1) for code in codes], dtype=np.int64)[inverse.reshape(-1)]
    if column.order is not None:  # literals need not tell these apart
        ranks = series.ranks(column.order)
        found = np.where(np.isnan(ranks), found, ranks).astype(np.int64)
    return np.where(series.is_missing, -1, found)


def describe_field(
    column: ColumnCells, words: Words, resolution: str | None, frame: pd.DataFrame | None, places: IntArray | None
) -> dict[str, Any]:
    """Describe one field as plain data; ``resolution`` is that of its moments at the fit."""
    kind, mine = field_kind(column), words.of(column.column)
    cells = [_cell(cell) for cell in column.cells]
    cuts = [x for cell in column.cells for x in (cell.low, cell.high) if math.isfinite(x)]
    described: dict[str, Any] = {
        "name": column.column,
        "label": words.label(column.column),
        "unit": mine.unit,
        "kind": kind,
        "cells": cells,
        "fixed": column.column in words.fixed,
        "scale": max(max(cuts) - min(cuts), abs(max(cuts)) / 10, 1e-9) if cuts else 1,
        "options": _options(column, kind, words),
    }
    if column.order is not None:
        described["ordered"] = len(column.order)
    if kind == MOMENT:
        described["hasTime"] = resolution != "day" or any("T" in moment_text(x) for x in cuts)
    if frame is not None and places is not None:
        described |= _ranges(kind, frame[column.column])
        counts = np.bincount(places[places >= 0], minlength=len(cells))
        if counts.sum() >= LEAST_SHARED:
            kept = np.where(counts >= LEAST_ROWS, counts, 0)
            described["common"] = [round(float(x), 3) for x in kept / counts.sum()]
    return described


def _cell(cell: Cell) -> dict[str, Any]:
    if cell.kind in (NUMBER, MOMENT):
        ends = {"low": cell.low, "high": cell.high}
        return {"kind": cell.kind, **{name: x for name, x in ends.items() if math.isfinite(x)}}
    return {"kind": cell.kind, "value": level_text(cell.value)}


def _options(column: ColumnCells, kind: str, words: Words) -> list[list[str]]:
    """Choices of a select box, value and text; none where a number or text is to be typed."""
    named: Mapping[str, str] = words.of(column.column).levels
    if kind == NUMBER and named and all(map(is_number, named)):
        return [[code, named[code]] for code in sorted(named, key=float)]
    if kind != LEVEL:
        return []
    levels = [(level_text(c.value), value_text(words, column.column, c.value)) for c in column.cells if c.kind == LEVEL]
    known = {value for value, _ in levels}
    levels += [(value, text) for value, text in named.items() if value not in known]
    other = [[level_text(c.value), "any other"] for c in column.cells if c.kind == OTHER]
    return [*map(list, levels), *other]


def _ranges(kind: str, series: pd.Series) -> dict[str, Any]:
    if kind != NUMBER:
        return {}
    values: FloatArray = TableValues(series.to_frame())[str(series.name)].numbers
    values = values[np.isfinite(values)]
    if len(values) < LEAST_SHARED:
        return {}
    low, high = np.quantile(values, _MIDDLE)
    width = float(np.diff(np.quantile(values, _BODY))[0])
    found: dict[str, Any] = {"low": round_to(low, math.floor), "high": round_to(high, math.ceil)}
    return found | ({"scale": round_to(width, round)} if width > 0 else {})


def round_to(value: float, how: Any) -> float:
    """Round to two digits: down, up or to the nearest."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(value))) - _DIGITS + 1)
    return float(f"{how(value / step) * step:.6g}")
