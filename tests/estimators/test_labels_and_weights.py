"""Labels come back as they were given; weights with fractions are counted in a way that is written down."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier

from soar_jax import InputError, SOARClassifier
from soar_jax.data.labels import counted_weights, is_positive, label_array, plain_labels, whole_weights

QUICK = dict(n_rounds=1, max_patterns=40, n_iter=50, n_restarts=1)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pd.Series([True, False, True], dtype="boolean"), [True, False, True]),
        (pd.Series([1, 0, 1], dtype="Int64"), [1, 0, 1]),
        (pd.Series([1, 0, 1], dtype="Int8"), [1, 0, 1]),
        (pd.Series(["a", "b", "a"], dtype="string"), ["a", "b", "a"]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b", "a"]),
        (pd.array([True, False, True], dtype="boolean"), [True, False, True]),
        ([1, 0, 1], [1, 0, 1]),
    ],
)
def test_nullable_labels_keep_their_type(labels, expected):
    found = plain_labels(labels)
    assert found.tolist() == expected and [type(v) for v in found.tolist()] == [type(v) for v in expected]


def test_labels_of_other_libraries_are_taken():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for labels in (pl.Series([True, False]), pa.chunked_array([[True, False]])):
        assert label_array(labels).tolist() == [True, False]


def test_missing_and_unknown_labels_are_refused_without_showing_them():
    assert pd.isna(plain_labels(pd.Series([True, None], dtype="boolean"))).any()
    with pytest.raises(InputError, match="missing labels"):
        is_positive(pd.Series([1, None], dtype="Int64"), 2, np.array([0, 1]), 1)
    with pytest.raises(InputError, match="1 labels the model does not know; it knows 0 and 1") as caught:
        is_positive(np.array(["Mr Miller", 1], dtype=object), 2, np.array([0, 1]), 1)
    assert "Miller" not in str(caught.value)


def test_a_fit_prints_and_returns_nullable_labels_as_they_were_given(make_table):
    X, y = make_table(0, num_rows=300)
    for labels, said in ((pd.Series(y, dtype="boolean"), "then True"), (pd.Series(y * 1, dtype="Int64"), "then 1")):
        model = SOARClassifier(**QUICK).fit(X, labels)
        assert f"{said}\n" in model.describe() and model.predict(X).dtype == np.asarray(labels.tolist()).dtype
        assert model.taxonomy(X, labels).equals(model.training_taxonomy_)


WEIGHTS = st.lists(st.floats(0, 9, allow_subnormal=False), min_size=4, max_size=40).filter(lambda w: sum(w) > 1)


@given(weights=WEIGHTS, seed=st.integers(0, 99))
def test_fractional_weights_keep_every_running_sum_to_within_a_row(weights, seed):
    labels = np.random.default_rng(seed).integers(0, 2, len(weights))
    counted = counted_weights(weights, None, labels)
    weights = np.array(weights)
    if np.array_equal(weights, np.round(weights)):
        assert np.array_equal(counted, weights)
        return
    scaled = weights * np.count_nonzero(weights) / weights.sum()
    assert (np.abs(counted - scaled) <= 1 + 1e-9).all() and (counted[weights == 0] == 0).all()
    for label in (0, 1):
        mine = labels == label
        if scaled[mine].sum() < 0.5:  # too little for a row: one is kept
            assert counted[mine].sum() == (scaled[mine].sum() > 0)
            continue
        assert (np.abs(np.cumsum(counted[mine]) - np.cumsum(scaled[mine])) <= 0.5 + 1e-9).all()
    assert abs(counted.sum() - np.count_nonzero(weights)) <= 2


@given(num=st.integers(2, 3000), scale=st.floats(1e-9, 1e9))
def test_equal_weights_of_any_size_are_no_weights(num, scale):
    scale = scale + 0.5 if float(scale).is_integer() else scale
    assert (counted_weights(np.full(num, scale), None, np.arange(num) % 2) == 1).all()


def test_class_weights_with_fractions_are_relative():
    labels = np.array([0] * 70 + [1] * 30)
    counted = counted_weights(None, {1: 2.5}, labels)
    assert (counted[:70].sum(), counted[70:].sum()) == (48, 52)  # 70 and 75, of 145, in 100 rows
    halves = counted_weights(None, {0: 0.5, 1: 1.5}, labels)
    assert (halves[:70].sum(), halves[70:].sum()) == (44, 56)  # 35 and 45, of 80, in 100 rows: not three rows for one
    assert counted_weights(None, {1: 0.001}, labels).sum() <= 101
    assert counted_weights(None, "balanced", labels).tolist() == [1] * 70 + [2] * 30


def test_weights_beyond_what_can_be_counted_are_refused_and_not_wrapped_round():
    """Sixteen rows of 2**60 once gave a negative count, and 2**62 made rows vanish."""
    labels = np.arange(100) % 2
    for huge in (2.0**60, 2.0**62, 1e300):
        weights = np.ones(100)
        weights[:16] = huge
        with pytest.raises(InputError, match="can be counted exactly"):
            counted_weights(weights, None, labels)
    with pytest.raises(InputError, match="can be counted exactly"):
        counted_weights(None, {1: 10**18}, labels)
    assert counted_weights(np.where(labels == 1, 1e308, 0.5), None, labels).sum() <= 102
    with pytest.raises(InputError, match="too large a number"):
        counted_weights(np.full(100, 1e300), {1: 1e20}, labels)


def test_a_class_of_little_weight_keeps_a_row():
    labels = np.arange(100) % 2
    weights = np.where(labels == 1, 1e-6, 1e6 + 0.5)
    weights[7] *= 2
    counted = counted_weights(weights, None, labels)
    assert counted[labels == 1].sum() == 1 and counted[7] == 1 and counted[labels == 0].sum() == 100


def test_labels_and_weights_of_odd_shapes_are_refused_in_one_line():
    assert label_array(pd.Series([2**64 - 1, 2**64 - 5], dtype="UInt64")).tolist() == [2**64 - 1, 2**64 - 5]
    with pytest.raises(InputError, match="2 columns"):
        label_array(pd.DataFrame([[0, 1]], columns=["y", "y"]))
    with pytest.raises(InputError, match="one number per row"):
        counted_weights(2.0, None, np.array([0, 1]))


def test_where_rows_are_counted_weights_must_be_whole():
    with pytest.raises(InputError, match="whole numbers"):
        whole_weights([0.5, 1.5], 2)


def test_boosting_and_bagging_are_clients(make_table):
    X, y = make_table(0, num_rows=200)
    X = X[["n"]].fillna(0.0).assign(m=np.random.default_rng(0).integers(0, 5, 200)).to_numpy()
    boosted = AdaBoostClassifier(SOARClassifier(**QUICK), n_estimators=2, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.6
    assert boosted.estimators_[0].score_ == SOARClassifier(**QUICK, random_state=0).fit(X, y).score_
    bagged = BaggingClassifier(SOARClassifier(**QUICK), n_estimators=2, random_state=0).fit(X, y)
    assert bagged.score(X, y) > 0.6
