"""A rule means on a new row what it meant on the training rows, wherever the row is read."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from soar_jax import DataWarning, InputError, SOARClassifier, UnseenLevelsWarning
from soar_jax.data.learn import learn_contract

QUICK = dict(n_rounds=1, grow_to=0, max_length=2)


@pytest.mark.parametrize("names", [[0, 1, 2], [2, 1, 0], [7, 5, 3]])
def test_28_3_integer_names_are_matched_as_names_unless_they_only_number_the_columns(names):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=names)
    y = X[names[0]] > 0.3
    model = SOARClassifier(**QUICK).fit(X, y)
    assert model._contract.has_names == (names != [0, 1, 2])
    for one in (model, SOARClassifier.from_json(model.to_json())):
        assert np.array_equal(one.predict(X), y)
        assert np.array_equal(one.predict(X[names[::-1]]), y)
        assert np.array_equal(one.predict(X[names[:1]]), y)
        if names == [0, 1, 2]:
            assert np.array_equal(one.predict(X.to_numpy()), y)
            with pytest.raises(InputError, match="does not have"):
                one.predict(X[[2, 1]])


@pytest.fixture(scope="module")
def leveled():
    """A model on two-valued numbers, on codes, and on a level that some readers take for missing."""
    rng = np.random.default_rng(1)
    size = 300
    y = rng.random(size) < 0.5
    noisy = [y ^ (rng.random(size) < 0.2) for _ in range(3)]
    X = pd.DataFrame(
        {
            "two": np.where(noisy[0], 0.1, 0.7),
            "code": np.where(noisy[1], "007", "012"),
            "word": np.where(noisy[2], "None", "b"),
        }
    ).astype({"word": object, "code": object})
    with pytest.warns(DataWarning, match=r"Levels of word mean a missing value .* \('None'\)"):
        model = SOARClassifier(**QUICK).fit(X, y)
    assert set(model.features_used_) == set(X)
    return model, X


@pytest.mark.parametrize("dtype", ["float32", "Float32", "float[pyarrow]"])
def test_28_5_two_valued_numbers_of_single_precision_are_read_as_they_are_written(leveled, dtype):
    model, X = leveled
    single = X.assign(two=X["two"].astype(dtype))
    assert np.array_equal(model.predict_state(single), model.predict_state(X))
    wanted = [row["state"] for row in answers(model, X)]
    assert [row["state"] for row in answers(model, single.astype({"two": "float32"}))] == wanted
    con = duckdb.connect()
    con.register("rows", pa.table({name: pa.array(single[name]) for name in X}))
    for types in (None, {"two": "real", "code": "text", "word": "text"}):
        assert con.execute(model.to_sql("duckdb", "rows", types=types)).fetchdf()["state"].tolist() == wanted


def answers(model, X):
    names = {}
    exec(model.to_python(), names)
    return names["predict_many"]([{name: X[name][i] for name in X} for i in X.index])


def test_28_5_codes_that_come_as_numbers_are_warned_about_in_a_single_row(leveled):
    model, X = leveled
    with pytest.warns(UnseenLevelsWarning, match="1 of 1 values of 'code'"):
        model.predict(X.head(1).assign(code=7))


@pytest.mark.parametrize("num_rows", [1, 50])
def test_28_5_words_for_missing_are_warned_about_where_they_change_sides(leveled, num_rows):
    model, X = leveled
    rows = X.head(num_rows)
    with pytest.warns(DataWarning, match="are missing, where at the fit it had the level 'None'"):
        model.predict(rows.assign(word=[None] * num_rows))
    with pytest.warns(UnseenLevelsWarning, match="'code' has values such as 'N/A'"):
        model.predict(rows.assign(code=["N/A", *rows["code"][1:]]))


def test_28_7_an_empty_text_as_a_level_is_warned_about_at_the_fit():
    frame = pd.DataFrame({"a": ["", "x"] * 30})
    with pytest.warns(DataWarning, match=r"Levels of a mean .* \(''\), .* cannot hold an empty text"):
        learn_contract(frame, None, has_names=True)
