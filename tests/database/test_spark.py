"""Local Spark gives what DuckDB and pandas give: `pytest -n 0 -m engines tests/database`."""

import datetime as dt
from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pytest

from soar_jax import InputError, SOARClassifier, datasets
from soar_jax.database import source as source_module
from soar_jax.database import write
from soar_jax.database.connect import open_table
from soar_jax.database.write import write_table
from tests.database.tables import VALUES, built, duckdb_table, frame_source, planted, source_of
from tests.database.test_fit import QUICK, assert_same
from tests.export.engines import local_spark
from tests.export.made import assert_same as assert_same_rows
from tests.export.made import expected, random_models, random_rows, storages

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
HOSTILE = ["plain", "quote \" and ' and `", "semi; DROP TABLE rows; --", "Straße 名前 🐍", "SELECT", "x", "back\\slash"]


@pytest.fixture(scope="module")
def session():
    with local_spark(2, "UTC") as session:
        yield session


@pytest.fixture(scope="module")
def con(session):
    return ibis.pyspark.connect(session)


def spark_table(session, con, columns, rows, name):
    from pyspark.sql import types as T

    kinds = {
        "text": T.StringType(), "integer": T.LongType(), "float": T.DoubleType(), "double": T.DoubleType(),
        "real": T.FloatType(), "boolean": T.BooleanType(), "date": T.DateType(), "timestamp": T.TimestampNTZType(),
    }  # fmt: skip
    plain = [tuple(v.item() if isinstance(v, np.generic) else v for v in row) for row in rows]
    fields = T.StructType([T.StructField(column, kinds[kind]) for column, kind in columns])
    session.createDataFrame(plain, fields).createOrReplaceTempView(name)
    return con.table(name)


def from_frame(session, con, frame, kinds, name):
    rows = [
        tuple(None if pd.isna(v) else v.to_pydatetime() if isinstance(v, pd.Timestamp) else v for v in row)
        for row in frame.itertuples(False, None)
    ]
    return spark_table(session, con, list(zip(frame.columns, kinds, strict=True)), rows, name)


@pytest.mark.parametrize("seed", range(6))
def test_columns_and_patterns_equal_those_of_a_data_frame(session, con, seed):
    rng = np.random.default_rng(seed)
    names = rng.permutation(HOSTILE)[:4].tolist()
    columns = [("label", "boolean"), *((name, str(rng.choice(list(VALUES)))) for name in names)]
    draw = lambda kind: None if rng.random() < 0.15 else VALUES[kind][rng.integers(len(VALUES[kind]))]
    rows = [(bool(rng.random() < 0.5), *(draw(kind) for _, kind in columns[1:])) for _ in range(60)]
    wanted = built(frame_source(duckdb_table(columns, rows)))
    found = built(source_of(spark_table(session, con, columns, rows, "hostile")))
    assert [(c.name, c.kind, c.cuts, c.has_other) for c in found[0]] == [
        (c.name, c.kind, c.cuts, c.has_other) for c in wanted[0]
    ]
    assert found[1] == wanted[1]


def test_fits_to_car_and_a_mixed_table_equal_those_of_their_data_frames(session, con):
    X, y = datasets.load_car()
    car = from_frame(session, con, X.assign(ziel=np.asarray(y)), ["text"] * 6 + ["integer"], "car")
    assert_same(SOARClassifier(**QUICK).fit_table(car, "ziel"), SOARClassifier(**QUICK).fit(X, y))
    frame = planted(400)
    kinds = ["double", "text", "timestamp", "boolean", "integer", "boolean"]
    table = from_frame(session, con, frame, kinds, "mixed")
    model = SOARClassifier(**QUICK).fit_table(table, "label")
    assert_same(model, SOARClassifier(**QUICK).fit(frame.drop(columns="label"), frame["label"]))
    assert not model.monitor(table).has_drifted
    write_table(model.predict_table(table), "judged")
    found = con.table("judged").to_pandas()
    assert found["state"].value_counts().to_dict() == model.predict_table(frame)["state"].value_counts().to_dict()
    write_table(model.predict_table(table).limit(7), "judged", overwrite=True)
    assert con.table("judged").count().execute() == 7
    session.sql("CREATE DATABASE s2")
    write_table(model.predict_table(table).limit(3), "s2.judged")
    assert con.table("judged", database="s2").count().execute() == 3
    with pytest.raises(InputError, match="no schema 's9'"):
        write_table(model.predict_table(table), "s9.judged")
    with pytest.raises(InputError, match="already"):
        write_table(model.predict_table(table), "JUDGED")
    with pytest.raises(InputError, match="is read here"):
        write_table(con.table("judged").limit(1), "default.judged", overwrite=True)


def test_a_failed_rename_leaves_no_stage_behind(session, con, monkeypatch):
    table = from_frame(
        session, con, planted(10), ["double", "text", "timestamp", "boolean", "integer", "boolean"], "ten"
    )
    monkeypatch.setattr(write, "_put_in_place", lambda *_: ["ALTER TABLE nothing_here RENAME TO nothing"])
    warehouse = Path(session.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    with pytest.raises(InputError, match="could not write the table 'whole'"):
        write_table(table, "whole")
    assert not [name for name in con.list_tables() if name.startswith("soar_") or name == "whole"]
    assert not list(warehouse.glob("soar_*"))


def test_bins_of_very_many_values_count_every_row(session, con, monkeypatch):
    monkeypatch.setattr(source_module, "MOST_VALUES", 50)
    rng = np.random.default_rng(0)
    start = dt.datetime(1960, 1, 1)
    rows = [
        (bool(rng.random() < 0.5), float(rng.lognormal()), start + dt.timedelta(microseconds=int(rng.integers(2**51))))
        for _ in range(500)
    ]
    columns = [("label", "boolean"), ("x", "double"), ("t", "timestamp")]
    here = source_of(duckdb_table([("label", "boolean"), ("x", "float"), ("t", "timestamp")], rows))
    there = source_of(spark_table(session, con, columns, rows, "bins"))
    for name in ("x", "t"):
        for part in ("low", "high", "positives", "negatives"):
            ours, theirs = (getattr(s.profiles[name].bins, part) for s in (here, there))
            np.testing.assert_array_equal(ours, theirs)


def test_spark_predicts_what_the_library_predicts_on_10000_hostile_rows(session, con):
    rows, stored = random_rows(1), storages()
    columns = [("id", "integer"), *stored.items()]
    table = spark_table(
        session, con, columns, [(i, *row) for i, row in enumerate(rows[list(stored)].itertuples(False, None))], "t"
    )
    for model in random_models(3):
        found = model.predict_table(table, keep=["id"]).order_by("id").to_pandas()
        outputs = ["prediction", "probability", "state", "rules"]
        assert_same_rows(list(found[outputs].itertuples(False, None)), expected(model, rows))


def test_decimals_of_two_values_are_numbers_in_spark_and_in_memory(session, con):
    session.sql(
        "SELECT CAST(CASE WHEN id % 3 = 1 THEN 1.5 WHEN id % 3 = 2 THEN 0 END AS DECIMAL(6, 2)) AS a, id % 3 = 1 AS y "
        "FROM range(300)"
    ).createOrReplaceTempView("decimals")
    table = con.table("decimals")
    model = SOARClassifier(**QUICK).fit_table(table, "y")
    frame = table.to_pandas()
    assert_same(model, SOARClassifier(**QUICK).fit(frame[["a"]], frame["y"]))
    assert sorted(model.predict_table(table)["state"].to_pandas()) == sorted(model.predict_table(frame)["state"])
    assert "a = 1.5" in model.describe() and not model.monitor(table).has_drifted


def test_a_table_that_no_later_command_would_find_is_not_written(session, con):
    session.range(3).createOrReplaceTempView("short")
    with pytest.raises(InputError, match=r"keeps its catalogue in memory.*metastore"):
        open_table(spark="local[2]", table="short", writes=True)
    assert open_table(spark="local[2]", table="short").count().execute() == 3
