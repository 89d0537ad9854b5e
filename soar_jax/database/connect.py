"""Tables by name: a database, Parquet files, or a Spark cluster."""

from __future__ import annotations

import glob
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from soar_jax._base import InputError
from soar_jax.database.engine import explain_failure
from soar_jax.database.names import find_table

_INSTALL = "pip install 'soar-jax[database]'"


def _ibis() -> Any:
    try:
        import ibis
    except ImportError as error:
        raise InputError(f"Tables in databases need Ibis: {_INSTALL}.") from error
    return ibis


def open_table(
    *, database: str | None = None, table: str | None = None, parquet: str | None = None, spark: str | None = None,
    writes: bool = False,
) -> Any:  # fmt: skip
    """Find a table by name.

    Parameters
    ----------
    database : str, optional
        ``duckdb:///file.db``, with settings of DuckDB after a question mark (``?memory_limit=2GB&threads=2``), or any
        other address that `ibis.connect` knows (``postgres://user@host/name``).
    table : str, optional
        Name of the table; ``schema.name`` where it is not in the default one.
    parquet : str, optional
        Files to read as one table; a pattern such as ``data/*.parquet``.
    spark : str, optional
        Master of a Spark cluster, for example ``local[2]`` or ``spark://host:7077``.
    writes : bool
        Open the database so that tables can be written.
    """
    if (table is None) == (parquet is None):
        raise InputError("Say which table: --table NAME of a database, or --parquet 'FILES'.")
    if database is not None and spark is not None:
        raise InputError("Give --database or --spark, not both.")
    if table is not None and database is None and spark is None:
        raise InputError(f"Say in which database table {table!r} is: --database or --spark.")
    con = _open_spark(spark) if spark is not None else _open_database(database, writes)
    try:
        return _read_parquet(con, parquet) if parquet is not None else find_table(con, str(table))
    except BaseException:
        if spark is None:  # a Spark session may be somebody else's
            with suppress(Exception):
                con.disconnect()
        raise


def _open_database(address: str | None, writes: bool) -> Any:
    ibis = _ibis()
    if address is None or address.startswith("duckdb:") or "://" not in address:
        return _open_duckdb(ibis, address, writes)
    try:
        return ibis.connect(address)
    except Exception as error:
        where = address.split("@")[-1]  # never a password
        raise InputError(f"The database {where} cannot be reached ({type(error).__name__}).") from error


def _open_duckdb(ibis: Any, address: str | None, writes: bool) -> Any:
    path, _, query = (address or "").removeprefix("duckdb:").removeprefix("//").partition("?")
    settings: dict[str, Any] = dict(parse_qsl(query))
    settings.setdefault("temp_directory", os.path.join(tempfile.gettempdir(), f"soar_duckdb_{os.getuid()}"))
    if path and not Path(path).is_file() and Path(path.lstrip("/")).is_file():
        path = path.lstrip("/")  # duckdb:///file.db, as other libraries write a relative path
    if path and path != ":memory:" and not Path(path).is_file():
        raise InputError(f"There is no database file {path}.")
    try:
        return ibis.duckdb.connect(path or ":memory:", read_only=bool(path and not writes), **settings)
    except Exception as error:
        raise explain_failure(error, f"open {path or 'DuckDB'}") from error


def _open_spark(master: str) -> Any:
    ibis = _ibis()
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InputError("Spark needs its client: pip install 'soar-jax[spark]', and Java 17.") from error
    try:
        builder = SparkSession.builder.appName("soar").master(master)
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        return ibis.pyspark.connect(session)
    except Exception as error:
        raise InputError(f"The Spark cluster {master} cannot be reached ({type(error).__name__}).") from error


def _read_parquet(con: Any, pattern: str) -> Any:
    is_local = "://" not in pattern
    if is_local and not glob.glob(pattern, recursive=True):
        raise InputError(f"No file matches {pattern}.")
    try:
        return con.read_parquet(pattern)
    except Exception as error:
        raise explain_failure(error, f"read {pattern} as Parquet") from error
