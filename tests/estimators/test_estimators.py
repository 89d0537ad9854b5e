import pickle
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from soar_jax import (
    BOAClassifier,
    ErrorRatio,
    InputError,
    Opinion,
    Precision,
    RulePrior,
    SearchedRules,
    SOARClassifier,
    datasets,
    taxonomy_cross,
)
from soar_jax.search import anneal
from tests.oracles import log_beta_integral

QUICK = dict(n_iter=100, n_restarts=2, max_patterns=60, n_rounds=2)


@pytest.fixture(scope="module")
def car():
    X, y = datasets.load_car()
    return X, y, SOARClassifier(**QUICK).fit(X, y)


@pytest.mark.parametrize("kind", [SOARClassifier, BOAClassifier])
@pytest.mark.parametrize("seed", range(3))
def test_no_addition_removal_or_exchange_improves_a_fitted_pair(make_table, oracle, kind, seed):
    X, y = make_table(seed, num_rows=200)
    model = kind(**QUICK, negations=seed == 1, missing_literals=seed == 2).fit(X, y)
    check = oracle(model, X, y)
    fitted = check.log_joint(check.fitted)
    assert -model.score_ == pytest.approx(fitted, rel=1e-9)
    assert model.is_local_optimum_
    assert max(check.log_joint(z) for z in check.neighbours()) <= fitted + 1e-6


def test_local_optimum_on_car_by_brute_force(car, oracle):
    X, y, model = car
    check = oracle(model, X, y)
    best = max(check.log_joint(z) for z in check.neighbours())
    assert best <= -model.score_ + 1e-6


def test_rules_alone_reproduce_states_predictions_and_taxonomy(car):
    from tests.conftest import coverage

    X, y, model = car
    fires = [
        coverage(X, [r.literals for r in rules]).any(axis=0) for rules in (model.positive_rules_, model.negative_rules_)
    ]
    state = np.select(
        [fires[0] & ~fires[1], fires[1] & ~fires[0], fires[0] & fires[1]],
        ["positive", "negative", "active"],
        "passive",
    )
    assert np.array_equal(model.predict_state(X), state)
    counts = model.taxonomy(X, y)
    assert list(counts.index) == ["CTP", "CFP", "CTN", "CFN", "AAP", "AAN", "PAP", "PAN"]
    assert counts["CTP"] == ((state == "positive") & (y == 1)).sum()
    assert counts["PAN"] == ((state == "passive") & (y == 0)).sum()
    assert counts.equals(model.training_taxonomy_)


def test_probabilities_are_the_posterior_means_of_the_states(car):
    """With bounds by numerical integration for a consensus, and beside two average rows for an ambiguous row; with
    opinions the mean of a Beta posterior."""
    X, y, model = car
    t = model.training_taxonomy_
    expected = {"active": (t["AAP"] + 2 * y.mean()) / (t["AAP"] + t["AAN"] + 2)}
    expected["passive"] = (t["PAP"] + 2 * y.mean()) / (t["PAP"] + t["PAN"] + 2)
    for state, (hit, miss) in dict(positive=("CTP", "CFP"), negative=("CTN", "CFN")).items():
        low, high = (model.priors_["states"][state][k] for k in ("low", "high"))
        a, b = t[hit] + 1, t[miss] + 1
        mean = np.exp(log_beta_integral(a + 1, b, low, high) - log_beta_integral(a, b, low, high))
        expected[state] = mean if state == "positive" else 1 - mean
        assert low <= mean <= high
    assert model.predict_proba(X)[:, 1] == pytest.approx([expected[s] for s in model.predict_state(X)])
    model = SOARClassifier(n_iter=100, n_restarts=1, consensus=Opinion(0.95, share=0.05)).fit(X, y)
    t, prior = model.training_taxonomy_, model.priors_["states"]
    expected = {
        "positive": (t["CTP"] + prior["positive"]["alpha"]) / (t["CTP"] + t["CFP"] + prior["positive"]["worth_rows"]),
        "negative": 1
        - (t["CTN"] + prior["negative"]["alpha"]) / (t["CTN"] + t["CFN"] + prior["negative"]["worth_rows"]),
        "active": (t["AAP"] + prior["active"]["alpha"]) / (t["AAP"] + t["AAN"] + prior["active"]["worth_rows"]),
        "passive": 1 - (t["PAN"] + prior["passive"]["alpha"]) / (t["PAN"] + t["PAP"] + prior["passive"]["worth_rows"]),
    }
    proba = model.predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert proba[:, 1] == pytest.approx([expected[s] for s in model.predict_state(X)])


def test_forced_prediction_lets_the_longest_rule_win(car):
    X, _, model = car
    forced = model.predict_forced(X)
    state = model.predict_state(X)
    assert (forced[state == "positive"] == 1).all() and (forced[state == "negative"] == 0).all()
    assert pd.isna(forced[state == "passive"]).all()
    for i in np.flatnonzero(state == "active")[:30]:
        row = X.iloc[[i]]
        longest = [
            max(len(r) for r in rules if r.fires(row)[0]) for rules in (model.positive_rules_, model.negative_rules_)
        ]
        assert forced[i] == (None if longest[0] == longest[1] else int(longest[0] > longest[1]))


def test_rule_table_figures_are_right(car):
    X, y, model = car
    for row in model.rules_.itertuples():
        rule = next(r for r in (*model.positive_rules_, *model.negative_rules_) if r.literals == row.literals)
        fired = rule.fires(X)
        own = (y == row[1]).to_numpy()
        others = [r for r in (model.positive_rules_ if row.side == "positive" else model.negative_rules_) if r != rule]
        alone = fired & ~np.any([r.fires(X) for r in others] or [np.zeros(len(X), bool)], axis=0)
        assert row.support == fired.sum()
        assert row.precision == pytest.approx((fired & own).sum() / fired.sum())
        assert row.coverage == pytest.approx((fired & own).sum() / own.sum())
        assert row.unique_coverage == pytest.approx((alone & own).sum() / own.sum())


def test_prediction_needs_only_the_used_columns_in_any_order(car):
    X, _, model = car
    used = X[model.features_used_[::-1]]
    assert np.array_equal(model.predict(used), model.predict(X))
    with pytest.raises(InputError, match="does not have"):
        model.predict(X.drop(columns=model.features_used_[0]))


def test_misspelt_column_gets_a_suggestion(car):
    X, _, model = car
    name = model.features_used_[0]
    with pytest.raises(InputError, match=f"Did you mean '{name}_'"):
        model.predict(X.rename(columns={name: name + "_"}))


def test_unseen_levels_and_missing_values_at_prediction_never_raise(car):
    X, _, model = car
    odd = X.head(4).astype(object)
    odd.iloc[0], odd.iloc[1], odd.iloc[2] = None, "never seen", 3
    assert model.predict_state(odd)[:2].tolist() == ["passive", "passive"]
    assert np.isfinite(model.predict_proba(odd)).all()


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (0.0, 1.0)])
def test_any_two_labels_work(make_table, labels):
    X, y = make_table(0)
    named = np.array(labels)[y.astype(int)]
    model = SOARClassifier(**QUICK).fit(X, named)
    assert set(model.predict(X)) <= set(labels)
    assert model.positive_rules_.label == labels[1]
    assert (model.predict(X) == named).mean() > 0.7


def test_positive_label_can_be_chosen(make_table):
    X, y = make_table(0)
    named = np.where(y, "bad", "good")
    plain, turned = (
        SOARClassifier(**QUICK).fit(X, named),
        SOARClassifier(**QUICK, positive="bad").fit(X, named),
    )
    assert plain.positive_rules_.label == "good" and turned.positive_rules_.label == "bad"
    assert np.allclose(turned.predict_proba(X).sum(axis=1), 1)
    assert (turned.predict(X) == named).mean() > 0.7
    with pytest.raises(InputError, match="'maybe'"):
        SOARClassifier(positive="maybe").fit(X, named)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (pd.DataFrame({"a": [1, 2, 3]}), [1, 1, 1], "only one class"),
        (pd.DataFrame({"a": [1, 2, 3]}), ["a", "b", "c"], "OneVsRestClassifier"),
        (pd.DataFrame({"a": []}), [], "0 sample"),
        (pd.DataFrame(index=range(3)), [0, 1, 1], "0 feature"),
        (
            pd.DataFrame({"a": [None] * 4, "b": [np.nan] * 4}),
            [0, 1, 0, 1],
            "Every value of the table is missing",
        ),
        (pd.DataFrame({"a": range(40)}), [0, 1] * 19 + [0, np.nan], "y contains NaN"),
        (pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), [0, 1] * 2, "stands more than once"),
    ],
)
def test_unusable_tables_give_one_clear_error(X, y, message):
    with pytest.raises(ValueError, match=message):
        SOARClassifier(**QUICK).fit(X, np.array(y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(min_support=5.0), "min_support"),
        (dict(max_length=0), "max_length"),
        (dict(screen="mdl"), "'entropy', 'gini'"),
        (dict(n_iter=2.5), "n_iter"),
        (dict(temperature=-1), "temperature"),
        (dict(random_share=2), "random_share"),
        (dict(consensus=0.9), "consensus"),
        (dict(row_choice="any"), "row_choice"),
        (dict(time_budget=0), "time_budget"),
        (dict(min_support=10_000), "lower min_support"),
    ],
)
def test_bad_parameters_give_one_clear_error(make_table, parameters, message):
    X, y = make_table(0)
    with pytest.raises(InputError, match=message):
        SOARClassifier(**{**QUICK, **parameters}).fit(X, y)


def test_whole_weights_equal_repeated_rows(make_table):
    X, y = make_table(5)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = SOARClassifier(**QUICK).fit(X, y, sample_weight=weights)
    repeated = SOARClassifier(**QUICK).fit(X.loc[X.index.repeat(weights)].reset_index(drop=True), np.repeat(y, weights))
    assert weighted.score_ == repeated.score_
    assert weighted.rules_.equals(repeated.rules_)


def test_row_order_does_not_matter(make_table):
    X, y = make_table(6)
    order = np.random.default_rng(1).permutation(len(X))
    a, b = SOARClassifier(**QUICK).fit(X, y), SOARClassifier(**QUICK).fit(X.iloc[order], y[order])
    assert a.rules_.equals(b.rules_) and a.score_ == b.score_


def test_both_miners_give_the_same_model(make_table):
    X, y = make_table(7)
    a, b = (SOARClassifier(**QUICK, miner=m).fit(X, y) for m in ("packed", "fpgrowth"))
    assert a.pools_.equals(b.pools_)
    assert a.rules_.equals(b.rules_)


@pytest.mark.slow
def test_a_stronger_consensus_opinion_abstains_more():
    X, y = datasets.load_adult()
    X, y = X.head(4000), y.head(4000)
    weak = SOARClassifier(n_iter=100, consensus=Opinion(0.8, share=0.01)).fit(X, y)
    strong = SOARClassifier(n_iter=100, consensus=Opinion(0.99, share=1.0)).fit(X, y)
    ambiguous = [np.isin(m.predict_state(X), ["active", "passive"]).mean() for m in (weak, strong)]
    assert ambiguous[0] < ambiguous[1]


def test_stages_say_where_the_time_went(make_table):
    X, y = make_table(0)
    start = time.perf_counter()
    stages = SOARClassifier(search="annealing", n_iter=100, max_patterns=60, n_restarts=2).fit(X, y).stage_seconds_
    assert list(stages) == ["items", "mining", "screening", "compiling", "annealing", "descents"]
    assert min(stages.values()) >= 0 and sum(stages.values()) <= time.perf_counter() - start


def test_time_budget_keeps_a_usable_model(make_table):
    X, y = make_table(0)
    model = SOARClassifier(search="annealing", n_iter=10**6, max_patterns=60, n_restarts=2, time_budget=0.01).fit(X, y)
    assert len(model.history_) < 2 * 10**6
    assert len(model.predict(X)) == len(X)
    with pytest.warns(UserWarning, match="give it more time_budget"):
        model = SOARClassifier(n_rounds=10**6, time_budget=0.01).fit(X, y)
    assert not model.certificate_ and len(model.predict(X)) == len(X)


def test_cut_short_search_without_a_certificate_warns(make_table, monkeypatch):
    monkeypatch.setattr(anneal, "better", lambda old, new: old)  # the descent that would certify
    X, y = make_table(0, num_rows=400)
    with pytest.warns(UserWarning, match="give it more time_budget"):
        model = SOARClassifier(search="annealing", n_iter=10**6, max_patterns=60, n_restarts=2, time_budget=0.01).fit(
            X, y
        )
    assert not model.is_local_optimum_


def test_progress_bar_shows_score_and_sizes(make_table, capsys):
    X, y = make_table(0)
    SOARClassifier(**QUICK, search="annealing", progress=True).fit(X, y)
    shown = capsys.readouterr().err
    assert "annealing" in shown and "polishing" in shown and "score" in shown and "rules" in shown
    SOARClassifier(n_rounds=2, progress=True).fit(X, y)
    shown = capsys.readouterr().err
    assert "searching" in shown and "round" in shown and "score" in shown and "rules" in shown


def test_cross_table_adds_up_to_both_taxonomies(car):
    X, y, model = car
    boa = BOAClassifier(**QUICK).fit(X, y)
    cross = taxonomy_cross(model, boa, X, y)
    assert list(cross.index) == ["TP", "TN", "FN", "FP"]
    assert cross.to_numpy().sum() == len(X)
    assert cross.sum(axis=0).to_dict() == model.taxonomy(X, y).to_dict()
    assert cross.loc["TP"].sum() == boa.taxonomy(X, y)["CTP"]
    assert set(boa.predict_state(X)) <= {"positive", "passive"}


def test_five_folds_compile_the_annealer_once():
    X, y = datasets.load_synthetic(seed=0)
    model = SOARClassifier(search="annealing", n_iter=100, n_restarts=3)
    before = anneal._run_block._cache_size()
    cross_val_score(model, X, y, cv=5)
    assert anneal._run_block._cache_size() - before == 1


def test_pipeline_grid_search_clone_and_one_vs_rest():
    X, y = datasets.load_synthetic(seed=0)
    pipeline = make_pipeline(FunctionTransformer(), SOARClassifier(**QUICK))
    search = GridSearchCV(pipeline, {"soarclassifier__max_length": [2, 3]}, n_jobs=2, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    opinion = Opinion(0.9, rows=50)
    assert clone(SOARClassifier(consensus=opinion)).get_params()["consensus"] == opinion
    three = X["x1"] + X["x2"]
    multi = OneVsRestClassifier(SOARClassifier(**QUICK)).fit(X.to_numpy(), three)
    assert (multi.predict(X.to_numpy()) == three).mean() > 0.9


def test_fit_here_predict_in_another_process(car, tmp_path):
    X, _, model = car
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    X.to_pickle(tmp_path / "X.pkl")
    code = (
        "import pickle, pandas as pd, numpy as np, sys\n"
        f"m = pickle.load(open({str(tmp_path / 'model.pkl')!r}, 'rb'))\n"
        f"np.save({str(tmp_path / 'p.npy')!r}, m.predict_proba(pd.read_pickle({str(tmp_path / 'X.pkl')!r})))\n"
        "assert 'jax' not in sys.modules, 'prediction must not need JAX'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert np.array_equal(np.load(tmp_path / "p.npy"), model.predict_proba(X))


def test_import_is_light():
    code = "import sys, soar_jax; assert not {'jax', 'arviz', 'mlxtend', 'sklearn', 'numpyro'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_screening_changes_no_rules_price(make_table):
    """Fewer candidates, same prior: the same log joint of no rules, and the same cost of a rule."""
    X, y = make_table(3, num_rows=300)
    few, many = (SOARClassifier(**{**QUICK, "max_patterns": n}).fit(X, y) for n in (10, 1000))
    for side in ("positive", "negative"):
        for name in ("searched", "alpha", "beta", "kind"):
            assert few.priors_["rules"][side][name] == many.priors_["rules"][side][name]
    assert sum(few.priors_["rules"]["positive"]["pool_size"]) < sum(many.priors_["rules"]["positive"]["pool_size"])
    assert few.score_ + few.gain_ == pytest.approx(many.score_ + many.gain_)
    assert sum(few.priors_["rules"]["positive"]["searched"]) >= few.num_frequent_patterns_


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SOARClassifier, {"rule_prior": (SearchedRules(2), RulePrior(1, 50))}),
        (SOARClassifier, {"consensus": (ErrorRatio(0.4), Precision(0.7))}),
        (BOAClassifier, {}),
        (BOAClassifier, {"consensus": Precision(0.8)}),
        (BOAClassifier, {"consensus": Opinion(0.95, share=0.05), "rule_prior": RulePrior(1, 100)}),
    ],
)
def test_every_form_of_prior_gives_the_oracles_score_and_a_true_certificate(make_table, oracle, kind, parameters):
    X, y = make_table(5, num_rows=300)
    model = kind(**QUICK, **parameters).fit(X, y)
    exact = oracle(model, X, y)
    best = exact.log_joint(exact.fitted)
    assert -model.score_ == pytest.approx(best, rel=1e-9)
    assert max(exact.log_joint(pair) for pair in exact.neighbours()) <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("consensus", [0.9, (ErrorRatio(0.5), Opinion(0.9)), "strict"])
def test_wrong_forms_of_consensus_are_refused(make_table, consensus):
    X, y = make_table(0)
    for kind in (SOARClassifier, BOAClassifier):
        with pytest.raises(InputError, match="consensus"):
            kind(**QUICK, consensus=consensus).fit(X, y)
    with pytest.raises(InputError, match="ambiguous"):
        SOARClassifier(**QUICK, ambiguous=Opinion(0.5)).fit(X, y)


def test_a_table_too_large_for_look_ups_has_the_oracles_score_and_a_true_certificate(make_table, oracle):
    X, y = make_table(4, num_rows=2600)
    model = SOARClassifier(n_iter=100, n_restarts=2, max_patterns=30).fit(X, y)
    assert model.fitted_pair_.target.problem.rule.size and len(model.rules_) > 1
    exact = oracle(model, X, y)
    best = exact.log_joint(exact.fitted)
    assert -model.score_ == pytest.approx(best, rel=1e-9)
    assert max(exact.log_joint(pair) for pair in exact.neighbours()) <= best + 1e-9 * (1 + abs(best))
