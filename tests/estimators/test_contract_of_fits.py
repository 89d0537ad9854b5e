"""The data contract of fitted estimators, from the first table to the last."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from soar_jax import InputError, LeakWarning, SOARClassifier, UnreadableValuesWarning

QUICK = dict(n_rounds=1, max_patterns=40)


def table(num=400):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "glucose": rng.normal(120, 30, num).round(),
            "clinic": rng.choice(["007", "012", "104"], num),
            "constant": 1,
            "rare": [f"word {i // 2}" for i in range(num)],
        }
    )
    y = (X["glucose"].to_numpy() > 130) ^ (rng.random(num) < 0.1)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    text = X.assign(glucose=X["glucose"].astype(int).astype(str))
    text.loc[3, "glucose"] = "hemolyzed"
    with pytest.warns(UnreadableValuesWarning, match="399 of 400 values of 'glucose' are numbers; 1 is not"):
        return X, y, SOARClassifier(**QUICK).fit(text, y)


def test_one_text_cell_does_not_drop_the_column_from_the_rules(fitted):
    X, y, model = fitted
    assert "glucose" in model.features_used_
    assert (model.predict(X) == y).mean() > 0.85
    columns = model.columns_
    assert columns.loc["glucose", ["kind", "read_as", "in_rules"]].tolist() == ["number", "text", True]
    assert columns["note"].to_dict() == {"glucose": "", "clinic": "", "constant": "constant", "rare": "not used"}
    assert model.contract_["columns"][0]["unreadable"] == 1 / 400


def test_decimal_commas_are_refused_and_the_model_is_as_it_was(fitted, tmp_path):
    X, _, model = fitted
    model.save(tmp_path / "m.json")
    commas = X.assign(glucose=X["glucose"].astype(str).str.replace(".", ","))
    for one in (model, SOARClassifier.load(tmp_path / "m.json"), pickle.loads(pickle.dumps(model))):
        with pytest.raises(InputError, match="0 of 400 values of 'glucose' are numbers"):
            one.predict(commas)
        assert "too much of it cannot be read" in one.check(commas).sentence()
        assert one.check(X).sentence() == ""


def test_polars_and_pyarrow_give_the_fit_and_the_states_of_pandas(fitted):
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y, _ = fitted
    model = SOARClassifier(**QUICK).fit(X, y)
    other = clone(model).fit(pl.DataFrame(X.to_dict("list")), pl.Series(y))
    assert other.score_ == model.score_ and other.feature_names_in_.tolist() == list(X.columns)
    turned = X[X.columns[::-1]]
    for later in (pl.DataFrame(turned.to_dict("list")), pa.Table.from_pandas(turned)):
        assert np.array_equal(model.predict_state(later), model.predict_state(X))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but SOARClassifier was fitted with"):
        model.predict_state(X.to_numpy(dtype=object))


def test_a_leak_is_named_at_the_fit(fitted):
    X, y, _ = fitted
    with pytest.warns(LeakWarning, match="outcome"):
        model = SOARClassifier(**QUICK).fit(X.assign(outcome=np.where(y, "died", "home")), y)
    assert model.columns_.loc["outcome", "note"] == "tells the label"
