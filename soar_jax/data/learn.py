"""What a training table shows of its columns: the contract is learnt here."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import DataWarning, Plain
from soar_jax.data.columns import (
    CATEGORY,
    DATETIME,
    KINDS,
    NUMBER,
    ColumnValues,
    level_text,
    number_columns,
    plain_value,
)
from soar_jax.data.contract import FEWEST_ROWS, MISSING, MOST_LEVELS, ColumnContract, Contract, refuse_or_warn
from soar_jax.data.declared import Declared, read_declarations
from soar_jax.data.learn_column import Learnt, learn_column
from soar_jax.data.moments import moment_text
from soar_jax.data.read_column import LARGEST_WHOLE, Read, without_words
from soar_jax.data.spelling import short_list

_BINARY = 2
_STEPS = (("day", 86_400_000_000), ("second", 1_000_000), ("microsecond", 1))


def learn_contract(
    frame: pd.DataFrame, kinds: Any, *, has_names: bool, missing_words: Sequence[str] = ()
) -> tuple[pd.DataFrame, Contract]:
    """Read a training table: the frame with every column as it was understood, and what is asked of later ones."""
    declared = read_declarations(kinds, list(frame.columns))
    has_types = MISSING not in frame.attrs  # only what is read from a text file says which words are missing
    found, columns = {}, []
    plain = dict(_plain_numbers(frame, declared))
    for name in frame.columns:
        if name in plain:
            columns.append(plain[name])
            continue
        given = frame[name]
        series = without_words(given, missing_words)
        learnt = learn_column(series, declared[name], has_types=has_types)
        if learnt.num_unreadable:
            refuse_or_warn(learnt, Read(learnt.series, learnt.num_unreadable, learnt.num_present))
        if learnt.series is not given:
            found[name] = learnt.series
        columns.append(_describe(learnt, declared[name], len(frame)))
    large = [
        column.name
        for column in columns
        if column.kind == NUMBER
        and not (has_types and pd.api.types.is_float_dtype(frame[column.name].dtype))
        and _loses_digits(column)
    ]
    if large:
        warnings.warn(
            f"{short_list(large)} has whole numbers beyond 2**53, of which the last digits are lost. If they are "
            'names, declare them text: kinds={"COLUMN": "text"}.',
            DataWarning,
            stacklevel=5,
        )
    nulls = {column.name: column.words for column in columns if column.kind == CATEGORY and column.words}
    if nulls:
        spelt = dict.fromkeys(repr(word) for words in nulls.values() for word in words)
        empty = " A text file cannot hold an empty text beside a missing value." if "''" in spelt else ""
        warnings.warn(
            f"Levels of {short_list(nulls)} mean a missing value to many readers of tables ({short_list(spelt)}), so "
            f"that one row may be read in two ways.{empty} Write such cells otherwise, or leave them out.",
            DataWarning,
            stacklevel=5,
        )
    kinds_given = {name: one.kind for name, one in declared.items() if one.kind is not None}
    if found or kinds_given:
        frame = frame.assign(**found) if found else frame.copy(deep=False)
        frame.attrs = {**frame.attrs, KINDS: kinds_given}
    return frame, Contract(tuple(columns), has_names, tuple(missing_words), len(frame))


def _plain_numbers(frame: pd.DataFrame, declared: Mapping[str, Declared]) -> Iterator[tuple[str, ColumnContract]]:
    """Describe columns of plain numbers of three values or more, many at a time."""
    if not len(frame):
        return
    asked = [name for name, one in declared.items() if one.kind in (None, NUMBER)]
    for names, numbers in number_columns(frame, asked):
        ordered = np.sort(numbers, axis=0)  # missing values come last
        present = (~np.isnan(ordered)).sum(axis=0)
        distinct = (ordered[1:] > ordered[:-1]).sum(axis=0) + (present > 0)
        missing = (len(frame) - present) / len(frame)
        for i in np.flatnonzero(distinct > _BINARY):
            ends = ordered[0, i], ordered[present[i] - 1, i]
            low, high = (plain_value(float(end)) for end in ends)
            one = declared[names[i]]
            seen: dict[str, Any] = {"low": low, "high": high, "missing": float(missing[i])}
            contract = ColumnContract(
                names[i], NUMBER, "number", is_declared=one.kind is not None, strict=one.strict, **seen
            )
            yield names[i], contract


def _loses_digits(column: ColumnContract) -> bool:
    """Whether the range of a column goes beyond the whole numbers that float64 tells apart."""
    ends = [abs(float(end)) for end in (column.low, column.high) if end is not None]
    return any(LARGEST_WHOLE < end < math.inf and end.is_integer() for end in ends)


def _describe(learnt: Learnt, declared: Declared, num_rows: int) -> ColumnContract:
    seen = _levels_seen(learnt) if learnt.kind == CATEGORY else _range_seen(learnt)
    num_distinct = seen.pop("num_distinct")
    return ColumnContract(
        learnt.name,
        learnt.kind,
        learnt.read_as,
        is_declared=declared.kind is not None,
        strict=declared.strict,
        form=learnt.form,
        zone=learnt.zone,
        missing=float(learnt.values.is_missing.mean()) if num_rows else 0.0,
        unreadable=learnt.num_unreadable / num_rows if num_rows else 0.0,
        words=learnt.words,
        note="constant" if num_distinct <= 1 else "",
        order=ColumnValues(learnt.series, declared.kind).order,
        **seen,
    )


def _levels_seen(learnt: Learnt) -> dict[str, Any]:
    """Levels that enough rows have, in the order of the column, and how many others there are."""
    codes, uniques = learnt.values.levels
    rows: dict[str, int] = {}
    first: dict[str, Plain] = {}
    for value, count in zip(uniques, np.bincount(codes[codes >= 0], minlength=len(uniques)), strict=True):
        if count:
            text = level_text(value)
            first.setdefault(text, plain_value(value))
            rows[text] = rows.get(text, 0) + int(count)
    common = sorted((text for text in rows if rows[text] >= FEWEST_ROWS), key=lambda text: -rows[text])
    named, present = set(common[:MOST_LEVELS]), sum(rows.values())
    return {
        "num_distinct": len(rows),
        "levels": tuple(level for text, level in first.items() if text in named),
        "rare_levels": len(rows) - len(named),
        "rare_share": (present - sum(rows[text] for text in named)) / present if present else 0.0,
    }


def _range_seen(learnt: Learnt) -> dict[str, Any]:
    """Lowest and highest value, and how fine moments are."""
    numbers = learnt.values.ordered(learnt.kind)
    numbers = numbers[~np.isnan(numbers)]
    seen: dict[str, Any] = {"num_distinct": len(np.unique(numbers))}
    is_time = learnt.kind == DATETIME
    if len(numbers):
        ends = float(numbers.min()), float(numbers.max())
        seen["low"], seen["high"] = (moment_text(end) if is_time else plain_value(end) for end in ends)
    if is_time:
        seen["resolution"] = next(name for name, size in _STEPS if not (numbers % size).any())
    return seen
