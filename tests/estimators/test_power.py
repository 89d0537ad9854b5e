"""The power of the likelihood: what "auto" makes of a table, and on which scale every figure is that users see."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soar_jax import BOAClassifier, InputError, NothingFoundWarning, SOARClassifier
from soar_jax.score.power import MOST_ROWS, effective_rows, power_in_words, resolve_power
from tests.conftest import random_table

QUICK = dict(max_length=2, max_patterns=8, n_rounds=1)


@pytest.fixture(scope="module")
def fitted():
    X, y = random_table(0, num_rows=200)
    return X, y, SOARClassifier(**QUICK, power=0.6).fit(X, y)


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_auto_counts_a_table_as_its_rows_up_to_a_number_and_as_that_number_beyond(positives, negatives):
    rows = effective_rows(positives, negatives)
    power = resolve_power("auto", positives, negatives)
    assert 0 < power <= 1 and power * rows == pytest.approx(min(rows, MOST_ROWS))
    assert rows <= positives + negatives and rows <= 4 * min(positives, negatives)
    assert rows == effective_rows(negatives, positives)


def test_a_rare_class_keeps_its_weight():
    """Of a million rows with two thousand positives all count that a balanced table of eight thousand would have."""
    assert resolve_power("auto", 1000, 999_000) == 1
    assert resolve_power("auto", 2000, 998_000) == pytest.approx(MOST_ROWS / 7984)


@pytest.mark.parametrize("power", [0, -0.5, 1.5, "full", None, True, float("nan"), [1]])
def test_other_powers_are_refused_before_anything_is_read(power):
    with pytest.raises(InputError, match=r'power must be "auto" or a number in \(0, 1\]'):
        SOARClassifier(power=power).fit(None, None)


@pytest.mark.parametrize("kind", [SOARClassifier, BOAClassifier])
def test_a_small_table_has_power_one_and_the_score_of_the_whole_likelihood(kind):
    X, y = random_table(0, num_rows=200)
    auto, one = (kind(**QUICK, power=power).fit(X, y) for power in ("auto", 1))
    assert auto.power_ == one.power_ == 1.0 and auto.score_ == one.score_
    assert auto.rules_["rule"].tolist() == one.rules_["rule"].tolist() and "power" not in auto.describe()


def test_score_gain_and_price_of_an_edit_are_of_the_target(fitted):
    """The same pair at power 1 has prior part P and likelihood part L; here it must be P + h L."""
    model = fitted[2]
    pair = model.fitted_pair_
    target = pair.target
    whole, none = (
        type(pair)(
            target=type(target)(target.pools, target.layout, target.hyper._replace(power=power)),
            included=pair.included, classes=pair.classes, positive_index=1, columns=pair.columns, model=pair.model,
        )
        for power in (1.0, 0.0)
    )  # fmt: skip
    expected = 0.6 * whole.log_joint + 0.4 * none.log_joint
    assert -model.score_ == pytest.approx(expected, rel=1e-12)
    assert model.gain_ == pytest.approx(0.6 * whole.gain + 0.4 * none.gain, rel=1e-9)
    name = "P1" if len(model.positive_rules_) else "N1"
    without = model.without_rule(name, reason="to see its price")
    assert without.edits_["log_joint_change"].iloc[0] == pytest.approx(model.score_ - without.score_, abs=1e-9)
    assert without.power_ == 0.6


def test_rates_count_every_row_at_any_power(fitted):
    X, y, model = fitted
    states = model.predict_state(X)
    claimed = model.state_probabilities()
    for k, state in enumerate(("positive", "negative", "active", "passive")):
        rows = np.asarray(states == state)
        if rows.sum() > 20:
            assert claimed[k] == pytest.approx(y[rows].mean(), abs=0.05)


def test_every_figure_names_the_power_below_one(fitted, tmp_path):
    X, y, model = fitted
    assert "power 0.6" in model.describe() and "as if the table had 120 rows like these, not 200" in model.describe()
    assert "nats at power 0.6" in model.conclude() and model.priors_["power"] == 0.6
    model.save(tmp_path / "m.json")
    loaded = SOARClassifier.load(tmp_path / "m.json")
    assert loaded.power_ == 0.6 and loaded.describe() == model.describe() and loaded.conclude() == model.conclude()
    assert json.loads(model.to_json())["hyperparameters"]["power"] == 0.6
    model.report(tmp_path / "r.html", X, y)
    assert "How much each row counted" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert power_in_words(1.0, 200) == ""


def test_a_power_that_silences_rules_is_not_said_to_be_the_word_of_the_rows():
    X, y = random_table(0, num_rows=200)
    with pytest.warns(NothingFoundWarning, match=r"base rate at power 0\.01.*A higher power may find some"):
        model = SOARClassifier(**QUICK, power=0.01).fit(X, y)
    assert not len(model.rules_) and "A higher power may find some" in model.conclude()


@pytest.mark.filterwarnings("ignore::UserWarning")  # a short run cannot be trusted
def test_draws_are_of_the_target_of_the_fit_and_of_no_other(fitted):
    X, y, model = fitted
    with pytest.raises(InputError, match=r"fit with power=0\.3"):
        model.sample_posterior(num_draws=25, power=0.3)
    post = model.sample_posterior(num_draws=50, num_warmup=25, num_temperatures=3, power=0.6)
    assert post.power == 0.6 and post.draws.ladder[-1] == 0.6
    best = post.top_models(1)[0]
    assert best.power_ == 0.6 and -best.score_ == pytest.approx(
        post.log_joint[np.isclose(post.log_joint, -best.score_, atol=1e-9)].max(), abs=1e-9
    )
    assert np.isfinite(post.draws.log_evidence)
    assert post.to_arviz().attrs["power"] == 0.6
    with pytest.raises(InputError, match="coarsened posterior"):
        post.to_arviz(X, y)


def test_orders_of_the_rows_change_nothing():
    X, y = random_table(3, num_rows=200)
    rows = np.random.default_rng(1).permutation(len(y))
    one, other = (
        SOARClassifier(**QUICK, power=0.8).fit(X.iloc[order], y[order]) for order in (np.arange(len(y)), rows)
    )
    assert one.rules_["rule"].tolist() == other.rules_["rule"].tolist() and one.score_ == other.score_
    assert isinstance(one.rules_, pd.DataFrame)
