"""What ``soar fit`` says in words agrees with counting rows one by one."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soar_jax.cli.answers import Answers, answers_in_words, answers_of, in_a_hundred
from soar_jax.cli.main import main
from soar_jax.cli.model_view import counts_of_fresh_states
from soar_jax.cli.screen import percent
from soar_jax.estimators.load import load


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=4))
def test_a_hundred_is_shared_out_without_rest(counts):
    said = in_a_hundred(*counts)
    shares = [0 if text == "fewer than 1" else int(text) for text in said]
    if sum(counts):
        assert sum(shares) == 100
        assert all(abs(share - 100 * count / sum(counts)) <= 1.5 for share, count in zip(shares, counts, strict=True))
    assert all((text == "0") == (count == 0) for text, count in zip(said, counts, strict=True) if sum(counts))


@given(st.floats(0, 1))
def test_only_none_and_all_are_written_as_0_and_100(share):
    assert (percent(share) == "0%") == (100 * share == 0)
    assert (percent(share) == "100%") == (100 * share == 100)


def test_answers_agree_with_rows_counted_one_by_one(car):
    model = load(car.model)
    X, y = car.frame.drop(columns="good"), car.frame["good"].to_numpy()
    states, labels = model.predict_state(X), model.predict(X)
    is_answered = np.isin(states, ["positive", "negative"])
    says = np.where(states == "positive", "yes", "no")
    is_positive = y == "yes"
    counts = [
        np.array([np.sum((states == state) & side) for state in ("positive", "negative", "active", "passive")])
        for side in (is_positive, ~is_positive)
    ]
    answers = answers_of(model, *counts)
    assert answers == Answers(
        rows=len(y),
        answered=int(is_answered.sum()),
        right=int((is_answered & (says == y)).sum()),
        clashing=int((states == "active").sum()),
        silent=int((states == "passive").sum()),
        right_if_all_labelled=int((labels == y).sum()),
        commoner="no",
        commoner_rows=int((y == "no").sum()),
        commoner_right=int((is_answered & (y == "no")).sum()),
    )


def test_the_held_out_counts_come_back_from_what_the_model_keeps(car, capsys):
    model = load(car.model)
    positives, negatives = counts_of_fresh_states(model.fresh_states_)
    assert positives.sum() + negatives.sum() == 216  # a quarter of 864
    words = ["fit", car.table, "--target", "good", "--rounds", "1", "--max-length", "2", "--json"]
    assert main([*words, "--out", str(car.folder / "again.json")]) == 0
    held = json.loads(capsys.readouterr().out)["holdout"]
    assert held["answers"] == answers_of(model, positives, negatives).to_dict()
    assert held["taxonomy"] == {
        "CTP": positives[0], "CFP": negatives[0], "CTN": negatives[1], "CFN": positives[1],
        "AAP": positives[2], "AAN": negatives[2], "PAP": positives[3], "PAN": negatives[3],
    }  # fmt: skip


def made_up(single=False, empty_side=None):
    rules = [[] if side == empty_side else [1] for side in (0, 1)]
    return SimpleNamespace(
        _single=single,
        _positive_index=1,
        positive_rules_=rules[0],
        negative_rules_=rules[1],
        training_taxonomy_=pd.Series({"CTP": 9, "CFP": 1, "CTN": 40, "CFN": 1, "AAP": 2, "AAN": 3, "PAP": 4, "PAN": 5}),
        state_probabilities=lambda: np.array([0.9, 0.1, 0.4, 0.45]),
        _label=lambda side: ("sick", "well")[side],
    )


def test_the_words_say_what_always_guessing_gives_and_where_there_is_no_answer():
    counts = np.array([18, 2, 3, 7]), np.array([2, 48, 7, 13])
    text = " ".join(answers_in_words(made_up(), *counts, True))
    assert "70 of 100 rows get an answer. On 100 rows held out" in text
    assert "right for 94% of them (90% interval:" in text
    assert "Always saying well would be right for 70% of all rows, and for 71% of those with an answer" in text
    assert "on 10 of 100 the two rule sets clash (active), on 20 of 100 both rule sets are silent (passive)" in text
    assert "right for 86% of all rows" in text
    assert "interval" not in " ".join(answers_in_words(made_up(), *counts, False))


def test_one_rule_set_answers_every_row_and_an_empty_side_is_said():
    counts = np.array([18, 0, 0, 7]), np.array([2, 0, 0, 73])
    text = " ".join(answers_in_words(made_up(single=True), *counts, True))
    assert "100 of 100 rows get an answer" in text and "91%" in text and "clash" not in text
    text = " ".join(answers_in_words(made_up(empty_side=0), *counts, True))
    assert "There is no rule for sick: no row gets that answer." in text
    nothing = np.zeros(4, dtype=int), np.zeros(4, dtype=int)
    nothing[0][3], nothing[1][3] = 10, 30
    assert "No row gets an answer" in answers_in_words(made_up(), *nothing, True)[0]


@pytest.mark.parametrize("holdout", ["0", "0.4"])
def test_the_share_held_out_is_the_one_asked_for(holdout, car, tmp_path, capsys):
    words = ["fit", car.table, "--target", "good", "--rounds", "1", "--max-length", "1", "--holdout", holdout]
    assert main([*words, "--out", str(tmp_path / "m.json")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    if holdout == "0":
        assert "Learned from all rows" in shown and "flatter it" in shown and "learn from all rows" not in shown
    else:
        assert "345 held out" in shown and "Learned from 519 rows" in shown


def test_a_class_with_few_rows_is_not_held_out_unless_asked(tmp_path, capsys):
    table = pd.DataFrame({"a": list("xy") * 60, "y": [1, 0] * 30 + [0] * 60})
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--rounds", "1", "--max-length", "1"]
    assert main([*words, "--out", str(tmp_path / "m.json")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "one class has fewer than 40" in shown and "held out" not in shown
