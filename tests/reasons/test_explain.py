import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import beta

from soar_jax import InputError, Rule, SOARClassifier
from soar_jax.reasons import open_states
from tests.reasons.models import brute_states, make_model, models_and_rows

MANY = settings(max_examples=80, deadline=None)


@pytest.fixture(scope="module")
def model():
    return make_model(
        [[("age", ">", 30.0), ("age", "<=", 50.0)], [("sex", "==", "F"), ("dose", ">", 1.5)]],
        [[("age", ">", 45.0)], [("dose", "missing", None)]],
        columns=["age", "sex", "dose", "unused"],
        classes=("well", "sick"),
    )


@pytest.fixture
def rows():
    return pd.DataFrame(
        {"age": [48, 31, 29, 60], "sex": ["F", "M", "F", None], "dose": [2.0, 1.0, np.nan, 1.0]}, index=list("abcd")
    )


# -- reasons reproduce the states ---------------------------------------------------------------


@MANY
@given(models_and_rows())
def test_reasons_alone_reproduce_the_state_of_every_row(case):
    model, frame = case
    explained = model.explain(frame)
    table = explained.to_frame()
    assert list(table.index) == list(frame.index)
    assert list(table["state"]) == list(model.predict_state(frame)) == list(brute_states(model, frame))
    assert list(table["prediction"]) == list(model.predict(frame))
    assert table["probability"].to_numpy() == pytest.approx(model.predict_proba(frame)[:, 1])
    for ids, state, explanation in zip(table["rules"], table["state"], explained, strict=True):
        sides = {name[0] for name in ids.split()}
        names = {"P": "positive", "N": "negative", "PN": "active", "NP": "active", "": "passive"}
        assert names["".join(sides)] == state == explanation.state
        assert [fact.id for fact in explanation.fired] == ids.split()


@MANY
@given(models_and_rows())
def test_fired_rules_hold_and_near_misses_fail_on_the_named_literal_alone(case):
    model, frame = case
    rules = {f"P{i + 1}": r for i, r in enumerate(model.positive_rules_)}
    rules |= {f"N{i + 1}": r for i, r in enumerate(model.negative_rules_)}
    explained = model.explain(frame)
    for i, explanation in enumerate(explained):
        row = frame.iloc[[i]]
        fails = {name: [z for z in r.conditions if not z.holds(row[z.column])[0]] for name, r in rules.items()}
        assert [f.id for f in explanation.fired] == [name for name, found in fails.items() if not found]
        near = {n.facts.id: n.literal for n in explanation.near_misses}
        assert near == {name: found[0] for name, found in fails.items() if len(found) == 1}
    shown = explained.to_frame()["near_misses"]
    for text, explanation in zip(shown, explained, strict=True):
        assert text == "; ".join(map(str, explanation.near_misses))


# -- what missing values leave open -------------------------------------------------------------


def some_values(column_literals):
    """A value of every kind that literals of one column could tell apart, found without the code under test."""
    levels = [z.value for z in column_literals if z.op in ("==", "!=")]
    cuts = [z.value for z in column_literals if z.op in ("<=", ">")]
    if cuts and isinstance(cuts[0], str):
        stamps = [pd.Timestamp(c) for c in cuts]
        return [t + pd.Timedelta(d, "us") for t in stamps for d in (-1, 0, 1)]
    if cuts:
        return [*levels, *(x for c in cuts for x in (np.nextafter(c, -np.inf), c, np.nextafter(c, np.inf)))]
    if levels and all(isinstance(level, bool) for level in levels):
        return [True, False]
    return [*levels, "some level that no rule names"]


def possible_by_filling_in(model, row):
    """States over all ways to fill in the missing values; "is missing" goes on to hold for them."""
    rules = [*model.positive_rules_, *model.negative_rules_]
    literals = {}
    for rule in rules:
        for z in rule.conditions:
            literals.setdefault(z.column, []).append(z)
    gaps = [c for c in literals if row[c].isna().iloc[0]]
    filled = list(itertools.product(*(some_values(literals[c]) for c in gaps)))
    new = pd.concat([row.astype(object)] * len(filled), ignore_index=True)
    for k, column in enumerate(gaps):
        new[column] = pd.Series([values[k] for values in filled], dtype=object)
    sides = []
    for mine in (model.positive_rules_, model.negative_rules_):
        fires = np.zeros(len(new), dtype=bool)
        for rule in mine:
            about_gap = {z.column for z in rule.conditions if z.op == "missing"}
            if not any(z.column in about_gap and z.op != "missing" for z in rule.conditions):
                holds = [(z.column in gaps) if z.op == "missing" else z.holds(new[z.column]) for z in rule.conditions]
                fires |= np.logical_and.reduce([np.broadcast_to(h, len(new)) for h in holds])
        sides.append(fires)
    names = {(True, False): "positive", (False, True): "negative", (True, True): "active", (False, False): "passive"}
    return {names[pair] for pair in zip(*(side.tolist() for side in sides), strict=True)}


@MANY
@given(models_and_rows(num_rows=3, max_rules=5))
def test_possible_states_are_those_that_some_completion_has(case):
    model, frame = case
    # more gaps than the table came with
    frame = pd.concat([frame, frame.assign(**{frame.columns[0]: None, frame.columns[1]: None})], ignore_index=True)
    for i, explanation in enumerate(model.explain(frame)):
        assert set(explanation.possible_states) == possible_by_filling_in(model, frame.iloc[[i]])


def test_two_bounds_and_two_levels_of_a_column_are_not_taken_as_independent():
    model = make_model([[("n", "<=", 5.0)], [("c", "==", "a")]], [[("n", ">", 5.0)], [("c", "==", "b")]])
    gone = pd.DataFrame({"n": [np.nan, np.nan], "c": ["a", "z"]})
    assert [e.possible_states for e in model.explain(gone)] == [("positive", "active"), ("positive", "negative")]
    both = model.explain(pd.DataFrame({"n": [6.0], "c": [None]}))[0]
    assert both.possible_states == ("negative", "active") and both.missing == ("c",)
    interval = make_model([[("n", ">", 1.0), ("n", "<=", 2.0)]], [[("n", "<=", 1.0)], [("n", ">", 2.0)]])
    assert interval.explain(pd.DataFrame({"n": [np.nan]}))[0].possible_states == ("positive", "negative")


def test_a_rule_that_no_value_suits_is_never_possible():
    model = make_model([[("n", "<=", 0.0), ("n", ">", 30.0)]], [[("c", "==", "a"), ("c", "==", "b")]])
    gone = pd.DataFrame({"n": [None], "c": [None]})
    assert model.explain(gone)[0].possible_states == ("passive",)
    assert not len(model.contrast(gone, to=1)) and not len(model.contrast(gone, to=0))


def test_true_and_false_have_no_third_and_missing_literals_are_known():
    model = make_model([[("flag", "==", True)]], [[("flag", "==", False)]])
    assert model.explain(pd.DataFrame({"flag": [None]}))[0].possible_states == ("positive", "negative")
    known = make_model([[("n", "missing", None)]], [[("n", ">", 0.0)]])
    explanation = known.explain(pd.DataFrame({"n": [np.nan]}))[0]
    assert explanation.state == "positive" and explanation.possible_states == ("positive", "active")


def test_a_search_that_is_cut_short_excludes_nothing_wrongly(monkeypatch):
    model = make_model([[("a", "==", "x"), ("b", "==", "x")]], [[("a", "!=", "x")], [("b", "!=", "x")]])
    gone = pd.DataFrame({"a": [None], "b": [None]})
    assert model.explain(gone)[0].possible_states == ("positive", "negative")
    monkeypatch.setattr(open_states, "MAX_STEPS", 0)
    assert set(model.explain(gone)[0].possible_states) >= {"positive", "negative"}


def test_twenty_missing_columns_are_no_trouble():
    names = [f"c{i}" for i in range(20)]
    rng = np.random.default_rng(0)
    rules = [
        [(names[k], op, level) for k, op, level in zip(rng.choice(20, 3, replace=False), ops, levels, strict=True)]
        for ops, levels in zip(rng.choice(["==", "!="], (60, 3)), rng.choice(list("abc"), (60, 3)), strict=True)
    ]
    model = make_model(rules[:30], rules[30:])
    gone = pd.DataFrame({name: [None] for name in names})
    assert set(model.explain(gone)[0].possible_states) == {"positive", "negative", "active", "passive"}


# -- figures, words, files ----------------------------------------------------------------------


def test_figures_of_a_rule_are_those_of_its_training_counts(model, rows):
    fact = model.explain(rows)[0].fired[0]
    hits, support = 37, 40
    assert (fact.id, fact.side, fact.label, fact.support) == ("P1", "positive", "sick", support)
    low, high = beta(hits + 0.5, support - hits + 0.5).ppf([0.05, 0.95])
    assert (fact.precision, fact.low, fact.high) == pytest.approx((hits / support, low, high))
    assert fact.inclusion is None and fact.fresh_precision is None
    fresh = make_model([[("age", ">", 1.0)]], fresh=True).explain(rows)[0].fired[0]
    assert (fresh.fresh_support, fresh.fresh_precision, fresh.fresh_low, fresh.fresh_high) == (20, 0.9, 0.75, 0.97)
    assert "90 % of 20 fresh rows, 90 % interval 75 to 97 %" in str(fresh)


def test_sentences_name_outcome_reasons_near_misses_and_gaps(model, rows):
    explained = model.explain(rows)
    said = str(explained[2])
    assert said.splitlines()[0].startswith("Row c: well, with a probability of")
    assert "For well, N2: dose is missing (right for 91 % of 47 training rows, 90 % interval" in said
    assert "P1 (30 < age <= 50) fails only on age > 30: age is 29." in said
    assert "Missing: dose. If known, the row would be negative or active." in said
    assert "conflict: rules for sick and for well fire" in str(explained[0])
    assert len(explained) == 4 and explained[-1].index == "d" and len(explained[1:3]) == 2
    with pytest.raises(IndexError):
        explained[4]


def test_table_prints_few_rows_and_says_how_many_more(model, rows):
    many = model.explain(pd.concat([rows] * 100, ignore_index=True))
    assert "... and 390 more rows" in str(many) and str(many).count("Row ") == 10
    assert "first 10 of 400 rows" in many._repr_html_()


def test_frame_has_the_named_columns(model, rows):
    table = model.explain(rows).to_frame()
    assert list(table.columns) == [
        "prediction", "probability", "state", "rules", "positive_rules", "negative_rules", "near_misses",
        "possible_states",
    ]  # fmt: skip
    assert list(table["rules"]) == ["P1 P2 N1", "P1", "N2", "N1"]
    assert table.loc["a", "positive_rules"] == "30 < age <= 50; sex = F and dose > 1.5"
    assert table.loc["c", "near_misses"] == (
        "P1 fails on age > 30 (29); P2 fails on dose > 1.5 (missing); N1 fails on age > 45 (29)"
    )
    assert table.loc["c", "possible_states"] == "negative active"


def test_max_reasons_keeps_the_strongest_and_says_what_is_left_out(model, rows):
    explained = model.explain(rows, max_reasons=1)
    first = explained[0]
    assert [f.id for f in first.fired] == ["P1"] and first.left_out == ("P2", "N1")
    assert "2 more fired: P2 N1." in str(first)
    table = explained.to_frame()
    assert list(table["left_out"]) == [2, 0, 0, 0] and table.loc["a", "rules"] == "P1 P2 N1"
    assert table.loc["a", "positive_rules"] == "30 < age <= 50" and table.loc["a", "negative_rules"] == ""
    assert table.loc["c", "near_misses"] == "P1 fails on age > 30 (29); and 2 more"
    for wrong in (0, 1.5, "4"):
        with pytest.raises(InputError, match="max_reasons"):
            model.explain(rows, max_reasons=wrong)


@MANY
@given(models_and_rows(num_rows=3))
def test_json_is_plain_and_versioned_and_html_is_escaped(case):
    model, frame = case
    explained = model.explain(frame)
    content = json.loads(explained.to_json(), parse_constant=pytest.fail)
    assert (content["format"], content["format_version"]) == ("soar-jax explanations", 1)
    assert [r["state"] for r in content["rows"]] == list(model.predict_state(frame))
    assert [" ".join(r["fired"]) for r in content["rows"]] == list(explained.to_frame()["rules"])
    for facts in content["rules"]:
        assert str(Rule.from_literals(facts["literals"])) == facts["rule"]
    for page in (explained._repr_html_(), explained[0]._repr_html_()):
        assert "<b>&" not in page and "<i>" not in page


def test_dates_are_shown_as_iso_text():
    model = make_model([[("day", ">", "2021-05-01")]])
    frame = pd.DataFrame({"day": pd.to_datetime(["2021-04-30", "2021-05-01 06:30", "2021-05-01"], format="mixed")})
    texts = list(model.explain(frame).to_frame()["near_misses"])
    assert texts == ["P1 fails on day > 2021-05-01 (2021-04-30)", "", "P1 fails on day > 2021-05-01 (2021-05-01)"]


def test_no_rows_no_rules_and_unnamed_tables():
    model = make_model([[("a", "==", 1)]], columns=["a", "b"])
    assert len(model.explain(pd.DataFrame({"a": []}))) == 0
    assert model.explain(pd.DataFrame({"a": []})).to_frame().empty
    with pytest.warns(UserWarning, match="valid feature names"):
        assert list(model.explain(np.array([[1, 5], [0, 5]])).to_frame()["rules"]) == ["P1", ""]
    empty = make_model([], columns=["a"])
    table = empty.explain(pd.DataFrame({"a": [1, 2]})).to_frame()
    assert list(table["state"]) == ["passive"] * 2 and list(table["near_misses"]) == ["", ""]
    with pytest.raises(InputError, match="The rules use column 'a'"):
        model.explain(pd.DataFrame({"A": [1]}))
    with pytest.raises(Exception, match="not fitted"):
        SOARClassifier().explain(pd.DataFrame({"a": [1]}))


def test_one_class_model_says_that_silence_speaks_for_the_other_class():
    model = make_model([[("a", "==", 1)]], estimator="BOAClassifier", classes=("no", "yes"))
    explained = model.explain(pd.DataFrame({"a": [1, 0, None]}))
    assert list(explained.state) == ["positive", "passive", "passive"]
    assert "no rule for yes fires, which speaks for no" in str(explained[1])
    assert explained[2].possible_states == ("positive", "passive")
