import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax import BOAClassifier, InputError, Loss, SOARClassifier
from soar_jax.rules import Rule
from tests.conftest import random_table
from tests.control.draws import every_pair, posterior_of
from tests.oracles import log_beta_integral
from tests.problems import random_target

pytestmark = pytest.mark.filterwarnings("ignore::soar_jax.posterior.diagnosis.UntrustedPosteriorWarning")


def enumerated(seed, positive_index):
    """A small problem with every pair visited, some more often: posterior, pairs, shares, states and rates by hand."""
    target, covers, (positives, negatives) = random_target(seed, num_patterns=(3, 2), num_rows=25, bounded=True)
    pairs, counts, states, rates = every_pair(3, 2), [], [], []
    hyper, speaks = target.hyper, np.array([True, False, True, False])
    for z, w in pairs:
        plus, minus = covers[0][z].any(axis=0), covers[1][w].any(axis=0)
        state = np.where(plus & minus, 2, np.where(plus, 0, np.where(minus, 1, 3)))
        p, n = (np.array([weight[state == s].sum() for s in range(4)]) for weight in (positives, negatives))
        mean = []
        for s in range(4):
            hits, misses = (p[s], n[s]) if speaks[s] else (n[s], p[s])
            law = hits + hyper.alpha[s], misses + hyper.beta[s]
            ends = hyper.low[s], hyper.high[s]
            rate = np.exp(log_beta_integral(law[0] + 1, law[1], *ends) - log_beta_integral(*law, *ends))
            mean.append(rate if speaks[s] else 1 - rate)
        counts.append((p, n))
        states.append(state)
        rates.append(mean)
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 8, len(pairs))
    times[0] += times.sum() % 2  # an even number of draws
    post = posterior_of(target, pairs, times, counts, rng.normal(size=len(pairs)), positive_index=positive_index)
    literals = [
        sum(len(pool.patterns[i]) for pool, z in zip(target.pools, pair, strict=True) for i in np.flatnonzero(z))
        for pair in pairs
    ]
    return post, pairs, times / times.sum(), np.array(states), np.array(rates), literals, positives + negatives


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 200),
    st.sampled_from([0, 1]),
    st.floats(0, 3),
    st.one_of(st.none(), st.floats(0, 1)),
    st.floats(0, 0.1),
)
def test_expected_loss_is_that_of_brute_force_over_pairs_and_rows(seed, positive_index, errors, silence, price):
    post, pairs, share, states, rates, literals, weights = enumerated(seed, positive_index)
    predictive = np.zeros(len(weights))
    for k in range(len(pairs)):
        for i in range(len(weights)):
            predictive[i] += share[k] * rates[k][states[k][i]]
    expected = []
    for k in range(len(pairs)):
        total = 0.0
        for i, weight in enumerate(weights):
            state = states[k][i]
            if silence is not None and state in (2, 3):
                total += weight * silence
                continue
            is_positive = rates[k][state] > 0.5
            total += weight * errors * (1 - predictive[i] if is_positive else predictive[i])
        expected.append(total / weights.sum() + price * literals[k])
    table = post.expected_loss(Loss(errors, silence, price))
    first, counts = post._visited_pairs()
    own = [
        next(k for k, (z, w) in enumerate(pairs) if np.array_equal(np.concatenate([z, w]), member))
        for member in np.concatenate(post._sampled_rules[1], axis=1)[first]
    ]
    assert sorted(own) == list(range(len(pairs)))
    assert table["loss"].to_numpy() == pytest.approx(np.array(expected)[own])
    assert table["literals"].tolist() == np.array(literals)[own].tolist()
    assert table["share"].to_numpy() == pytest.approx(share[own]) and (np.diff(counts) <= 0).all()

    class Template:
        def _of_draw(self, pair):
            return pair

    post.template = Template()
    chosen = post.choose(Loss(errors, silence, price))
    best = [k for k in range(len(pairs)) if expected[k] <= min(expected) + 1e-9]
    found = next(
        k
        for k, (z, w) in enumerate(pairs)
        if np.array_equal(chosen.included[0, :3], z) and np.array_equal(chosen.included[1, :2], w)
    )
    assert found in best


@pytest.fixture(scope="module")
def sampled():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(n_rounds=1, max_patterns=20, max_length=2).fit(X, y)
    return X, y, model, model.sample_posterior(num_draws=100, num_chains=4, num_warmup=50, num_temperatures=4)


def test_top_models_are_the_top_pairs_as_fitted_models(sampled, tmp_path):
    X, y, model, post = sampled
    top, models = post.top_pairs(4), post.top_models(4)
    for row, one in zip(top.itertuples(), models, strict=True):
        assert one.score_ == pytest.approx(row.score, rel=1e-9)
        for rules, texts in ((one.positive_rules_, row.positive_rules), (one.negative_rules_, row.negative_rules)):
            assert {str(rule) for rule in rules} == set(texts)
        assert one.taxonomy(X, y).tolist() == one.training_taxonomy_.tolist()
        assert not hasattr(one, "posterior_") and hasattr(model, "posterior_")
        is_fitted = one.describe() == model.describe()
        assert bool(one.certificate_) == (is_fitted and bool(model.certificate_))
    models[0].save(tmp_path / "m.json")
    assert np.array_equal(SOARClassifier.load(tmp_path / "m.json").predict(X), models[0].predict(X))


@pytest.mark.parametrize("gap_of", ["selection rate", "no answer", "error"])
def test_given_rows_and_groups_are_weighed_as_the_models_themselves_answer(sampled, gap_of):
    """Through the public models: answers, probabilities averaged by the pairs' shares, and shares of groups."""
    _, _, _, post = sampled
    fresh, _ = random_table(3, num_rows=150)
    by = np.where(np.arange(150) % 3 == 0, "a", "b")
    loss = Loss(errors=2, abstentions=0.4, literals=0.01, group_gap=0.7, by=by, gap_of=gap_of)
    table = post.expected_loss(loss, fresh)
    models = post.top_models(len(table))
    predictive = sum(s * m.predict_proba(fresh)[:, 1] for s, m in zip(table["share"], models, strict=True))
    assert predictive == pytest.approx(post.predict_proba(fresh)[:, 1])
    expected = []
    for model in models:
        answers = model.predict(fresh, abstain="ambiguous")
        silent = np.array([answer is None for answer in answers])
        yes = np.array([answer == 1 and answer is not None for answer in answers], dtype=bool)
        wrong = np.where(silent, 0, np.where(yes, 1 - predictive, predictive))
        figure = {"selection rate": yes, "no answer": silent, "error": wrong}[gap_of]
        shares = [figure[by == group].mean() for group in ("a", "b")]
        size = sum(len(rule) for rules in (model.positive_rules_, model.negative_rules_) for rule in rules)
        expected.append(2 * wrong.mean() + 0.4 * silent.mean() + 0.01 * size + 0.7 * abs(shares[0] - shares[1]))
    assert table["loss"].to_numpy() == pytest.approx(np.array(expected))
    assert post.choose(loss, fresh).describe() == models[int(np.argmin(expected))].describe()
    assert table.equals(post.expected_loss(Loss(2, 0.4, 0.01, 0.7, by, gap_of), fresh)) and "trusted" in table


def test_dear_literals_choose_a_short_pair_and_dear_silence_one_that_answers(sampled):
    post = sampled[3]
    table = post.expected_loss(Loss())
    short = post.choose(Loss(literals=100))
    assert short.rules_["length"].sum() == table["literals"].min()
    talkative = post.choose(Loss(abstentions=1000, literals=0))
    shares = talkative.training_taxonomy_[["AAP", "AAN", "PAP", "PAN"]].sum() / 200
    assert shares == pytest.approx(table["abstentions"].min())
    assert isinstance(short, SOARClassifier) and len(short.predict(sampled[0])) == 200


def test_a_refit_does_not_change_the_models_of_earlier_draws():
    X, y = random_table(0, num_rows=200)
    model = BOAClassifier(n_rounds=1, max_patterns=20, max_length=2).fit(X, y)
    post = model.sample_posterior(num_draws=25, num_chains=4, num_warmup=25, num_temperatures=4)
    assert (post.expected_loss(Loss())["abstentions"] == 0).all()  # one rule set always answers
    before = post.choose(Loss())
    model.set_params(positive=0).fit(X, ~y)
    after = post.choose(Loss())
    assert isinstance(after, BOAClassifier) and after.describe() == before.describe()
    assert np.array_equal(after.predict(X), before.predict(X))


@pytest.mark.parametrize(
    "bad", [dict(errors=-1), dict(abstentions=np.nan), dict(literals="x"), dict(group_gap=1), dict(gap_of="length")]
)
def test_losses_that_are_none_are_refused(bad):
    with pytest.raises(InputError, match="Loss"):
        Loss(**bad)


def test_groups_need_rows_and_enough_of_them(sampled):
    X, _, _, post = sampled
    with pytest.raises(InputError, match="X="):
        post.choose(Loss(group_gap=1, by="c0"))
    with pytest.raises(InputError, match="Did you mean 'c0'"):
        post.choose(Loss(group_gap=1, by="c00"), X)
    with pytest.raises(InputError, match="two groups"):
        post.choose(Loss(group_gap=1, by="c0"), X.head(20))
    with pytest.raises(InputError, match="no rows"):
        post.choose(Loss(), X.head(0))
    bare = posterior_of(post.fitted.target, [([False], [False])], [4], [(np.zeros(4, int), np.zeros(4, int))], [0.0])
    with pytest.raises(InputError, match="sample_posterior"):
        bare.top_models(1)
    assert str(Rule(post.pools[0].patterns[0]))
