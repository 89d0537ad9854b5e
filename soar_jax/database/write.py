"""Results written by the engine: a table or a file is there whole or not at all."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from soar_jax._base import InputError
from soar_jax.database.connect import table_names
from soar_jax.database.engine import explain_failure
from soar_jax.database.predict import dialect_of
from soar_jax.export.sql import DIALECTS


def write_table(table: Any, name: str, *, overwrite: bool = False) -> None:
    """Have the engine write a table expression as a new table of its database.

    DuckDB does it in one transaction. Other engines write under a passing name and rename when all is there: where they
    die in between, ``name`` is as it was before or, with ``overwrite``, absent.
    """
    con = table.get_backend()
    if name in table_names(con) and not overwrite:
        raise InputError(
            f"The database has a table {name!r} already; give another name, or say that it may be replaced."
        )
    write = _write_at_once if con.name == "duckdb" else _write_and_rename
    try:
        write(con, table, name, overwrite)
    except Exception as error:
        raise explain_failure(error, f"write the table {name!r}") from error


def _write_at_once(con: Any, table: Any, name: str, overwrite: bool) -> None:
    con.raw_sql("BEGIN TRANSACTION")
    try:
        if overwrite:
            con.raw_sql(f"DROP TABLE IF EXISTS {DIALECTS['duckdb'].identifier(name)}")
        con.create_table(name, table)
    except BaseException:
        with suppress(Exception):  # a failed transaction may have ended by itself
            con.raw_sql("ROLLBACK")
        raise
    con.raw_sql("COMMIT")


def _write_and_rename(con: Any, table: Any, name: str, overwrite: bool) -> None:
    stage = f"soar_{uuid.uuid4().hex}"
    quoted = DIALECTS[dialect_of(table)].identifier
    try:
        con.create_table(stage, table)
        if overwrite:
            con.raw_sql(f"DROP TABLE IF EXISTS {quoted(name)}")
        con.raw_sql(f"ALTER TABLE {quoted(stage)} RENAME TO {quoted(name)}")
    except BaseException:
        with suppress(Exception):
            con.drop_table(stage, force=True)
        raise


def write_parquet(table: Any, path: str | os.PathLike[str]) -> None:
    """Have DuckDB write a table expression as one Parquet file, beside the target, and move it into place."""
    target = Path(path)
    stage = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        table.to_parquet(stage)
        stage.replace(target)
    except Exception as error:
        stage.unlink(missing_ok=True)
        raise explain_failure(error, f"write {target.name}") from error
