import numpy as np
import pandas as pd
import pytest

from soar_jax import Literal, Rule, RuleSet
from soar_jax.rules import firing, rule_ids


def test_two_bounds_print_as_one_interval():
    rule = Rule.from_literals([("age", ">", 30.0), ("sex", "==", "F"), ("age", "<=", 49.5)])
    assert str(rule) == "30 < age <= 49.5 and sex = F"
    assert len(rule) == 3 and rule.columns == ("age", "sex")


def test_rule_set_prints_as_a_sentence():
    rules = RuleSet("yes", (Rule.from_literals([("a b", "==", 1)]), Rule.from_literals([("c", "missing", None)])))
    assert str(rules) == "  if a b = 1\n  or if c is missing\n  then yes"
    assert "(no rules for no)" in str(RuleSet("no", ()))


def test_rules_fire_on_raw_values_and_missing_never_does():
    frame = pd.DataFrame({"n": [1.0, 5.0, np.nan], "t": ["x", None, "x"]})
    assert Rule.from_literals([("n", ">", 2)]).fires(frame).tolist() == [False, True, False]
    assert Rule.from_literals([("t", "!=", "y")]).fires(frame).tolist() == [True, False, True]
    assert Rule.from_literals([("t", "missing", None)]).fires(frame).tolist() == [False, True, False]


def test_longest_firing_rule_is_found():
    rules = RuleSet(1, tuple(Rule.from_literals(r) for r in ([("a", "==", 1)], [("a", "==", 1), ("b", "==", 1)])))
    frame = pd.DataFrame({"a": [1, 1, 0], "b": [1, 0, 1]})
    assert rules.longest_firing(frame).tolist() == [2, 1, 0]


def test_bad_operator_is_refused():
    with pytest.raises(ValueError, match="op one of"):
        Rule.from_literals([("a", "<", 1)])


def test_rules_are_numbered_by_side_and_fire_in_that_order():
    young, old = Rule((Literal("age", "<=", 30.0),)), Rule((Literal("age", ">", 30.0),))
    sets = RuleSet(1, (young,)), RuleSet(0, (old, young))
    assert rule_ids(sets) == ("P1", "N1", "N2")
    fired = firing(sets, pd.DataFrame({"age": [20.0, 40.0, np.nan]}))
    assert fired.tolist() == [[True, False, True], [False, True, False], [False, False, False]]
    assert firing((RuleSet(1, ()), RuleSet(0, ())), pd.DataFrame({"age": [1.0]})).shape == (1, 0)
