import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soar_jax import ErrorRatio, ExpectedRules, InputError, Opinion, Precision, RulePrior, SearchedRules
from soar_jax.candidates.pools import empty_pool
from soar_jax.candidates.searched import Searched, count_searched
from soar_jax.score.host import host_log_joint
from soar_jax.score.priors import from_bounds, from_opinions, resolve
from tests.oracles import log_rules

NOTHING = (empty_pool(1), empty_pool(1))


def searched(*by_length):
    """So many patterns of each length, without cuts."""
    longest = len(by_length)
    patterns = np.zeros((longest + 1, longest + 1), int)
    patterns[1:, 0] = by_length
    return Searched(patterns, patterns.astype(float))


SEARCHED = searched(10, 100, 800)
FLAT = from_opinions(Opinion(0.9), Opinion(0.5), 1000)


def test_opinion_is_a_rate_worth_some_rows():
    assert Opinion(0.95, share=0.05).resolve(1000) == (47.5, 2.5)
    assert Opinion(0.9, rows=10).resolve(10**6) == (9.0, 1.0)
    assert str(Opinion(0.9, rows=10)) == "rate 0.9, worth 10 rows"


@pytest.mark.parametrize("bad", [dict(rate=0), dict(rate=1), dict(rate=0.5, rows=-1), dict(rate=0.5, rows=1, share=1)])
def test_bad_opinions_are_refused(bad):
    with pytest.raises(InputError, match="Opinion"):
        Opinion(**bad)


@pytest.mark.parametrize("bad", [0, 1, -0.1, 2, "half"])
def test_bad_bounds_are_refused(bad):
    for kind in (ErrorRatio, Precision):
        with pytest.raises(InputError, match=kind.__name__):
            kind(bad)
    with pytest.raises(InputError, match="Precision"):
        Precision(0.4)


def test_error_ratio_says_how_often_a_side_may_be_wrong():
    """A base rate of 0.3: guessing positive errs on 0.7, negative on 0.3; half of that is allowed."""
    states = from_bounds(ErrorRatio(0.5), ErrorRatio(0.5), 0.3)
    assert states.low == pytest.approx([0.65, 0.85, 0.15, 0.35])
    assert states.high == pytest.approx([1, 1, 0.65, 0.85])
    assert from_bounds(ErrorRatio(0.2), ErrorRatio(0.5), 0.3).low[:2] == pytest.approx([0.86, 0.85])


@given(st.floats(0.001, 0.999), st.floats(0.01, 0.99), st.floats(0.51, 0.99))
def test_the_base_rate_always_lies_between_the_bounds(base_rate, ratio, precision):
    for bound in (ErrorRatio(ratio), Precision(precision)):
        low, high = bound.bounds(base_rate)
        assert 0 < low < base_rate < high < 1
    low, high = Precision(precision).bounds(base_rate)
    assert high >= precision and low <= 1 - precision


def test_precision_moves_a_bound_only_where_it_would_exclude_the_base_rate():
    assert Precision(0.7).bounds(0.5) == pytest.approx((0.3, 0.7))
    assert Precision(0.7).bounds(0.1) == pytest.approx((0.05, 0.7))
    assert Precision(0.7).bounds(0.8) == pytest.approx((0.3, 0.9))


def test_searched_rules_cost_the_logarithm_of_what_was_searched():
    hyper = resolve(FLAT, SearchedRules(3, doubt=1), SEARCHED, NOTHING)
    assert hyper.searched.tolist() == [[10, 100, 800]] * 2 and hyper.rule_beta.tolist() == [[30, 300, 2400]] * 2
    assert hyper.expected_rules() == pytest.approx([1, 1], abs=0.05)
    assert hyper.names(0) == ["1 literal", "2 literals", "3 literals"]


def test_doubt_makes_no_rules_more_probable_and_leaves_odds_of_rules_alone():
    """The prior of two sides with one kind of two patterns each, listed by hand."""
    found = count_searched(np.array([1, 1]), np.zeros(2, int), np.ones(2), 1)
    plain, doubted = (resolve(FLAT, SearchedRules(3, doubt=d), found, NOTHING) for d in (1, 8))
    # Beta(1, 6): none, one (two ways) or two of two patterns
    sizes, ways = np.array([0, 1, 2]), np.array([1, 2, 1])
    of_side = ways * np.exp(log_rules(sizes, 2, 1, 6))
    assert of_side.sum() == pytest.approx(1)
    none = of_side[0] ** 2
    assert plain.log_constant == pytest.approx(0, abs=1e-12)
    assert np.exp(doubted.log_constant) == pytest.approx(1 - none + 8 * none)
    assert doubted.expected_rules() == pytest.approx(of_side @ sizes / (1 - none + 8 * none))
    assert doubted.as_dict()["doubt"] == pytest.approx(8)
    counts = np.zeros(4, np.int64)

    def change(sizes):
        value = [host_log_joint(counts, counts, np.array(sizes), hyper) for hyper in (doubted, plain)]
        return value[0] - value[1]

    assert change([[0], [0]]) == pytest.approx(np.log(8))
    assert change([[1], [0]]) == change([[0], [2]]) == pytest.approx(0)


def test_the_larger_doubt_of_two_sides_holds_and_the_papers_priors_have_none():
    assert resolve(FLAT, (SearchedRules(5, doubt=4), SearchedRules(5, doubt=9)), SEARCHED, NOTHING).log_doubt == (
        pytest.approx(np.log(9))
    )
    assert resolve(FLAT, RulePrior(1, 100), SEARCHED, NOTHING).log_doubt == 0
    for doubt in (0.5, float("nan"), float("inf")):
        with pytest.raises(InputError, match="doubt must be a number of at least 1"):
            SearchedRules(doubt=doubt)


def test_cuts_placed_by_the_labels_count_for_their_positions():
    """Two literals with a cut and one without; a pattern of two cuts stands for 16 * 16 patterns."""
    length, num_cuts = np.array([1, 1, 1, 2, 2]), np.array([1, 1, 0, 2, 1])
    choices = np.array([16.0, 16, 1, 256, 16])
    found = count_searched(length, num_cuts, choices, 2)
    assert found.total == 5 and found.longest == 2
    hyper = resolve(FLAT, SearchedRules(1), found, NOTHING)
    assert hyper.names(1) == ["1 literal", "1 literal, 1 cut", "2 literals, 1 cut", "2 literals, 2 cuts"]
    assert hyper.searched[0].tolist() == [1, 32, 16, 256]
    assert hyper.kinds_of(0, length, num_cuts).tolist() == [1, 1, 0, 3, 2]
    plain = resolve(FLAT, RulePrior(1, 100), found, NOTHING)  # the paper's prior knows lengths only
    assert plain.searched[0].tolist() == [3, 2] and plain.kinds_of(0, length, num_cuts).tolist() == [0, 0, 0, 1, 1]


def test_expected_rules_have_the_wanted_number_and_length():
    hyper = resolve(FLAT, ExpectedRules(rules=6, length=2.2), SEARCHED, NOTHING)
    assert hyper.expected_rules() == pytest.approx([6, 6], rel=1e-3)
    expected = hyper.searched * hyper.rule_alpha / (hyper.rule_alpha + hyper.rule_beta)
    assert expected @ [1, 2, 3] / expected.sum(axis=1) == pytest.approx([2.2, 2.2], rel=1e-3)


def test_each_side_may_have_its_own_prior():
    states = from_opinions((Opinion(0.9, rows=10), Opinion(0.8, rows=10)), Opinion(0.5, rows=4), 50)
    hyper = resolve(states, (RulePrior(1, 9), RulePrior((1, 2, 3), 5)), SEARCHED, NOTHING)
    assert hyper.alpha.tolist() == [9, 8, 2, 2] and not hyper.is_bounded
    assert hyper.rule_alpha.tolist() == [[1, 1, 1], [1, 2, 3]]


@pytest.mark.parametrize(("consensus", "ambiguous"), [(0.9, Opinion(0.5)), (Opinion(0.9), (Opinion(0.5), 0.5))])
def test_wrong_kinds_of_opinion_are_refused_by_name(consensus, ambiguous):
    with pytest.raises(InputError, match="consensus" if consensus == 0.9 else "ambiguous"):
        from_opinions(consensus, ambiguous, 100)


def test_wrong_kinds_of_rule_prior_are_refused_by_name():
    with pytest.raises(InputError, match="rule_prior"):
        resolve(FLAT, (RulePrior(),), SEARCHED, NOTHING)


def test_too_few_lengths_are_refused():
    with pytest.raises(InputError, match="2 values"):
        RulePrior((1.0, 2.0), 1.0).resolve(SEARCHED)
