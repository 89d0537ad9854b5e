"""Results written by the engine: a table or a file is there whole or not at all."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from soar_jax._base import InputError
from soar_jax.database.engine import explain_failure
from soar_jax.database.names import TableName, current_schema, folded, list_tables, read_name
from soar_jax.database.predict import dialect_of
from soar_jax.export.sql import DIALECTS


class TableExists(InputError):
    """The table to write is there already."""


def write_table(table: Any, name: str, *, overwrite: bool = False) -> None:
    """Have the engine write a table expression as a new table of its database.

    All is written under a passing name first. DuckDB and PostgreSQL then put it in place in one transaction. Where
    another engine dies in between, ``name`` is as it was before or, with ``overwrite``, absent.

    Parameters
    ----------
    table : ibis.Table
    name : str
        ``name``, or ``schema.name`` where it is not in the default schema.
    overwrite : bool
        Replace the table of that name; one that is read by ``table`` is never replaced.
    """
    con = table.get_backend()
    target, has_one = _look_up(con, name)
    if has_one and not overwrite:
        raise TableExists(f"The database has a table {name!r} already; give another name, or say that it be replaced.")
    if has_one and _reads(con, table, target):
        raise InputError(f"The table {name!r} is read here, itself or through a view; write to one of another name.")
    write = _write_at_once if con.name == "duckdb" else _write_and_rename
    try:
        with _cleared_at_the_end():
            write(con, table, target, overwrite)
    except Exception as error:
        told = str(error).lower()
        if target.schema is not None and "schema" in told and ("not exist" in told or "not_found" in told):
            raise InputError(f"The database has no schema {target.schema!r}; create it, or leave it out.") from error
        raise explain_failure(error, f"write the table {name!r}") from error


def _look_up(con: Any, name: str) -> tuple[TableName, bool]:
    """Read a name, and say whether there is such a table."""
    if not name.strip() or name.endswith("."):
        raise InputError("The table to write needs a name.")
    try:
        listed = list_tables(con, name.rpartition(".")[0] or None)
        target = read_name(con, name, listed)
    except Exception as error:
        raise explain_failure(error, "list its tables") from error
    return target, folded(con, str(target)) in {folded(con, str(other)) for other in listed}


def _reads(con: Any, table: Any, target: TableName) -> bool:
    """Say whether an expression reads a table: by its name or, in DuckDB, through a view."""
    import ibis.expr.operations as ops

    read = {(op.namespace.database, op.name) for op in table.op().find(ops.DatabaseTable)}
    here = current_schema(con)
    if con.name == "duckdb":
        import sqlglot

        with suppress(Exception):  # what the engine cannot read now it says when it is to write
            for text in con.con.get_table_names(con.compile(table), qualified=True):
                found = sqlglot.exp.to_table(text, dialect="duckdb")
                read.add((found.db or None, found.name))
    return any(
        folded(con, schema or here) == folded(con, target.schema or here)
        and folded(con, name) == folded(con, target.name)
        for schema, name in read
    )


def _write_at_once(con: Any, table: Any, target: TableName, overwrite: bool) -> None:
    con.raw_sql("BEGIN TRANSACTION")
    try:
        stage = _stage_beside(target)
        con.create_table(stage.name, table, **stage.where())
        for command in _put_in_place(table, stage, target, overwrite):
            con.raw_sql(command)
    except BaseException:
        with suppress(Exception):  # a failed transaction may have ended by itself
            con.raw_sql("ROLLBACK")
        raise
    con.raw_sql("COMMIT")


def _write_and_rename(con: Any, table: Any, target: TableName, overwrite: bool) -> None:
    stage = _stage_beside(target)
    try:
        con.create_table(stage.name, table, **stage.where())
        commands = _put_in_place(table, stage, target, overwrite)
        # PostgreSQL runs what it is given at once as one transaction
        for command in ["; ".join(commands)] if con.name == "postgres" else commands:
            con.raw_sql(command)
    except BaseException:
        with suppress(Exception):
            con.raw_sql(f"DROP TABLE IF EXISTS {_quoted(table, stage)}")  # Ibis 12 writes this without the name
        raise


def _stage_beside(target: TableName) -> TableName:
    return TableName(target.schema, f"soar_{uuid.uuid4().hex}")


def _put_in_place(table: Any, stage: TableName, target: TableName, overwrite: bool) -> list[str]:
    """Write the commands that give a table its name."""
    drop = [f"DROP TABLE IF EXISTS {_quoted(table, target)}"] if overwrite else []
    is_spark = dialect_of(table) == "spark"  # which takes a bare name for one of the default schema
    new_name = _quoted(table, target if is_spark else TableName(None, target.name))
    return [*drop, f"ALTER TABLE {_quoted(table, stage)} RENAME TO {new_name}"]


def _quoted(table: Any, name: TableName) -> str:
    """Write a name as the database of ``table`` takes it."""
    parts = [*([] if name.schema is None else name.schema.split(".")), name.name]
    return ".".join(DIALECTS[dialect_of(table)].identifier(part) for part in parts)


def write_parquet(table: Any, path: str | os.PathLike[str]) -> None:
    """Have DuckDB write a table expression as one Parquet file, beside the target, and move it into place."""
    target = Path(path)
    stage = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with _cleared_at_the_end():
            _write_and_move(table, stage, target)
    except Exception as error:
        raise explain_failure(error, f"write {target.name}") from error


def _write_and_move(table: Any, stage: Path, target: Path) -> None:
    try:
        table.to_parquet(stage)
        stage.replace(target)
    except BaseException:
        stage.unlink(missing_ok=True)
        raise


@contextmanager
def _cleared_at_the_end() -> Iterator[None]:
    """Let a SIGTERM end the work as an error does, so that what was begun is taken away, and then the process.

    Where others listen to that signal, or in another thread, nothing is changed.
    """
    is_mine = threading.current_thread() is threading.main_thread()
    if not is_mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    has_come = False

    def arrive(*_: Any) -> None:
        nonlocal has_come
        has_come = True
        raise SystemExit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, arrive)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if has_come:
            os.kill(os.getpid(), signal.SIGTERM)
