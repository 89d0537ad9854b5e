"""States and taxonomy on random tables with missing values, against an oracle that goes row by row."""

from collections import Counter

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from soar_jax import BOAClassifier, Rule, RuleSet, taxonomy_cross
from soar_jax.candidates.coverage import lay_out
from soar_jax.data.table import GroupedRows
from soar_jax.states import (
    STATES,
    TAXONOMY,
    counts_from_taxonomy,
    hits_and_misses,
    state_masks,
    states_of,
    taxonomy_counts,
    taxonomy_from_counts,
    taxonomy_labels,
)
from tests.control.models import model_of_rules

COLUMNS = {"c": ["a", "b", "z"], "d": ["no", "yes"], "x": [-1.5, 0.0, 2.0, 7.25]}
rows = st.lists(
    st.fixed_dictionaries({name: st.none() | st.sampled_from(values) for name, values in COLUMNS.items()}),
    min_size=1,
    max_size=12,
)
literals = st.one_of(
    st.tuples(st.just("c"), st.sampled_from(["==", "!="]), st.sampled_from(COLUMNS["c"])),
    st.tuples(st.just("d"), st.sampled_from(["==", "!="]), st.sampled_from(COLUMNS["d"])),
    st.tuples(st.just("x"), st.sampled_from(["<=", ">"]), st.sampled_from([-1.5, 0.0, 1.0, 7.25])),
    st.tuples(st.sampled_from(list(COLUMNS)), st.just("missing"), st.none()),
)
rule_sets = st.lists(st.lists(literals, min_size=1, max_size=3), max_size=3)


def is_true(literal, row):
    """What a literal says of one row; a missing value satisfies nothing but "is missing"."""
    column, op, value = literal
    cell = row[column]
    if op == "missing" or cell is None:
        return op == "missing" and cell is None
    return {"==": cell == value, "!=": cell != value}[op] if op in ("==", "!=") else (cell <= value) == (op == "<=")


def speaks(rules, row):
    return any(all(is_true(literal, row) for literal in rule) for rule in rules)


def case_of(positive, negative, row, label):
    """State and case of one row, from the words of the paper's Table 1."""
    plus, minus = speaks(positive, row), speaks(negative, row)
    if plus and minus:
        return "active", "AAP" if label else "AAN"
    if not plus and not minus:
        return "passive", "PAP" if label else "PAN"
    if plus:
        return "positive", "CTP" if label else "CFP"
    return "negative", "CFN" if label else "CTN"


@given(rows, rule_sets, rule_sets, st.data())
def test_states_and_cases_are_those_of_a_row_by_row_reading(rows, positive, negative, data):
    labels = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    weights = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows))))
    frame = pd.DataFrame(
        {
            name: pd.Series([row[name] for row in rows], dtype=float if name == "x" else object)
            for name in COLUMNS
        }
    )  # fmt: skip
    expected = [case_of(positive, negative, row, label) for row, label in zip(rows, labels, strict=True)]
    fired = [RuleSet(0, tuple(Rule.from_literals(rule) for rule in side)).fires(frame) for side in (positive, negative)]
    states = states_of(*fired)
    assert [STATES[state] for state in states] == [state for state, _ in expected]
    assert taxonomy_labels(states, labels).tolist() == [case for _, case in expected]
    counted = Counter(case for _, case in expected)
    found = taxonomy_counts(states, labels)
    assert list(found.index) == list(TAXONOMY) and found.to_dict() == {case: counted[case] for case in TAXONOMY}

    # the same from packed words, where rows have weights
    layout = lay_out(GroupedRows(np.arange(len(rows))[:, None], weights * labels, weights * ~labels))
    masks = state_masks(*layout.pack(np.array(fired)), layout.everything())
    positives, negatives = layout.counts(masks)
    weighted = Counter()
    for (_, case), weight in zip(expected, weights.tolist(), strict=True):
        weighted[case] += weight
    taxonomy = taxonomy_from_counts(positives, negatives)
    assert taxonomy.to_dict() == {case: weighted[case] for case in TAXONOMY}
    again = counts_from_taxonomy(taxonomy)
    assert np.array_equal(again[0], positives) and np.array_equal(again[1], negatives)
    hits, misses = hits_and_misses(positives, negatives)
    assert hits.tolist() == [weighted[case] for case in ("CTP", "CTN", "AAP", "PAN")]
    assert misses.tolist() == [weighted[case] for case in ("CFP", "CFN", "AAN", "PAP")]


def test_the_cross_table_counts_every_row_once_where_both_methods_put_it():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"c": rng.choice(COLUMNS["c"], 60), "d": rng.choice(COLUMNS["d"], 60)})
    y = rng.integers(0, 2, 60)
    positive, negative, alone = [[("c", "==", "a")]], [[("d", "==", "no")]], [[("d", "==", "yes")]]
    counts = [5, 5, 5, 5, 5, 5, 5, 5]
    soar = model_of_rules(positive, negative, counts, columns=["c", "d"])
    boa = model_of_rules(alone, [], counts, columns=["c", "d"], kind=BOAClassifier)
    expected = Counter()
    for row, label in zip(frame.to_dict(orient="records"), y, strict=True):
        fires = speaks(alone, row)
        name = ("TP" if label else "FP") if fires else ("FN" if label else "TN")
        expected[name, case_of(positive, negative, row, label)[1]] += 1
    table = taxonomy_cross(soar, boa, frame, y)
    assert list(table.index) == ["TP", "TN", "FN", "FP"] and table.to_numpy().sum() == 60
    assert all(table.loc[row, column] == expected[row, column] for row in table.index for column in table.columns)
