"""Ordered categories from the fit to the last consumer: the model's order decides, whatever a table or a name says."""

import json
import shutil
import sqlite3
import subprocess
import warnings
from importlib.resources import files

import duckdb
import numpy as np
import pandas as pd
import pytest

from soar_jax import InputError, LevelOrderWarning, NothingFoundWarning, Rule, SOARClassifier, UntrustedPosteriorWarning
from soar_jax.data.columns import ColumnValues
from soar_jax.data.items import build_items
from soar_jax.data.read import read_table
from soar_jax.data.table import describe_column
from soar_jax.estimators.load import load

LEVELS = ["mild", "moderate", "severe", "critical"]  # alphabetically: critical, mild, moderate, severe
QUICK = dict(n_rounds=2, random_state=0)
ODD = [*LEVELS, None, "unheard of", "Mild", "", "4"]

pytestmark = pytest.mark.filterwarnings("ignore::soar_jax.UnseenLevelsWarning")  # odd cells are on purpose


def ordered(values, levels=LEVELS):
    return pd.Categorical(values, categories=levels, ordered=True)


def table(num=600):
    rng = np.random.default_rng(5)
    severity = rng.choice(LEVELS, num).astype(object)
    severity[rng.random(num) < 0.05] = None
    X = pd.DataFrame({"severity": ordered(severity), "age": rng.integers(20, 80, num)})
    y = np.isin(severity, LEVELS[2:]) ^ (rng.random(num) < 0.05)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return X, y, SOARClassifier(**QUICK).fit(X, y)


@pytest.fixture(scope="module")
def later():
    """Rows as text, with levels that were never seen and without any."""
    rng = np.random.default_rng(7)
    return pd.DataFrame({"severity": rng.choice(np.array(ODD, dtype=object), 300), "age": rng.integers(10, 90, 300)})


def expected(frame):
    """The planted rules, with no code of the library."""
    above = {"mild": False, "moderate": False, "severe": True, "critical": True}
    return [{True: "positive", False: "negative", None: "passive"}[above.get(v)] for v in frame["severity"]]


def states(model, frame):
    return model.predict_state(frame).tolist()


# -- fit ---------------------------------------------------------------------------------------


def test_a_fit_finds_a_planted_comparison(fitted):
    model = fitted[2]
    assert [str(rule) for rule in model.positive_rules_] == ["severity > moderate"]
    assert [str(rule) for rule in model.negative_rules_] == ["severity <= moderate"]


def test_columns_show_the_order(fitted):
    line = fitted[2].columns_.loc["severity"]
    assert line["read_as"] == "ordered category"
    assert line["seen"] == "mild < moderate < severe < critical"


def test_cuts_lie_between_observed_levels_and_are_charged_as_those_of_numbers():
    rng = np.random.default_rng(0)
    places = rng.choice([0, 1, 3, 4], 500)  # nobody has the level "c"
    y = (places >= 3) ^ (rng.random(500) < 0.2)
    keep = lambda p, n: p + n > 0
    weights = np.ones(500, dtype=np.int64)
    levels = ordered(np.array(list("abcde"))[places], list("abcde"))
    column = describe_column(ColumnValues(pd.Series(levels, name="x")), y, weights, keep, 10, "supervised")
    numbers = describe_column(ColumnValues(pd.Series(places, name="x")), y, weights, keep, 10, "supervised")
    assert len(column.cuts) == len(numbers.cuts)
    assert column.choices == numbers.choices
    items = build_items([column], negations=False, missing=False)
    bounds = {str(z) for z in items.literals if z.kind.is_bound}
    assert bounds <= {f"x {op} {level}" for op in ("<=", ">") for level in "abd"}
    assert {"x <= b", "x > b"} <= bounds
    assert {str(z) for z in items.literals if z.op == "=="} == {"x = a", "x = b", "x = d", "x = e"}


def test_a_column_declared_text_has_no_order():
    X, y = table()
    model = SOARClassifier(**QUICK, kinds={"severity": "text"}).fit(X, y)
    assert not any(op in ("<=", ">") for rule in model.rules_["literals"] for name, op, _ in rule if name == "severity")
    assert model.columns_.loc["severity", "seen"] == "mild, moderate, severe, critical"


def test_levels_whose_names_agree_have_no_order():
    assert ColumnValues(pd.Series(ordered([1, "1", 2], [1, "1", 2]))).order is None


def test_numbers_as_levels_are_compared_by_the_declared_order():
    rng = np.random.default_rng(2)
    levels = [3, 1, 2, 10]
    values = rng.choice(levels, 500)
    X = pd.DataFrame({"grade": ordered(values, levels)})
    y = np.isin(values, [2, 10]) ^ (rng.random(500) < 0.05)
    model = SOARClassifier(**QUICK).fit(X, y)
    assert "grade > 1" in [str(rule) for rule in model.positive_rules_]
    for given in (values, values.astype(str), values.astype(float)):
        assert (model.predict(pd.DataFrame({"grade": given})) == np.isin(values, [2, 10])).all()


def test_a_polars_enumeration_is_ordered():
    polars = pytest.importorskip("polars")
    X, y = table()
    values = [value if isinstance(value, str) else None for value in X["severity"]]
    frame = polars.DataFrame({"severity": polars.Series(values, dtype=polars.Enum(LEVELS))})
    model = SOARClassifier(**QUICK).fit(frame, y)
    assert [str(rule) for rule in model.positive_rules_] == ["severity > moderate"]


# -- later tables ------------------------------------------------------------------------------


def test_text_and_csv_give_the_answers_of_the_ordered_column(fitted, later, tmp_path):
    X, _, model = fitted
    as_text = X.assign(severity=X["severity"].astype(object))
    assert states(model, as_text) == states(model, X) == expected(X)
    path = tmp_path / "later.csv"
    as_text.to_csv(path, index=False)
    assert states(model, read_table(path, contract=model._contract)) == expected(X)
    assert states(model, later) == expected(later)


def test_an_unseen_level_fires_neither_side_and_is_counted(fitted):
    model = fitted[2]
    frame = pd.DataFrame({"severity": ["awful", "severe", None], "age": 30})
    assert states(model, frame) == ["passive", "positive", "passive"]
    found = model.check(frame)
    assert {c.column: c.unseen for c in found.columns} == {"severity": 1, "age": 0}


def test_another_order_is_warned_of_and_the_order_of_the_model_rules(fitted):
    X, _, model = fitted
    turned = X.assign(severity=X["severity"].cat.reorder_categories(LEVELS[::-1], ordered=True))
    with pytest.warns(LevelOrderWarning, match="'severity' have another order in this table"):
        assert states(model, turned) == expected(X)
    subset = X[X["severity"].isin(["mild", "critical"])]
    subset = subset.assign(severity=subset["severity"].cat.remove_unused_categories())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert states(model, subset) == expected(subset)


def test_a_level_of_the_order_that_no_row_had_is_placed_by_it():
    X, y = table()
    X["severity"] = ordered(X["severity"].astype(object), [*LEVELS, "fatal"])
    model = SOARClassifier(**QUICK).fit(X, y)
    frame = pd.DataFrame({"severity": ["fatal", "fateful"], "age": 30})
    assert states(model, frame) == ["positive", "passive"]
    assert next(c.unseen for c in model.check(frame).columns if c.column == "severity") == 2


# -- files and text ----------------------------------------------------------------------------


def test_a_saved_model_keeps_the_order(fitted, later, tmp_path):
    X, _, model = fitted
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    column = next(c for c in content["contract"]["columns"] if c["name"] == "severity")
    assert column["order"] == LEVELS
    assert "order" not in next(c for c in content["contract"]["columns"] if c["name"] == "age")
    loaded = load(tmp_path / "model.json")
    assert loaded.positive_rules_ == model.positive_rules_
    assert states(loaded, later) == expected(later)
    assert states(loaded, X) == expected(X)


def test_a_file_that_compares_with_no_level_of_its_order_is_refused(fitted, tmp_path):
    fitted[2].save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    next(c for c in content["contract"]["columns"] if c["name"] == "severity")["order"] = ["mild", "severe"]
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="a level that is not in the order of its column"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize("value", ["yesterday", "mild", "2024-W01-1", True, None])
@pytest.mark.parametrize("column", ["age", "severity"])
def test_a_file_in_which_a_column_without_order_is_compared_with_a_level_is_refused(fitted, tmp_path, column, value):
    fitted[2].save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    for described in content["contract"]["columns"]:
        described.pop("order", None)
    content["rules"][0]["literals"][0] = [column, ">", value]
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="damaged"):
        load(tmp_path / "model.json")


ODD_LEVELS = ["a and b", "007", "7", "x < y", "2024-05-01", " b ", "is missing x", 'q"', "c", "True", "1e3"]


@pytest.mark.parametrize("op", ["<=", ">"])
@pytest.mark.parametrize("level", ODD_LEVELS)
def test_a_rule_is_read_back_as_it_was_printed(level, op):
    orders = {"grade": ODD_LEVELS}
    rule = Rule.from_literals([("grade", op, level)], orders)
    read = Rule.parse(str(rule), orders=orders)
    assert read == rule
    assert read.conditions[0].order == tuple(ODD_LEVELS)
    assert read.conditions[0].value == level


@pytest.mark.parametrize("low", ODD_LEVELS)
def test_an_interval_of_levels_is_read_back(low):
    orders = {"grade": ODD_LEVELS}
    rule = Rule.from_literals([("grade", ">", low), ("grade", "<=", "c")], orders)
    assert Rule.parse(str(rule), orders=orders) == rule


def test_text_that_compares_with_no_level_is_refused():
    with pytest.raises(InputError, match="'awful' is no level of 'severity'"):
        Rule.parse("severity > awful", orders={"severity": LEVELS})
    with pytest.raises(InputError, match="neither a number nor a date"):
        Rule.parse("severity > moderate")


def test_a_literal_without_an_order_takes_that_of_the_column_or_refuses():
    rule = Rule.from_literals([("severity", ">", "moderate")])
    frame = pd.DataFrame({"severity": ordered([*LEVELS, None])})
    assert rule.fires(frame).tolist() == [False, False, True, True, False]
    with pytest.raises(InputError, match="neither a number nor a date"):
        rule.fires(frame.astype(object))


def test_a_saved_committee_keeps_the_order(fitted, later, tmp_path):
    X, y, _ = fitted
    model = SOARClassifier(**QUICK).fit(X, y)
    with pytest.warns(UntrustedPosteriorWarning):
        committee = model.sample_posterior(100, 2, num_warmup=100).committee()
    committee.save(tmp_path / "committee.json")
    found = load(tmp_path / "committee.json").predict_proba(later)
    assert np.allclose(found, committee.predict_proba(later))
    by_level = pd.Series(found[:, 1]).groupby(later["severity"]).mean()
    assert by_level[LEVELS[2:]].min() > 0.8 and by_level[LEVELS[:2]].max() < 0.2


# -- exports -----------------------------------------------------------------------------------


def _rows_of(con, sql):
    return sorted(con.execute(sql).fetchall())


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_sql_gives_the_answers_of_predict(fitted, later, engine):
    model = fitted[2]
    con = duckdb.connect() if engine == "duckdb" else sqlite3.connect(":memory:")
    con.execute("CREATE TABLE t (id INTEGER, severity VARCHAR, age INTEGER)")
    rows = [(i, s, int(a)) for i, (s, a) in enumerate(later.itertuples(index=False))]
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    found = _rows_of(con, model.to_sql(dialect=engine, table="t", key="id"))
    assert [row[3] for row in found] == expected(later) == states(model, later)
    assert np.allclose([row[2] for row in found], model.predict_proba(later)[:, 1])


@pytest.mark.filterwarnings("ignore")  # of the database library, as in the tests of databases
def test_a_database_predicts_by_the_order_of_the_model(fitted, later):
    ibis = pytest.importorskip("ibis")
    texts = [value if isinstance(value, str) else None for value in later["severity"]]
    con = ibis.duckdb.connect()
    con.raw_sql("CREATE TABLE t (id INTEGER, severity VARCHAR)")
    con.con.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(texts)))
    found = fitted[2].predict_table(con.table("t")).execute().sort_values("id")
    assert found["state"].tolist() == expected(later)


def test_duckdb_enumerations_are_read_by_name(fitted):
    con = duckdb.connect()
    con.execute("CREATE TYPE turned AS ENUM ('critical', 'severe', 'moderate', 'mild')")
    con.execute("CREATE TABLE t (id INTEGER, severity turned, age INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, 30)", list(enumerate([*LEVELS, None])))
    found = _rows_of(con, fitted[2].to_sql(dialect="duckdb", table="t", key="id"))
    assert [row[3] for row in found] == ["negative", "negative", "positive", "positive", "passive"]


def test_python_source_gives_the_answers_of_predict(fitted, later):
    module = {}
    exec(fitted[2].to_python(), module)
    found = module["predict_many"](later.to_dict(orient="records"))
    assert [one["state"] for one in found] == expected(later)


def test_pmml_lists_the_levels_that_are_meant(fitted):
    text = fitted[2].to_pmml()
    for level in LEVELS:
        assert f'<Constant dataType="string">{level}</Constant>' in text
    assert "lessOrEqual" not in text and "greaterThan" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_form_of_the_report_gives_the_answers_of_predict(fitted, later, tmp_path):
    X, y, model = fitted
    data = model.report(tmp_path / "report.html", X, y).engine
    (field,) = data["columns"]
    assert [text for _, text in field["options"]] == [*LEVELS, "any other"]
    assert "severity above moderate" in (tmp_path / "report.html").read_text().lower()
    assert all(field["common"][:4])
    given = [[value if isinstance(value, str) else None] for value in later["severity"]]
    script = f"""{(files("soar_jax.report") / "assets" / "engine.js").read_text()}
        const engine = makeEngine({json.dumps(data)});
        console.log(JSON.stringify({json.dumps(given)}.map((values) => engine.state(engine.check(values)))));
        console.log(JSON.stringify(engine.changesTo(["mild"], 0).list[0].after));
        console.log(JSON.stringify(engine.changesTo(["critical"], 1).list[0].after));"""
    found = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [["positive", "negative", "active", "passive"][s] for s in json.loads(found[0])] == expected(later)
    assert json.loads(found[1]) == ["severe"]  # the nearest in the order
    assert json.loads(found[2]) == ["moderate"]


# -- reasons -----------------------------------------------------------------------------------


def test_explanations_and_changes_go_along_the_order(fitted):
    model = fitted[2]
    row = pd.DataFrame({"severity": ["mild"], "age": [40]})
    assert "severity <= moderate" in str(model.explain(row))
    found = model.contrast(row)
    change = found[0].changes[0]
    assert change.condition == "severity > moderate"
    assert change.example == "severe"
    assert states(model, found.rows()) == ["positive"]
    back = model.contrast(row.assign(severity="critical"))
    assert (back[0].changes[0].condition, back[0].changes[0].example) == ("severity <= moderate", "moderate")


def test_a_direction_of_change_is_one_of_the_order(fitted):
    model = fitted[2]
    row = pd.DataFrame({"severity": ["mild"], "age": [40]})
    assert len(model.contrast(row, directions={"severity": "+"})) == 1
    assert len(model.contrast(row, directions={"severity": "-"})) == 0


# -- what the user asks for --------------------------------------------------------------------


def test_directions_let_high_levels_speak_for_one_class():
    X, y = table()
    model = SOARClassifier(**QUICK, directions={"severity": "+"}).fit(X, y)
    assert [str(rule) for rule in model.positive_rules_] == ["severity > moderate"]
    with pytest.warns(NothingFoundWarning):
        turned = SOARClassifier(**QUICK, directions={"severity": "-"}).fit(X, y)
    assert not len(turned.rules_)


def test_comparisons_can_be_required_forbidden_and_written_by_hand(fitted):
    X, y, model = fitted
    required = SOARClassifier(**QUICK, require={"positive": ["mild < severity <= severe"]}).fit(X, y)
    assert "mild < severity <= severe" in [str(rule) for rule in required.positive_rules_]
    text = X.assign(severity=X["severity"].astype(object))
    fires = required.positive_rules_[0].fires(text)
    assert (fires == X["severity"].isin(["moderate", "severe"]).to_numpy()).all() or len(required.positive_rules_) > 1
    forbidden = SOARClassifier(**QUICK, forbid=["severity > moderate"]).fit(X, y)
    assert "severity > moderate" not in [str(rule) for rule in forbidden.positive_rules_]
    edited = model.with_rule("severity > severe and age > 50", "positive", reason="asked for", X=X, y=y)
    assert edited.positive_rules_[-1].conditions[0].order == tuple(LEVELS)
    with pytest.raises(InputError, match="'awful' is no level of 'severity'"):
        model.with_rule("severity > awful", "positive", reason="asked for", X=X, y=y)
