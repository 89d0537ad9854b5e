import itertools

import numpy as np
import pandas as pd

from soar_jax import datasets


def test_car_has_the_papers_counts():
    X, y = datasets.load_car()
    assert X.shape == (1728, 6)
    assert (int(y.sum()), int((1 - y).sum())) == (518, 1210)


def test_adult_has_the_papers_counts_and_missing_values():
    X, y = datasets.load_adult()
    assert X.shape == (32561, 14)
    assert int(y.sum()) == 7841
    assert int(X["workclass"].isna().sum()) == 1836


def test_car_equals_the_reference_copy(shared_data):
    reference = pd.read_csv(shared_data / "car.csv", dtype=str)
    X, y = datasets.load_car()
    pd.testing.assert_frame_equal(X, reference.drop(columns="class"))
    assert np.array_equal(y, (reference["class"] != "unacc").astype(int))


def test_adult_equals_the_reference_copy(shared_data):
    reference = pd.read_csv(shared_data / "adult.csv.gz", na_values=["?"], keep_default_na=False)
    X, y = datasets.load_adult()
    pd.testing.assert_frame_equal(X, reference.drop(columns="income"))
    assert np.array_equal(y, (reference["income"] == ">50K").astype(int))


def test_synthetic_rules_give_three_combinations_both_and_three_neither():
    X, _ = datasets.load_synthetic(seed=3, num_rows=5000)
    states = pd.Series(X.attrs["true_state"]).groupby([X[c] for c in X.columns]).agg(["nunique", "first"])
    assert len(states) == len(list(itertools.product((0, 1), repeat=5)))
    assert (states["nunique"] == 1).all()
    assert states["first"].value_counts().to_dict() == {
        "positive": 13,
        "negative": 13,
        "active": 3,
        "passive": 3,
    }
    assert states.loc[(0, 0, 0, 0, 1), "first"] == "active"  # the paper's table prints (1, 0)


def test_synthetic_labels_follow_the_states():
    X, y = datasets.load_synthetic(seed=1, num_rows=20_000)
    rate = y.groupby(pd.Series(X.attrs["true_state"])).mean()
    assert rate["positive"] == 1 and rate["negative"] == 0
    # five standard errors of a share of about 1,880 rows
    assert abs(rate["active"] - 0.05) < 0.026 and abs(rate["passive"] - 0.5) < 0.06


def test_synthetic_is_reproducible():
    a, b = datasets.load_synthetic(seed=7), datasets.load_synthetic(seed=7)
    pd.testing.assert_frame_equal(a[0], b[0])
    assert not datasets.load_synthetic(seed=8)[0].equals(a[0])
