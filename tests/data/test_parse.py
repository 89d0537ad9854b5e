"""Rules as text: what is printed is read back, whatever the names and levels are."""

import json
from datetime import datetime

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from soar_jax import InputError, Literal, Rule
from soar_jax.data.columns import level_text
from soar_jax.data.literals import OPERATORS

SIGNS = ["=", "==", "!=", "<", "<=", ">", ">=", '"', "'", "\\", "-"]
WORDS = ["and", "is", "not", "missing", "is not", "is missing", "a", "AND", "True", "nan", "inf", "é", ""]
WORDS += [*SIGNS, "7", "007", "2.0", "1e+20", "\n", "\t", "\u00a0", "\u2028"]
hostile = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=5).flatmap(
    lambda words: st.sampled_from([" ".join(words), "".join(words), f" {' '.join(words)} "])
)
names = st.sampled_from(["age", "a b", "sex"]) | hostile
levels = (
    hostile
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False)
    | st.integers(-5, 5).map(float)
    | st.sampled_from(["2", "2.0", "+2.00", "-0", "1e5", "true", "FALSE", "1_000", "\uff12", "nan"])
)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(datetime.isoformat) | st.sampled_from(
    ["2020-01-01", "20200101", "2020-01-01 10:00:00", "2020-W05"]
)
cuts = st.floats(allow_nan=False) | st.integers(-(10**20), 10**20) | st.booleans() | moments
literals = st.one_of(
    st.builds(Literal, names, st.sampled_from(["==", "!="]), levels),
    st.builds(Literal, names, st.sampled_from(["<=", ">"]), cuts),
    st.builds(Literal, names, st.just("missing")),
)
rules = st.lists(literals, min_size=1, max_size=5).map(tuple).map(Rule)


@settings(max_examples=600, deadline=None)
@given(rules)
@example(Rule((Literal("a and b", "==", "x and y"), Literal("a = 1", ">", 2), Literal("", "==", ""))))
@example(Rule((Literal("x is missing", "missing"), Literal("is", "!=", "not"), Literal("x is", "missing"))))
@example(Rule((Literal("d", ">", "20200101"), Literal("d", "<=", "2021-01-01"))))
@example(Rule((Literal("c", "==", "1e+20"), Literal("c", "!=", 1e20), Literal("d", "==", "<100"))))
def test_what_is_printed_is_read_back(rule):
    text = str(rule)
    assert text.isprintable() and Rule.parse(text) == rule
    assert hash(Rule.parse(text)) == hash(rule) and str(Rule.parse(text)) == text
    assert Rule.parse(text, columns=rule.columns) == rule


@settings(max_examples=300, deadline=None)
@given(literals, st.lists(hostile | st.integers(-3, 3) | st.sampled_from(["2", "2.0", "True"]), min_size=1, max_size=5))
def test_a_literal_that_was_read_back_holds_on_the_same_rows(literal, cells):
    frame = pd.DataFrame({literal.column: pd.Series([*cells, literal.value, None], dtype=object)})
    read = Rule.parse(str(literal)).conditions
    assert len(read) == 1 and (read[0].holds(frame[literal.column]) == literal.holds(frame[literal.column])).all()


@settings(max_examples=300, deadline=None)
@given(hostile)
def test_any_text_is_read_or_refused_with_a_sentence(text):
    try:
        rule = Rule.parse(text)
    except InputError as error:
        assert "character" in str(error) and "An example" in str(error)
    else:
        assert all(op in OPERATORS for _, op, _ in rule.literals)


def test_ordinary_names_and_levels_stand_as_they_are():
    for text in [
        "age > 30 and sex = F",
        "30 < age <= 49.5 and sex = F",
        "a b = 1 and c is missing",
        "savings_status = <100 and purpose is not used car",
        "What is your name = x (y), z & w",
        "zip = 007 and flag = True",
        "-3 < x <= 1e+20",
        "2020-01-01 < when <= 2021-06-30T12:00:00",
    ]:
        assert str(Rule.parse(text)) == text


def test_values_get_the_type_they_look_like():
    rule = Rule.parse(
        'a = 2 and b = 2.5 and c = True and d = "2" and e = 007 and f = 2.0 and g > 3 and h <= 2020-01-01'
    )
    values = [value for _, _, value in rule.literals]
    assert values == [2, 2.5, True, "2", "007", "2.0", 3.0, "2020-01-01"]
    assert [type(value) for value in values] == [int, float, bool, str, str, str, float, str]


def test_spellings_of_one_value_are_one_literal():
    for one, other in [(2, "2"), (2, 2.0), ("2.0", 2), (True, 1), ("true", True)]:
        assert level_text(one) == level_text(other)
        assert Literal("a", "==", one) == Literal("a", "==", other)
        assert len({Literal("a", "!=", one), Literal("a", "!=", other)}) == 1
    assert Literal("a", ">", 30) == Literal("a", ">", 30.0) != Literal("a", "<=", 30)
    assert Literal("d", ">", "2020-01-01") == Literal("d", ">", "2020-01-01T00:00:00")
    assert Literal("a", "==", 1) != Literal("b", "==", 1) and Literal("a", "==", 1) != ("a", "==", 1)
    assert Rule.parse("a = 1 and b = 2") == Rule.parse("b = 2 and a = 1") != Rule.parse("a = 1")


def test_hand_written_rules_may_be_tight_and_use_other_signs():
    assert Rule.parse("age>30 AND sex==F") == Rule.parse("age > 30 and sex = F")
    assert Rule.parse("30<age<=50") == Rule.parse("  30 < age  <=  50 ")
    assert Rule.parse("sex != F") == Rule.parse("sex is not F")
    assert Rule.parse('"age" > 30') == Rule.parse("age > 30.0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a condition is wanted at character 1"),
        ("age", "after a column's name at character 4"),
        ("age >", "a number or date is wanted at character 6"),
        ("age >= 30", "rules know > and <= but not >= at character 5"),
        ("age < 30", '"<" stands only in intervals such as 30 < age <= 50 at character 4'),
        ("age > old", "'old' is neither a number nor a date such as 2024-12-31 at character 7"),
        ("sex = F and", "a condition is wanted at character 12"),
        ('"sex = F', "a quoted condition does not end as it should"),
        ('sex = F "x"', "a level with a double quote in it must stand in quotes as a whole at character 7"),
        ('sex = "F" or', '"and" or the end is wanted at character 11'),
        ('"sex" F', "one of =, <=, >, is not, is missing is wanted at character 6"),
    ],
)
def test_what_cannot_be_read_is_refused_where_it_stands(text, message):
    with pytest.raises(InputError) as caught:
        Rule.parse(text)
    assert message in str(caught.value) and "An example: 30 < age <= 50 and sex = F" in str(caught.value)


def test_unknown_columns_are_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"reads column 'agee'\. Did you mean 'age'\?"):
        Rule.parse("agee > 30", columns=["age", "sex"])
    with pytest.raises(InputError, match="There is: age, sex"):
        Rule.parse("income > 30", columns=["age", "sex"])
    with pytest.raises(InputError, match="read from text such as"):
        Rule.parse(3)


def test_literals_of_json_are_read_as_they_were():
    rule = Rule((Literal("a", "==", 2), Literal("b", ">", 1.5)))
    assert Rule.from_literals(json.loads(json.dumps(rule.literals))) == rule


def test_quoted_names_may_hold_line_breaks_and_tabs_as_they_are():
    (condition,) = Rule.parse('"a\tb\nc" = "x\ty"').conditions
    assert (condition.column, condition.value) == ("a\tb\nc", "x\ty")
