import numpy as np
import pytest

from soar_jax import ExpectedRules, InputError, Opinion, RulePrior
from soar_jax.score.priors import resolve

SIZES = np.array([[10, 100, 800], [12, 90, 700]])


def test_opinion_is_a_rate_worth_some_rows():
    assert Opinion(0.95, share=0.05).resolve(1000) == (47.5, 2.5)
    assert Opinion(0.9, rows=10).resolve(10**6) == (9.0, 1.0)
    assert str(Opinion(0.9, rows=10)) == "rate 0.9, worth 10 rows"


@pytest.mark.parametrize("bad", [dict(rate=0), dict(rate=1), dict(rate=0.5, rows=-1), dict(rate=0.5, rows=1, share=1)])
def test_bad_opinions_are_refused(bad):
    with pytest.raises(InputError, match="Opinion"):
        Opinion(**bad)


def test_expected_rules_have_the_wanted_number_and_length():
    hyper = resolve(Opinion(0.9), Opinion(0.5), ExpectedRules(rules=6, length=2.2), 1000, SIZES)
    assert hyper.expected_rules() == pytest.approx([6, 6], rel=1e-3)
    assert hyper.expected_length() == pytest.approx([2.2, 2.2], rel=1e-3)


def test_each_side_may_have_its_own_prior():
    hyper = resolve(
        (Opinion(0.9, rows=10), Opinion(0.8, rows=10)),
        Opinion(0.5, rows=4),
        (RulePrior(1, 9), RulePrior((1, 2, 3), 5)),
        50,
        SIZES,
    )
    assert hyper.alpha.tolist() == [9, 8, 2, 2]
    assert hyper.rule_alpha.tolist() == [[1, 1, 1], [1, 2, 3]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("consensus", 0.9), ("rule_prior", (RulePrior(),)), ("ambiguous", (Opinion(0.5), 0.5))],
)
def test_wrong_kinds_are_refused_by_name(name, value):
    given = {"consensus": Opinion(0.9), "ambiguous": Opinion(0.5), "rule_prior": RulePrior(), name: value}
    with pytest.raises(InputError, match=name):
        resolve(given["consensus"], given["ambiguous"], given["rule_prior"], 100, SIZES)


def test_too_few_lengths_are_refused():
    with pytest.raises(InputError, match="2 values"):
        RulePrior((1.0, 2.0), 1.0).resolve(SIZES[0])
