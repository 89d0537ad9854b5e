import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, chi2, chi2_contingency, ncx2

from soar_jax import BOAClassifier, InputError, SOARClassifier, UntrustedPosteriorWarning
from soar_jax.control.figures import FIGURES
from soar_jax.control.groups import read_groups
from soar_jax.control.proxies import association, explained, noncentrality
from tests.conftest import random_table
from tests.control.models import model_of_rules

POSITIVE = [[("a", "==", "p")], [("a", "==", "b"), ("n", ">", 3)]]
NEGATIVE = [[("a", "==", "n")], [("a", "==", "b")]]


def make(positive_index=1, classes=(0, 1), kind=SOARClassifier, taxonomy=(90, 10, 80, 5, 8, 12, 20, 60)):
    return model_of_rules(
        POSITIVE, NEGATIVE if kind is SOARClassifier else [], taxonomy, columns=["a", "n", "sex"],
        classes=classes, positive_index=positive_index, kind=kind,
    )  # fmt: skip


def rows(seed, size=300, groups=("f", "m", None)):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.choice(list("pnbs"), size),
            "n": rng.integers(0, 10, size),
            "sex": rng.choice(np.array(groups, dtype=object), size),
        }
    )
    return X, rng.integers(0, 2, size)


def by_hand(model, X, y, mask):
    """Every figure of some rows, from the model's public answers alone."""
    state, says = model.predict_state(X)[mask], model.predict(X)[mask]
    truth, positive = np.asarray(y)[mask], model.positive_rules_.label
    clear = np.isin(state, ["positive", "negative"]) | isinstance(model, BOAClassifier)
    speaks = np.where(state == "positive", positive, next(c for c in model.classes_ if c != positive))

    def share(what, among=None):
        among = np.ones(len(truth), bool) if among is None else among
        return (int((what & among).sum()), int(among.sum()))

    return {
        "base rate": share(truth == positive),
        **{f"share {s}": share(state == s) for s in ("positive", "negative", "active", "passive")},
        "no answer": share(~clear),
        "consensus error": share(speaks != truth, clear),
        "error": share(says != truth),
        "selection rate": share(says == positive),
        "true-positive rate": share(says == positive, truth == positive),
        "false-positive rate": share(says == positive, truth != positive),
    }


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([(0, (0, 1)), (1, (0, 1)), (1, ("no", "yes"))]), st.booleans())
def test_figures_of_groups_and_gaps_are_those_counted_by_hand(seed, labels, single):
    index, classes = labels
    model = make(index, classes, BOAClassifier if single else SOARClassifier)
    X, y = rows(seed)
    y = np.array(classes)[y]
    audit = model.audit(X, y, by="sex", num_draws=200)
    names = X["sex"].fillna("missing").to_numpy()
    assert set(audit.groups["group"]) == set(names) and len(audit.groups) == 3 * len(FIGURES)
    for row in audit.groups.itertuples():
        hits, of = by_hand(model, X, y, names == row.group)[row.figure]
        assert (row.hits, row.rows) == (hits, of)
        if of:
            assert row.value == pytest.approx(hits / of) and row.low <= row.value <= row.high
            if 0 < hits < of:  # the interval is Jeffreys'
                ends = beta.ppf([0.05, 0.95], hits + 0.5, of - hits + 0.5)
                assert (row.low, row.high) == pytest.approx(tuple(ends))
    for row in audit.gaps.itertuples():
        mine, theirs = (by_hand(model, X, y, mask)[row.figure] for mask in (names == row.group, names != row.group))
        if mine[1] and theirs[1]:
            assert row.gap == pytest.approx(mine[0] / mine[1] - theirs[0] / theirs[1])
            assert row.against == "the rest" and row.low <= row.high
            assert row.clear == (row.low > 0 or row.high < 0)
        else:
            assert np.isnan(row.gap)


def test_the_interval_of_a_gap_is_that_of_a_difference_of_two_shares():
    """Against SciPy: quantiles of the difference of two Beta laws by numerical convolution."""
    X, y = rows(0, groups=("f", "m"))
    model = make()
    gaps = model.audit(X, y, by="sex", num_draws=200_000).gaps.set_index("figure")
    (h, n), (k, m) = (by_hand(model, X, y, (X["sex"] == g).to_numpy())["selection rate"] for g in ("f", "m"))
    grid = np.linspace(0, 1, 4001)
    mine, theirs = beta(h + 0.5, n - h + 0.5), beta(k + 0.5, m - k + 0.5)
    gap = np.linspace(-1, 1, 2001)
    cdf = np.array([np.trapezoid(mine.cdf(np.clip(g + grid, 0, 1)) * theirs.pdf(grid), grid) for g in gap])
    low, high = (gap[np.searchsorted(cdf, q)] for q in (0.05, 0.95))
    assert gaps.loc["selection rate", "low"] == pytest.approx(low, abs=0.003)
    assert gaps.loc["selection rate", "high"] == pytest.approx(high, abs=0.003)


def test_two_groups_are_compared_once_and_a_reference_with_every_other():
    X, y = rows(1)
    X2 = X[X["sex"].notna()].reset_index(drop=True)
    two = make().audit(X2, y[X["sex"].notna()], by="sex", num_draws=200).gaps
    assert set(two["group"]) == {"f"} and set(two["against"]) == {"m"}
    three = make().audit(X, y, by="sex", reference="m", num_draws=200).gaps
    assert set(three["group"]) == {"f", "missing"} and set(three["against"]) == {"m"}
    with pytest.raises(InputError, match="Did you mean 'missing'"):
        make().audit(X, y, by="sex", reference="mising")


def test_weights_count_as_repeated_rows():
    X, y = rows(2)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    one = make().audit(X, y, by="sex", sample_weight=weights, num_draws=500)
    other = make().audit(X.loc[X.index.repeat(weights)], np.repeat(y, weights), by="sex", num_draws=500)
    pd.testing.assert_frame_equal(one.groups, other.groups)
    pd.testing.assert_frame_equal(one.gaps, other.gaps)
    pd.testing.assert_frame_equal(one.rules, other.rules)


def test_numbers_are_cut_in_few_groups_missing_is_one_and_small_groups_are_flagged():
    X, y = rows(3)
    ages = pd.Series(np.arange(300.0)).where(np.arange(300) % 20 != 0)
    audit = make().audit(X, y, by=ages, num_draws=200)
    names = list(dict.fromkeys(audit.groups["group"]))
    assert len(names) == 5 and names[-1] == "missing" and names[0].startswith("1.0 to")
    assert audit.groups.set_index(["group", "figure"]).loc[("missing", "base rate"), "small"]
    assert "Fewer than 30 rows" in str(audit) and "missing" in str(audit)
    dates = pd.Series(pd.date_range("2020-01-01", periods=300))
    assert len(set(make().audit(X, y, by=dates, num_draws=200).groups["group"])) == 4


def test_a_level_called_missing_is_not_taken_for_a_missing_value():
    names, group = read_groups(pd.Series(["missing", None, "a", "missing"]))
    assert names == ["a", "missing", "(missing)"] and group.tolist() == [1, 2, 0, 1]
    assert read_groups(pd.Series([3, 1, 2, 3]))[0] == ["1", "2", "3"]
    assert read_groups(pd.Series([10.5, 9.5, 9.5]))[0] == ["9.5", "10.5"]
    assert read_groups(pd.Series([True, False]))[0] == ["0", "1"]
    assert read_groups(pd.Series(["b", "a"], dtype="category"))[0] == ["a", "b"]
    assert read_groups(pd.Series([None, None]))[0] == ["missing"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=4))
def test_association_is_cramers_v_corrected_for_chance(table):
    counts = np.array(table)
    hits, of = counts[:, 0], counts.sum(axis=1)
    statistic = chi2_contingency(counts, correction=False).statistic
    assert explained(hits / of, of / of.sum()) == pytest.approx(statistic / of.sum())
    value, low, high = association(hits[None], of, 0.9)
    assert value[0] == pytest.approx(np.sqrt(max(0.0, (statistic - (len(of) - 1)) / of.sum())))
    assert 0 <= low[0] <= value[0] <= high[0] <= 1


def test_the_ends_of_an_association_are_those_of_a_noncentral_chi_square():
    """By SciPy's own law: so much or more, and so little or less, is seen with a chance of 5 %."""
    for seen in (0.3, 4.0, 50.0, 3000.0):
        for freedom in (1.0, 4.0):
            low, high = (noncentrality(np.array([seen]), freedom, chance)[0] for chance in (0.95, 0.05))
            assert low <= high
            for end, chance in ((low, 0.95), (high, 0.05)):
                if end > 0:
                    assert ncx2.cdf(seen, freedom, end) == pytest.approx(chance, abs=1e-6)
                else:
                    assert chi2.cdf(seen, freedom) <= chance
    near, far = (noncentrality(np.array([10_000.0 + step]), 3.0, 0.95)[0] for step in (-0.01, 0.01))
    assert near == pytest.approx(far, rel=1e-4)


@pytest.mark.parametrize(
    ("rows", "shares", "rates"),
    [(150, (0.5, 0.5), (0.6, 0.4)), (300, (0.9, 0.1), (0.05, 0.6)), (600, (0.2,) * 5, (0.1, 0.2, 0.3, 0.4, 0.5))],
)
def test_intervals_of_associations_cover(rows, shares, rates):
    """1,000 tables: a share of 0.9 has a standard error of 0.0095; three of them, and the wanted band 0.87 to 0.93."""
    rng = np.random.default_rng(0)
    truth = np.sqrt(explained(np.array(rates), np.array(shares)))
    sizes = rng.multinomial(rows, shares, 1000)
    found = [association(h[None], n, 0.9) for h, n in zip(rng.binomial(sizes, rates), sizes, strict=True)]
    assert 0.85 < np.mean([low[0] <= truth <= high[0] for _, low, high in found]) < 0.95


def test_rules_that_read_the_column_or_stand_in_for_it_are_named():
    X, y = rows(4, size=2000, groups=("f", "m"))
    X.loc[X["sex"] == "f", "a"] = X.loc[X["sex"] == "f", "a"].replace("p", "s")  # p is a sign of m
    model = make()
    audit = model.audit(X, y, by="sex", num_draws=500)
    assert not audit.rules["reads_column"].any()
    first = audit.rules.iloc[0]
    assert first["rule"] == "a = p" and first["association"] > 0.3 and first["low"] > 0.2
    assert first["group"] == "f" and first["gap"] < 0
    assert f"{first['id']} may stand in for it" in str(audit)
    by_a = model.audit(X, y, by="a", num_draws=500)
    assert by_a.rules["reads_column"].all() and "Rules that read a: " in str(by_a)
    series = model.audit(X, y, by=X["a"].rename("a"), num_draws=500)
    assert series.rules["reads_column"].all()
    assert not model.audit(X, y, by=X["a"].to_numpy(), num_draws=500).rules["reads_column"].any()


def test_an_audit_is_json_and_escaped_html_whatever_the_groups_are_called():
    X, y = rows(5, groups=("<script>alert(1)</script>", "'; DROP TABLE x; --", "ü" * 200))
    audit = make().audit(X, y, by="sex", num_draws=200)
    assert "<script>" not in audit._repr_html_() and "&lt;script&gt;" in audit._repr_html_()
    content = json.loads(audit.to_json(), parse_constant=pytest.fail)
    assert set(content) >= {"groups", "gaps", "rules", "by", "level", "rows", "basis"}
    assert content["rows"] == 300 and len(content["gaps"]) == 3 * len(FIGURES)
    assert "selection rate" in str(audit) and repr(audit) == str(audit)


def test_a_model_without_rules_and_a_single_group_can_be_audited():
    model = model_of_rules([], [], (0, 0, 0, 0, 0, 0, 3, 7), columns=["a"])
    X, y = rows(6)
    audit = model.audit(X, y, by=np.ones(len(X)), num_draws=200)
    assert not len(audit.gaps) and not len(audit.rules) and "No gap" in str(audit)
    json.loads(audit.to_json(), parse_constant=pytest.fail)
    assert audit._repr_html_()


@pytest.mark.parametrize(
    ("change", "message"),
    [(dict(by="sexx"), "Did you mean 'sex'"), (dict(level=1.0), "level"), (dict(level="x"), "level"),
     (dict(num_draws=3), "num_draws"), (dict(use_draws=True), "sample_posterior"),
     (dict(by=np.arange(3)), "inconsistent"), (dict(by=[f"v{i}" for i in range(300)]), "300 groups")],
)  # fmt: skip
def test_bad_requests_are_refused(change, message):
    X, y = rows(7)
    with pytest.raises(ValueError, match=message):
        make().audit(X, y, **{"by": "sex", **change})


@pytest.mark.filterwarnings("ignore::soar_jax.posterior.diagnosis.UntrustedPosteriorWarning")
def test_draws_widen_the_intervals_and_count_how_often_the_column_is_read():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(n_rounds=1, max_patterns=20, max_length=2).fit(X, y)
    post = model.sample_posterior(num_draws=100, num_chains=4, num_warmup=50, num_temperatures=4)
    fresh, labels = random_table(1, num_rows=200)
    with pytest.warns(UntrustedPosteriorWarning):
        audit = model.audit(fresh, labels, by="c0")
    alone = model.audit(fresh, labels, by="c0", use_draws=False)
    assert "posterior draws" in audit.basis and alone.basis == "rows" and alone.reading is None
    pools = model.pools_
    reads = np.zeros(400, bool)
    for side, name in enumerate(("positive", "negative")):
        mine = pools.loc[pools["side"] == name, "literals"].to_numpy()
        uses = np.array([any(column == "c0" for column, *_ in literals) for literals in mine])
        reads |= (post.draws.included[:, :, side, : len(mine)].reshape(400, -1) & uses).any(axis=1)
    assert audit.reading == pytest.approx(reads.mean())
    assert np.array_equal(audit.groups["value"], alone.groups["value"], equal_nan=True)

    def width(a):
        shares = a.gaps[a.gaps["figure"].str.startswith("share ")]
        return (shares["high"] - shares["low"]).mean()

    assert width(audit) > width(alone)
