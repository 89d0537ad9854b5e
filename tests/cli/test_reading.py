"""Tables on the command line are read as in Python, and as the model's first table was."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soar_jax import SOARClassifier
from soar_jax.cli.main import main
from tests.estimators.test_model_schema import rows

MODEL = str(Path(__file__).parents[1] / "files" / "model.json")


def test_predict_says_what_differs_from_the_fit_and_reads_standard_input(capsys, monkeypatch):
    table = rows().head(20).assign(dose=99)
    text = table.to_csv(index=False)
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(text.encode())}))
    assert main(["predict", MODEL, "-"]) == 0
    said = capsys.readouterr()
    assert "'dose': 20 outside the range seen" in said.err
    found = pd.read_csv(io.StringIO(said.out))
    assert found["state"].tolist() == SOARClassifier.load(MODEL).predict_state(table).tolist()


def test_a_table_as_at_the_fit_has_nothing_said_of_it(capsys, tmp_path):
    rows().to_csv(tmp_path / "t.csv", index=False)
    assert main(["predict", MODEL, str(tmp_path / "t.csv"), "--out", str(tmp_path / "p.csv")]) == 0
    assert "written to" in capsys.readouterr().err
    states = pd.read_csv(tmp_path / "p.csv")["state"].tolist()
    assert states == SOARClassifier.load(MODEL).predict_state(rows()).tolist()


@pytest.mark.filterwarnings("ignore:Levels of.*mean a missing value")
def test_codes_give_the_same_states_in_python_and_on_the_command_line(capsys, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.choice(["007", "012", "NA", "None"], 600)
    y = np.isin(codes, ["007", "NA"]) ^ (rng.random(600) < 0.15)
    X = pd.DataFrame({"code": codes, "zip": rng.integers(10000, 10009, 600)})
    model = SOARClassifier(n_rounds=1, max_patterns=40).fit(X, y)
    model.save(tmp_path / "m.json")
    X.to_csv(tmp_path / "t.csv", index=False)
    assert main(["predict", str(tmp_path / "m.json"), str(tmp_path / "t.csv")]) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))["state"].tolist()
    assert found == model.predict_state(X).tolist() and len(set(found)) > 1
    assert model.columns_.loc["code", "kind"] == "category"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("Miller,45,F,1\nJones,50,M,0\n", [], "looks like a row of values"),
        ("g,y\n" + "1,a\n2,b\n3,a\n" * 30 + "hemolyzed,a\n", ["--strict"], "strict"),
        ("g,y\n1,a\n2,b\n", ["--text", "nope"], "nope"),
        ("g,y\n1,a\n2,b\n", ["--text", "g", "--number", "g"], "more than once"),
        ("when,y\n1,a\n2,b\n", ["--date", "when"], "none of its values"),
    ],
)
def test_declarations_and_doubtful_files_give_one_line(capsys, tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text)
    args = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--out", str(tmp_path / "m.json"), *options]
    assert main(args) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.strip().splitlines()) == 1
    assert "Miller" not in error and "hemolyzed" not in error
