"""Exports on engines that are servers or need Java: `pytest -n 0 -m engines`."""

import datetime as dt
import glob
import os
import shutil
import subprocess
import tempfile
import time

import pandas as pd
import pytest

from soar_jax.export.sql import DIALECTS
from tests.export.engines import local_spark, quoted
from tests.export.made import assert_same, expected, model_of, random_models, random_rows, storages
from tests.export.values import COLUMNS, HOSTILE, NUMBER_TEXTS, TEXTS

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
TYPES = pytest.mark.parametrize("types", [None, storages()], ids=["types unknown", "types given"])
POSTGRES = {"text": "text", "integer": "bigint", "double": "double precision"}


@pytest.fixture(scope="module")
def postgres():
    """A PostgreSQL server of our own, in a folder that goes with it, as a user that is not root."""
    psycopg = pytest.importorskip("psycopg")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        pytest.skip("PostgreSQL's server is not installed")
    home = tempfile.mkdtemp(prefix="soar")
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    if user:
        shutil.chown(home, "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", **user}
    server = None
    try:
        make = [f"{found[-1]}/initdb", "-D", f"{home}/data", "-A", "trust", "-U", "soar", "-E", "UTF8", "--no-sync"]
        subprocess.run([*make, "--locale=C.UTF-8"], check=True, **quiet)
        run = [f"{found[-1]}/postgres", "-D", f"{home}/data", "-k", home, "-c", "listen_addresses=", "-F"]
        server = subprocess.Popen(run, **quiet)
        yield _connect(psycopg, home)
    finally:
        if server is not None:
            server.send_signal(2)  # fast shutdown
            server.wait(30)
        shutil.rmtree(home)


def _connect(psycopg, home):
    for _ in range(300):
        try:
            return psycopg.connect(host=home, user="soar", dbname="postgres", autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def _fill(con, frame, columns, name="t"):
    declared = ", ".join(f"{quoted(c)} {POSTGRES.get(kind, kind)}" for c, kind in storages(columns).items())
    con.execute(f"CREATE TABLE {quoted(name)} (id bigint, {declared})".encode())
    with con.cursor().copy(f"COPY {quoted(name)} FROM STDIN") as copy:
        for i, row in enumerate(frame[list(columns)].itertuples(False, None)):
            copy.write_row((i, *row))


@pytest.fixture(scope="module")
def filled(postgres, rows):
    postgres.execute("SET TimeZone = 'America/New_York'; SET DateStyle = 'German, DMY'")
    postgres.execute("CREATE TABLE canary AS SELECT 1 AS alive")
    _fill(postgres, rows, COLUMNS)
    return postgres


@TYPES
@pytest.mark.parametrize("strings", ["on", "off"])
def test_postgres_says_what_the_library_says_on_10000_rows(filled, models, answers, types, strings):
    filled.execute(f"SET standard_conforming_strings = {strings}")
    for model, wanted in zip(models, answers, strict=True):
        answer = filled.execute(model.to_sql("postgres", "t", key="id", types=types).encode()).fetchall()
        assert [row[0] for row in answer] == list(range(10_000))
        assert_same([row[1:] for row in answer], wanted)
    filled.execute("SET standard_conforming_strings = on")
    assert filled.execute("SELECT alive FROM canary").fetchall() == [(1,)]


def test_postgres_views_and_hostile_names_of_tables_execute_nothing(filled):
    model = model_of([[("a", ">", 1.0)]], [[("a", "missing", None)]], columns={"a": "double"})
    frame = pd.DataFrame({"a": pd.Series([2.0, float("nan"), None], dtype=object)})
    for name in (f"v {name}" for name in HOSTILE):
        _fill(filled, frame, {"a": "double"}, name)
        view = f"w{name}"
        filled.execute(model.to_sql("postgresql", name, key="id", view=view).encode())
        answer = filled.execute(f"SELECT * FROM {quoted(view)} ORDER BY id".encode()).fetchall()
        assert [row[3:] for row in answer] == [("positive", "P1"), ("negative", "N1"), ("negative", "N1")]
    assert filled.execute("SELECT alive FROM canary").fetchall() == [(1,)]


def test_other_types_of_postgres_are_read_by_what_they_are(filled):
    literals = [("==", 2), ("==", "2.5"), (">", 2.2), ("==", "x"), ("<=", "2021-02-28T22:30:00"), ("==", True)]
    cases = {
        "2::smallint": "P1", "2.0::numeric": "P1", "2.50::numeric(9, 2)": "P2 P3", "'x'::varchar(9)": "P4",
        "'x'::char(9)": "P4", "timestamptz '2021-03-01 00:30:00+02'": "P5", "true": "P6", "'NaN'::real": "",
        "timestamptz '1850-03-01 00:30:00+02'": "P5", "'X' COLLATE \"C\"": "", "'1e400'::text": "P3",
        "repeat('1', 1001)": "", "'infinity'::timestamp": "",
    }  # fmt: skip
    for value, fired in cases.items():
        filled.execute(f"DROP TABLE IF EXISTS one; CREATE TABLE one AS SELECT {value} AS a")
        chosen = [x for x in literals if "stamp" in value or not isinstance(x[1], str) or x[0] == "=="]
        model = model_of([[("a", *literal)] for literal in chosen], [], columns={"a": "words"})
        ids = {f"P{i + 1}": f"P{literals.index(x) + 1}" for i, x in enumerate(chosen)}
        found = filled.execute(model.to_sql("postgres", "one")).fetchall()[0][3]
        assert " ".join(ids[name] for name in found.split()) == fired, value


def test_postgres_reads_text_back_as_it_was(filled):
    writer = DIALECTS["postgres"]
    for setting in ("off", "on"):
        filled.execute(f"SET standard_conforming_strings = {setting}")
        for text in (*HOSTILE, *TEXTS, *NUMBER_TEXTS):
            assert filled.execute(f"SELECT {writer.text(text)}".encode()).fetchone()[0] == text


@pytest.fixture(scope="module")
def spark():
    with local_spark(1, "America/New_York") as session:
        yield session


def _table(spark, frame, columns, name):
    from pyspark.sql import types as T

    kinds = {
        "text": T.StringType(), "integer": T.LongType(), "double": T.DoubleType(), "real": T.FloatType(),
        "boolean": T.BooleanType(), "date": T.DateType(), "timestamp": T.TimestampNTZType(),
    }  # fmt: skip
    fields = [T.StructField(c, kinds[kind]) for c, kind in storages(columns).items()]
    rows = [(i, *row) for i, row in enumerate(frame[list(columns)].itertuples(False, None))]
    table = spark.createDataFrame(rows, T.StructType([T.StructField("id", T.LongType()), *fields]))
    table.createOrReplaceTempView(name)


@TYPES
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_says_what_the_library_says_on_10000_rows(spark, models, rows, answers, types, ansi):
    _table(spark, rows, COLUMNS, "t")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    for model, wanted in zip(models, answers, strict=True):
        answer = spark.sql(model.to_sql("spark", "t", key="id", types=types)).collect()
        assert [row[0] for row in answer] == list(range(10_000))
        assert_same([tuple(row)[1:] for row in answer], wanted)
    spark.conf.set("spark.sql.ansi.enabled", "true")


def test_spark_reads_instants_in_utc_and_text_as_it_was(spark):
    zone = dt.timezone(dt.timedelta(hours=2))
    spark.createDataFrame([(dt.datetime(2021, 3, 1, 0, 30, tzinfo=zone),)], "a timestamp").createOrReplaceTempView(
        "one"
    )
    model = model_of([[("a", "<=", "2021-02-28T22:30:00")]], [[("a", ">", "2021-02-28T22:29:59")]], columns={"a": "t"})
    for types in (None, {"a": "timestamp"}):
        assert spark.sql(model.to_sql("spark", "one", types=types)).collect()[0]["rules"] == "P1 N1"
    writer, texts = DIALECTS["spark"], [*HOSTILE, *TEXTS, *NUMBER_TEXTS]
    for escaped in ("true", "false"):
        spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
        answer = spark.sql("SELECT " + ", ".join(writer.text(text) for text in texts)).collect()[0]
        assert list(answer) == texts


def test_spark_views_execute_nothing(spark):
    spark.sql("CREATE TABLE canary AS SELECT 1 AS alive")
    spark.sql("CREATE TABLE kept AS SELECT 2.0D AS a, 0 AS id")
    model = model_of([[("a", ">", 1.0)]], [[("a", "==", "'; DROP TABLE canary; --")]], columns={"a": "double"})
    spark.sql(model.to_sql("spark", ("spark_catalog", "default", "kept"), key="id", view="my_view"))
    assert [tuple(row)[3:] for row in spark.sql("SELECT * FROM my_view").collect()] == [("positive", "P1")]
    assert spark.sql("SELECT alive FROM canary").collect()[0][0] == 1


def _can_write(kind, level):
    """PMML reads whole numbers as float64."""
    try:
        return kind != "integer" or abs(int(level)) < 2**53
    except ValueError:
        return True


def test_a_pmml_evaluator_says_what_the_library_says_on_10000_rows():
    evaluator = pytest.importorskip("jpmml_evaluator")
    columns = {name: "timestamp" if kind == "dates as text" else kind for name, kind in COLUMNS.items()}
    columns |= {"state": "words", "prediction": "double"}
    rows = random_rows(2, columns=columns)
    iso = {c: pd.Series([v.isoformat() if isinstance(v, dt.date) else v for v in rows[c]], dtype=object) for c in rows}
    for model in random_models(6, columns, _can_write):
        wanted = expected(model, rows)
        found = evaluator.make_evaluator(model.to_pmml(storages(columns)).encode()).evaluateAll(
            pd.DataFrame(iso), nan_as_missing=False
        )
        assert "errors" not in found or found["errors"].isna().all()
        names = [name if name in found.columns and name not in model.features_used_ else f"{name}_" for name in wanted]
        assert_same(list(zip(*(found[name].tolist() for name in names), strict=True)), wanted)


def test_a_pmml_evaluator_reads_fitted_models_without_being_told_types(fitted):
    evaluator = pytest.importorskip("jpmml_evaluator")
    X, *models = fitted
    for model in models:
        found = evaluator.make_evaluator(model.to_pmml().encode()).evaluateAll(X)
        wanted = expected(model, X)
        assert_same(list(zip(*(found[name].tolist() for name in wanted), strict=True)), wanted)
