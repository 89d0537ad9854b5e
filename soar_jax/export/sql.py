"""A fitted model as one SELECT, in the dialect of a database."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from soar_jax._base import InputError, check_choice
from soar_jax.data.columns import CATEGORY, DATETIME
from soar_jax.data.columns import NUMBER as KIND_NUMBER
from soar_jax.data.read_column import ZONELESS, refuse_zone
from soar_jax.export.content import (
    LEVEL,
    MISSING,
    MOMENT,
    NUMBER,
    READINGS,
    Condition,
    ExportedColumn,
    ExportedRule,
    ModelContent,
)
from soar_jax.export.dialects.base import STORAGES, UNKNOWN, Cell, Dialect
from soar_jax.export.dialects.duckdb import DuckDB
from soar_jax.export.dialects.postgres import Postgres
from soar_jax.export.dialects.spark import Spark
from soar_jax.export.dialects.sqlite import SQLite

DIALECTS: dict[str, Dialect] = {
    "duckdb": DuckDB(),
    "sqlite": SQLite(),
    "postgres": Postgres(),
    "postgresql": Postgres(),
    "spark": Spark(),
}
OUTPUTS = ("prediction", "probability", "state", "rules")
_KEY = "row_key"
_STORED = dict.fromkeys(("integer", "double", "real"), "number") | dict.fromkeys(("date", "timestamp"), "datetime")


def sql_of(
    content: ModelContent,
    dialect: str,
    table: str | Sequence[str],
    key: str | None = None,
    view: str | Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
) -> str:
    """Write the SELECT, or the view; see ``RuleSetClassifier.to_sql``."""
    if dialect not in DIALECTS:
        near = difflib.get_close_matches(str(dialect), DIALECTS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(DIALECTS)}."
        raise InputError(f"There is no dialect {dialect!r}; {hint}")
    writer = DIALECTS[dialect]
    storages = storages_of(content, dict(types or {}))
    refuse_strict(content, storages)
    names = [column.name for column in content.columns]
    writer.check_names(names if key is None or key in names else [*names, key])
    if key is not None and writer.folded(key) in OUTPUTS:
        raise InputError(f"key={key!r} has the name of one of the result's columns; give the key another name.")
    carried = {} if key is None else {_KEY: key}
    select = _select(content, writer, storages, _qualified(writer, "table", table), carried)
    select = select if key is None else f"{select}\nORDER BY {_KEY}"
    return select if view is None else f"CREATE VIEW {_qualified(writer, 'view', view)} AS\n{select}"


def select_over(
    content: ModelContent, dialect: str, table: str, keep: Sequence[str], types: Mapping[str, str] | None = None
) -> str:
    """Write the SELECT over a table of that name, with some of its columns carried along, in no order."""
    writer = DIALECTS[dialect]
    storages = storages_of(content, dict(types or {}))
    used = [column.name for column in content.columns]
    writer.check_names(list(dict.fromkeys([*used, *keep])))
    for name in keep:
        if writer.folded(name) in OUTPUTS:
            raise InputError(
                f"Column {name!r} of the table has the name of one of the result's columns; say with keep which "
                "columns to carry along, or rename it."
            )
    carried = {f"{_KEY}_{i}": name for i, name in enumerate(keep)}
    return _select(content, writer, storages, writer.identifier(table), carried)


def storages_of(content: ModelContent, types: Mapping[str, str]) -> dict[str, str]:
    """Check how the table stores its columns; ``types`` may name columns that no rule reads."""
    for name, storage in types.items():
        check_choice(f"types[{name!r}]", storage, STORAGES)
    used = [column.name for column in content.columns]
    for name in types:
        near = difflib.get_close_matches(name, used, 1, cutoff=0.8)
        if name not in used and near and near[0] not in types:
            raise InputError(f"types names column {name!r}, which no rule reads; did you mean {near[0]!r}?")
    for column in content.columns:
        _refuse(column, types.get(column.name, UNKNOWN))
        if column.moments and types.get(column.name) in ("integer", "double", "real"):
            raise InputError(
                f"The rules compare column {column.name!r} with dates, but types says that it holds numbers; "
                "give a column of dates, timestamps or ISO text."
            )
    return {name: types.get(name, UNKNOWN) for name in used}


def _refuse(column: ExportedColumn, storage: str) -> None:
    """Refuse a type that `predict` refuses."""
    contract = column.contract
    contract.refuse(_STORED.get(storage, storage))
    if storage in ("date", "timestamp"):
        refuse_zone(column.name, contract.zone, ZONELESS)


def refuse_strict(content: ModelContent, storages: Mapping[str, str]) -> None:
    """Refuse strict reading of text, as an engine makes NULL of what it cannot read."""
    for column in content.columns:
        contract = column.contract
        if contract.strict and contract.kind != CATEGORY and storages[column.name] in ("text", UNKNOWN):
            raise InputError(
                f"Column {column.name!r} was declared strict, but an engine takes text that it cannot read for "
                "missing. Say with types how the table stores it, if not as text, or fit without strict."
            )


def _qualified(writer: Dialect, what: str, name: str | Sequence[str]) -> str:
    parts = [name] if isinstance(name, str) else list(name)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise InputError(f"{what} must be a name, or the parts of a qualified name, for example ('schema', 'name').")
    return ".".join(writer.identifier(part) for part in parts)


def _select(
    content: ModelContent, writer: Dialect, storages: Mapping[str, str], table: str, carried: Mapping[str, str]
) -> str:
    """Nest five queries: cells, readings, rules, state, answer; columns are carried along by names of their own."""
    numbered = {column.name: i + 1 for i, column in enumerate(content.columns)}
    cells, readings = _cells_and_readings(content.columns, writer, storages)
    flags = [f"{_flag(writer, rule, numbered)} AS fired_{rule.id}" for rule in content.rules]
    state = f"{_state(content.rules)} AS state"
    fired = f"{_fired(content.rules)} AS rules"
    answer = [
        f"{_by_state(content, [writer.label(s.label) for s in content.states])} AS prediction",
        f"{_by_state(content, [writer.number(s.probability) for s in content.states])} AS probability",
        "state",
        "rules",
    ]
    first = [f"source.{writer.identifier(name)} AS {alias}" for alias, name in carried.items()]
    query = _query([*first, *cells], f"{table} AS source", 4)
    for columns, alias in ((readings, "cells"), (flags, "readings"), ([state, fired], "fired")):
        depth = {"cells": 3, "readings": 2, "fired": 1}[alias]
        query = _query([*carried, *columns], f"(\n{query}{writer.fence}\n{'  ' * depth}) AS {alias}", depth)
    last = [f"{alias} AS {writer.identifier(name)}" for alias, name in carried.items()]
    return _query([*last, *answer], f"(\n{query}\n) AS judged", 0)


def _cells_and_readings(
    columns: Sequence[ExportedColumn], writer: Dialect, storages: Mapping[str, str], counted: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Write the columns of the two innermost queries."""
    cells, readings = [], []
    for i, column in enumerate(columns, 1):
        source = f"source.{writer.identifier(column.name)}"
        cell = Cell(f"value_{i}", f"text_{i}", f"word_{i}", f"type_{i}", storages[column.name], column)
        read = [f"{_reading(writer, cell, reading)} AS {reading}_{i}" for reading in column.readings]
        read += [f"CASE WHEN {writer.missing(cell)} THEN 0 ELSE 1 END AS present_{i}"] * (column.name in counted)
        offered = _cell(writer, source, cell)
        cells += [f"{sql} AS {name}" for name, sql in offered.items() if re.search(rf"\b{name}\b", " ".join(read))]
        readings += read
    return cells, readings


def count_over(
    content: ModelContent, dialect: str, table: str, types: Mapping[str, str], may_be_text: Sequence[str]
) -> tuple[str, list[ExportedColumn]]:
    """Write a SELECT that counts values that the fit never saw, or that cannot be read, and the columns it counts.

    It has two columns for each one: ``present_1``, ``odd_1``, ``present_2`` and so on. Levels are counted where the
    contract names some, numbers and dates where they may be text.
    """
    writer, asked = DIALECTS[dialect], []
    for column in content.columns:
        contract = column.contract
        bare = replace(column, levels=(), numbers=(), moments=(), reads_missing=False)
        if contract.kind == CATEGORY and contract.levels:
            asked.append(replace(bare, levels=contract.known_levels))
        elif contract.kind == KIND_NUMBER and column.name in may_be_text:
            asked.append(replace(bare, numbers=(0.0,)))
        elif contract.kind == DATETIME and column.name in may_be_text:
            asked.append(replace(bare, moments=(0.0,)))
    storages = {column.name: types.get(column.name, UNKNOWN) for column in asked}
    cells, readings = _cells_and_readings(asked, writer, storages, list(storages))
    counts = []
    for i, column in enumerate(asked, 1):
        known = ", ".join(map(writer.text, column.levels))
        (reading,) = column.readings
        odd = f"{reading}_{i} NOT IN ({known})" if known else f"{reading}_{i} IS NULL AND present_{i} = 1"
        counts += [f"SUM(present_{i}) AS present_{i}", f"SUM(CASE WHEN {odd} THEN 1 ELSE 0 END) AS odd_{i}"]
    query = _query(cells, f"{writer.identifier(table)} AS source", 2)
    query = _query(readings, f"(\n{query}{writer.fence}\n  ) AS cells", 1)
    return _query(counts, f"(\n{query}{writer.fence}\n) AS readings", 0), asked


def _query(columns: Sequence[str], source: str, depth: int) -> str:
    indent = "  " * depth
    listed = f",\n{indent}  ".join(columns or ["1 AS nothing"])
    return f"{indent}SELECT\n{indent}  {listed}\n{indent}FROM {source}"


def _cell(writer: Dialect, source: str, cell: Cell) -> dict[str, str]:
    """Give a cell's columns; words that mean a missing value are NULL, and dates of a format of their own ISO text."""
    storage, column, kind = cell.storage, cell.column, writer.cell_type(source)
    text = writer.cell_text(source, storage)
    is_text = "" if storage == "text" else f"{writer.is_text(kind)} AND "
    may_be_text = storage in ("text", UNKNOWN)
    if column.words and may_be_text:
        listed = ", ".join(map(writer.text, column.words))
        source = f"CASE WHEN {source} IS NULL OR ({is_text}{text} IN ({listed})) THEN NULL ELSE {source} END"
        text = writer.cell_text(source, storage)
    if column.contract.form is not None and may_be_text:
        iso = writer.iso_text(text, column)
        text = iso if storage == "text" else f"CASE WHEN {writer.is_text(kind)} THEN {iso} ELSE {text} END"
    return {cell.value: source, cell.text: text, cell.word: writer.trimmed(text), cell.type: kind}


def _reading(writer: Dialect, cell: Cell, reading: str) -> str:
    if reading == LEVEL:
        return writer.level(cell)
    if reading == NUMBER:
        return writer.number_of(cell)
    if reading == MOMENT:
        return writer.moment(cell)
    read = {NUMBER: writer.number_of, MOMENT: writer.moment}.get(READINGS.get(cell.column.contract.kind, ""))
    # a number or date is missing where it cannot be read
    return f"CASE WHEN {writer.missing(cell) if read is None else f'({read(cell)}) IS NULL'} THEN 1 ELSE 0 END"


def _flag(writer: Dialect, rule: ExportedRule, numbered: Mapping[str, int]) -> str:
    conditions = [_comparison(writer, condition, numbered[condition.column]) for condition in rule.conditions]
    return f"CASE WHEN {' AND '.join(conditions) or '1 = 1'} THEN 1 ELSE 0 END"


def _comparison(writer: Dialect, condition: Condition, i: int) -> str:
    """Compare a reading; NULL is never true, so that a missing value satisfies no literal."""
    if condition.reading == MISSING:
        return f"{MISSING}_{i} = 1"
    if condition.reading == LEVEL:
        if condition.op == "in":
            listed = ", ".join(writer.text(level) for level in condition.levels)
            return f"{LEVEL}_{i} IN ({listed})" if listed else "1 = 0"
        return f"{LEVEL}_{i} {'=' if condition.op == '==' else '<>'} {writer.text(str(condition.value))}"
    assert not isinstance(condition.value, tuple)
    return f"{condition.reading}_{i} {condition.op} {writer.number(float(condition.value or 0.0))}"


def _state(rules: Sequence[ExportedRule]) -> str:
    fires = []
    for side in (True, False):
        flags = [f"fired_{rule.id}" for rule in rules if rule.is_positive is side]
        fires.append(f"{' + '.join(flags)} > 0" if flags else "1 = 0")
    positive, negative = fires
    return (
        f"CASE WHEN {positive} THEN CASE WHEN {negative} THEN 'active' ELSE 'positive' END "
        f"WHEN {negative} THEN 'negative' ELSE 'passive' END"
    )


def _fired(rules: Sequence[ExportedRule]) -> str:
    parts = [f"CASE fired_{rule.id} WHEN 1 THEN '{rule.id} ' ELSE '' END" for rule in rules]
    return f"RTRIM({' || '.join(parts)})" if parts else "''"


def _by_state(content: ModelContent, values: Sequence[str]) -> str:
    branches = " ".join(f"WHEN '{s.name}' THEN {v}" for s, v in zip(content.states, values, strict=True))
    return f"CASE state {branches} END"
