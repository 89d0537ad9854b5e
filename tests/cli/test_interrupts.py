"""An interrupt of ``soar sample`` keeps the fit, or the draws so far, and says so in one line."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from soar_jax.cli.interrupts import Interrupts
from soar_jax.cli.main import main
from soar_jax.estimators.load import load

QUICK = ["--rounds", "1", "--max-length", "2", "--grow-to", "0", "--max-patterns", "20"]
SAMPLE = ["sample", "--dataset", "car", *QUICK, "--chains", "2", "--temperatures", "1", "--draws", "1000000"]

START = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
runpy.run_module("soar_jax", run_name="__main__")
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder for compiled programs, so that only the first process compiles."""
    return tmp_path_factory.mktemp("programs")


def interrupted(words, moment, programs, times=1):
    """Run the command on a terminal, interrupt it once ``moment`` is shown; exit code, output, and what was shown."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "SOAR_PROGRAMS": str(programs)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=writer,
        env=environment,
    )
    os.close(writer)
    shown, left = "", times
    try:
        while part := _read(reader):
            shown += part
            if left and re.search(moment, shown):
                for _ in range(left):
                    process.send_signal(signal.SIGINT)
                    time.sleep(0.02)
                left = 0
        out = process.stdout.read().decode()
        code = process.wait(timeout=60)
    finally:
        process.kill()
        process.stdout.close()
        os.close(reader)
    assert not left, f"never came to {moment!r}: {shown}"
    assert "Traceback" not in shown + out and "Exception" not in shown + out
    return code, out, " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).split())


def _read(reader):
    try:
        return os.read(reader, 65536).decode(errors="replace")
    except OSError:  # Linux says so at the end
        return ""


WARM_UP, DRAWS = r"warm-up.*[1-9]\d*/500,000", r"sampling.*[1-9]\d*/1,000,000"


@pytest.mark.slow
def test_an_interrupt_in_warm_up_saves_the_fitted_model(tmp_path, programs):
    committee = tmp_path / "average.json"
    code, out, shown = interrupted([*SAMPLE, "--committee", committee], WARM_UP, programs)
    assert code == 130 and out == ""
    assert "soar: interrupted before there were draws; the fitted model is in" in shown
    assert "average.fit.json" in shown and "starts anew; with --save-to" in shown
    assert not committee.exists()
    assert load(tmp_path / "average.fit.json").positive_rules_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::soar_jax.BetterPairWarning")  # of the second, short run
def test_an_interrupt_while_drawing_keeps_the_draws_and_the_run_goes_on(tmp_path, programs):
    """Two interrupts in a row, as from an impatient hand, are one."""
    committee, out, folder = (tmp_path / name for name in ("average.json", "posterior.json", "run"))
    words = [*SAMPLE, "--warmup", "25", "--committee", committee, "--out", out, "--save-to", folder]
    code, text, shown = interrupted(words, DRAWS, programs, times=2)
    assert code == 130
    assert re.search(r"interrupted while drawing; the [\d,]+ draws of each chain .* judged and in", shown)
    assert "goes on from the blocks that are finished in" in shown
    assert "Do NOT use these frequencies" in text and "the run was stopped early" in text
    kept = json.loads(out.read_text())
    assert kept["draws"] >= 25 and f"the {kept['draws']:,} draws" in shown
    assert not load(committee).is_trusted
    words[words.index("1000000")] = str(kept["draws"] + 25)
    assert main([str(word) for word in words]) == 0
    assert json.loads(out.read_text())["draws"] == kept["draws"] + 25


@pytest.mark.slow
def test_an_interrupt_while_learning_keeps_the_rules_and_draws_none(tmp_path, programs):
    words = ["sample", "--dataset", "car", "--rounds", "1000000", "--out", tmp_path / "posterior.json"]
    code, out, shown = interrupted(words, r"searching.*[1-9]\d*/", programs)
    assert code == 130 and out == "" and not (tmp_path / "posterior.json").exists()
    assert "interrupted while learning; the fitted model is in" in shown
    assert load(tmp_path / "posterior.fit.json").was_stopped_


@pytest.mark.slow
def test_an_interrupt_of_a_fit_keeps_its_best_rules_and_ends_with_130(tmp_path, programs):
    words = ["fit", "--dataset", "car", "--rounds", "1000000", "--out", tmp_path / "m.json"]
    code, out, shown = interrupted(words, r"searching.*[1-9]\d*/", programs)
    assert code == 130 and "Model saved to" in out and "the best rules so far are in" in shown
    assert "give it more" not in shown and load(tmp_path / "m.json").was_stopped_


# -- in this process ------------------------------------------------------------------------------


@pytest.fixture
def stopped_in_warm_up(monkeypatch):
    from soar_jax.sampling import sampler

    def interrupt(self, *args):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sampler.Sampler, "advance", interrupt)


def test_without_a_file_the_rules_are_printed(stopped_in_warm_up, tmp_path, capsys):
    assert main([*SAMPLE, "--quiet"]) == 130
    shown = capsys.readouterr()
    assert "IF" in shown.out.upper() and "the rules found are printed, nothing is saved" in shown.err
    assert main([*SAMPLE, "--quiet", "--json"]) == 130
    shown = capsys.readouterr()
    assert shown.out == "" and "no file is named for it" in shown.err
    assert main([*SAMPLE, "--quiet", "--save-to", str(tmp_path / "run")]) == 130
    assert load(tmp_path / "run" / "fit.json").positive_rules_
    (tmp_path / "a.fit.json").mkdir()
    assert main([*SAMPLE, "--quiet", "--out", str(tmp_path / "a.json")]) == 130
    assert "could not be saved" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_things_are_kept_is_answered_before_it_loses_them(capfd):
    with Interrupts() as interrupts:
        assert not interrupts.came
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interrupts.came
        signal.raise_signal(signal.SIGINT)
        assert "once more to leave it" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.is_keeping = True
        signal.raise_signal(signal.SIGINT)
        assert interrupts.came and "once more" in capfd.readouterr().err


def test_ignored_interrupts_stay_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def stopped_in_search(monkeypatch):
    from soar_jax.search import explore

    run = explore.Explorer.run

    def interrupt(self, *args):
        run(self, *args)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(explore.Explorer, "run", interrupt)


FIT = ["fit", "--dataset", "car", *QUICK, "--quiet"]


@pytest.mark.filterwarnings("always::UserWarning")  # as they are outside of tests
def test_an_interrupt_of_a_fit_saves_the_best_pair_says_so_and_ends_with_130(stopped_in_search, tmp_path, capsys):
    out = tmp_path / "m.json"
    assert main([*FIT, "--out", str(out), "--noise-check", "3"]) == 130
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1 and "time" not in shown.err
    assert f"soar: interrupted while learning; the best rules so far are in {out}" in shown.err
    said = " ".join(shown.out.split())
    assert "Model saved to" in said and "the search was interrupted before it was shown" in said
    assert "time budget" not in said and "permuted" not in said
    assert load(out).positive_rules_ and load(out).was_stopped_
    assert "the search was interrupted before it was shown" in load(out).conclude()
    assert main([*FIT, "--out", str(out), "--json"]) == 130
    assert "search was interrupted" in json.loads(capsys.readouterr().out)["conclusion"]


@pytest.mark.filterwarnings("always::UserWarning")  # as they are outside of tests
def test_an_interrupt_before_a_rule_is_found_is_no_lack_of_time(monkeypatch, tmp_path, capsys):
    from soar_jax.search import explore

    monkeypatch.setattr(explore.Explorer, "begin", lambda self: signal.raise_signal(signal.SIGINT))
    assert main([*FIT, "--out", str(tmp_path / "m.json")]) == 130
    shown = capsys.readouterr()
    assert "The search was interrupted before it found a rule." in " ".join(shown.out.split())
    assert "budget" not in shown.out + shown.err
    assert load(tmp_path / "m.json").conclude() == "The search was interrupted before it found a rule."


def test_a_fit_that_is_interrupted_before_its_search_saves_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("soar_jax.cli.fit.make_model", lambda args: signal.raise_signal(signal.SIGINT))
    assert main([*FIT, "--out", str(tmp_path / "m.json")]) == 130
    assert capsys.readouterr().err == "soar: interrupted, nothing saved\n" and not (tmp_path / "m.json").exists()
