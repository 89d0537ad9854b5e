"""``soar sample`` beside ``soar fit``: the same rows held out, the same rules, and a page of both."""

import json
import shlex

import pytest

from soar_jax.cli.main import main
from soar_jax.estimators.load import load

pytestmark = pytest.mark.filterwarnings("ignore::soar_jax.BetterPairWarning")

SHORT = ["--draws", "40", "--chains", "2", "--temperatures", "1", "--quiet"]


def hint(text, what):
    """Find a command that was suggested."""
    line = next(line for line in text.splitlines() if line.strip().startswith(what))
    return shlex.split(line[line.index("soar ") :])[1:]


@pytest.mark.parametrize("options", [[], ["--holdout", "0.4", "--drop", "doors", "--max-rules", "2", "--seed", "3"]])
def test_the_sample_that_fit_suggests_holds_out_the_same_rows_and_finds_the_same_rules(
    options, car, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    words = [car.table, "--target", "good", "--rounds", "1", "--max-length", "2", "--grow-to", "0", *options]
    assert main(["fit", *words, "--out", "cars.json"]) == 0
    suggested = hint(capsys.readouterr().out, "how sure each rule is")
    assert [suggested[0], *suggested[-2:]] == ["sample", "--report", "cars-sampled.html"]
    assert sorted(suggested[1:-2]) == sorted(words)
    assert main([*suggested, *SHORT, "--save-to", "run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    model = load("cars.json")
    held = int(model.fresh_states_["rows"].sum())
    assert f"learned from {864 - held:,} rows; {held} held out." in shown
    page = (tmp_path / "cars-sampled.html").read_text(encoding="utf-8")
    assert "How sure of the rules" in page and "was too short, or its chains do not agree" in page
    assert f"Measured on {held} rows that the rules had never seen" in page
    for rule in model.rules_["rule"]:
        assert f"<code>{rule}</code>" in page


def test_all_rows_can_be_learned_from_and_the_page_says_so(car, tmp_path, capsys):
    words = ["sample", car.table, "--target", "good", "--rounds", "1", "--max-length", "2", "--holdout", "0", *SHORT]
    assert main([*words, "--report", str(tmp_path / "card.md"), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["rows"] == 864 and content["rows_held_out"] == 0
    assert "learned from" in (tmp_path / "card.md").read_text(encoding="utf-8")
    assert main(words) == 0
    assert "learned from 864 rows, none held out." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--holdout", "1.5"], "--holdout must lie in [0, 1)"),
        (["--report", "page.txt"], "ends in .html or .md"),
        (["--report", "no/such/folder/page.html"], "no folder"),
    ],
)
def test_what_is_wrong_with_a_sample_is_said_before_the_work(options, message, car, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("soar_jax.cli.sample.training_table", None)
    assert main(["sample", car.table, "--target", "good", *options]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_better_pair_among_the_draws_is_said_without_python(car, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("soar_jax.cli.sample._better_by", lambda post: 6.04)
    words = ["sample", car.table, "--target", "good", "--rounds", "1", "--max-length", "2", *SHORT]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "met a pair that scores 6.04 nats better than the one that was fitted" in " ".join(shown.out.split())
    assert "take_better_pair" not in shown.out + shown.err and "--rounds" in shown.out
