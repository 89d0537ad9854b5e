import json

import numpy as np
import pandas as pd
import pytest

from soar_jax import Committee
from soar_jax.cli.main import main
from tests.export.engines import duckdb_of
from tests.export.made import assert_same, expected, model_of
from tests.reasons.models import settle


@pytest.fixture
def model(tmp_path):
    made = model_of([[("a", ">", 1.0)]], [[("b", "==", "x=y")]], columns={"a": "double", "b": "words"})
    settle(made).save(tmp_path / "m.json")
    return made, str(tmp_path / "m.json")


def test_sql_runs_and_types_are_passed_on(model, tmp_path, capsys):
    made, path = model
    frame = pd.DataFrame({"a": [2.0, 0.0], "b": ["x=y", "z"]}).astype(object)
    args = ["export", path, "--format", "sql", "--dialect", "duckdb", "--table", "t", "--key", "id"]
    for types in ([], ["--type", "a=double", "--type", "b=text"]):
        assert main([*args, *types]) == 0
        sql = capsys.readouterr().out
        assert ("ISNAN" in sql) is bool(types)
        answer = duckdb_of(frame, {"a": "double", "b": "words"}).execute(sql).fetchall()
        assert_same([row[1:] for row in answer], expected(made, frame))
    assert main([*args, "--view", "v", "--out", str(tmp_path / "v.sql")]) == 0
    assert (tmp_path / "v.sql").read_text().startswith('CREATE VIEW "v" AS\nSELECT') and not capsys.readouterr().out


@pytest.mark.parametrize(("form", "start"), [("python", '"""Rules learnt'), ("pmml", "<?xml"), ("json", "{")])
def test_every_format_is_written(model, form, start, capsys):
    made, path = model
    assert main(["export", path, "--format", form]) == 0
    text = capsys.readouterr().out
    assert text.startswith(start)
    if form == "json":
        assert json.loads(text) == json.loads(made.to_json())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "sql", "--table", "t"], "needs --dialect and --table"),
        (["--format", "sql", "--dialect", "mysql", "--table", "t"], "no dialect 'mysql'"),
        (["--format", "python", "--table", "t"], "--table belongs to --format sql"),
        (["--format", "json", "--type", "a=text"], "--type belongs to"),
        (["--format", "pmml", "--type", "a"], "COLUMN=TYPE"),
        (["--format", "pmml", "--type", "a=float"], "must be one of"),
        (["--format", "json", "--out", "no/such/folder/m.json"], "no folder"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(model, options, message, capsys):
    assert main(["export", model[1], *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_missing_file_and_a_committee_are_refused(model, tmp_path, capsys):
    assert main(["export", str(tmp_path / "none.json"), "--format", "json"]) == 2
    assert "no model file" in capsys.readouterr().err
    made, one = model[0], np.ones((1, 1), dtype=bool)
    rules = tuple(made.positive_rules_), tuple(made.negative_rules_)
    rates = np.full((1, 4), 0.5)
    committee = Committee(rules, (one, one), np.ones(1), rates, made.classes_, 1, ("a", "b"), "Trusted.", True)
    committee.save(tmp_path / "c.json")
    assert main(["export", str(tmp_path / "c.json"), "--format", "json"]) == 2
    assert "holds a committee" in capsys.readouterr().err
