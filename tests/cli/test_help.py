"""Help fits 80 columns, its examples parse, shells complete what the parsers know, pipes get the same text."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from soar_jax.cli import screen
from soar_jax.cli.completion import _options
from soar_jax.cli.main import build_parser, main
from soar_jax.cli.wording import as_options
from tests.test_progress import in_terminal

NAMES = sorted(build_parser().get_default("parsers"))


@pytest.mark.parametrize("name", ["", *NAMES, "model check"])
def test_help_fits_80_columns_and_ends_with_an_example(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0 and max(map(len, shown.splitlines())) <= 80
    assert "--debug" in shown and ("example:" in shown or name in ("", "experiment"))


@pytest.mark.parametrize("name", sorted({*NAMES} - {"experiment", "completion"}))
def test_the_examples_of_help_parse(name):
    parser = build_parser()
    epilog = parser.get_default("parsers")[name].epilog.replace("\\\n", " ")
    for line in epilog.splitlines()[1:]:
        words = shlex.split(line.split(">")[0])
        assert words[0] == "soar" and words[1] == name
        _, unknown = parser.parse_known_args(words[1:])
        assert unknown == []


def test_help_answers_at_once():
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "soar_jax", "--help"], check=True, capture_output=True)
    assert time.perf_counter() - started < 5  # 0.2 s on an idle machine


def test_every_command_has_quiet_and_debug():
    for name, parser in build_parser().get_default("parsers").items():
        flags = {flag for option in _options(parser) for flag in option.flags}
        assert {"--quiet", "--debug", "--help"} <= flags, name


def complete_in_bash(words):
    """Ask bash what it would offer after some words."""
    script = subprocess.run(
        [sys.executable, "-m", "soar_jax", "completion", "bash"], check=True, capture_output=True, text=True
    ).stdout
    asked = " ".join(map(shlex.quote, words))
    code = f"{script}\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _soar; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    run = subprocess.run(["bash", "--norc", "-c", code], check=True, capture_output=True, text=True)
    return run.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_choices():
    assert set(complete_in_bash(["soar", ""])) >= set(NAMES)
    assert complete_in_bash(["soar", "pre"]) == ["predict"]
    assert "--holdout" in complete_in_bash(["soar", "fit", "--hold"])
    assert complete_in_bash(["soar", "fit", "--dataset", "c"]) == ["car"]
    assert complete_in_bash(["soar", "completion", "z"]) == ["zsh"]
    assert complete_in_bash(["soar", "fit", "ta"]) == []  # files, by bash itself


@pytest.mark.parametrize(("shell", "check"), [("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_other_shells_read_their_scripts(shell, check, tmp_path, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "holdout" in script and "soar" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([*check, str(tmp_path / "script")], check=True)


def test_text_on_a_terminal_has_colours_and_in_a_pipe_has_none(car):
    code = f"import sys; sys.stdout = sys.stderr; from soar_jax.cli.main import main; main(['show', {car.model!r}])"
    _, shown = in_terminal(code)
    run = subprocess.run(
        [sys.executable, "-m", "soar_jax", "show", car.model],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "40"},
    )
    assert "\x1b" not in run.stdout and run.stderr == ""
    lines = [line.rstrip() for line in shown.replace("\r", "").splitlines() if "Reading" not in line]
    assert [line for line in lines if line] == [line for line in run.stdout.splitlines() if line]


def test_names_on_the_screen_cannot_steer_it(capsys):
    screen.show(
        screen.heading("a\x1b[2J"), screen.paragraph("[red]b\x07"), screen.table([("x", "wrap")], [("\x1b[0m",)])
    )
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\x07" not in shown and "[red]b" in shown


def test_long_rules_wrap_and_commands_are_never_broken(capsys):
    screen.show(
        screen.table([("id", "left"), ("rule", "wrap"), ("right", "left")], [("P1", "word " * 40, "97% (90 to 99)")]),
        screen.commands([("label", ["soar", "predict", "a file.json", "x" * 120])]),
    )
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines[:-1]) and sum("word" in line for line in lines) > 2
    assert "97% (90 to 99)" in lines[1]
    assert lines[-1].endswith("soar predict 'a file.json' " + "x" * 120)


def test_advice_names_options_where_the_command_has_them():
    options = {"--chains", "--max-patterns", "--thin", "--seed"}
    said = as_options(
        "use num_chains=4, max_patterns=1.5, thin=2 or random_state; not n_iter nor 'max_patterns'", options
    )
    assert said == "use --chains 4, --max-patterns 1.5, --thin 2 or --seed; not n_iter nor 'max_patterns'"
    assert as_options("the positive class is thin", options) == "the positive class is thin"
    assert re.search(r"--", as_options("Opinion(rate=1)", options)) is None


def test_the_documented_keys_are_those_printed(car, tmp_path, capsys):
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
    documented = {
        line.split("|")[1].strip(): re.findall(r"`(\w+)`", line.split("|")[2])
        for line in page.partition("## JSON")[2].splitlines()
        if line.startswith("| `") or line.startswith("| fit")
    }

    def printed(*words):
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[0])

    words = ["fit", car.table, "--target", "good", "--rounds", "1", "--max-length", "2"]
    fit = printed(*words, "--out", str(tmp_path / "m.json"))
    assert list(fit) == documented["`fit`"]
    assert list(fit["holdout"]) == documented["`fit`, in `training` and `holdout`"]
    assert list(fit["holdout"]["answers"]) == documented["`fit`, in `answers`"]
    assert sorted(fit["rules"][0]) == sorted(documented["`fit` and `show`, in `rules`"])
    assert list(printed("show", car.model)) == documented["`show`"]
    assert list(printed("show", car.committee)) == documented["`show` of a committee"]
    assert list(printed("predict", car.model, car.table)) == documented["`predict`"]
    assert list(printed("model", "check", car.model)) == documented["`model check`"]
    assert list(printed("doctor")) == documented["`doctor`"]
