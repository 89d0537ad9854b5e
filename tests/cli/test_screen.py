"""Tables on screens of any width, and names that are cut short."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from soar_jax import SOARClassifier
from soar_jax._names import short_names
from soar_jax.cli import screen
from soar_jax.cli.main import main
from tests.reasons.models import make_model

LABELS = (
    "the patient was readmitted to the ward within 30 days",
    "the patient was readmitted to the ward within 90 days",
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("screen"), np.random.default_rng(0)
    y = rng.random(300) < 0.5
    X = pd.DataFrame({"concentration": np.where(y ^ (rng.random(300) < 0.1), "raised", "normal")})
    for name, classes in (("ten", ("discharged", "readmitted")), ("long", LABELS)):
        model = SOARClassifier(n_rounds=1, grow_to=0, holdout=0.3).fit(X, np.array(classes)[y.astype(int)])
        model.save(folder / f"{name}.json")
    return folder


def shown(path, width, monkeypatch, capsys):
    options = dict(markup=False, highlight=False, emoji=False, color_system=None, force_terminal=False)
    monkeypatch.setattr(screen, "_console", lambda **_: Console(file=sys.stdout, width=width, **options))
    assert main(["show", str(path)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 60, 30])
@pytest.mark.parametrize("name", ["ten", "long"])
def test_28_11_no_word_is_broken_and_no_rule_vanishes(saved, name, width, monkeypatch, capsys):
    said = shown(saved / f"{name}.json", width, monkeypatch, capsys)
    assert max(map(len, said.splitlines())) <= width or "soar" in said
    words = set(said.replace(":", " ").split())
    assert {"concentration", "normal", "raised", "positive", "negative", "CTP"} <= words
    if name == "ten":
        assert {"readmitted", "discharged"} <= words
    else:
        assert "...30 days" in " ".join(said.split()) and "...90 days" in " ".join(said.split())


def test_28_11_names_that_begin_alike_are_cut_where_they_differ():
    assert len(set(short_names(LABELS, 16))) == 2 and max(map(len, short_names(LABELS, 16))) <= 16
    assert short_names(["yes", "no"]) == ("yes", "no")
    assert len(set(short_names(["a" * 50, "a" * 60]))) == 2


def test_28_11_a_closed_output_is_no_error(saved):
    command = f'exec "{sys.executable}" -m soar_jax show "{saved / "ten.json"}" >&-'
    run = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True, env=dict(os.environ))
    assert (run.returncode, run.stderr) == (0, "")


def test_28_11_marks_that_turn_text_around_are_written_out_on_the_page(tmp_path):
    level = "up\u202etxt\u2066"
    model = make_model([[("a", "==", level)]], [[("a", "==", "b")]])
    X = pd.DataFrame({"a": [level, "b"] * 40})
    for name in ("r.html", "r.md"):
        model.report(tmp_path / name, X, np.arange(80) % 2)
        text = (tmp_path / name).read_text(encoding="utf-8")
        outside = text.split('id="data"')[0]
        assert "\u202e" not in outside and "\u2066" not in outside and "u202e" in outside
