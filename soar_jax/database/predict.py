"""Predictions as a lazy table of the same database: the SQL export over any table expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from soar_jax._base import InputError, Plain
from soar_jax.data.columns import CATEGORY, DATETIME
from soar_jax.data.contract import ColumnContract, refuse_or_warn, warn_of_unseen
from soar_jax.data.read_column import UTC, ZONELESS, Read, refuse_zone
from soar_jax.database.engine import Engine
from soar_jax.database.expressions import kind_of_type
from soar_jax.database.target import require_names
from soar_jax.export.content import ModelContent
from soar_jax.export.dialects.base import checked
from soar_jax.export.sql import OUTPUTS, count_over, select_over

_DIALECTS = {"duckdb": "duckdb", "pyspark": "spark", "databricks": "spark", "postgres": "postgres", "sqlite": "sqlite"}
_SOURCE = "soar_source"


def dialect_of(table: Any) -> str:
    """Name the SQL dialect of a table's database."""
    name = str(table.get_backend().name)
    if name not in _DIALECTS:
        raise InputError(f"There is no prediction in place on {name}; the databases are {', '.join(_DIALECTS)}.")
    return _DIALECTS[name]


def predict_lazily(table: Any, content: ModelContent, keep: Sequence[str] | None = None) -> Any:
    """Give label, probability, state and fired rules of each row as a table expression.

    Types of columns are compared with the contract at once, and so are, by one query, levels and text that should be
    numbers or dates.

    Parameters
    ----------
    table : ibis.Table
    content : ModelContent
    keep : sequence of str, optional
        Columns to carry along; all when not given.
    """
    import ibis
    import ibis.expr.operations as ops

    used = [column.name for column in content.columns]
    require_names(table, used, "The rules use")
    require_names(table, keep or (), "keep names")
    for column in content.columns:
        for level in column.levels:
            checked(level, f"A level of column {column.name!r}")
    kept = list(table.columns) if keep is None else list(dict.fromkeys(keep))
    schema = table.schema()
    types = {name: found for name in used if (found := _storage(name, schema[name])) is not None}
    for column in content.columns:
        _refuse_type(column.contract, schema[column.name])
    _compare_values(table, content, types)
    query = select_over(content, dialect_of(table), _SOURCE, kept, types)
    answers = (_type_of(content.states[0].label), "float64", "string", "string")
    result = ibis.schema({name: schema[name] for name in kept} | dict(zip(OUTPUTS, answers, strict=True)))
    return ops.SQLStringView(parent=table.alias(_SOURCE), query=query, schema=result).to_expr()


def _refuse_type(contract: ColumnContract, dtype: Any) -> None:
    """Refuse a column of a type that `predict` refuses in a frame."""
    contract.refuse(_kind(dtype))
    if _kind(dtype) == "datetime" and contract.kind == DATETIME:
        refuse_zone(contract.name, contract.zone, UTC if dtype.is_timestamp() and dtype.timezone else ZONELESS)


def _kind(dtype: Any) -> str:
    """Say what a column's cells are, in the words of `soar_jax.data.read_column.storage_of`."""
    is_moment = dtype.is_date() or dtype.is_timestamp()
    kinds = (("datetime", is_moment), ("boolean", dtype.is_boolean()), ("number", dtype.is_numeric()))
    return next((kind for kind, holds in kinds if holds), "text")


def _compare_values(table: Any, content: ModelContent, types: Mapping[str, str]) -> None:
    """Count, in the engine, levels never seen and values that cannot be read, and warn or refuse as `predict` does."""
    import ibis
    import ibis.expr.operations as ops

    texts = [name for name, storage in types.items() if storage == "text"]
    query, asked = count_over(content, dialect_of(table), _SOURCE, types, texts)
    if not asked:
        return
    names = [f"{what}_{i + 1}" for i in range(len(asked)) for what in ("present", "odd")]
    schema = ibis.schema(dict.fromkeys(names, "int64"))
    counts = ops.SQLStringView(parent=table.alias(_SOURCE), query=query, schema=schema).to_expr()
    found = Engine(table).fetch("compare the columns with those of the fit", counts).fillna(0).iloc[0].tolist()
    for column, present, odd in zip(asked, found[::2], found[1::2], strict=True):
        if column.contract.kind == CATEGORY:
            is_same = _kind(table[column.name].type()) in ("text", column.contract.read_as)
            warn_of_unseen(column.contract, int(odd), int(present), is_same=is_same)
        elif odd:
            refuse_or_warn(column.contract, Read(pd.Series(), int(odd), int(present)))


def _storage(name: str, dtype: Any) -> str | None:
    """How the table stores a column, in the words of ``to_sql``; None where the engine must say."""
    kind_of_type(name, dtype)
    tests = (
        ("text", dtype.is_string()),
        ("boolean", dtype.is_boolean()),
        ("integer", dtype.is_integer()),
        ("double", dtype.is_float64()),
        ("real", dtype.is_float32()),
        ("date", dtype.is_date()),
        ("timestamp", dtype.is_timestamp() and dtype.timezone is None),
    )
    return next((storage for storage, holds in tests if holds), None)


def _type_of(label: Plain) -> str:
    names = {bool: "boolean", int: "int64", float: "float64"}
    return names.get(type(label), "string")
