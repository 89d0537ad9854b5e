"""``soar show`` and ``soar model check``: what a model file says."""

import json
from pathlib import Path

import numpy as np
import pytest

from soar_jax.cli.main import main
from soar_jax.estimators.load import load


def test_show_prints_all_that_a_model_file_says(car, capsys):
    assert main(["show", car.model]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    flat = " ".join(shown.split())
    model = load(car.model)
    for rule in (*model.positive_rules_, *model.negative_rules_):
        assert str(rule) in flat
    for words in ("Learned from 648 rows", "216 rows held out", "Rules for yes", "Rules for no", "CTP", "Priors",
                  "No added, removed or exchanged rule", "Columns: 6 in the table", "written by soar-jax"):  # fmt: skip
        assert words in flat


def test_show_as_json_has_stable_keys(car, capsys):
    assert main(["show", car.model, "--json"]) == 0
    content = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert list(content) == [
        "kind", "classes", "positive_class", "rules", "conclusion", "score", "gain", "power", "certificate",
        "training_taxonomy", "held_out_states", "state_probabilities", "priors", "edits", "columns", "columns_read",
        "column_contract", "soar_jax_version", "format_version",
    ]  # fmt: skip
    model = load(car.model)
    assert [rule["rule"] for rule in content["rules"]] == model.rules_["rule"].tolist()
    assert [rule["precision"] for rule in content["rules"]] == model.rules_["precision"].tolist()
    assert content["rules"][0]["id"] == "P1" and content["rules"][-1]["id"].startswith("N")
    assert sum(content["training_taxonomy"].values()) == 648


def test_show_prints_a_committee(car, capsys):
    assert main(["show", car.committee]) == 0
    shown = capsys.readouterr().out
    assert "a committee of 1 pair of rule sets" in shown and "Can it be trusted?\n  Fine." in shown
    assert main(["show", car.committee, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["kind"] == "Committee" and content["is_trusted"] and content["rules"][0]["share"] == 1


def test_show_prints_changes_made_by_hand_with_reason_and_price(car, tmp_path, capsys):
    words = ["edit", car.model, "--remove", "N1", "--reason", "not lawful", "--table", car.table, "--target", "good"]
    assert main([*words, "--out", str(tmp_path / "new.json")]) == 0
    told = capsys.readouterr().out
    assert "favour the model before" in " ".join(told.split()) and "soar show" in told
    assert main(["show", str(tmp_path / "new.json")]) == 0
    shown = capsys.readouterr().out
    assert "Changed by hand" in shown and "not lawful" in shown
    assert main(["show", str(tmp_path / "new.json"), "--json"]) == 0
    (edit,) = json.loads(capsys.readouterr().out)["edits"]
    assert edit["reason"] == "not lawful" and edit["log_joint_change"] < 0


def test_model_check_tells_sound_files_from_others(car, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    content = json.loads(Path(car.model).read_text())
    del content["classes"]
    broken.write_text(json.dumps(content))
    assert main(["model", "check", car.model, car.committee]) == 0
    shown = capsys.readouterr().out
    assert shown.count(": sound. A ") == 2 and "committee" in shown
    assert main(["model", "check", car.model, str(broken), "nowhere.json"]) == 2
    shown = capsys.readouterr().out.splitlines()
    assert [": sound." in line for line in shown] == [True, False, False] and "NOT sound" in shown[1]
    assert main(["model", "check", str(broken), "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["is_sound"] is False and said["problem"] and said["model_file"] == str(broken)


def test_the_share_of_rows_that_a_rule_covers_is_not_called_reach(car, capsys):
    """On the page reach is the share of a rule's own side."""
    assert main(["show", car.model]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "id rule covers right, held out" in shown and "reach" not in shown
    assert "covers: share of the rows learned from on which the rule fires." in shown


@pytest.mark.filterwarnings("ignore:The search was stopped")
def test_what_stopped_a_search_is_said_once(stopped, capsys):
    told, model = stopped
    assert main(["show", model]) == 0
    for shown in (told, " ".join(capsys.readouterr().out.split())):
        trust = shown.partition("How far to trust the search")[2].partition("(score")[0]
        assert trust.count("The search was stopped") + trust.count("the search was stopped") == 1
        assert trust.count("rule improves the pair") == 1


@pytest.fixture
def stopped(tmp_path, monkeypatch, capsys):
    """What a fit said whose annealing was stopped, and its model."""
    from soar_jax.search import anneal

    def over(clock):
        clock.stopped = True
        return True

    monkeypatch.setattr(anneal.Clock, "is_over", over)
    words = ["fit", "--dataset", "car", "--search", "annealing", "--restarts", "2", "--time-budget", "600", "--quiet"]
    model = str(tmp_path / "m.json")
    assert main([*words, "--max-length", "2", "--max-patterns", "60", "--out", model]) == 0
    return " ".join(capsys.readouterr().out.split()), model


@pytest.mark.filterwarnings("ignore:The search was stopped")
def test_a_search_that_found_nothing_in_time_is_told_which_option_gives_more(tmp_path, monkeypatch, capsys):
    from soar_jax.estimators.judging import JudgingMixin

    said = "The search was stopped before it found a rule; give it more time_budget."
    monkeypatch.setattr(JudgingMixin, "conclude", lambda self: said)
    words = ["fit", "--dataset", "car", "--max-length", "1", "--rounds", "1", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "m.json")]) == 0
    assert "give it more --time-budget" in capsys.readouterr().out


def test_columns_that_say_nothing_are_left_out_and_names_of_columns_are_whole(tmp_path, capsys):
    words = ["fit", "--dataset", "adult", "--rounds", "1", "--max-length", "1", "--grow-to", "0", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "m.json")]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "m.json")]) == 0
    shown = capsys.readouterr().out.partition("Columns: 14 in the table")[2]
    assert "unreadable" not in shown and "note" not in shown
    assert "missing" in shown and "in rules" in shown and "6%" in shown
    for name in ("hours_per_week", "native_country", "education_num"):
        assert f"\n  {name} " in shown


def test_a_rule_in_every_pair_is_in_all_of_them(car, tmp_path, capsys):
    """Weights of a five-hundredth do not sum to exactly one."""
    from soar_jax import Committee

    one = load(car.committee)
    many = [np.ones((500, len(rules)), dtype=bool) for rules in one.rules]
    weights, rates = np.full(500, 0.002), np.full((500, 4), 0.5)
    made = Committee(one.rules, tuple(many), weights, rates, one.classes_, 1, one.columns, "Fine.", True)
    assert made.rules_["share"].max() != 1
    made.save(tmp_path / "c.json")
    assert main(["show", str(tmp_path / "c.json")]) == 0
    shown = capsys.readouterr().out
    assert "100%" in shown and "above 99.9" not in shown
