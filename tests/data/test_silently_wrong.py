"""Tables that once changed predictions, or lost a column, without a word."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from soar_jax import (
    DataWarning,
    IdentifierWarning,
    InputError,
    LeakWarning,
    SOARClassifier,
    UnreadableValuesWarning,
    UnseenLevelsWarning,
)
from soar_jax.data.cells import numbers_like
from soar_jax.data.cuts import cut_points
from soar_jax.data.learn import learn_contract
from soar_jax.data.suspects import find_suspects
from soar_jax.data.table import as_frame

QUICK = dict(n_rounds=1, max_length=2)
NUM = 300


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(5)


def learn(values, **options):
    return learn_contract(pd.DataFrame({"a": values}), None, has_names=True, **options)[1].columns[0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda x, i: "hemolyzed" if i < 30 else f"{x:.3f}",
        lambda x, i: f"{x:.3f}".replace(".", ","),
        lambda x, i: f"{x:.1f} mg",
        lambda x, i: f"<{x:.1f}",
        lambda x, i: f"{x:.1f}%",
        lambda x, i: f"1,{100 + i}",
        lambda x, i: f"\u2212{x:.2f}",
    ],
)
def test_text_that_looks_like_numbers_is_said_to_be_read_as_text(spoil, rng):
    values = [spoil(abs(x) + 0.1, i) for i, x in enumerate(rng.normal(size=NUM))]
    with pytest.warns(UnreadableValuesWarning, match="the column is read as text"):
        assert learn(values).kind == "category"


@pytest.mark.filterwarnings("error")
def test_levels_names_and_codes_are_not_taken_for_spoilt_numbers():
    assert learn(["2", "3", "4", "5more"] * 50).kind == "category"
    assert learn([f"P{i}" for i in range(NUM)]).kind == "category"
    assert learn([f"{i % 40:03d}" for i in range(NUM)]).kind == "category"
    assert learn([str(12345 + i % 30) for i in range(NUM)]).kind == "category"  # somebody made it text


def test_numbers_with_a_comma_or_a_unit_are_counted_apart():
    cells = pd.Series(["148.0", "148,0", "1 000", "12 mg", "<0.5", "5.1%", "Berlin", "P100", None, "12,34,5"])
    assert numbers_like(cells)[:] == (1, 5, 9)


def test_a_column_with_decimal_commas_does_not_name_rows(rng):
    frame = pd.DataFrame({"a": [f"{x:.5f}".replace(".", ",") for x in rng.normal(size=NUM)]})
    with pytest.warns(UnreadableValuesWarning):
        frame, contract = learn_contract(frame, None, has_names=True)
    assert not find_suspects(frame, contract, rng.random(NUM) < 0.5)


def test_names_of_rows_with_a_few_gaps_and_repeats_are_still_names(rng):
    names = [f"P{i}" for i in range(NUM)]
    names[7] = names[8]
    names[9] = None
    frame, contract = learn_contract(pd.DataFrame({"a": names}), None, has_names=True)
    with pytest.warns(IdentifierWarning):
        assert find_suspects(frame, contract, rng.random(NUM) < 0.5)


def test_a_column_that_tells_the_label_between_two_cuts_or_by_being_there_leaks(rng):
    between = rng.uniform(0, 10, NUM)
    is_true = (between > 5) & (between < 7)
    there = pd.Series(np.where(is_true, "given", None), dtype=object)
    frame, contract = learn_contract(pd.DataFrame({"a": between, "b": there}), None, has_names=True)
    with pytest.warns(LeakWarning, match="'a', 'b'|a, b"):
        assert set(find_suspects(frame, contract, is_true)) == {"a", "b"}


def test_codes_that_come_back_as_numbers_are_warned_about(rng):
    code = rng.choice(["007", "012"], NUM)
    y = (code == "007") ^ (rng.random(NUM) < 0.05)
    model = SOARClassifier(**QUICK).fit(pd.DataFrame({"code": code}), y)
    with pytest.warns(UnseenLevelsWarning, match="300 of 300 values of .*code"):
        model.predict(pd.DataFrame({"code": [int(c) for c in code]}))


def test_truth_values_and_complex_numbers_are_refused_where_numbers_were_learnt(rng):
    value = rng.integers(0, 200, NUM)
    model = SOARClassifier(**QUICK).fit(pd.DataFrame({"a": value}), value > 100)
    with pytest.raises(InputError, match="truth values"):
        model.predict(pd.DataFrame({"a": value > 130}))
    with pytest.raises(InputError, match="complex"):
        model.predict(pd.DataFrame({"a": value + 1j}))


def test_a_batch_of_arrow_is_read_by_its_names(rng):
    frame = pd.DataFrame({"a": rng.normal(size=NUM), "b": rng.normal(size=NUM)})
    batch = pa.RecordBatch.from_pandas(frame[["b", "a"]])
    assert as_frame(batch).equals(frame[["b", "a"]])
    model = SOARClassifier(**QUICK).fit(frame, frame["a"] > 0)
    assert np.array_equal(model.predict(batch), model.predict(frame))


@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_the_order_of_levels_survives_in_arrow():
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame({"o": pd.Categorical(["high", "low", "mid", None], categories=levels, ordered=True)})
    again = as_frame(pa.Table.from_pandas(frame))["o"]
    assert again.dtype.ordered and list(again.dtype.categories) == levels
    plain = as_frame(pa.Table.from_pandas(frame.astype(pd.CategoricalDtype(levels))))["o"]
    assert not plain.dtype.ordered


@pytest.mark.parametrize("steps", [3, 39])
def test_cuts_learnt_in_single_precision_hold_for_the_values_as_they_are_written(steps, rng):
    """0.3 in single precision is above 0.3, and a rule "v <= 0.3" would part a table from its own CSV."""
    grid = np.round(np.arange(1, steps + 1) / 10, 1)
    values = grid[rng.integers(0, steps, 2000)]
    single = values.astype(np.float32)
    distinct = np.unique(single.astype(np.float64))
    counts = [np.bincount(np.searchsorted(distinct, single), values > limit) for limit in (0.15, 0.25)]
    for positives in counts:
        negatives = np.bincount(np.searchsorted(distinct, single)) - positives
        for cut in cut_points(distinct, positives, negatives, max_bins=8, method="supervised"):
            assert np.array_equal(values <= cut, single <= cut)


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float64"])
def test_two_fractions_in_single_precision_are_parted_by_a_cut_and_no_levels(dtype, rng):
    """As a level 0.2 would be called 0.20000000298, which no other spelling of the table has."""
    values = rng.choice([0.1, 0.2], NUM)
    assert learn(pd.array(values, dtype=dtype)).kind == ("category" if dtype == "float64" else "number")
    model = SOARClassifier(**QUICK).fit(pd.DataFrame({"v": pd.array(values, dtype=dtype)}), values > 0.15)
    states = model.predict_state(pd.DataFrame({"v": values}))
    for other in (values.astype(str), values.astype(np.float32) if dtype != "float64" else values):
        assert np.array_equal(model.predict_state(pd.DataFrame({"v": other})), states)
    assert set(states) == {"positive", "negative"}
    assert learn(np.array([0, 1] * 50, dtype=np.float32)).kind == "category"


@pytest.mark.parametrize(
    "wrong", [[{"a": "secret"}], {"a": ["secret"]}, np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])]
)
def test_records_are_refused_without_printing_one(wrong):
    with pytest.raises(InputError) as caught:
        as_frame(wrong)
    assert "secret" not in str(caught.value) and "pandas.DataFrame" in str(caught.value)


def test_every_warning_of_data_is_one_kind():
    assert issubclass(UnseenLevelsWarning, DataWarning)
