"""Reasons of models that were fitted, sampled, saved and loaded."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest

from soar_jax import BOAClassifier, InputError, Rule, SOARClassifier, datasets
from tests.conftest import random_table

# the same shapes as in tests/posterior, so that compiled programs are shared
QUICK = dict(n_rounds=1, max_patterns=20, max_length=2)
SHORT = dict(num_draws=100, num_chains=4, num_warmup=50, num_temperatures=4)
pytestmark = pytest.mark.filterwarnings("ignore::soar_jax.posterior.diagnosis.UntrustedPosteriorWarning")


@pytest.fixture(scope="module")
def table():
    X, y = random_table(0, num_rows=200)
    return X, y, np.arange(len(X)) % 3 + 1


@pytest.fixture(scope="module")
def sampled(table):
    X, y, weights = table
    model = SOARClassifier(**QUICK).fit(X, y, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.sample_posterior(**SHORT)
    return model


def test_a_fitted_and_a_loaded_model_give_the_same_reasons(table, sampled, tmp_path):
    X, y, weights = table
    sampled.save(tmp_path / "m.json")
    loaded = SOARClassifier.load(tmp_path / "m.json")
    pd.testing.assert_frame_equal(loaded.explain(X).to_frame(), sampled.explain(X).to_frame())
    found, again = (
        {tuple(change.condition for change in c.changes) for c in model.contrast(X.iloc[0])}
        for model in (sampled, loaded)
    )
    assert found == again and found
    repeated = X.loc[X.index.repeat(weights)]
    trained = sampled.conflicts()
    counted = loaded.conflicts(repeated, np.repeat(y, weights))
    assert len(trained)
    pd.testing.assert_frame_equal(counted, trained[counted.columns])
    with pytest.raises(InputError, match="give X and y"):
        loaded.conflicts()


def test_figures_agree_with_the_training_rows(table, sampled):
    X, y, weights = table
    facts = {f.id: f for e in sampled.explain(X) for f in e.fired}
    assert facts
    for fact in facts.values():
        fires = fact.rule.fires(X)
        own = y if fact.side == "positive" else ~y
        assert fact.support == weights[fires].sum()
        assert fact.precision == pytest.approx(weights[fires & own].sum() / fact.support)


def test_conflicts_of_car_are_those_of_its_training_rows_and_other_levels_are_real():
    X, y = datasets.load_car()
    model = SOARClassifier(max_length=2, n_rounds=1, max_patterns=60, grow_to=0).fit(X, y)
    trained = model.conflicts()
    assert len(trained)
    pd.testing.assert_frame_equal(trained, model.conflicts(X, y))
    said = [change for i in range(0, len(X), 100) for c in model.contrast(X.iloc[i]) for change in c.changes]
    assert any("is not" in change.condition or "none of" in change.condition for change in said)
    assert all(change.example in set(X[change.column]) for change in said)


def test_inclusion_and_conflicts_are_frequencies_of_the_draws(table, sampled):
    X, y, _ = table
    post = sampled.posterior_
    inclusion = post.inclusion.set_index(["side", "rule"])["probability"]
    facts = sampled._rule_model().facts
    assert facts
    for fact in facts:
        assert fact.inclusion == pytest.approx(inclusion.get((fact.side, str(fact.rule)), 0.0))
    assert "of the posterior draws" in str(facts[0])
    conflicts = sampled.conflicts(X, y)
    assert len(conflicts) and set(conflicts["trusted"]) == {post.diagnose().is_trusted}
    for line in conflicts.itertuples():
        by_draw = []
        for side, text in enumerate((line.positive_rule, line.negative_rule)):
            names = [str(Rule(p)) for p in post.pools[side].patterns]
            by_draw.append(post.draws.included[:, :, side, names.index(text)])
        assert line.probability == pytest.approx((by_draw[0] & by_draw[1]).mean())
        assert line.family_probability >= line.probability


def test_contrasts_have_the_share_of_the_draws_in_which_they_work(table, sampled):
    X, _, _ = table
    found = next(f for f in (sampled.contrast(X.iloc[[i]]) for i in range(len(X))) if len(f))
    shares = sampled.posterior_.predict_state_proba(found.rows())[found.goal]
    assert [c.probability for c in found] == pytest.approx(list(shares))
    assert list(found.to_frame()["probability"]) == sorted(shares, reverse=True)
    assert "% of the draws" in str(found[0])
    narrow = sampled.contrast(found.row[sampled.features_used_], to=found.label)
    absent = set(sampled.posterior_._columns) - set(sampled.features_used_)
    assert bool(absent) == (narrow[0].probability is None)


def test_the_one_class_model_explains_and_contrasts(table):
    X, y, _ = table
    model = BOAClassifier(**QUICK).fit(X, y)
    frame = model.explain(X).to_frame()
    assert list(frame["state"]) == list(model.predict_state(X)) and not frame["negative_rules"].any()
    found = model.contrast(X.iloc[[0]])
    assert (model.predict_state(found.rows()) == found.goal).all() and len(found)
    assert model.conflicts().empty


def test_fresh_figures_are_shown_where_they_were_measured(table, sampled):
    X, y, _ = table
    model = copy.copy(sampled).measure_fresh(X.head(50), y[:50])
    fact, line = model._rule_model().facts[0], model.rules_.iloc[0]
    assert (fact.fresh_support, fact.fresh_precision) == (line["fresh_support"], line["fresh_precision"])
    assert sampled._rule_model().facts[0].fresh_support is None


def test_a_report_of_a_sampled_model_carries_the_verdict_and_the_inclusion_of_each_rule(table, sampled, tmp_path):
    X, y, weights = table
    report = sampled.report(tmp_path / "r.html", X, y)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    verdict = sampled.posterior_.diagnose()
    assert report.sampled.is_trusted is verdict.is_trusted
    assert verdict.is_trusted or "cannot be said yet" in page
    assert report.sampled.credible.startswith(f"{len(sampled.posterior_.credible_set(0.95))} pair")
    table_of = sampled.posterior_.inclusion.set_index(["side", "rule"])["probability"]
    for rule in report.rules:
        side = "positive" if rule.is_positive else "negative"
        assert rule.inclusion == pytest.approx(table_of.get((side, rule.stored), 0.0), abs=5e-4)
    assert report.sampled.families
    trained = sampled.report(tmp_path / "r.md")
    assert trained.basis.kind == "training" and trained.basis.rows == weights.sum()
    assert {(d.positive, d.negative) for d in trained.disputes} <= {
        (row.positive_id, row.negative_id) for row in sampled.conflicts().itertuples()
    }
    for thing in (sampled, sampled.posterior_, verdict):
        assert "Do not use" in thing._repr_html_() or verdict.is_trusted or thing is sampled
