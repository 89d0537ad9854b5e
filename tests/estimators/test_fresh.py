"""Figures on fresh rows, honest candidates, noise checks, and what a fit says when it finds nothing."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from soar_jax import BOAClassifier, InputError, NothingFoundWarning, SOARClassifier
from soar_jax.estimators.fresh import interval, split_rows
from soar_jax.estimators.noise_check import NoiseCheck
from tests.conftest import random_table

QUICK = dict(n_rounds=2, max_length=2)


def noise(num_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=num_rows).round(2), "b": rng.choice(list("xyz"), num_rows)})
    return X, np.arange(num_rows) % 5 == 0


@pytest.fixture(scope="module")
def held():
    X, y = random_table(0, num_rows=400)
    return X, y, SOARClassifier(**QUICK, holdout=0.4).fit(X, y)


def test_held_out_rows_are_a_stratified_share_that_the_fit_never_sees(held):
    _, y, model = held
    positives = round(0.4 * y.sum())
    negatives = round(0.4 * (~y).sum())
    assert model.fresh_states_["rows"].sum() == positives + negatives
    assert model.training_taxonomy_.sum() == len(y) - positives - negatives
    picked = split_rows(y, 0.4, np.random.default_rng(0))
    assert picked[y].sum() == positives and picked[~y].sum() == negatives


def test_fresh_precision_is_that_of_the_rows_held_out(held):
    """Training and fresh figures together are those of the whole table."""
    X, y, model = held
    assert len(model.rules_)
    for row in model.rules_.itertuples():
        rules = model.positive_rules_ if row.side == "positive" else model.negative_rules_
        rule = next(rule for rule in rules if str(rule) == row.rule)
        fires, own = rule.fires(X), y if row.side == "positive" else ~y
        assert row.support + row.fresh_support == fires.sum()
        hits = round(row.precision * row.support) + round(row.fresh_precision * row.fresh_support)
        assert hits == (fires & own).sum()
        assert row.fresh_low <= row.fresh_precision <= row.fresh_high


def test_fresh_states_show_claims_beside_fresh_rates(held):
    _, _, model = held
    states = model.fresh_states_
    rate = model.state_probabilities()
    assert states["claimed"].to_numpy() == pytest.approx([rate[0], 1 - rate[1], rate[2], 1 - rate[3]])
    assert states["share"].sum() == pytest.approx(1)
    seen = states[states["rows"] > 0]
    assert (seen["fresh_low"] <= seen["fresh"]).all() and (seen["fresh"] <= seen["fresh_high"]).all()


def test_fresh_figures_survive_a_file(held, tmp_path):
    model = held[2]
    model.save(tmp_path / "m.json")
    loaded = SOARClassifier.load(tmp_path / "m.json")
    pd.testing.assert_frame_equal(loaded.rules_, model.rules_)
    pd.testing.assert_frame_equal(loaded.fresh_states_, model.fresh_states_.astype(float))
    assert loaded.gain_ == model.gain_ and loaded.conclude() == model.conclude()


def test_interval_is_jeffreys_and_ends_at_certainty():
    low, high = interval(np.array([0, 3, 10]), np.array([10, 10, 10]))
    assert low[0] == 0 and high[2] == 1
    assert low[1] == pytest.approx(beta.ppf(0.05, 3.5, 7.5)) and high[1] == pytest.approx(beta.ppf(0.95, 3.5, 7.5))


@pytest.mark.parametrize("bad", [-0.1, 1, 2.5, "half"])
def test_bad_holdouts_are_refused(bad):
    with pytest.raises(InputError, match="holdout"):
        SOARClassifier(holdout=bad).fit([[0], [1]] * 20, [0, 1] * 20)


def test_too_few_rows_of_a_class_to_set_aside_give_one_clear_error():
    with pytest.raises(InputError, match="1 positive rows: too few"):
        SOARClassifier(holdout=0.3).fit(np.arange(40)[:, None] % 7, [1] + [0] * 39)


def test_honest_candidates_are_counted_on_rows_that_had_no_say_in_them(oracle):
    X, y = random_table(1, num_rows=400)
    model = SOARClassifier(**QUICK, honest=True).fit(X, y)
    layout = model.fitted_pair_.target.layout
    assert layout.num_rows == pytest.approx(200, abs=2)
    rules = model.priors_["rules"]["positive"]
    # only the candidates count as searched, without the positions of their cuts
    assert sum(rules["searched"]) == len(model.pools_) and rules["kind"] == ["1 literal", "2 literals"]
    again = SOARClassifier(**QUICK, honest=True).fit(X, y)
    assert again.score_ == model.score_
    # support of a candidate is its coverage of the scoring half
    whole = {str(r): rule.fires(X).sum() for r, rule in _rules_of(model)}
    pools = model.pools_
    assert all(0 <= s <= whole[rule] for rule, s in zip(pools["rule"], pools["support"], strict=True))


def _rules_of(model):
    from soar_jax import Rule

    return [
        (text, Rule.from_literals(z)) for text, z in zip(model.pools_["rule"], model.pools_["literals"], strict=True)
    ]


def test_no_rule_is_a_result_said_in_words_and_predicts_the_base_rate():
    X, y = noise()
    with pytest.warns(NothingFoundWarning, match="Nothing here beats the base rate"):
        model = SOARClassifier(**QUICK).fit(X, y)
    assert not len(model.rules_) and model.gain_ == pytest.approx(0)
    assert (model.predict_state(X) == "passive").all() and not model.predict(X).any()
    assert model.predict_proba(X)[:, 1] == pytest.approx(y.mean(), abs=1e-12)
    assert "True with probability 0.200" in model.conclude()


def test_noise_check_tells_rules_from_accidents():
    X, y = random_table(0, num_rows=300)
    model = SOARClassifier(**QUICK).fit(X, y)
    check = model.noise_check(X, y, repeats=9)
    assert check.gain == model.gain_ > 5 and check.num_rules == len(model.rules_)
    assert check.p_value == pytest.approx(0.1) and (check.noise_gains < check.gain).all()
    assert "p = 0.100" in str(check) and check.to_dict()["p_value"] == check.p_value
    same = model.noise_check(X, y, repeats=9)
    assert np.array_equal(same.noise_gains, check.noise_gains)
    assert len(check.plot().patches) >= 1
    with pytest.raises(InputError, match="repeats"):
        model.noise_check(X, y, repeats=0)


def test_p_value_counts_fits_that_noise_reaches():
    assert NoiseCheck(3.0, 1, np.array([0.0, 3.0, 5.0]), np.array([0, 1, 2])).p_value == pytest.approx(0.75)
    assert "nothing to compare" in str(NoiseCheck(0.0, 0, np.zeros(3), np.zeros(3, int)))


def test_gain_is_the_log_joint_over_that_of_no_rules(oracle):
    X, y = random_table(0, num_rows=300)
    for kind in (SOARClassifier, BOAClassifier):
        model = kind(**QUICK).fit(X, y)
        exact = oracle(model, X, y)
        nothing = [np.zeros_like(z) for z in exact.fitted]
        assert model.gain_ == pytest.approx(exact.log_joint(exact.fitted) - exact.log_joint(nothing), abs=1e-8)


def test_the_certificate_of_an_honest_fit_speaks_of_the_candidates_that_the_other_half_left(make_table):
    X, y = make_table(0, num_rows=400)
    model = SOARClassifier(**QUICK, honest=True, max_patterns=15).fit(X, y)
    assert model.certificate_ and not model.certificate_.are_all_mined and model.certificate_.num_patterns == 30
    assert "all 30 candidates" in str(model.certificate_)


@pytest.fixture(scope="module", params=[None, np.random.RandomState(5)], ids=["None", "RandomState"])
def without_a_seed(request):
    X, y = random_table(3, num_rows=400)
    how = dict(n_rounds=1, grow_to=0, max_length=2, random_state=request.param)
    return X, y, SOARClassifier(**how, holdout=0.3, honest=True).fit(X, y)


def test_28_9_edits_find_the_rows_of_the_fit_whatever_the_random_state(without_a_seed):
    X, y, model = without_a_seed
    assert len(model.rules_) and isinstance(model.seed_, int)
    loaded = SOARClassifier.from_json(model.to_json())
    assert loaded.seed_ == model.seed_
    for one in (model, loaded):
        edited = one.with_rule("n > 0.123", "positive", reason="a cut that was not counted", X=X, y=y)
        assert "n > 0.123" in edited.rules_["rule"].tolist() and edited.seed_ == model.seed_


def test_28_9_audit_and_report_of_the_fitted_table_judge_the_rows_held_out(without_a_seed, tmp_path):
    X, y, model = without_a_seed
    held = np.isin(np.arange(len(X)), model.held_out_)
    weights = np.arange(len(X)) % 3
    for one in (model, SOARClassifier.from_json(model.to_json())):
        audit = one.audit(X, y, by="c0", sample_weight=weights)
        again = one.audit(X[held], y[held], by="c0", sample_weight=weights[held])
        assert audit.is_held_out and audit.num_rows == weights[held].sum() and audit.groups.equals(again.groups)
        assert "that the fit held out" in str(audit) and "flatter" not in str(audit)
        assert not again.is_held_out and "the figures flatter" in str(again)
        assert one.report(tmp_path / "r.html", X, y).basis.rows == held.sum()
        assert not one.audit(X.head(9), y[:9], by="c0").is_held_out
