"""Input that once gave wrong results, silence or a traceback."""

import datetime

import numpy as np
import pandas as pd
import pytest

from soar_jax import (
    BOAClassifier,
    InputError,
    Literal,
    NothingFoundWarning,
    Opinion,
    RulePrior,
    SOARClassifier,
    taxonomy_cross,
)
from soar_jax.cli.main import main
from soar_jax.data.columns import ColumnValues
from soar_jax.data.read import read_table

QUICK = dict(n_rounds=1, max_patterns=60)
RNG = np.random.default_rng(0)
Y = RNG.random(120) < 0.5
NEAR = Y ^ (RNG.random(120) < 0.15)


def fit(X, y=Y, **parameters):
    return SOARClassifier(**QUICK, **parameters).fit(X, y)


def test_cross_table_follows_the_chosen_positive_class():
    X, y = pd.DataFrame({"a": NEAR, "b": RNG.integers(0, 9, 120)}), np.where(Y, "no", "yes")
    soar = fit(X, y, positive="no")
    boa = BOAClassifier(**QUICK, positive="no").fit(X, y)
    assert taxonomy_cross(soar, boa, X, y).sum(axis=0).to_dict() == soar.taxonomy(X, y).to_dict()
    with pytest.raises(InputError, match="positive class"):
        taxonomy_cross(soar, BOAClassifier(**QUICK).fit(X, y), X, y)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_training_and_prediction_agree_on_close_moments(unit):
    start = pd.Timestamp("2023-05-05 10:00:00.797358")
    X = pd.DataFrame({"t": start + pd.to_timedelta(37 * Y + 11 * RNG.integers(0, 3, 120), unit=unit)})
    if unit == "ns":
        X["other"] = NEAR
    model = fit(X)
    assert model.taxonomy(X, Y).equals(model.training_taxonomy_)


def test_dates_are_read_as_iso_text_and_in_no_other_spelling():
    spelt = pd.Series(["2020-02-01", "2020-02-02 10:00", "2020-03-01T00:00:00Z", "Feb 3 2020", "03/02/2020", None])
    assert Literal("t", ">", "2020-01-15").holds(spelt).tolist() == [True] * 3 + [False] * 3
    assert not Literal("t", ">", "2020-01-15").holds(pd.Series([2**60, 2**61])).any()


def test_number_literals_are_false_on_dates():
    assert not Literal("x", ">", 3).holds(pd.Series(pd.date_range("2020", periods=3))).any()


@pytest.mark.parametrize("dtype", [object, "datetime64[s]"])
def test_open_end_dates_are_accepted(dtype):
    days = [datetime.date(2020, 1, 1 + i % 20) if flag else datetime.date(9999, 12, 31) for i, flag in enumerate(Y)]
    X = pd.DataFrame({"until": pd.Series(days, dtype=object).astype(dtype)})
    model = fit(X)
    assert (model.predict(X) == Y).all()


@pytest.mark.parametrize("later", [["True", "False", "unknown"], [1, 0, 7], ["1.0", "0", "x"]])
def test_boolean_levels_match_their_other_spellings(later):
    model = fit(pd.DataFrame({"a": NEAR}))
    assert model.predict(pd.DataFrame({"a": later}))[:2].tolist() == [True, False]


def test_single_precision_levels_survive():
    X = pd.DataFrame({"a": pd.array(np.where(NEAR, 0.1, 0.7), dtype="Float32")})
    model = fit(X)
    assert (model.predict(X) == NEAR).all()
    assert (model.predict(pd.DataFrame({"a": np.where(NEAR, 0.1, 0.7)})) == NEAR).all()


def test_a_whole_number_beyond_float64_is_as_large_as_can_be():
    values = [10**400, -(10**400), 3, "1e400", "x", None]
    read = ColumnValues(pd.Series(values, dtype=object)).numbers
    assert np.array_equal(read, [np.inf, -np.inf, 3, np.inf, np.nan, np.nan], equal_nan=True)
    numbers = [10**400 if flag else i for i, flag in enumerate(NEAR)]
    X = pd.DataFrame({"a": pd.Series(numbers, dtype=object)})
    assert (fit(X, NEAR).predict(X) == NEAR).all()


@pytest.mark.parametrize(
    "text", ["2020-01-01", "2020-01-01T10:00", "2020-01-01 10:00:00.5", "2020-01-01T10:00:00+02:00"]
)
def test_a_text_moment_does_not_depend_on_the_other_rows(text):
    alone = ColumnValues(pd.Series([text], dtype=object)).moments[0]
    assert np.isfinite(alone)
    for other in ("2020-01-01", "2020-01-01T10:00:00Z", "2020-01-01T10:00:00.123456789", "1400-01-01", "x", 5,
                  pd.Timestamp("2020-02-02"), pd.Timestamp("2020-02-02", tz="UTC")):  # fmt: skip
        assert ColumnValues(pd.Series([text, other], dtype=object)).moments[0] == alone
        assert ColumnValues(pd.Series([other, text], dtype=object)).moments[1] == alone


def test_lists_of_mixed_rows_keep_numbers():
    rows = [[float(i), "u" if flag else "v"] for i, flag in enumerate(NEAR)]
    ops = {literal[1] for literals in fit(rows).pools_["literals"] for literal in literals}
    assert "<=" in ops


def test_failed_refit_leaves_the_model_as_it_was():
    X = pd.DataFrame({"a": NEAR, "b": RNG.integers(0, 9, 120)})
    model = fit(X, np.where(Y, "yes", "no"))
    before = model.predict(X)
    with pytest.raises(InputError):
        model.fit(pd.DataFrame({"a": [np.nan] * 120}), np.where(Y, "A", "B"))
    assert np.array_equal(model.predict(X), before)


def test_negation_is_offered_where_the_rest_is_rare():
    X = pd.DataFrame({"a": np.where(NEAR, "big", np.arange(120).astype(str))})
    assert "a is not big" in fit(X, negations=True).pools_["rule"].tolist()


@pytest.mark.parametrize("kind", [SOARClassifier, BOAClassifier])
def test_no_candidates_at_all_gives_the_empty_pair(kind):
    X, y = pd.DataFrame({"a": [0, 0, 1, 1] * 10}), [0, 1, 0, 1] * 10
    with pytest.warns(UserWarning, match="stays empty"), pytest.warns(NothingFoundWarning):
        model = kind(**QUICK).fit(X, y)
    assert len(model.rules_) == 0 and model.is_local_optimum_
    assert set(model.predict_state(X)) == {"passive"}


def test_odd_parameters_can_be_saved(tmp_path):
    model = fit(
        pd.DataFrame({"a": np.where(NEAR, np.inf, -np.inf)}),
        consensus=Opinion(0.9, rows=np.int64(20)),
        rule_prior=RulePrior(np.ones(3), 50),
        random_state=np.random.RandomState(0),
    )
    model.save(tmp_path / "m.json")
    again = SOARClassifier.load(tmp_path / "m.json")
    X = pd.DataFrame({"a": [np.inf, -np.inf]})
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.random_state is None


@pytest.mark.parametrize("turned", [False, True])
def test_arrays_and_unnamed_frames_are_matched_by_position(turned):
    array = np.column_stack([RNG.integers(0, 9, 120), NEAR]).astype(float)
    frame = pd.DataFrame(array)
    model = fit(frame if turned else array)
    assert np.array_equal(model.predict(array), model.predict(frame))


@pytest.mark.parametrize(("labels", "positive"), [((0.0, 1.0), 1), ((False, True), 1), ((0, 1), "1")])
def test_positive_label_may_be_spelt_differently(labels, positive):
    assert fit(pd.DataFrame({"a": NEAR}), np.array(labels)[Y.astype(int)], positive=positive).positive_rules_.label


def test_object_labels_are_understood():
    assert fit(pd.DataFrame({"a": NEAR}), Y.astype(object)).classes_.tolist() == [False, True]
    with pytest.raises(InputError, match="mixes text"):
        fit(pd.DataFrame({"a": NEAR}), np.array(["x", 2] * 60, dtype=object))


def test_quantile_cuts_serve_a_column_whose_top_value_dominates():
    low = RNG.random(400) < 0.1
    X = pd.DataFrame({"a": np.where(low, RNG.integers(0, 7, 400), 100)})
    assert (fit(X, low, cuts="quantile").predict(X) == low).all()


def test_infinite_numbers_are_ordered():
    X = pd.DataFrame({"a": np.where(NEAR, np.inf, RNG.choice([-np.inf, 0.0], 120))})
    assert (fit(X).predict(X) == NEAR).all()


@pytest.mark.filterwarnings("ignore:No pattern")
@pytest.mark.parametrize(
    "values",
    [["x"] * 120, [1.5] * 120, [f"p{i}" for i in range(120)], [*("ab" * 2), *("x" * 116)]],
    ids=["constant", "constant number", "rare levels", "nearly constant"],
)
@pytest.mark.parametrize("options", [{}, {"search": "annealing"}, {"miner": "fpgrowth"}, {"honest": True}])
def test_28_12_a_table_without_a_literal_beats_no_base_rate(values, options):
    X = pd.DataFrame({"a": values})
    with pytest.warns(NothingFoundWarning, match="Nothing here beats the base rate"):
        model = fit(X, NEAR, **options)
    rates = model.predict_proba(X)
    assert not len(model.rules_) and (rates == rates[0]).all()
    assert model.certificate_


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,out\n1,2.5\n2,3.7\n3,4.1\n", "Unknown label type|regression"), ("a,out\n1,2,x\n1,2,y\n", "more fields")],
)
def test_odd_csv_gives_one_line(tmp_path, capsys, text, message):
    (tmp_path / "t.csv").write_text(text)
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "out", "--out", str(tmp_path / "m.json")]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    import re

    assert re.search(message, error)


@pytest.mark.filterwarnings("ignore:Levels of.*mean a missing value")
def test_csv_dates_and_the_word_none_are_read(tmp_path, capsys):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.where(Y, 200, 0) + np.arange(120) % 50, unit="D")
    table = pd.DataFrame(
        {"day": days.strftime("%Y-%m-%d"), "word": np.where(NEAR, "None", "Yes"), "out": Y.astype(int)}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    args = ["fit", str(tmp_path / "t.csv"), "--target", "out", "--out", str(tmp_path / "m.json"), "--iterations", "50"]
    assert main([*args, "--restarts", "1"]) == 0
    assert "day > 2020" in capsys.readouterr().out
    assert not read_table(str(tmp_path / "t.csv"), [])["word"].isna().any()
    assert read_table(str(tmp_path / "t.csv"), ["None"])["word"].isna().any()


def test_missing_marker_works_on_parquet_numbers(tmp_path, capsys):
    table = pd.DataFrame({"a": np.where(NEAR, -999, RNG.integers(0, 50, 120)), "b": NEAR, "out": Y.astype(int)})
    table.to_parquet(tmp_path / "t.parquet")
    args = ["fit", str(tmp_path / "t.parquet"), "--target", "out", "--out", str(tmp_path / "m.json"), "--na=-999"]
    assert main([*args, "--iterations", "50", "--restarts", "1"]) == 0
    assert "-500" not in capsys.readouterr().out
