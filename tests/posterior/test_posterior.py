import warnings
from dataclasses import replace

import numpy as np
import pytest

from soar_jax import (
    BetterPairWarning,
    BOAClassifier,
    Committee,
    InputError,
    Rule,
    SOARClassifier,
    UntrustedPosteriorWarning,
)
from soar_jax.estimators.load import load
from soar_jax.posterior.settled import MAX_ERROR, standard_errors
from soar_jax.score.rates import rate_posterior
from tests.conftest import coverage, random_table
from tests.oracles import log_beta_integral

QUICK = dict(n_rounds=1, max_patterns=20, max_length=2)
SHORT = dict(num_draws=100, num_chains=4, num_warmup=50, num_temperatures=4)
# most runs here are short on purpose
pytestmark = pytest.mark.filterwarnings("ignore::soar_jax.posterior.diagnosis.UntrustedPosteriorWarning")


@pytest.fixture(scope="module")
def sampled():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(**QUICK).fit(X, y)
    return X, y, model, model.sample_posterior(**SHORT)


def test_state_probabilities_sum_to_one_and_match_the_draws(sampled):
    X, _, model, post = sampled
    rows = X.head(40)
    shares = post.predict_state_proba(rows)
    assert shares.sum(axis=1).to_numpy() == pytest.approx(np.ones(40))
    # one draw by hand, through the rules' own text
    pools = model.pools_
    for chain, draw in ((0, 0), (3, 57), (1, 99)):
        fires = []
        for side, name in enumerate(("positive", "negative")):
            rules = pools.loc[pools["side"] == name, "literals"].to_numpy()
            chosen = rules[post.draws.included[chain, draw, side, : len(rules)]]
            fires.append(coverage(rows, chosen))
        plus, minus = (f.any(axis=0) for f in fires)
        expected = np.select([plus & ~minus, minus & ~plus, plus & minus], [0, 1, 2], 3)
        assert np.array_equal(post._states(rows)[chain * post.num_draws + draw], expected)


def test_averaged_probability_is_the_mean_of_the_draws_and_lies_between_them(sampled):
    """Each draw's probability is recomputed from its counts: cut off for a consensus, else beside two average rows."""
    X, y, _, post = sampled
    probability = post.predict_proba(X)
    assert probability.sum(axis=1) == pytest.approx(np.ones(len(X)))
    hyper = post.fitted.target.hyper
    positives = (post.draws.counts & 0xFFFFFFFF).reshape(-1, 4)
    negatives = (post.draws.counts >> 32).reshape(-1, 4)
    speaks = np.array([True, False, True, False])
    hits, misses = np.where(speaks, positives, negatives), np.where(speaks, negatives, positives)
    mean = np.empty(hits.shape)
    for s in range(2):
        a, b, low, high = hits[:, s] + hyper.alpha[s], misses[:, s] + hyper.beta[s], hyper.low[s], hyper.high[s]
        mean[:, s] = np.exp(log_beta_integral(a + 1, b, low, high) - log_beta_integral(a, b, low, high))
    rate = np.where(speaks, mean, 1 - mean)
    num = positives + negatives
    rate[:, 2:] = ((positives + 2 * positives[0].sum() / num[0].sum()) / (num + 2))[:, 2:]
    by_draw = np.take_along_axis(rate, post._states(X), axis=1)
    assert probability[:, 1] == pytest.approx(by_draw.mean(axis=0))
    assert (by_draw.min(axis=0) - 1e-12 <= probability[:, 1]).all()
    assert (probability[:, 1] <= by_draw.max(axis=0) + 1e-12).all()
    assert ((probability[:, 1] - y) ** 2).mean() < 0.2


def test_uncertainty_splits_into_noise_and_doubt(sampled):
    X, _, _, post = sampled
    split = post.uncertainty(X.head(50))
    assert (split["label_noise"] + split["model_doubt"]).to_numpy() == pytest.approx(
        split["total"].to_numpy(), abs=1e-9
    )
    assert (split >= 0).all(axis=None)


def test_inclusion_has_errors_and_words_instead_of_nan_for_constants(sampled):
    post = sampled[3]
    inclusion = post.inclusion
    assert set(inclusion["status"]) <= {"always", "sometimes"}
    sometimes = inclusion[inclusion["status"] == "sometimes"]
    assert sometimes["monte_carlo_error"].notna().all() and (sometimes["ess"] > 0).all()
    # without thinning every round is a draw, so that the probability is exactly the share of the draws
    for side, pool in zip(("positive", "negative"), post.pools, strict=True):
        mine = inclusion[inclusion["side"] == side].set_index("rule")["probability"]
        share = post.draws.included[:, :, ("positive", "negative").index(side), : len(pool)].mean(axis=(0, 1))
        expected = {str(Rule(p)): q for p, q in zip(pool.patterns, share, strict=True) if q > 0}
        assert mine.to_dict() == pytest.approx(expected)
    families = post.families
    assert families["members"].sum() == len(inclusion)
    assert (families["probability"] <= 1).all()


def test_too_short_a_run_is_not_trusted_and_says_what_to_do():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(**QUICK).fit(X, y)
    before = model.predict_proba(X)
    with pytest.warns(UntrustedPosteriorWarning, match="Do NOT use"):
        post = model.sample_posterior(**{**SHORT, "num_draws": 20})
    assert np.array_equal(before, model.predict_proba(X))
    for name in ("inclusion", "families", "rates", "sizes"):
        with pytest.warns(UntrustedPosteriorWarning, match="Do NOT use"):
            assert not getattr(post, name)["trusted"].any()
    for show in (post.top_pairs, post.credible_set, post.find_families):
        with pytest.warns(UntrustedPosteriorWarning, match="Do NOT use"):
            assert not show()["trusted"].any()
    for show in (post.predict_proba, post.predict_state_proba, post.uncertainty):
        with pytest.warns(UntrustedPosteriorWarning, match="Do NOT use"):
            show(X.head(3))
    verdict = post.diagnose()
    assert not verdict.is_trusted
    assert any("effective draws" in problem for problem in verdict.problems)
    assert any("num_draws=80" in advice for advice in verdict.advice)
    assert "Do NOT use" in repr(post)


def test_top_pairs_are_ranked_and_scored(sampled):
    post = sampled[3]
    top = post.top_pairs(3)
    assert top["share"].is_monotonic_decreasing
    assert (top["score"] >= -post.fitted.log_joint - 1e-6).all()  # the MAP is the best


def test_arviz_gets_labelled_draws(sampled):
    data = sampled[3].to_arviz()
    posterior = data["posterior"]
    assert posterior["include_positive"].dims == ("chain", "draw", "positive_rule")
    assert posterior["state_rows"].sum("state").values == pytest.approx(np.full((4, 100), 200))
    assert posterior["include_positive"].coords["positive_rule"].values.tolist() == [
        rule
        for rule, side in zip(sampled[2].pools_["rule"], sampled[2].pools_["side"], strict=True)
        if side == "positive"
    ]
    stats = data["sample_stats"]
    assert stats["move_acceptance"].dims == ("chain", "draw", "move") and "lp" in stats and "ladder_swaps" in stats
    assert data["constant_data"]["inverse_temperature"].values[-1] == 1.0


def test_rates_are_drawn_from_the_cut_off_posterior_of_the_states(sampled):
    """Mean of the draws' positions in their own law: uniform, so 1/2 within five standard errors."""
    post = sampled[3]
    hyper = post.fitted.target.hyper
    a, b = rate_posterior(hyper, *post._state_counts())
    drawn = post.draw_rates()
    assert np.array_equal(drawn, post.draw_rates())
    assert (drawn >= hyper.low).all() and (drawn <= hyper.high).all()
    for s in range(4):
        mine = slice(0, 100)
        x, law = drawn[..., s].ravel()[mine], (a[..., s].ravel()[mine], b[..., s].ravel()[mine])
        whole = log_beta_integral(*law, hyper.low[s], hyper.high[s])
        below = [float(log_beta_integral(p, q, hyper.low[s], r)) - w for p, q, r, w in zip(*law, x, whole, strict=True)]
        position = np.exp(below)
        assert abs(position.mean() - 0.5) < 5 / np.sqrt(12 * len(position))
        assert position.std() == pytest.approx(1 / np.sqrt(12), abs=0.08)


def test_credible_set_is_the_smallest(sampled):
    post = sampled[3]
    chosen = post.credible_set(0.5)
    assert chosen["share"].sum() >= 0.5 > chosen["share"].iloc[:-1].sum()
    assert chosen["share"].is_monotonic_decreasing
    with pytest.raises(InputError, match="level"):
        post.credible_set(0)


def test_predictive_check_finds_labels_the_model_misses(sampled):
    X, y, _, post = sampled
    fair = post.predictive_check(X, y)
    assert fair.loc[0, "column"] == "all rows" and fair["p_value"].between(0, 1).all()
    assert fair.loc[0, "seen"] == y.sum()
    swapped = post.predictive_check(X, 1 - y)
    assert swapped["p_value"].min() < 0.01


def test_the_estimator_predicts_with_the_pair_and_the_committee_with_the_average(tmp_path):
    """A pool of a few candidates mixes at once."""
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(**{**QUICK, "max_patterns": 60, "max_length": 1}).fit(X, y)
    before = model.predict_proba(X)
    post = model.sample_posterior()
    assert post.diagnose().is_trusted and "can be used" in repr(post)
    assert np.array_equal(model.predict_proba(X), before)
    committee = post.committee(max_pairs=10_000)
    np.testing.assert_allclose(committee.predict_proba(X), post.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(committee.predict_state_proba(X), post.predict_state_proba(X), atol=1e-12)
    committee.save(tmp_path / "committee.json")
    for loaded in (Committee.load(tmp_path / "committee.json"), load(tmp_path / "committee.json")):
        assert loaded.predict_table(X).equals(committee.predict_table(X)) and repr(loaded) == repr(committee)
    (tmp_path / "committee.json").write_text('{"format": "soar-jax committee", "format_version": 1, "rules": 3}')
    with pytest.raises(InputError, match="damaged"):
        Committee.load(tmp_path / "committee.json")
    model.fit(X, y)
    assert not hasattr(model, "posterior_")


def test_bad_settings_are_refused(sampled):
    model = sampled[2]
    for bad in (dict(power=0.5), dict(thin=0), dict(num_draws=0), dict(time_budget=-1)):
        with pytest.raises(InputError):
            model.sample_posterior(**bad)


def test_boa_samples_through_the_same_code():
    X, y = random_table(0, num_rows=200)
    post = BOAClassifier(**QUICK).fit(X, y).sample_posterior(**SHORT)
    assert set(np.unique(post._states(X.head(20)))) <= {0, 3}
    assert set(post.inclusion["side"]) == {"positive"}


def test_loaded_model_cannot_be_sampled(sampled, tmp_path):
    model = sampled[2]
    model.save(tmp_path / "m.json")
    with pytest.raises(InputError, match="fit it again"):
        SOARClassifier.load(tmp_path / "m.json").sample_posterior()


def test_a_refit_does_not_relabel_earlier_draws():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(**QUICK).fit(X, y)
    post = model.sample_posterior(**{**SHORT, "num_draws": 25, "num_warmup": 25})
    before = post.predict_proba(X.head(9))
    model.set_params(positive=0).fit(X, y)
    assert np.array_equal(before, post.predict_proba(X.head(9)))


def test_predictive_check_takes_infinities_and_dates_and_refuses_unknown_labels(sampled):
    import pandas as pd

    from soar_jax.posterior.predictive import check_groups

    X, _, _, post = sampled
    with pytest.raises(InputError, match="does not know"):
        post.predictive_check(X, np.full(len(X), "maybe"))
    frame = pd.DataFrame(
        {"odd": [-np.inf, 1.0, 2.0, np.inf, np.nan, 5.0, 6.0, 7.0], "day": pd.date_range("2024-01-01", periods=8)}
    )
    rng = np.random.default_rng(0)
    table = check_groups(frame, np.arange(8) % 2 == 0, np.full((50, 8), 0.5), rng)
    assert table.loc[table["column"] == "odd", "rows"].sum() == 8 and "missing" in set(table["level"])
    assert (table["column"] == "day").sum() == 4


def test_a_better_pair_among_the_draws_is_announced_and_can_be_taken(make_table):
    X, y = make_table(0, num_rows=200)
    model = SOARClassifier(**QUICK).fit(X, y)
    best, rules = model.score_, model.describe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)
        warnings.simplefilter("error", BetterPairWarning)
        model.sample_posterior(**SHORT)
        with pytest.raises(InputError, match="no better pair"):
            model.take_better_pair()
        nothing = replace(model.fitted_pair_, included=np.zeros_like(model.fitted_pair_.included))
        model._take(nothing, model.certificate_)
        with pytest.warns(BetterPairWarning, match="nats better"):
            model.sample_posterior(**SHORT)
    model.take_better_pair()
    assert model.score_ == pytest.approx(best, abs=1e-9) and model.describe() == rules
    assert not model.certificate_ and model.posterior_.better_pair is None


@pytest.mark.parametrize("max_pairs", [1, 7, 400])
def test_label_state_and_probability_of_a_row_never_contradict(sampled, max_pairs):
    X, y, model, post = sampled
    committee = post.committee(max_pairs)
    assert len(committee.weights) <= max_pairs and committee.weights.sum() == pytest.approx(1)
    for predictor in (model, committee):
        table = predictor.predict_table(X)
        assert np.array_equal(table["prediction"], predictor.predict(X))
        assert np.array_equal(table["state"], predictor.predict_state(X))
        np.testing.assert_allclose(table["probability"], predictor.predict_proba(X)[:, 1], atol=1e-12)
        assert ((table["probability"] > 0.5) == (table["prediction"] == 1)).all()
        assert (table.loc[table["state"] == "positive", "prediction"] == 1).all()
        assert (table.loc[table["state"] == "negative", "prediction"] == 0).all()
        assert predictor.taxonomy(X, y).sum() == len(X)
    assert committee.rules_["share"].between(0, 1).all()


def test_chains_that_each_stay_with_one_of_two_readings_are_refused():
    """Sizes, states and families may agree though the rules do not: {1, 2} and {3, 4} against {1, 3} and {2, 4}."""
    alone = np.zeros((4, 100, 4), dtype=bool)
    alone[:2, :, [0, 1]] = alone[2:, :, [2, 3]] = True
    assert (standard_errors(alone) > MAX_ERROR).all()
    mixed = np.random.default_rng(0).random((4, 400, 4)) < 0.5
    assert (standard_errors(mixed) < MAX_ERROR).all() and not standard_errors(np.ones((4, 100, 2), bool)).any()
