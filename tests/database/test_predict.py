"""Predictions in place are those of the library, row by row, and are written whole or not at all."""

import os
import subprocess
import sys
import textwrap

import ibis
import pandas as pd
import pytest

from soar_jax import InputError
from soar_jax.database import write
from soar_jax.database.write import write_parquet, write_table
from tests.database.tables import quoted
from tests.export.engines import duckdb_of
from tests.export.made import assert_same, expected, model_of, random_models, random_rows
from tests.export.values import COLUMNS

pytestmark = pytest.mark.filterwarnings("ignore")
OUTPUTS = ["prediction", "probability", "state", "rules"]


@pytest.fixture(scope="module")
def rows():
    return random_rows(1)


@pytest.fixture(scope="module")
def duckdb_rows(rows):
    return ibis.duckdb.from_connection(duckdb_of(rows, COLUMNS)).table("t")


def test_duckdb_predicts_what_the_library_predicts_on_10000_hostile_rows(rows, duckdb_rows):
    for model in random_models(5):
        found = model.predict_table(duckdb_rows).order_by("id").to_pandas()
        assert list(found.columns) == [*duckdb_rows.columns, *OUTPUTS]
        assert_same(list(found[OUTPUTS].itertuples(False, None)), expected(model, rows))


def test_predictions_are_lazy_and_go_on_as_any_table(duckdb_rows, monkeypatch):
    from ibis.backends.duckdb import Backend

    model = random_models(1)[0]
    with monkeypatch.context() as patch:
        patch.setattr(Backend, "execute", None)
        patch.setattr(Backend, "to_pyarrow", None)
        lazy = model.predict_table(duckdb_rows.filter(duckdb_rows.id < 100), keep=["id"])
    assert lazy.columns == ("id", *OUTPUTS)
    counted = lazy.group_by("state").agg(n=lazy.count()).to_pandas()
    assert counted["n"].sum() == 100
    assert isinstance(model.predict_table(random_rows(2).head(5)), pd.DataFrame)


def test_missing_columns_and_taken_names_are_refused(duckdb_rows):
    model = model_of([[("plain", "==", "a")]], [])
    with pytest.raises(InputError, match="Did you mean 'plane'"):
        model.predict_table(duckdb_rows.rename(plane="plain"))
    with pytest.raises(InputError, match="keep names"):
        model.predict_table(duckdb_rows, keep=["nothing"])
    with pytest.raises(InputError, match="'state' of the table has the name"):
        model.predict_table(duckdb_rows.mutate(state=1))
    assert "state" in model.predict_table(duckdb_rows.mutate(state=1), keep=["id"]).columns


def small(con):
    con.raw_sql("CREATE TABLE src AS SELECT range AS id, range % 3 AS a FROM range(1000)")
    return con.table("src")


def test_tables_are_written_whole_and_never_by_accident_over_others(tmp_path):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    model = model_of([[("a", "==", 1)]], [[("a", "==", 2)]])
    result = model.predict_table(small(con))
    name = 'odd " name'
    write_table(result, name)
    assert con.raw_sql(f"SELECT count(*) FROM {quoted(name)}").fetchone() == (1000,)
    with pytest.raises(InputError, match="already"):
        write_table(result, name)
    write_table(result.limit(5), name, overwrite=True)
    assert con.raw_sql(f"SELECT count(*) FROM {quoted(name)}").fetchone() == (5,)
    names = {row[0] for row in con.raw_sql("SELECT table_name FROM information_schema.tables").fetchall()}
    assert names == {"src", name}
    write_parquet(result, tmp_path / "out.parquet")
    assert len(pd.read_parquet(tmp_path / "out.parquet")) == 1000


def test_a_failure_in_the_middle_leaves_nothing_behind(tmp_path):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    table = small(con)
    broken = table.mutate(b=(table.id.cast("string") + "x").cast("int64"))
    with pytest.raises(InputError, match="could not write the table 'out'"):
        write_table(broken, "out")
    with pytest.raises(InputError, match=r"could not write out\.parquet"):
        write_parquet(broken, tmp_path / "out.parquet")
    names = {row[0] for row in con.raw_sql("SELECT table_name FROM information_schema.tables").fetchall()}
    assert names == {"src"} and sorted(p.name for p in tmp_path.iterdir() if "wal" not in p.name) == ["x.db"]


def test_a_read_only_database_is_named(tmp_path):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    small(con)
    con.disconnect()
    con = ibis.duckdb.connect(tmp_path / "x.db", read_only=True)
    with pytest.raises(InputError, match="may only be read"):
        write_table(con.table("src"), "out")
    con.disconnect()


def test_a_full_disk_is_named_and_leaves_no_file(tmp_path):
    """The system refuses to let files grow beyond a megabyte, as a full disk does."""
    script = textwrap.dedent(
        """
        import resource, sys, ibis
        from pathlib import Path
        from soar_jax import InputError
        from soar_jax.database.write import write_parquet
        con = ibis.duckdb.connect()
        con.raw_sql("CREATE VIEW big AS SELECT hash(range) AS a FROM range(1000000)")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            write_parquet(con.table("big"), Path(sys.argv[1]) / "out.parquet")
        except InputError as error:
            print(error)
        """
    )
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, capture_output=True, text=True)
    assert "disk is full" in run.stdout
    assert list(tmp_path.iterdir()) == []


def test_an_engine_killed_in_the_middle_leaves_the_table_absent(tmp_path):
    script = textwrap.dedent(
        """
        import os, sys, threading, time, ibis
        from soar_jax.database.write import write_table
        con = ibis.duckdb.connect(sys.argv[1])
        con.raw_sql("CREATE TABLE src AS SELECT range AS id FROM range(1000)")
        con.raw_sql("CHECKPOINT")
        src = con.table("src")
        other = src.view()
        threading.Timer(0.5, lambda: os.kill(os.getpid(), 9)).start()
        write_table(src.cross_join(other.rename(b="id")).cross_join(src.view().rename(c="id")), "out")
        """
    )
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path / "x.db")], check=False, env=os.environ)
    assert run.returncode == -9
    con = ibis.duckdb.connect(tmp_path / "x.db")
    names = {row[0] for row in con.raw_sql("SELECT table_name FROM information_schema.tables").fetchall()}
    assert names == {"src"}


def test_sqlite_predicts_through_ibis_too(tmp_path):
    con = ibis.sqlite.connect(tmp_path / "x.sqlite")
    con.raw_sql("CREATE TABLE t (id INTEGER, a TEXT, b REAL)")
    con.raw_sql("INSERT INTO t VALUES (1, 'x', 1.5), (2, 'y', 2.5), (3, NULL, NULL)")
    con.con.commit()
    table = con.table("t")
    model = model_of([[("a", "==", "x"), ("b", "<=", 2.0)]], [[("b", ">", 2.0)]], columns={"a": "words", "b": "double"})
    found = model.predict_table(table).order_by("id").to_pandas()
    assert_same(list(found[OUTPUTS].itertuples(False, None)), expected(model, table.order_by("id").to_pandas()))


@pytest.mark.parametrize("through", ["src", "SRC", "main.src", "view", "view of a view"])
def test_the_table_that_is_read_is_never_replaced(tmp_path, through):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    small(con)
    con.raw_sql("CREATE VIEW view AS SELECT * FROM src")
    con.raw_sql('CREATE VIEW "view of a view" AS SELECT * FROM view')
    model = model_of([[("a", "==", 1)]], [[("a", "==", 2)]])
    read = through if "view" in through else "src"
    target = through if "view" not in through else "src"
    with pytest.raises(InputError, match="is read here, itself or through a view"):
        write_table(model.predict_table(con.table(read), keep=["id"]), target, overwrite=True)
    assert con.raw_sql("SELECT count(*), max(a) FROM src").fetchone() == (1000, 2)


def test_a_table_is_replaced_by_all_that_was_read_through_it(tmp_path, monkeypatch):
    """Even where nothing tells that a table is read, what is written is whole."""
    monkeypatch.setattr(write, "_reads", lambda *_: False)
    con = ibis.duckdb.connect(tmp_path / "x.db")
    model = model_of([[("a", "==", 1)]], [[("a", "==", 2)]])
    write_table(model.predict_table(small(con), keep=["id"]), "src", overwrite=True)
    assert con.raw_sql("SELECT count(*), count(DISTINCT prediction) FROM src").fetchone() == (1000, 2)


def test_a_table_is_written_into_the_schema_that_its_name_has(tmp_path):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    table = small(con)
    con.raw_sql("CREATE SCHEMA s2")
    write_table(table.limit(3), "s2.out")
    write_table(table.limit(4), "main.out")  # of that name there is one elsewhere
    write_table(table.limit(5), "S2.Out", overwrite=True)
    listed = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
    assert con.raw_sql(listed).fetchall() == [("main", "out"), ("main", "src"), ("s2", "Out")]
    assert con.raw_sql("SELECT count(*) FROM s2.out").fetchone() == (5,)
    with pytest.raises(InputError, match="no schema 's9'"):
        write_table(table, "s9.out")
    for name in ("", " ", "s2."):
        with pytest.raises(InputError, match="needs a name"):
            write_table(table, name)


def test_tables_whose_names_differ_by_case_are_one(tmp_path):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    table = small(con)
    write_table(table, "lab")
    with pytest.raises(InputError, match="already"):
        write_table(table, "LAB")
