"""Tables by name: a database, Parquet files, or a Spark cluster."""

from __future__ import annotations

import glob
import os
import tempfile
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from soar_jax._base import InputError
from soar_jax.database.addresses import shown_address
from soar_jax.database.engine import explain_failure
from soar_jax.database.names import find_table

_INSTALL = "pip install 'soar-jax[database]'"
_ADDRESSES = "addresses begin with duckdb://, sqlite:// or postgres://, and Spark has an option of its own"


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
    con = _open_spark(spark, writes) if spark is not None else _open_database(database, writes)
    try:
        return _read_parquet(con, parquet) if parquet is not None else find_table(con, str(table))
    except BaseException:
        if spark is None:  # a Spark session may be somebody else's
            with suppress(Exception):
                con.disconnect()
        raise


def _open_database(address: str | None, writes: bool) -> Any:
    ibis = _ibis()
    if address is None or address.startswith("duckdb:") or ("://" not in address and not address.startswith("sqlite:")):
        return _open_duckdb(ibis, address, writes)
    where, scheme = shown_address(address), address.partition(":")[0]
    known = {entry.name for entry in entry_points(group="ibis.backends")} | {"postgresql"}
    if scheme not in known:
        raise InputError(f"No database is known by {scheme}://; {_ADDRESSES}.")
    if scheme == "sqlite":
        return _open_sqlite(ibis, address)
    try:
        return ibis.connect(address)
    except ImportError as error:
        package = f"ibis-framework[{'postgres' if scheme == 'postgresql' else scheme}]"
        raise InputError(
            f"The database {where} cannot be reached: its driver is not installed; pip install '{package}'."
        ) from error
    except Exception as error:
        raise InputError(f"The database {where} cannot be reached ({type(error).__name__}).") from error


def _existing_file(path: str) -> str:
    """Find a database's file; ``/file.db`` after three slashes may be relative, as other libraries write it."""
    if path and not Path(path).is_file() and Path(path.lstrip("/")).is_file():
        path = path.lstrip("/")
    if path and path != ":memory:" and not Path(path).is_file():
        raise InputError(f"There is no database file {path}.")
    return path


def _open_sqlite(ibis: Any, address: str) -> Any:
    path = _existing_file(address.removeprefix("sqlite:").removeprefix("//").partition("?")[0])
    if not path:
        raise InputError("Say which file of SQLite: sqlite:///file.sqlite.")
    try:
        return ibis.sqlite.connect(path)
    except Exception as error:
        raise explain_failure(error, f"open {path}") from error


def _open_duckdb(ibis: Any, address: str | None, writes: bool) -> Any:
    path, _, query = (address or "").removeprefix("duckdb:").removeprefix("//").partition("?")
    settings: dict[str, Any] = dict(parse_qsl(query))
    settings.setdefault("temp_directory", os.path.join(tempfile.gettempdir(), f"soar_duckdb_{os.getuid()}"))
    path = _existing_file(path)
    try:
        return ibis.duckdb.connect(path or ":memory:", read_only=bool(path and not writes), **settings)
    except Exception as error:
        raise explain_failure(error, f"open {path or 'DuckDB'}") from error


def _open_spark(master: str, writes: bool) -> Any:
    ibis = _ibis()
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InputError("Spark needs its client: pip install 'soar-jax[spark]', and Java 17.") from error
    try:
        builder = SparkSession.builder.appName("soar").master(master)
        session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        con = ibis.pyspark.connect(session)
    except Exception as error:
        raise InputError(f"The Spark cluster {master} cannot be reached ({type(error).__name__}).") from error
    if writes and _forgets_tables(session):
        raise InputError(
            "This Spark keeps its catalogue in memory: no later command would find a table that is written now. Give "
            "it a metastore (spark.sql.catalogImplementation hive, or a catalogue of its own, in spark-defaults.conf); "
            "to write predictions on Parquet files to a file, leave Spark out and let DuckDB read them."
        )
    return con


def _forgets_tables(session: Any) -> bool:
    """Say whether tables are known to this session only: no metastore, and no catalogue that was set up by name."""
    settings = dict(session.sparkContext.getConf().getAll())
    has_catalogue = any(name.startswith("spark.sql.catalog.") for name in settings)
    return session.conf.get("spark.sql.catalogImplementation", "in-memory") == "in-memory" and not has_catalogue


def _read_parquet(con: Any, pattern: str) -> Any:
    is_local = "://" not in pattern
    if is_local and not glob.glob(pattern, recursive=True):
        raise InputError(f"No file matches {pattern}.")
    try:
        return con.read_parquet(pattern)
    except Exception as error:
        raise explain_failure(error, f"read {pattern} as Parquet") from error
