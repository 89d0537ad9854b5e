import ast
import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tests.export.made import assert_same, expected, model_of
from tests.export.values import HOSTILE


def module_of(model):
    source = model.to_python()
    names = {}
    exec(compile(source, "exported", "exec"), names)
    return names


def answers_of(names, rows):
    return [(a["label"], a["probability"], a["state"], " ".join(a["rules"])) for a in names["predict_many"](rows)]


def test_python_says_what_the_library_says_on_10000_rows(models, rows, answers):
    given = rows.to_dict("records")
    for model, wanted in zip(models, answers, strict=True):
        assert_same(answers_of(module_of(model), given), wanted)


def test_any_python_value_is_read_as_the_library_reads_it():
    zone = dt.timezone(dt.timedelta(hours=2))
    cells = [
        None, np.nan, pd.NaT, pd.NA, True, np.True_, 2, np.int8(2), 2.0, np.float32(0.1), np.float64(0.1),
        Decimal("2.0"), Decimal("0.1"), Decimal("1.50"), Decimal("NaN"), "2.00", b"2", dt.date(2021, 3, 1),
        dt.datetime(2021, 3, 1, 10), dt.datetime(2021, 3, 1, 1, tzinfo=zone),
        pd.Timestamp("2021-03-01 10:00:00.000001500"), np.datetime64("2021-03-01T10"), 1614592800000000000, -1, -1.5,
        1614592800000000000.0, np.inf, 2**70, dt.time(3, 4), (1, 2), "2021-03-01T10:00:00+02:00", "x", "",
        "1969-12-31T23:59:59.9999999",
    ]  # fmt: skip
    literals = [
        ("==", level) for level in (2, True, "0.1", "inf", "2021-03-01", "2021-03-01 10:00:00", "x", "", "b'2'")
    ]
    literals += [("!=", "x"), ("missing", None), (">", 1.5), ("<=", 0.1), (">", 0.1)]
    literals += [
        (op, cut) for op in ("<=", ">") for cut in ("2021-03-01", "2021-03-01T10:00:00", "1969-12-31T23:59:59.999998")
    ]
    model = model_of([[("a", *literal)] for literal in literals], [], columns={"a": "words"})
    for cell in cells:
        frame = pd.DataFrame({"a": pd.Series([cell], dtype=object)})
        assert_same(answers_of(module_of(model), [{"a": cell}]), expected(model, frame)), repr(cell)


def test_exported_source_needs_nothing_and_runs_anywhere(fitted, tmp_path):
    X, *models = fitted
    for model in models:
        source = model.to_python()
        ast.parse(source, feature_version=(3, 8))
        (tmp_path / "exported.py").write_text(source, encoding="utf-8")
        code = (
            "before = set(sys.modules); import exported; new = {m.split('.')[0] for m in set(sys.modules) - before};"
            "print(sorted(new - {'exported'} - sys.stdlib_module_names))"
        )
        run = subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert run.stdout.strip() == "[]"
        assert_same(answers_of(module_of(model), X.to_dict("records")), expected(model, X))


def test_exported_source_says_what_it_is_and_explains_each_rule(fitted):
    _, model, _ = fitted
    names = module_of(model)
    assert names["VERSION"] == "0.1.0" and names["MADE"].endswith("UTC") and names["CLASSES"] == ("ja", "nein")
    assert "SOARClassifier" in names["MODEL"] and names["POSITIVE"] == "nein"
    lines = model.to_python().splitlines()
    for rule in model.rules_["rule"]:
        assert f"    # {rule}" in lines


@pytest.mark.parametrize("name", [*HOSTILE, "a\0", '"""', "\\", "# -*- coding: latin-1 -*-", "\x0c\x85\n+1"])
def test_hostile_names_execute_nothing(name):
    hostile = f"{name}\nraise SystemExit\n'''\n\"\"\"\nraise SystemExit"
    model = model_of([[(hostile, "==", hostile)]], [], classes=(hostile, "other"), columns={hostile: "words"})
    names = module_of(model)
    assert names["predict"]({hostile: hostile})["rules"] == ["P1"]
    assert names["CLASSES"] == tuple(model.classes_)


def test_a_row_without_a_column_is_refused():
    model = model_of([[("a", ">", 1.0)]], [], columns={"a": "double"})
    with pytest.raises(KeyError, match="The rules use column 'a'"):
        module_of(model)["predict"]({"b": 1})
