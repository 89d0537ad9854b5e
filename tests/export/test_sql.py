import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soar_jax import BOAClassifier, InputError, SOARClassifier
from soar_jax.export.sql import DIALECTS
from tests.export.engines import as_sqlite_stores, duckdb_of, quoted, sqlite_of
from tests.export.made import assert_same, expected, model_of, storages
from tests.export.values import COLUMNS, HOSTILE

MAKERS = {"duckdb": duckdb_of, "sqlite": sqlite_of}


@pytest.fixture(scope="module")
def databases(rows):
    return {name: make(rows, COLUMNS) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def sqlite_answers(models, rows):
    """SQLite stores dates as text, so that is what the library is given too."""
    given = {c: pd.Series([as_sqlite_stores(v) for v in rows[c]], dtype=object) for c in rows}
    return [expected(model, pd.DataFrame(given)) for model in models]


@pytest.mark.parametrize("types", [None, storages()], ids=["types unknown", "types given"])
def test_duckdb_says_what_the_library_says_on_10000_rows(databases, models, answers, types):
    for model, wanted in zip(models, answers, strict=True):
        answer = databases["duckdb"].execute(model.to_sql("duckdb", "t", key="id", types=types)).fetchall()
        assert [row[0] for row in answer] == list(range(10_000))
        assert_same([row[1:] for row in answer], wanted)
    assert databases["duckdb"].execute("SELECT alive FROM canary").fetchall() == [(1,)]


def test_sqlite_says_what_the_library_says_on_10000_rows(databases, models, sqlite_answers):
    for model, wanted in zip(models, sqlite_answers, strict=True):
        answer = databases["sqlite"].execute(model.to_sql("sqlite", "t", key="id")).fetchall()
        assert [row[0] for row in answer] == list(range(10_000))
        assert_same([row[1:] for row in answer], wanted)
    assert databases["sqlite"].execute("SELECT alive FROM canary").fetchall() == [(1,)]


def test_answers_are_those_for_columns_of_numpy_types_too(models, rows, answers):
    kinds = {
        "real": np.float32,
        "double": np.float64,
        "integer": "Int64",
        "boolean": "boolean",
        "timestamp": "datetime64[us]",
    }
    typed = rows.assign(**{c: rows[c].astype(kinds[kind]) for c, kind in COLUMNS.items() if kind in kinds})
    for model, wanted in zip(models, answers, strict=True):
        assert expected(model, typed).equals(wanted)


def test_random_models_use_every_operator_state_and_rule(models, answers):
    ops = {op for model in models for literals in model.rules_["literals"] for _, op, _ in literals}
    assert ops == {"==", "!=", "<=", ">", "missing"}
    assert all(len(model.rules_) == 24 for model in models[1:-1])
    states = [set(wanted["state"]) for wanted in answers[1:-1]]
    assert all(found == {"positive", "negative", "active", "passive"} for found in states)
    fired = [" ".join(wanted["rules"]).split() for wanted in answers]
    assert sum(len(set(ids)) for ids in fired) > 0.6 * sum(len(model.rules_) for model in models)


@pytest.mark.parametrize("dialect", MAKERS)
def test_fitted_and_loaded_models_of_both_kinds_are_exported(fitted, dialect):
    X, *fits = fitted
    kinds = dict.fromkeys(X, "words") | {"n": "double"}
    con = MAKERS[dialect](X.astype(object).where(X.notna(), None), kinds)
    for model in fits:
        loaded = type(model).from_json(model.to_json())
        assert not hasattr(loaded, "fitted_pair_") and len(loaded.rules_)
        assert loaded.to_sql(dialect, "t") == model.to_sql(dialect, "t")
        assert_same([row[1:] for row in con.execute(loaded.to_sql(dialect, "t", "id")).fetchall()], expected(model, X))


@pytest.mark.parametrize("dialect", MAKERS)
def test_view_and_select_agree_and_hostile_names_of_tables_execute_nothing(dialect):
    model = model_of([[("a", ">", 1.0)]], [[("a", "missing", None)]], columns={"a": "double"})
    frame = pd.DataFrame({"a": pd.Series([2.0, 0.0, None], dtype=object)})
    for name in (*HOSTILE, "cells", "source", "judged"):
        con = MAKERS[dialect](frame, {"a": "double"}, name)
        con.execute(model.to_sql(dialect, name, key="id", view=name + " view"))
        answer = con.execute(f"SELECT * FROM {quoted(name + ' view')} ORDER BY id").fetchall()
        assert answer == con.execute(model.to_sql(dialect, name, key="id")).fetchall()
        assert [row[3:] for row in answer] == [("positive", "P1"), ("passive", ""), ("negative", "N1")]
        assert con.execute("SELECT alive FROM canary").fetchall() == [(1,)]


@pytest.mark.parametrize("dialect", MAKERS)
def test_the_key_comes_first_and_orders_the_rows(dialect):
    model = model_of([[("a", ">", 1.0)]], [], columns={"a": "double"})
    con = MAKERS[dialect](pd.DataFrame({"a": pd.Series([3.0, 0.0, 2.0], dtype=object)}), {"a": "double"})
    answer = con.execute(model.to_sql(dialect, "t", key="a"))
    assert [column[0] for column in answer.description] == ["a", "prediction", "probability", "state", "rules"]
    assert [row[0] for row in answer.fetchall()] == [0.0, 2.0, 3.0]
    answer = con.execute(model.to_sql(dialect, "t"))
    assert [column[0] for column in answer.description] == ["prediction", "probability", "state", "rules"]


def test_tables_in_a_schema_are_named_by_their_parts():
    model = model_of([[("a", ">", 1.0)]], [], columns={"a": "double"})
    con = duckdb.connect()
    con.execute('CREATE SCHEMA "my schema"')
    con.execute('CREATE TABLE "my schema"."t.x" AS SELECT 2.0::DOUBLE AS a')
    assert con.execute(model.to_sql("duckdb", ("my schema", "t.x"))).fetchall()[0][3] == "P1"


@pytest.mark.parametrize("dialect", MAKERS)
def test_collations_of_columns_do_not_matter(dialect):
    con = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    con.execute(f"CREATE TABLE t (a {'VARCHAR' if dialect == 'duckdb' else 'TEXT'} COLLATE NOCASE)")
    con.execute("INSERT INTO t VALUES ('X'), ('x'), ('true'), (NULL)")
    model = model_of([[("a", "==", "x")]], [[("a", "!=", "x")], [("a", "==", 1)]], columns={"a": "words"})
    for types in (None, {"a": "text"}):
        fired = [row[3] for row in con.execute(model.to_sql(dialect, "t", types=types)).fetchall()]
        assert fired == ["N1", "P1", "N1 N2", ""]


def test_sqlite_reads_each_value_by_its_own_type():
    con = sqlite3.connect(":memory:")
    con.execute("CREATE TABLE t (a)")
    cells = ["2", "2.0", 2, 2.0, " 2", True, "true", 0.1, "0.1", None, "2021-03-01", 2**53 + 1]
    con.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
    literals = [
        ("==", "2"),
        ("==", "1"),
        ("==", "0.1"),
        (">", 1.5),
        ("<=", 0.1),
        ("missing", None),
        ("==", str(2**53 + 1)),
    ]
    model = model_of([[("a", *literal)] for literal in literals], [], columns={"a": "words"})
    answer = con.execute(model.to_sql("sqlite", "t")).fetchall()
    assert_same(answer, expected(model, pd.DataFrame({"a": pd.Series(cells, dtype=object)})))


def test_other_types_of_duckdb_are_read_by_what_they_are():
    con = duckdb.connect()
    model = model_of(
        [[("a", "==", 2)], [("a", "==", "2.5")], [("a", ">", 2.2)], [("a", "==", "x")]], [], columns={"a": "words"}
    )
    cases = {
        "2::HUGEINT": "P1", "2::UTINYINT": "P1", "2.0::DECIMAL(9, 3)": "P1", "2.50::DECIMAL(9, 3)": "P2 P3",
        "'x'::ENUM('x')": "P4", "'2.00'::VARCHAR": "P1",
    }  # fmt: skip
    for value, fired in cases.items():
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {value} AS a")
        assert con.execute(model.to_sql("duckdb", "t")).fetchall()[0][3] == fired, value


def test_instants_are_read_in_utc_whatever_the_session_says():
    con = duckdb.connect()
    con.execute("SET TimeZone = 'America/New_York'")
    con.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2021-03-01 00:30:00+02:00' AS a, TIMESTAMP '1890-01-01' AS b")
    negative = [[("a", ">", "2021-02-28T22:29:59")], [("b", ">", "1889-12-31")]]
    model = model_of([[("a", "<=", "2021-02-28T22:30:00")]], negative, columns=dict.fromkeys("ab", "timestamp"))
    for types in (None, {"a": "timestamp", "b": "timestamp"}):
        assert con.execute(model.to_sql("duckdb", "t", types=types)).fetchall()[0][3] == "P1 N1 N2"


@given(st.floats(allow_nan=False))
def test_numbers_are_read_back_to_the_bit(value):
    for name, connect in (("duckdb", _duckdb), ("sqlite", _sqlite)):
        found = connect().execute(f"SELECT {DIALECTS[name].number(value)}").fetchone()[0]
        assert np.float64(found).tobytes() == np.float64(value + 0.0).tobytes() or found == value == 0


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_text_is_read_back_as_it_was(value):
    for name, connect in (("duckdb", _duckdb), ("sqlite", _sqlite)):
        writer = DIALECTS[name]
        alias = writer.identifier("x" + value)
        answer = connect().execute(f"SELECT {writer.text(value)} AS {alias}")
        assert answer.fetchone()[0] == value and answer.description[0][0] == "x" + value


_OPEN = {}


def _duckdb():
    return _OPEN.setdefault("duckdb", duckdb.connect())


def _sqlite():
    return _OPEN.setdefault("sqlite", sqlite3.connect(":memory:"))


@given(st.text("0123456789.eE+- \tinfxX_٣", max_size=9), st.sampled_from([-1.0, 0.0, 0.3, 12.0, 1e6]))
def test_text_numbers_are_read_as_pandas_reads_them(text, bound):
    model = model_of([[("a", "<=", bound)], [("a", ">", bound)]], [], columns={"a": "words"})
    wanted = expected(model, pd.DataFrame({"a": pd.Series([text], dtype=object)}))
    for name, connect in (("duckdb", _duckdb), ("sqlite", _sqlite)):
        source = f"(SELECT {DIALECTS[name].text(text)} AS a)"
        sql = model.to_sql(name, "t").replace('FROM "t"', f"FROM {source}")
        assert_same(connect().execute(sql).fetchall(), wanted)


_DAYS = st.builds("{:04}-{:02}-{:02}".format, st.integers(1700, 2200), st.integers(1, 12), st.integers(28, 31))
_ZONE = r"(Z|[+-](0[0-9]|1[0-3])(:?[0-5][0-9])?)?"
_TIMES = st.from_regex(rf"([ T]([01][0-9]|2[0-4]):[0-6][0-9](:[0-6][0-9](\.[0-9]{{1,6}})?)?{_ZONE})?", fullmatch=True)


@given(_DAYS, _TIMES, st.sampled_from(["2000-02-28T12:00:00", "1970-01-01", "1899-12-31"]))
def test_text_moments_are_read_as_pandas_reads_them(day, time, cut):
    text = day + time
    model = model_of([[("a", "<=", cut)], [("a", ">", cut)]], [], columns={"a": "words"})
    wanted = expected(model, pd.DataFrame({"a": pd.Series([text], dtype=object)}))
    for name, connect in (("duckdb", _duckdb), ("sqlite", _sqlite)):
        source = f"(SELECT {DIALECTS[name].text(text)} AS a)"
        sql = model.to_sql(name, "t").replace('FROM "t"', f"FROM {source}")
        assert_same(connect().execute(sql).fetchall(), wanted)


def test_labels_have_the_type_that_fits_them():
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 1.0::DOUBLE AS a")
    for classes, kind in (
        ((0, 1), "BIGINT"),
        ((0.5, 1.5), "DOUBLE"),
        ((False, True), "BOOLEAN"),
        (("0", "1"), "VARCHAR"),
    ):
        sql = model_of([[("a", ">", 0)]], [], classes, columns={"a": "double"}).to_sql("duckdb", "t")
        assert con.execute(f"SELECT TYPEOF(prediction), TYPEOF(probability) FROM ({sql})").fetchall() == [
            (kind, "DOUBLE")
        ]


def _model(*names, level="x"):
    return model_of([[(name, "==", level)] for name in names], [], columns=dict.fromkeys(names, "words"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _model("a").to_sql("duckbd", "t"), "did you mean 'duckdb'"),
        (lambda: _model("a").to_sql("oracle", "t"), "there are duckdb, sqlite, postgres, postgresql, spark"),
        (lambda: _model("a\0").to_sql("duckdb", "t"), "NUL"),
        (lambda: _model("a", level="\0").to_sql("sqlite", "t"), "NUL"),
        (lambda: _model("a").to_sql("spark", "t\0"), "NUL"),
        (lambda: DIALECTS["postgres"].identifier("a\ud800"), "not valid Unicode"),
        (lambda: _model("a", "A").to_sql("duckdb", "t"), "'a' and 'A' apart"),
        (lambda: _model("a", "A").to_sql("sqlite", "t"), "'a' and 'A' apart"),
        (lambda: _model("É", "é").to_sql("spark", "t"), "'É' and 'é' apart"),
        (lambda: _model("x" * 64, "x" * 65).to_sql("postgres", "t"), "apart"),
        (lambda: _model("${env:HOME}").to_sql("spark", "t"), "Spark would replace"),
        (lambda: _model("a").to_sql("spark", "${a}"), "Spark would replace"),
        (lambda: _model("a").to_sql("duckdb", ""), "table must be a name"),
        (lambda: _model("a").to_sql("duckdb", "t", view=()), "view must be a name"),
        (lambda: _model("a").to_sql("duckdb", "t", key="State"), "another name"),
        (lambda: _model("a").to_sql("duckdb", "t", types={"a": "float"}), "must be one of 'text'"),
        (lambda: _model("income").to_sql("duckdb", "t", types={"incom": "text"}), "did you mean 'income'"),
        (lambda: SOARClassifier().to_sql("duckdb", "t"), "not fitted"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_cannot_be_compared_with_dates():
    model = model_of([[("a", ">", "2021-01-01")]], [], columns={"a": "date"})
    with pytest.raises(InputError, match="holds numbers"):
        model.to_sql("duckdb", "t", types={"a": "integer"})


def test_names_that_only_some_databases_tell_apart_pass_in_those():
    assert "CASE" in _model("a", "A").to_sql("postgres", "t")
    assert "CASE" in _model("É", "é").to_sql("sqlite", "t")
    assert "postgresql" in DIALECTS and type(DIALECTS["postgresql"]) is type(DIALECTS["postgres"])


def test_text_that_pandas_guesses_to_be_a_date_is_no_moment():
    """The stated difference: `predict` lets pandas guess, exports read ISO 8601 only."""
    model = model_of([[("a", "<=", "9998-01-01")]], [], kind=BOAClassifier, columns={"a": "words"})
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT UNNEST(['March 1 2021', '-1', '2021-03-01']) AS a")
    assert [row[3] for row in con.execute(model.to_sql("duckdb", "t")).fetchall()] == ["", "", "P1"]
