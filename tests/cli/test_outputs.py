"""Where results go: the suffix decides, inputs and devices are safe, standard output is ``-`` or nothing."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading

import pandas as pd
import pytest

from soar_jax.cli.main import main


def frame_of(path):
    if path.name.endswith(".parquet"):
        return pd.read_parquet(path)
    if path.name.endswith(".jsonl"):
        return pd.read_json(path, lines=True, precise_float=True)
    return pd.read_json(path, precise_float=True) if path.name.endswith(".json") else pd.read_csv(path)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".json", ".jsonl", ".parquet", ".CSV"])
def test_predictions_are_the_same_in_every_format(suffix, car, tmp_path, capsys):
    assert main(["predict", car.model, car.table]) == 0
    expected = pd.read_csv(io.StringIO(capsys.readouterr().out))
    path = tmp_path / f"labels{suffix}"
    assert main(["predict", car.model, car.table, "--out", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out == "" and f"864 predictions written to {path}" in shown.err
    pd.testing.assert_frame_equal(frame_of(path), expected, check_dtype=False)
    if suffix == ".csv.gz":
        assert gzip.decompress(path.read_bytes()).startswith(b"prediction,")


def test_reasons_are_written_in_every_format(car, tmp_path, capsys):
    for suffix in (".csv", ".csv.gz", ".parquet"):
        assert main(["explain", car.model, car.table, "--out", str(tmp_path / f"r{suffix}")]) == 0
        assert len(frame_of(tmp_path / f"r{suffix}")) == 864
    assert main(["explain", car.model, car.table, "--out", str(tmp_path / "r.json")]) == 0
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert main(["explain", car.model, car.table, "--out", str(tmp_path / "r.jsonl")]) == 0
    assert [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()] == rows
    assert main(["explain", car.model, car.table, "--out", str(tmp_path / "r.txt")]) == 0
    text = (tmp_path / "r.txt").read_text()
    assert text.startswith("Row 0: ") and max(map(len, text.splitlines())) <= 80
    capsys.readouterr()
    assert main(["explain", car.model, car.table, "--sentences"]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "{model}", "{table}", "--out", "x.xlsx"], ".json, .jsonl or .parquet, not to x.xlsx"),
        (["predict", "{model}", "{table}", "--out", "labels"], "not to labels"),
        (["predict", "{model}", "{table}", "--out", ".csv"], "not to .csv"),
        (["predict", "{model}", "{table}", "--json", "--out", "x.csv"], "--json asks for JSON"),
        (["explain", "{model}", "{table}", "--out", "x.html"], "not to x.html"),
        (["explain", "{model}", "{table}", "--sentences", "--out", "x.csv"], "--sentences asks for text"),
        (["audit", "{model}", "{table}", "--target", "good", "--by", "doors", "--out", "a.csv"], ".txt or .json"),
        (["fit", "{table}", "--target", "good", "--out", "m.pkl"], "ends in .json, not to m.pkl"),
        (["sample", "{table}", "--target", "good", "--out", "m.txt"], "ends in .json"),
        (["sample", "{table}", "--target", "good", "--committee", "m.txt"], "ends in .json"),
        (["sample", "{table}", "--target", "good", "--committee", "a.json", "--out", "a.json"], "same file"),
        (["export", "{model}", "--format", "sql", "--dialect", "duckdb", "--table", "t", "--out", "x.py"], ".sql"),
        (["export", "{model}"], "--format"),
        (["edit", "{model}", "--remove", "P1", "--reason", "x", "--table", "{table}", "--target", "good",
          "--out", "x.csv"], "ends in .json"),
    ],
)  # fmt: skip
def test_other_suffixes_are_refused_in_one_line(words, message, car, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([word.format(model=car.model, table=car.table) for word in words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and os.listdir(tmp_path) == []


def test_the_suffix_decides_what_is_exported(car, tmp_path):
    assert main(["export", car.model, "--out", str(tmp_path / "m.py")]) == 0
    assert (tmp_path / "m.py").read_text().startswith('"""')
    words = ["export", car.model, "--dialect", "duckdb", "--table", "cars", "--out", str(tmp_path / "m.sql")]
    assert main(words) == 0
    assert "SELECT" in (tmp_path / "m.sql").read_text()


@pytest.mark.parametrize("how", ["same name", "hard link", "symbolic link"])
def test_an_input_of_the_same_command_is_never_replaced(how, car, tmp_path, capsys):
    table, out = tmp_path / "t.csv", tmp_path / "out.csv"
    table.write_bytes(car.frame.to_csv(index=False).encode())
    before = table.read_bytes()
    if how == "same name":
        out = table
    elif how == "hard link":
        os.link(table, out)
    else:
        out.symlink_to(table)
    assert main(["predict", car.model, str(table), "--out", str(out)]) == 2
    assert "is read by this command" in capsys.readouterr().err and table.read_bytes() == before


def test_a_model_is_not_replaced_by_its_edited_self(car, tmp_path, capsys):
    words = ["edit", car.model, "--remove", "P1", "--reason", "x", "--table", car.table, "--target", "good"]
    assert main([*words, "--out", car.model]) == 2
    assert "is read by this command" in capsys.readouterr().err


def test_standard_output_is_a_dash_or_nothing(car, capsys):
    assert main(["predict", car.model, car.table]) == 0
    expected = capsys.readouterr().out
    assert main(["predict", car.model, car.table, "--out", "-"]) == 0
    assert capsys.readouterr() == (expected, "")


def test_pipes_and_devices_are_written_into(car, tmp_path, capsys):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    assert main(["predict", car.model, car.table, "--out", str(pipe)]) == 0
    reader.join(timeout=20)
    assert got[0].startswith("prediction,probability,state\n") and pipe.is_fifo()
    assert main(["predict", car.model, car.table, "--json", "--out", "/dev/null"]) == 0
    assert not os.path.isfile("/dev/null")
    capsys.readouterr()


def test_a_full_disk_is_one_line_and_nothing_half_written(car, tmp_path):
    """A limit on the size of files fails in the midst of writing, as a full disk does."""
    out = tmp_path / "labels.csv"
    out.write_text("old\n")
    code = (
        "import resource, signal, sys; from soar_jax.cli.main import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ["predict", car.model, car.table, "--out", str(out)]
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and run.stderr == f"soar: error: File too large: {out}\n"
    assert out.read_text() == "old\n" and os.listdir(tmp_path) == ["labels.csv"]
