import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax import InputError
from soar_jax.reasons import changes
from tests.reasons.models import brute_states, make_model, models_and_rows
from tests.reasons.test_explain import some_values

MANY = settings(max_examples=80, deadline=None)


def literals_by_column(model):
    found = {}
    for rules in (model.positive_rules_, model.negative_rules_):
        for rule in rules:
            for z in rule.conditions:
                found.setdefault(z.column, []).append(z)
    return found


def comparable(series):
    """A value as a number, by pandas alone: dates by their nanoseconds."""
    value = series.iloc[0]
    if isinstance(value, str) and value[:2] == "20" and "-" in value:
        return pd.Timestamp(value).value
    if isinstance(value, pd.Timestamp):
        return value.value
    return pd.to_numeric(pd.Series([value], dtype=object), errors="coerce").astype(float).iloc[0]


def candidates(model, row, fixed, directions):
    """Values that each column could be changed to, found without the code under test."""
    values = {}
    for column, literals in literals_by_column(model).items():
        tries = [] if column in fixed else some_values(literals)
        if column in directions:
            now = comparable(row[column])
            sign = 1 if directions[column] == "+" else -1
            tries = [v for v in tries if sign * (comparable(pd.Series([v], dtype=object)) - now) > 0]
        values[column] = tries
    return values


def all_ways(model, row, goal, values, size):
    """All changes of so many columns that reach the goal: (columns, values)."""
    ways = []
    for columns in itertools.combinations(values, size):
        filled = list(itertools.product(*(values[c] for c in columns)))
        if not filled:
            continue
        new = pd.concat([row.astype(object)] * len(filled), ignore_index=True)
        for k, column in enumerate(columns):
            new[column] = pd.Series([v[k] for v in filled], dtype=object)
        ways += [(columns, v) for v, state in zip(filled, brute_states(model, new), strict=True) if state == goal]
    return ways


def meets(change, value):
    series = pd.Series([value], dtype=object)
    return any(all(z.holds(series)[0] for z in one) for one in change.alternatives)


@MANY
@given(models_and_rows(num_rows=1, max_rules=3, num_columns=4), st.data())
def test_every_suggestion_works_and_none_smaller_exists(case, data):
    model, row = case
    read = literals_by_column(model)
    to = data.draw(st.sampled_from([0, 1]))
    fixed = data.draw(st.lists(st.sampled_from(list(row.columns)), max_size=1))
    ordered = [c for c in row.columns if any(z.op in ("<=", ">") for z in read.get(c, ()))]
    directions = data.draw(st.dictionaries(st.sampled_from(ordered), st.sampled_from("+-"))) if ordered else {}
    found = model.contrast(row, to=to, fixed=fixed, directions=directions)
    goal = "positive" if to else "negative"
    assert found.goal == goal and found.is_complete
    values = candidates(model, row, fixed, directions)
    smallest = next((k for k in range(len(values) + 1) if all_ways(model, row, goal, values, k)), None)
    if smallest is None:
        assert not len(found) and "No change leads" in str(found) and found.why
        return
    if smallest == 0:
        assert found.is_there and not len(found) and "Nothing has to change" in str(found)
        return
    assert found.num_changes == smallest and all(len(c.changes) == smallest for c in found)
    assert (brute_states(model, found.rows()) == goal).all() and (model.predict_state(found.rows()) == goal).all()
    for contrast in found:
        assert not {c.column for c in contrast.changes} & set(fixed)
        for change in contrast.changes:
            assert meets(change, change.example)
            if change.column in directions:
                sign = 1 if directions[change.column] == "+" else -1
                example = comparable(pd.Series([change.example], dtype=object))
                assert sign * (example - comparable(row[change.column])) > 0
    if found.num_more:
        return
    # the conditions hold of every way there is, and of nothing else
    listed = [{c.column: c for c in contrast.changes} for contrast in found]
    ways = {(columns, repr(v)) for columns, v in all_ways(model, row, goal, values, smallest)}
    for columns in itertools.combinations(values, smallest):
        for v in itertools.product(*(values[c] for c in columns)):
            fits = any(
                set(said) == set(columns) and all(meets(said[c], x) for c, x in zip(columns, v, strict=True))
                for said in listed
            )
            assert fits == ((columns, repr(v)) in ways)


@MANY
@given(models_and_rows(num_rows=1, max_rules=3, num_columns=3))
def test_one_class_models_reach_both_classes(case):
    two_sided, row = case
    rules = [rule.literals for rule in two_sided.positive_rules_]
    model = make_model(rules, columns=list(row.columns), estimator="BOAClassifier")
    for to, goal in ((1, "positive"), (0, "passive")):
        found = model.contrast(row, to=to)
        values = candidates(model, row, (), {})
        smallest = next((k for k in range(len(values) + 1) if all_ways(model, row, goal, values, k)), None)
        assert (smallest is None) == bool(found.why)
        assert found.num_changes == (smallest or 0) and (model.predict_state(found.rows()) == goal).all()


# -- words, examples, limits --------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return make_model(
        [[("age", ">", 30.0), ("job", "==", "cook")], [("age", ">", 60.5)]],
        [[("job", "!=", "cook"), ("smokes", "==", True)], [("weight", ">", 70.25), ("weight", "<=", 90.75)]],
        columns=["age", "job", "smokes", "weight", "unused"],
        classes=("well", "sick"),
    )


ROW = {"age": 20, "job": "clerk", "smokes": True, "weight": 80.5}


def changes_of(found):
    return [[(c.column, c.condition, c.example) for c in contrast.changes] for contrast in found]


def test_changes_read_as_conditions_with_the_nearest_example(model):
    found = model.contrast(ROW)
    assert found.label == "sick" and found.state == "negative" and found.num_changes == 3
    assert changes_of(found) == [
        [("age", "age > 30", 31), ("job", "job = cook", "cook"),
         ("weight", "weight <= 70.25 or weight > 90.75", 70.25)],
        [("age", "age > 60.5", 61), ("smokes", "smokes = False", False),
         ("weight", "weight <= 70.25 or weight > 90.75", 70.25)],
    ]  # fmt: skip
    said = str(found).splitlines()
    assert said[0] == "From negative to positive, which speaks for sick, by 3 changes made together:"
    assert said[1] == (
        "  1. age > 30, for instance 31 (now 20); job = cook (now clerk); "
        "weight <= 70.25 or weight > 90.75, for instance 70.25 (now 80.5). Then P1 fires."
    )


def test_frames_series_and_dictionaries_are_the_same_row(model):
    frame = pd.DataFrame([ROW], index=["me"])
    expected = model.contrast(ROW)
    for row in (frame, frame.iloc[0], {**ROW, "unused": None}):
        assert changes_of(model.contrast(row)) == changes_of(expected)
    assert list(model.contrast(frame).row.index) == ["me"]
    for wrong in (frame.iloc[:0], pd.concat([frame, frame])):
        with pytest.raises(InputError, match="takes one row"):
            model.contrast(wrong)
    with pytest.raises(InputError, match="Did you mean 'wieght'"):
        model.contrast({**{k: v for k, v in ROW.items() if k != "weight"}, "wieght": 1})


def test_directions_fixed_columns_and_limits_are_kept(model):
    up = model.contrast(ROW, directions={"weight": "+"}, fixed=["job"])
    assert changes_of(up) == [
        [("age", "age > 60.5", 61), ("smokes", "smokes = False", False), ("weight", "weight > 90.75", 90.76)]
    ]
    none = model.contrast(ROW, fixed=["weight"], directions={"age": "+"})
    assert not len(none) and str(none) == (
        "No change leads from negative to positive, which speaks for sick. With weight fixed and age only growing "
        "there is no way. Without that it takes 3 changes, for instance of age, job and weight."
    )
    few = model.contrast(ROW, max_changes=2)
    assert few.why == "It takes 3 changes, and max_changes allows 2."
    gone = model.contrast({**ROW, "weight": None}, directions={"weight": "+"})
    assert gone.num_changes == 2 and "weight" not in {c.column for x in gone for c in x.changes}


def test_no_way_is_said_in_words():
    shut = make_model([[("a", "==", "x")]], [[("a", "==", "x")]])
    assert "whatever fires a rule for 1 fires one for 0 too" in shut.contrast({"a": "y"}, to=1).why
    silent = make_model([], [[("a", "==", "x")]])
    assert silent.contrast({"a": "y"}, to=1).why.startswith("The model has no rule for 1")
    never_missing = make_model([[("a", "missing", None)]], columns=["a"])
    assert not len(never_missing.contrast({"a": 1}, to=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(fixed=["ago"]), "Did you mean 'age'"),
        (dict(fixed="wait"), "fixed names column 'wait'"),
        (dict(directions={"aeg": "+"}), "Did you mean 'age'"),
        (dict(directions={"age": "up"}), "may only grow"),
        (dict(directions={"job": "+"}), "levels without order"),
        (dict(directions=["age"]), "dictionary"),
        (dict(max_changes=0), "max_changes"),
        (dict(to="dead"), r"to='dead' is not one of the labels \['well', 'sick'\]"),
    ],
)
def test_mistakes_get_one_clear_error(model, options, message):
    with pytest.raises(InputError, match=message):
        model.contrast(ROW, **options)


def test_any_other_level_is_said_as_none_of_those_that_do_not_serve():
    model = make_model([[("n", ">", 0.0)]], [[("c", "==", "a")], [("c", "==", "b")]])
    (change,) = model.contrast({"n": 1.0, "c": "a"}, to=1)[0].changes
    assert change.condition == "c is none of a, b" and change.example not in ("a", "b")
    single = make_model([[("n", ">", 0.0)]], [[("c", "==", 2)]])
    assert changes_of(single.contrast({"n": 1.0, "c": "2.0"}, to=1))[0][0][1] == "c is not 2"
    filled = make_model([[("n", ">", 0.0)]], [[("c", "missing", None)]])
    assert changes_of(filled.contrast({"n": 1.0, "c": None}, to=1))[0][0][1] == "c is not missing"


def test_dates_change_to_the_nearest_day():
    model = make_model([[("day", ">", "2021-05-01"), ("day", "<=", "2021-06-01")]])
    for day, example in (("2021-04-01", "2021-05-02"), ("2022-01-01", "2021-06-01"), (None, "2021-05-02")):
        for dtype in (object, "datetime64[us]", "datetime64[us, Europe/Berlin]"):
            row = pd.DataFrame({"day": pd.Series([day]).astype(dtype)})
            found = model.contrast(row, to=1)
            assert changes_of(found) == [[("day", "2021-05-01 < day <= 2021-06-01", example)]]
            assert (model.predict_state(found.rows()) == "positive").all()


@pytest.mark.parametrize(
    ("low", "high", "now", "example"),
    [
        (0.35, None, 0.2, 0.36),
        (30.5, None, 12, 31),
        (30.0, None, 12.5, 30.1),
        (None, 30.5, 99, 30),
        (0.1, 0.2, 0, 0.2),
        (1.0, 1.5, 0, 1.1),
        (1e20, None, 0, float(np.nextafter(1e20, np.inf))),
    ],
)
def test_examples_are_written_like_the_columns_own_numbers(low, high, now, example):
    literals = [("n", ">", low)] * (low is not None) + [("n", "<=", high)] * (high is not None)
    (change,) = make_model([literals]).contrast({"n": now}, to=1)[0].changes
    assert change.example == example and type(change.example) in (int, float)


def test_many_equal_ways_are_counted_not_all_listed():
    names = [f"c{i}" for i in range(30)]
    found = make_model([[(name, "==", 1)] for name in names]).contrast(dict.fromkeys(names, 0), to=1)
    assert len(found) == 20 and found.num_more == 10 and "... and 10 more." in str(found)


def test_a_stopped_search_says_so(model, monkeypatch):
    monkeypatch.setattr(changes, "MAX_STEPS", 4)
    found = model.contrast(ROW)
    assert not found.is_complete and "stopped" in str(found)
    assert (model.predict_state(found.rows()) == "positive").all()


def test_contrasts_as_data_and_html(model):
    found = model.contrast(ROW)
    content = json.loads(found.to_json(), parse_constant=pytest.fail)
    assert (content["format"], content["format_version"]) == ("soar-jax contrasts", 1)
    assert content["contrasts"][0]["changes"][0]["alternatives"] == [[["age", ">", 30.0]]]
    assert list(found.to_frame()["rules"]) == ["P1", "P2"]
    hostile = make_model([[("<b>x</b>", "==", "<i>")]]).contrast({"<b>x</b>": 1}, to=1)
    assert "<b>" not in hostile._repr_html_() and "<i>" not in hostile._repr_html_()
