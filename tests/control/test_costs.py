import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from soar_jax import BOAClassifier, Costs, InputError, SOARClassifier
from soar_jax.data.labels import class_weights
from soar_jax.posterior.metrics import risk_coverage
from tests.control.models import model_of_rules

FRAME = pd.DataFrame({"a": list("ppnnbbss") * 5, "n": np.arange(40)}, index=np.arange(100, 140))
POSITIVE = [[("a", "==", "p")], [("a", "==", "b")]]
NEGATIVE = [[("a", "==", "n")], [("a", "==", "b")]]
LABELS = st.sampled_from([((0, 1), 1), ((0, 1), 0), (("no", "yes"), 1), (("no", "yes"), 0)])


def make(taxonomy, classes=(0, 1), positive_index=1, **more):
    return model_of_rules(
        POSITIVE, NEGATIVE, taxonomy, columns=["a", "n"], classes=classes, positive_index=positive_index, **more
    )


MODEL = make((90, 10, 80, 5, 12, 8, 20, 60))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    LABELS,
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any),
    st.one_of(st.none(), st.integers(0, 30).map(lambda k: k / 10)),
)
def test_every_answer_has_the_least_expected_cost_by_brute_force(taxonomy, labels, errors, silence):
    classes, index = labels
    model = make(taxonomy, classes, index)
    costs = Costs(*errors, abstain=silence)
    table = model.decide(FRAME, costs)
    proba = model.predict_proba(FRAME)
    for decision, row, p in zip(table["decision"], table.itertuples(), proba, strict=True):
        by_answer = []  # in the order in which ties are settled: first class, second class, no answer
        for k, label in enumerate(classes):
            price = costs.false_positive if k == index else costs.false_negative
            by_answer.append((price * (1 - p[k]), label))
        if silence is not None:
            by_answer.append((silence, None))
        least = min(cost for cost, _ in by_answer)
        near = [label for cost, label in by_answer if cost <= least + 1e-12]
        assert decision in near
        own = {classes[index]: row.cost_positive, classes[1 - index]: row.cost_negative, None: row.cost_abstain}
        assert own[decision] == pytest.approx(least, abs=1e-12)
    answers = model.predict(FRAME, abstain=costs)
    assert answers.dtype == object and answers.tolist() == table["decision"].tolist()
    assert table.index.equals(FRAME.index)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 30), min_size=8, max_size=8), LABELS)
def test_equal_costs_without_abstaining_are_predict_and_ambiguous_only_takes_answers_away(taxonomy, labels):
    model = make(taxonomy, *labels)
    plain = model.predict(FRAME)
    assert plain.dtype == model.classes_.dtype
    assert np.array_equal(model.predict(FRAME, abstain="never"), plain)
    assert model.predict(FRAME, abstain=Costs()).tolist() == plain.tolist()
    cautious = model.predict(FRAME, abstain="ambiguous")
    ambiguous = np.isin(model.predict_state(FRAME), ["active", "passive"])
    assert [answer is None for answer in cautious] == ambiguous.tolist()
    assert cautious[~ambiguous].tolist() == plain[~ambiguous].tolist()


def test_ties_go_to_a_label_before_no_answer_and_to_the_first_class():
    model = make((5, 5, 5, 5, 5, 5, 5, 5))  # every state is a coin flip
    assert set(model.predict(FRAME, abstain=Costs(abstain=0.5))) == {0}
    assert set(model.predict(FRAME, abstain=Costs(abstain=0.49))) == {None}
    assert set(make((5, 5, 5, 5, 5, 5, 5, 5), positive_index=0).predict(FRAME, abstain=Costs(abstain=0.5))) == {0}


@given(st.floats(0.01, 10), st.floats(0.01, 10), st.floats(0, 2), st.floats(0, 1))
def test_no_answer_is_given_only_below_the_break_even(false_positive, false_negative, share, p):
    costs = Costs(false_positive, false_negative)
    equal = false_positive / (false_positive + false_negative)
    assert costs.expected(np.array([equal]))[0, :2] == pytest.approx(costs.break_even, rel=1e-9)
    priced = Costs(false_positive, false_negative, abstain=share * costs.break_even)
    if share > 1 + 1e-9:
        assert priced.cheapest(np.array([p]), 1)[0] != 2
    elif share < 1 - 1e-9:
        assert priced.cheapest(np.array([equal]), 1)[0] == 2


def test_reasons_are_sentences_that_name_what_fired_and_what_it_costs():
    table = MODEL.decide(FRAME, Costs(1, 5, abstain=0.3)).set_index("state")
    reason = table.loc["active", "reason"].iloc[0]
    assert reason.startswith(
        "rules for both fire: 1 with probability 0.591; saying 1 costs 0.409 on average, saying 0 2.95"
    )
    assert reason.endswith("no answer 0.3: no answer")
    assert "only rules for 0 fire" in table.loc["negative", "reason"].iloc[0]
    assert MODEL.decide(FRAME, Costs())["cost_abstain"].isna().all()


@pytest.mark.parametrize(
    "bad", [dict(false_positive=-1), dict(abstain=-0.1), dict(false_negative=np.nan), dict(false_positive="1"),
            dict(false_positive=0, false_negative=0), dict(abstain=np.inf), dict(false_positive=True)]
)  # fmt: skip
def test_costs_that_are_no_costs_are_refused(bad):
    with pytest.raises(InputError, match="Costs"):
        Costs(**bad)


@pytest.mark.parametrize("bad", ["sometimes", None, 0.2, ["ambiguous"]])
def test_other_ways_to_abstain_are_refused(bad):
    with pytest.raises(InputError, match="abstain must be"):
        MODEL.predict(FRAME, abstain=bad)
    with pytest.raises(InputError, match="costs must be"):
        MODEL.decide(FRAME, bad)


# -- risk and coverage ------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    LABELS,
    st.integers(0, 2**16),
)
def test_risk_and_coverage_are_recounted_row_by_row(taxonomy, labels, seed):
    classes, index = labels
    model = make(taxonomy, classes, index)
    rng = np.random.default_rng(seed)
    y = np.array(classes)[rng.integers(0, 2, len(FRAME))]
    weights = rng.integers(0, 3, len(FRAME))
    weights[0] = 1
    table = model.risk_coverage(FRAME, y, weights)
    states, answers, proba = model.predict_state(FRAME), model.predict(FRAME), model.predict_proba(FRAME)
    for row in table.itertuples():
        if row.point == "consensus only":
            answered = np.isin(states, ["positive", "negative"])
        else:
            answered = proba.max(axis=1) >= row.threshold - 1e-12
        wrong = answered & (answers != y)
        assert row.answered == weights[answered].sum()
        assert row.coverage == pytest.approx(weights[answered].sum() / weights.sum())
        if weights[answered].sum():
            assert row.risk == pytest.approx(weights[wrong].sum() / weights[answered].sum())
        assert row.false_positives == weights[wrong & (y == classes[1 - index])].sum()
        assert row.false_negatives == weights[wrong & (y == classes[index])].sum()
        for state in ("positive", "negative", "active", "passive"):
            assert getattr(row, f"abstained_{state}") == weights[~answered & (states == state)].sum()
    assert table["coverage"].iloc[-2] == pytest.approx(1)


def test_one_rule_set_has_no_ambiguous_rows(make_table):
    model = model_of_rules(POSITIVE, [], (9, 1, 0, 0, 0, 0, 2, 8), columns=["a"], kind=BOAClassifier)
    assert (model.predict(FRAME, abstain="ambiguous") == model.predict(FRAME)).all()
    assert "consensus only" not in set(model.risk_coverage(FRAME, model.predict(FRAME))["point"])


def test_weights_in_the_metric_equal_repeated_rows():
    rng = np.random.default_rng(0)
    p, truth, weights = np.round(rng.random(50), 1), rng.random(50) < 0.5, rng.integers(0, 4, 50)
    for one, other in zip(
        risk_coverage(truth, p, weights), risk_coverage(np.repeat(truth, weights), np.repeat(p, weights)), strict=True
    ):
        assert one[-len(other) :] == pytest.approx(other)


# -- class_weight -----------------------------------------------------------------------------

QUICK = dict(n_rounds=1, max_patterns=20, max_length=2)


def test_class_weight_equals_repeated_rows_and_multiplies_sample_weight(make_table, tmp_path):
    X, y = make_table(0, num_rows=200)
    named = np.where(y, "yes", "no")
    weights = 1 + np.arange(len(X)) % 2
    model = SOARClassifier(**QUICK, class_weight={"yes": 3}).fit(X, named, weights)
    again = SOARClassifier(**QUICK).fit(X, named, weights * np.where(y, 3, 1))
    assert model.describe() == again.describe() and model.score_ == again.score_
    model.save(tmp_path / "m.json")
    loaded = SOARClassifier.load(tmp_path / "m.json")
    assert loaded.class_weight == {"yes": 3} and clone(loaded).class_weight == {"yes": 3}
    json.loads((tmp_path / "m.json").read_text())


def test_balanced_raises_the_rarer_class_by_the_nearest_whole_ratio():
    labels = np.array([0] * 75 + [1] * 20)
    ones = np.ones(95, dtype=np.int64)
    assert set(class_weights("balanced", labels, ones)[labels == 1]) == {4}
    assert set(class_weights("balanced", labels, ones)[labels == 0]) == {1}
    assert set(class_weights("balanced", labels, np.where(labels == 1, 10, 1))[labels == 0]) == {3}
    assert set(class_weights({0: 0.5, 1: 1.5}, labels, ones)[labels == 1]) == {1.5}


@pytest.mark.parametrize(
    ("bad", "message"),
    [({2: 3}, "not one of the labels"), ("balancd", "'balanced'"), ({0: 0}, "positive"),
     ({0: -1}, "positive"), (3, "a dict"), ({0: "2"}, "positive")],
)  # fmt: skip
def test_other_class_weights_are_refused(bad, message):
    with pytest.raises(InputError, match=message):
        class_weights(bad, np.array([0, 1, 1]), np.ones(3, dtype=np.int64))
