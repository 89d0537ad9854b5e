"""Every command, tried with every kind of wrong file: one line, exit code 2, no cell of a table, nothing written."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from soar_jax.cli.errors import LONGEST, without_cells
from soar_jax.cli.main import main
from soar_jax.cli.wording import as_options

SECRET = "Jane Doe 1961-05-07"
COMMANDS = {
    "fit": ["fit", "{table}", "--target", "good", "--out", "{out}.json"],
    "sample": ["sample", "{table}", "--target", "good", "--draws", "20", "--out", "{out}.json"],
    "predict": ["predict", "{model}", "{table}", "--out", "{out}.csv"],
    "explain": ["explain", "{model}", "{table}", "--out", "{out}.csv"],
    "contrast": ["contrast", "{model}", "{table}", "--row", "0"],
    "audit": ["audit", "{model}", "{table}", "--target", "good", "--by", "doors", "--out", "{out}.txt"],
    "report": ["report", "{model}", "{table}", "--target", "good", "--out", "{out}.html"],
    "edit": ["edit", "{model}", "--remove", "P1", "--reason", "x", "--table", "{table}", "--target", "good",
             "--out", "{out}.json"],
    "export": ["export", "{model}", "--format", "python", "--out", "{out}.py"],
    "show": ["show", "{model}"],
}  # fmt: skip
READ_A_TABLE = [name for name, words in COMMANDS.items() if "{table}" in words]
READ_A_MODEL = [name for name, words in COMMANDS.items() if "{model}" in words]


@pytest.fixture
def wrong(tmp_path):
    """Make a file of each wrong kind."""
    folder = tmp_path / "wrong"
    folder.mkdir()
    (folder / "binary").write_bytes(bytes(range(256)) * 40)
    (folder / "empty").write_bytes(b"")
    (folder / "blank").write_text("\n \n")
    (folder / "json").write_text('{"a": [1, 2')
    (folder / "list").write_text("[1, 2, 3]")
    (folder / "deep").write_text("[" * 20_000 + "]" * 20_000)
    (folder / "headerless").write_text(f"{SECRET},4,5\n" * 30)
    (folder / "wide").write_text(",".join(f"{SECRET} {i}" for i in range(2_000)) + "\n")
    (folder / "folder").mkdir()
    return folder


def told(words, places, capsys, code=2):
    assert main([word.format(**places) for word in words]) == code
    shown = capsys.readouterr()
    lines = shown.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("soar: "), shown.err
    assert len(lines[0]) <= LONGEST + 10 and "Traceback" not in shown.err
    return lines[0], shown.out


def places_of(car, tmp_path, **changes):
    return {"model": car.model, "table": car.table, "out": tmp_path / "out", **changes}


@pytest.mark.parametrize("kind", ["nowhere", "folder", "binary", "empty", "blank", "json", "headerless", "wide"])
@pytest.mark.parametrize("command", READ_A_TABLE)
def test_a_wrong_table_is_refused_in_one_line(command, kind, car, wrong, tmp_path, capsys):
    _, out = told(COMMANDS[command], places_of(car, tmp_path, table=wrong / kind), capsys)
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["wrong"]


@pytest.mark.parametrize("kind", ["nowhere", "folder", "binary", "empty", "json", "list", "deep", "headerless"])
@pytest.mark.parametrize("command", READ_A_MODEL)
def test_a_wrong_model_is_refused_in_one_line(command, kind, car, wrong, tmp_path, capsys):
    line, out = told(COMMANDS[command], places_of(car, tmp_path, model=wrong / kind), capsys)
    assert SECRET not in line and out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["wrong"]


@pytest.mark.parametrize("command", sorted(set(READ_A_MODEL) - {"predict", "show"}))
def test_a_committee_is_refused_where_one_pair_is_wanted(command, car, tmp_path, capsys):
    line, _ = told(COMMANDS[command], places_of(car, tmp_path, model=car.committee), capsys)
    assert "holds a committee" in line


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("fit", ["--target", "godd"], "Did you mean 'good'"),
        ("fit", ["--drop", "nothing"], "column"),
        ("fit", ["--holdout", "-0.5"], "--holdout"),
        ("fit", ["--min-support", "-3"], "--min-support"),
        ("fit", ["--max-length", "-1"], "--max-length"),
        ("fit", ["--max-rules", "-1"], "--max-rules"),
        ("fit", ["--time-budget", "-1"], "--time-budget"),
        ("fit", ["--seed", "-1"], "eed"),
        ("fit", ["--strictness", "-1"], "strictness"),
        ("fit", ["--noise-check", "-1"], "--noise-check"),
        ("fit", ["--forbid", "doorz"], "doorz"),
        ("fit", ["--require-positive", "doors >"], "doors >"),
        ("sample", ["--chains", "-1"], "--chains"),
        ("sample", ["--draws", "-1"], "--draws"),
        ("explain", ["--max-reasons", "-1"], "--max-reasons"),
        ("contrast", ["--row", "-1"], "--row"),
        ("contrast", ["--max-changes", "-1"], "--max-changes"),
        ("audit", ["--level", "-1"], "level"),
        ("audit", ["--by", "doorz"], "Did you mean 'doors'"),
    ],
)
def test_wrong_values_are_refused_in_one_line(command, options, message, car, tmp_path, capsys):
    words = [*COMMANDS[command], *options, *(["--rounds", "1"] if command in ("fit", "sample") else [])]
    line, _ = told(words, places_of(car, tmp_path), capsys)
    assert message in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fot"], "did you mean 'fit'"),
        (["fit", "--holdout", "much"], "invalid float value"),
        (["fit", "--taget", "y"], "did you mean --target"),
        (["predict"], "required"),
        ([], "required"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    shown = capsys.readouterr()
    assert ended.value.code == 2 and message in shown.err and shown.err.count("\n") == 1 and not shown.out


def test_other_packages_messages_are_shown_without_what_they_quote():
    assert without_cells(ValueError(f"could not convert string to float: '{SECRET}'")).endswith(": '...'")


def test_an_unforeseen_error_is_one_line_and_debug_shows_where(car, capsys, monkeypatch):
    from soar_jax.cli import show

    def fail(path):
        raise TypeError(SECRET)

    monkeypatch.setattr(show, "load_model", fail)
    line, _ = told(["show", "{model}"], {"model": car.model}, capsys, code=1)
    assert "TypeError" in line and "--debug" in line and SECRET not in line
    for words in (["--debug", "show", car.model], ["show", car.model, "--debug"]):
        assert main(words) == 1
        assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SOAR_DEBUG", "1")
    assert main(["show", car.model]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_interrupts_and_lost_memory_have_a_line_of_their_own(car, capsys, monkeypatch):
    from soar_jax.cli import show

    for error, code, words in ((KeyboardInterrupt(), 130, "nothing saved"), (MemoryError(), 1, "memory")):

        def fail(path, error=error):
            raise error

        monkeypatch.setattr(show, "load_model", fail)
        assert words in told(["show", "{model}"], {"model": car.model}, capsys, code=code)[0]


def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-m", "soar_jax", "completion", "fish"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.close()
    assert run.stderr.read() == b"" and run.wait() == 141
    run.stderr.close()


def test_names_that_could_steer_a_terminal_are_written_out(car, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a\x1b[2J,b\n1,2\n")
    line, _ = told(["fit", "{table}", "--out", str(tmp_path / "m.json")], {"table": path}, capsys)
    assert "\x1b" not in line and "\\x1b" in line


def test_json_of_an_error_is_not_printed(car, capsys):
    assert main(["predict", car.model, "nowhere.csv", "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    with pytest.raises(json.JSONDecodeError):
        json.loads(shown.err)
    assert not os.path.exists("nowhere.csv")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A table of text, numbers and dates of another form, with labels of four kinds, of two and of one."""
    path = tmp_path_factory.mktemp("plain") / "t.csv"
    i = np.arange(200)
    columns = {"a": np.array(list("xyz"))[i % 3], "n": i % 17, "when": [f"{k % 28 + 1}/03/2020" for k in i]}
    labels = {"four": np.array(["secret", "acc", "good", "vgood"])[i % 4], "two": i % 2, "one": "only", "size": i + 0.5}
    pd.DataFrame(columns | labels).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "four", "--positive", "secret"], "The target column 'four' has 4 labels; soar tells two classes "
         "apart. Make a column that says yes or no first, and name it with --target."),
        (["--target", "size"], "The target column 'size' has 200 numbers, which is a matter of regression; soar tells"),
        (["--target", "one"], "The target column 'one' has the same label in every row; rules need two classes."),
        (["--target", "two", "--text", "nosuch"], "--text names column 'nosuch', which the table does not have."),
        (["--target", "two", "--number", "a", "--date", "nosuch"], "--number or --date names column 'nosuch'"),
        (["--target", "two", "--date", "when"], "text of a declared format: --date when=%d/%m/%Y."),
        (["--target", "two", "--forbid", "nosuch"], "--forbid names column 'nosuch'"),
        (["--target", "two", "--direction", "nosuch=+"], "--direction names column 'nosuch'"),
        (["--target", "two", "--require-positive", "nosuch=1"], "a required rule names column 'nosuch'"),
        (["--target", "two", "--strictness", "-1"], "--strictness must be a positive number"),
        (["--target", "two", "--precision", "2"], "--precision must lie strictly between 0.5 and 1"),
        (["--target", "two", "--error-ratio", "5"], "--error-ratio must lie strictly between 0 and 1"),
        (["--target", "two", "--time-budget", "-1"], "--time-budget must be a positive number of seconds, got"),
        (["--target", "two", "--positive", "9"], "--positive '9' is not one of"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_advice_on_the_command_line_is_advice_for_the_command_line(options, said, plain, tmp_path, capsys):
    assert main(["fit", plain, *options, "--out", str(tmp_path / "m.json")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not re.search(r"sklearn|kinds|positive=|\bNone\b|SearchedRules|Precision\.|secret|only one", error)


def test_every_parameter_that_advice_on_mining_names_is_an_option(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    advice = "Set max_length=2, raise min_support and min_class_support, or use fewer bins (max_bins)."
    said = "Set --max-length 2, raise --min-support and --min-class-support, or use fewer bins (--max-bins)."
    assert as_options(advice, options) == said


@pytest.mark.parametrize(("words", "number"), [(["maybe"], "1 label that"), (["maybe", "perhaps"], "2 labels that")])
def test_labels_that_a_model_does_not_know_are_counted_and_those_it_knows_are_named(
    words, number, car, tmp_path, capsys
):
    frame = car.frame.copy()
    frame.iloc[: len(words), frame.columns.get_loc("good")] = words
    frame.to_csv(tmp_path / "t.csv", index=False)
    said, _ = told(["audit", car.model, str(tmp_path / "t.csv"), "--target", "good", "--by", "doors"], {}, capsys)
    assert number in said and "it knows no and yes. Name the column" in said and "maybe" not in said
