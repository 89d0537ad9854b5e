"""Names of tables in a database: which there are, how a name is read, and what a mistyped one may have meant."""

from __future__ import annotations

import difflib
from contextlib import suppress
from typing import Any, NamedTuple

from soar_jax._base import InputError
from soar_jax.database.engine import explain_failure

_LISTED = """SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()
 AND table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY table_schema, table_name"""
_SHOWN = 20


class TableName(NamedTuple):
    """A table's name, and its schema where that is not the default one."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        """Write it as ``--table`` takes it."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    def where(self) -> dict[str, str]:
        """Give the schema as functions of Ibis take it."""
        return {} if self.schema is None else {"database": self.schema}


def current_schema(con: Any) -> str:
    """Name the schema in which tables without one are."""
    if con.name in ("duckdb", "postgres"):
        return str(_ask(con, "SELECT current_schema() AS one", "one")[0][0])
    return str(getattr(con, "current_database", "main"))


def _ask(con: Any, query: str, *columns: str) -> list[tuple[Any, ...]]:
    """Fetch lines of text, also by way of Ibis 12, which asks DuckDB 2 for a method that it no longer has."""
    if con.name == "duckdb":
        return list(con.raw_sql(query).fetchall())
    found = con.sql(query, schema=dict.fromkeys(columns, "string")).execute()
    return list(found.itertuples(False, None))


def list_tables(con: Any, schema: str | None = None) -> list[TableName]:
    """List tables and views, those of the default schema first; of some engines only these and those of ``schema``."""
    if con.name not in ("duckdb", "postgres"):
        found = [TableName(None, name) for name in con.list_tables()]
        with suppress(Exception):  # it may not be there
            found += [TableName(schema, name) for name in (con.list_tables(database=schema) if schema else [])]
        return found
    here = current_schema(con)
    lines = _ask(con, _LISTED, "table_schema", "table_name")
    named = [TableName(None if schema == here else schema, name) for schema, name in lines]
    return sorted(named, key=lambda name: name.schema is not None)


def folded(con: Any, text: str) -> str:
    """Form of a name in which equal names are one table: PostgreSQL alone tells cases apart."""
    return text if con.name == "postgres" else text.lower()


def read_name(con: Any, text: str, listed: list[TableName]) -> TableName:
    """Read ``name`` or ``schema.name``; a table of the default schema may itself have a dot in its name."""
    schema, _, plain = text.rpartition(".")
    has_dot = any(t.schema is None and folded(con, t.name) == folded(con, text) for t in listed)
    if has_dot or not schema or not plain:
        return TableName(None, text)
    return TableName(None if folded(con, schema) == folded(con, current_schema(con)) else schema, plain)


def find_table(con: Any, text: str) -> Any:
    """Open a table, or say what it may be called."""
    try:
        listed = list_tables(con, text.rpartition(".")[0] or None)
        name = read_name(con, text, listed)
    except Exception as error:
        raise explain_failure(error, "list its tables") from error
    try:
        return con.table(name.name, **name.where())
    except Exception as error:
        if name in listed:
            raise explain_failure(error, f"open table {text!r}") from error
        raise InputError(f"The database has no table {text!r}; {_hint(text, listed)}") from error


def _hint(text: str, listed: list[TableName]) -> str:
    """Name a table that may be meant, as it must be typed."""
    plain = text.rpartition(".")[2].lower()
    shown = [str(name) for name in listed]
    near = [str(name) for name in listed if name.name.lower() == plain]
    near += difflib.get_close_matches(text, shown, 1)
    near += [str(n) for n in listed if n.name.lower() in difflib.get_close_matches(plain, [n.name.lower()], 1)]
    if near:
        return f"did you mean {near[0]!r}?"
    return f"it has {', '.join(shown[:_SHOWN])}." if shown else "it has none."
