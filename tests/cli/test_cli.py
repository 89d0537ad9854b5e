import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soar_jax import datasets
from soar_jax.cli.main import main

QUICK = ["--rounds", "1", "--max-patterns", "60"]


@pytest.fixture
def table(make_table, tmp_path):
    X, y = make_table(0)
    path = tmp_path / "table.csv"
    X.assign(outcome=np.where(y, "sick", "well")).to_csv(path, index=False)
    return path


def test_fit_then_predict(table, tmp_path, capsys):
    model = tmp_path / "m.json"
    assert main(["fit", str(table), "--target", "outcome", "--positive", "sick", "--out", str(model), *QUICK]) == 0
    shown = capsys.readouterr().out
    assert "Rules for sick" in shown and "Rules for well" in shown and "CTP" in shown and str(model) in shown
    assert main(["predict", str(model), str(table)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction,probability,state" and len(lines) == 121


def test_json_output_is_one_object(table, tmp_path, capsys):
    args = [
        "fit",
        str(table),
        "--target",
        "outcome",
        "--out",
        str(tmp_path / "m.json"),
        "--json",
        "--holdout",
        "0.3",
    ]
    assert main([*args, *QUICK]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["holdout"]["rows"] == 36 and summary["training"]["rows"] == 84
    assert sum(summary["holdout"]["taxonomy"].values()) == 36
    assert main(["predict", str(tmp_path / "m.json"), str(table), "--json", "--out", str(tmp_path / "p.jsonl")]) == 0
    assert set(json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])) == {
        "prediction",
        "probability",
        "state",
    }


def test_parquet_and_embedded_data(table, tmp_path, capsys):
    parquet = tmp_path / "t.parquet"
    pd.read_csv(table).to_parquet(parquet)
    out = ["--out", str(tmp_path / "m.json")]
    assert main(["fit", str(parquet), "--target", "outcome", *out, *QUICK]) == 0
    assert main(["fit", "--dataset", "synthetic", "--method", "boa", *out, *QUICK]) == 0
    assert "x1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit", "nowhere.csv", "--target", "a"], "no file nowhere.csv"),
        (["fit"], "either a TABLE or --dataset"),
        (["fit", "{table}"], "--target"),
        (["fit", "{table}", "--target", "outcom"], "Did you mean 'outcome'"),
        (["fit", "{table}", "--target", "c1"], "missing in"),
        (["fit", "{table}", "--target", "outcome", "--drop", "zz"], "column 'zz'"),
        (["fit", "{table}", "--target", "outcome", "--positive", "dead"], "'dead' is not one of"),
        (["fit", "{table}", "--target", "outcome", "--min-support", "5.0"], "--min-support"),
        (["fit", "{table}", "--target", "outcome", "--out", "no/such/folder/m.json"], "no folder"),
        (["fit", "{table}", "--target", "outcome", "--holdout", "1.5"], "--holdout"),
        (["predict", "nowhere.json", "{table}"], "no model file"),
        (["predict", "{table}", "{table}"], "not a soar-jax model"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(args, message, table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([a.format(table=table) for a in args]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.strip().splitlines()) == 1
    assert not (tmp_path / "model.json").exists()


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom soar_jax.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert not {'jax', 'pandas', 'sklearn', 'arviz'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_sample_prints_the_verdict_before_the_frequencies(table, tmp_path, capsys):
    out = tmp_path / "posterior.json"
    args = ["sample", str(table), "--target", "outcome", "--draws", "50", "--chains", "2", "--temperatures", "1"]
    assert main([*args, "--out", str(out), "--quiet", *QUICK]) == 0
    shown = capsys.readouterr().out
    assert shown.index("Do NOT use these frequencies") < shown.index("by posterior inclusion probability")
    saved = json.loads(out.read_text(), parse_constant=pytest.fail)
    assert saved["verdict"]["is_trusted"] is False and saved["inclusion"][0]["trusted"] is False


def test_experiments_are_listed_and_unknown_ones_refused(capsys):
    assert main(["experiment"]) == 0
    listed = capsys.readouterr().out.split()
    assert "sbc" in listed and "benchmarks.samplers" in listed
    assert main(["experiment", "nonsense"]) == 2
    assert "there are" in capsys.readouterr().err


def test_experiment_says_when_there_is_no_checkout(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "soar_jax", "experiment"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2 and "checkout" in run.stderr


def test_fit_says_what_it_found_and_compares_with_noise(table, tmp_path, capsys):
    args = ["fit", str(table), "--target", "outcome", "--out", str(tmp_path / "m.json"), *QUICK, "--noise-check", "3"]
    args += ["--doubt", "1"]
    assert main(args) == 0
    shown = capsys.readouterr().out
    assert "the rows favour them over no rules by" in shown and "permuted 3 times" in shown
    assert main([*args, "--json", "--honest"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["noise_check"]["noise_gains"]) == 3 and summary["gain"] == summary["noise_check"]["gain"]


def test_fit_says_when_nothing_beats_the_base_rate(tmp_path, capsys):
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.csv"
    pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(list("xy"), 200), "y": rng.integers(0, 2, 200)}).to_csv(
        path
    )
    assert main(["fit", str(path), "--target", "y", "--out", str(tmp_path / "m.json"), *QUICK]) == 0
    shown = capsys.readouterr()
    assert "Nothing here beats the base rate" in shown.out and "Warning" not in shown.err


def test_bounds_and_opinions_on_the_command_line(table, tmp_path, capsys):
    args = ["fit", str(table), "--target", "outcome", "--out", str(tmp_path / "m.json"), *QUICK]

    def consensus(*options):
        assert main([*args, *options]) == 0
        return json.loads((tmp_path / "m.json").read_text())["parameters"]["consensus"]

    assert consensus("--error-ratio", "0.3") == {"type": "ErrorRatio", "ratio": 0.3}
    assert consensus("--precision", "0.8") == {"type": "Precision", "rate": 0.8}
    assert consensus("--precision", "0.9", "--worth", "0.05")["type"] == "Opinion"
    capsys.readouterr()
    for wrong in (["--error-ratio", "0.3", "--precision", "0.8"], ["--worth", "0.1"], ["--error-ratio", "3"]):
        assert main([*args, *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_page_that_fit_suggests_can_be_made_by_the_command_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = datasets.load_synthetic(seed=2)
    X.iloc[:300].assign(y=y.iloc[:300]).to_csv("t.csv", index=False)
    for given in (["t.csv", "--target", "y"], ["--dataset", "synthetic"]):
        assert main(["fit", *given, "--max-length", "2", "--rounds", "1", "--out", "m.json"]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if "soar report" in line)
        assert main(shlex.split(line[line.index("soar report") :])[1:]) == 0 and Path("m.html").stat().st_size > 10_000
        Path("m.html").unlink()
