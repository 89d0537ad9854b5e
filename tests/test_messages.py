"""What a user is told where something is wrong with a table, a seed, a label or a rule."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from soar_jax import DataWarning, InputError, Rule, SOARClassifier, UnreadableValuesWarning
from soar_jax.cli.main import main
from soar_jax.data.learn import learn_contract

QUICK = dict(n_rounds=1, grow_to=0, max_length=2)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    return pd.DataFrame({"n": (2 * y + rng.normal(size=200)).round(2), "out": np.where(y, "=1+1", "no")})


@pytest.fixture(scope="module")
def model(table):
    return SOARClassifier(**QUICK).fit(table[["n"]], table["out"])


@pytest.fixture
def folder(table, model, tmp_path):
    table.astype(object).assign(n=["?", *table["n"].astype(str)[1:]]).to_csv(tmp_path / "t.csv", index=False)
    model.save(tmp_path / "m.json")
    return tmp_path


def test_28_13_labels_that_look_alike_are_named(table, tmp_path, capsys):
    labels = ["yes", "Yes", "yes ", "no"] * 50
    with pytest.raises(InputError, match=r"'Yes', 'yes', 'yes ' differ by case or white space only"):
        SOARClassifier(**QUICK).fit(table[["n"]], labels)
    table.assign(out=labels).to_csv(tmp_path / "t.csv", index=False)
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "out"]) == 2
    assert "4 labels" in (said := capsys.readouterr().err) and "'yes ' differ by case" in said


def test_28_13_a_table_without_rows_and_a_seed_that_is_none_are_named(table, tmp_path, capsys):
    table.head(0).to_csv(tmp_path / "t.csv", index=False)
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "out"]) == 2
    assert "names of its columns and no rows" in capsys.readouterr().err
    table.to_csv(tmp_path / "t.csv", index=False)
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "out", "--seed", "-1"]) == 2
    assert "--seed must be a whole number from 0" in capsys.readouterr().err
    with pytest.raises(InputError, match="random_state must be a whole number from 0"):
        SOARClassifier(random_state="a").fit(table[["n"]], table["out"])


def test_28_13_numbers_that_lose_digits_and_periods_are_named():
    for values in ([2**60 + i for i in range(50)], [str(2**60 + i) for i in range(50)]):
        with pytest.warns(DataWarning, match=r"beyond 2\*\*53, of which the last digits are lost"):
            learn_contract(pd.DataFrame({"id": values}), {"id": "number"}, has_names=True)
    with pytest.raises(InputError, match="'p' holds periods"):
        learn_contract(pd.DataFrame({"p": pd.period_range("2020-01", periods=9, freq="M")}), None, has_names=True)
    with pytest.raises(InputError, match="beyond 64 bits"):
        SOARClassifier(**QUICK).fit(pd.DataFrame({"a": [1, 2] * 9}), [10**30, 0] * 9)


def test_28_13_a_report_without_a_path_says_so(model, table):
    with pytest.raises(InputError, match=r"the file to write, such as 'report\.html', got DataFrame"):
        model.report(table[["n"]], table["out"])


@pytest.mark.filterwarnings("default")
def test_28_13_one_odd_cell_is_said_once(folder, capsys):
    model = str(folder / "o.json")
    args = ["fit", str(folder / "t.csv"), "--target", "out", "--rounds", "1", "--grow-to", "0", "--out", model]
    assert main(args) == 0
    assert capsys.readouterr().err.count("is not and is treated") == 1
    assert main(["predict", model, str(folder / "t.csv"), "--out", str(folder / "p.json")]) == 0
    assert capsys.readouterr().err.count("'n'") == 1


def test_28_13_a_cell_that_cannot_be_read_is_missing_alone_as_in_a_batch(model, table):
    odd = table[["n"]].astype(object).assign(n=["12 mg", *table["n"].astype(str)[1:]])
    with pytest.warns(UnreadableValuesWarning):
        state = model.predict_state(odd)[0]
    with pytest.warns(UnreadableValuesWarning):
        assert model.predict_state(odd.head(1)).tolist() == [state]
    with pytest.raises(InputError, match="too many to treat as missing"):
        model.predict(odd.iloc[[0] * 10])


def test_28_13_an_edited_file_is_not_sound(folder, capsys):
    path = folder / "m.json"
    assert main(["model", "check", str(path)]) == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {"gain": 1.0}), encoding="utf-8")
    capsys.readouterr()
    assert main(["model", "check", str(path)]) == 2
    assert "NOT sound" in (said := capsys.readouterr().out) and "changed since it was saved" in said


@pytest.mark.filterwarnings("default")
def test_28_13_labels_that_are_formulas_are_warned_about_in_csv(folder, capsys):
    args = ["predict", str(folder / "m.json"), str(folder / "t.csv"), "--out"]
    assert main([*args, str(folder / "p.csv")]) == 0
    assert "begin as formulas do" in capsys.readouterr().err
    assert main([*args, str(folder / "p.json")]) == 0
    assert "formulas" not in capsys.readouterr().err


def test_28_13_a_rule_has_each_literal_once(model):
    rule = Rule.parse("n > 3 and n > 3.0 and b = 2 and b = 2.0")
    assert str(rule) == "n > 3 and b = 2" and len(rule) == 2 == len(rule.literals)
    assert Rule.from_literals([("n", ">", 3), ("n", ">", 3.0)]) == Rule.parse("n > 3")
    content = json.loads(model.to_json())
    literals = content["rules"][0]["literals"]
    content["rules"][0] |= {"literals": literals * 2, "length": 2 * len(literals)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match="more than once"):
            SOARClassifier.from_json(json.dumps(content))
