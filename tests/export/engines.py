"""The rows as tables of the databases that run in this process."""

import datetime as dt
import shutil
import sqlite3
import tempfile
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pytest

from tests.export.made import storages

_ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "double": pa.float64(),
    "real": pa.float32(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_SQLITE = {"text": "TEXT", "integer": "INTEGER", "double": "REAL", "real": "REAL", "boolean": "BOOLEAN"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def as_sqlite_stores(value):
    """SQLite has no dates: Python's driver writes them as text."""
    return str(value) if isinstance(value, dt.date) else value


def duckdb_of(frame, columns, name="t"):
    con = duckdb.connect()
    stored = storages(columns)
    arrays = {c: pa.array(frame[c].tolist(), _ARROW[kind], from_pandas=False) for c, kind in stored.items()}
    table = pa.table({"id": pa.array(range(len(frame)), pa.int64())} | arrays)
    con.register("arrow_rows", table)
    con.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM arrow_rows")
    con.execute("CREATE TABLE canary AS SELECT 1 AS alive")
    return con


def sqlite_of(frame, columns, name="t"):
    con = sqlite3.connect(":memory:")
    stored = storages(columns)
    declared = ", ".join(f"{quoted(c)} {_SQLITE.get(kind, 'TEXT')}" for c, kind in stored.items())
    con.execute(f"CREATE TABLE {quoted(name)} (id INTEGER, {declared})")
    marks = ", ".join("?" * (len(stored) + 1))
    given = [(i, *map(as_sqlite_stores, row)) for i, row in enumerate(frame[list(stored)].itertuples(False, None))]
    con.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", given)
    con.execute("CREATE TABLE canary AS SELECT 1 AS alive")
    return con


@contextmanager
def local_spark(cores, zone):
    """A Spark session of this machine, with a warehouse of its own."""
    sql = pytest.importorskip("pyspark.sql")
    warehouse = tempfile.mkdtemp(prefix="soar")
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": zone,
        "spark.sql.warehouse.dir": warehouse,
    }
    builder = sql.SparkSession.builder.master(f"local[{cores}]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    shutil.rmtree(warehouse)
