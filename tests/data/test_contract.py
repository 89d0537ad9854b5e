"""What a column was read as at the fit is what it is read as later; whatever cannot be is counted, said or refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax import (
    DataWarning,
    IdentifierWarning,
    InputError,
    LeakWarning,
    Rule,
    UnreadableValuesWarning,
)
from soar_jax.data.check import check_table
from soar_jax.data.columns import TableValues
from soar_jax.data.contract import MISSING, Contract
from soar_jax.data.learn import learn_contract
from soar_jax.data.read import read_table
from soar_jax.data.suspects import find_suspects
from soar_jax.data.table import as_frame, frame_to_predict

RNG = np.random.default_rng(0)


def learn(values, kinds=None, name="x", **more):
    frame, contract = learn_contract(pd.DataFrame({name: values}), kinds, has_names=True, **more)
    return frame[name], contract.columns[0], contract


def read(contract, values, used=("x",)):
    return contract.read(pd.DataFrame({"x": values}), used)["x"]


def glucose(num=768, wrong=1, text="hemolyzed"):
    return pd.Series([text] * wrong + [str(90 + i % 60) for i in range(num - wrong)])


# -- numbers ------------------------------------------------------------------------------------


def test_one_text_cell_in_a_numeric_column_leaves_it_numeric_and_is_said():
    with pytest.warns(UnreadableValuesWarning) as caught:
        series, column, _ = learn(glucose(), name="glucose")
    said = str(caught[0].message)
    assert "767 of 768 values of 'glucose' are numbers; 1 is not and is treated as missing" in said
    assert "hemolyzed" not in said
    assert column.kind == "number" and column.unreadable == 1 / 768 and (column.low, column.high) == (90, 149)
    assert series.isna().tolist() == [True] + [False] * 767


def test_strict_reading_refuses_the_one_text_cell():
    for kinds in ({"*": "strict"}, {"x": "strict"}, {"x": "number strict"}):
        with pytest.raises(InputError, match="strict"):
            learn(glucose(), kinds)


def test_a_column_of_words_and_numbers_stays_text():
    series = pd.Series(["2", "3", "4", "5more"] * 10)
    same, column, _ = learn(series)
    assert column.kind == "category" and same.equals(series) and column.levels == ("2", "3", "4", "5more")


def test_decimal_commas_at_predict_are_counted_warned_about_and_refused_above_the_limit():
    _, _, contract = learn(np.arange(50.0))
    some = pd.Series(["148,0"] * 200 + ["148.0"] * 568)
    with pytest.warns(UnreadableValuesWarning, match="568 of 768 values of 'x' are numbers; 200 are not"):
        assert read(contract, some).isna().sum() == 200
    with pytest.raises(InputError, match="too many to treat as missing"):
        read(contract, pd.Series(["148,0"] * 400 + ["148.0"] * 368))


def test_columns_that_no_rule_reads_are_neither_refused_nor_warned_about():
    _, _, contract = learn(np.arange(50.0))
    assert read(contract, pd.Series(["148,0"] * 3), used=()).isna().all()


def test_numbers_given_for_dates_and_dates_for_numbers_are_refused():
    _, _, dated = learn(pd.date_range("2020", periods=9))
    with pytest.raises(InputError, match="holds numbers, but the model was fitted on dates"):
        read(dated, np.arange(9) * 10**18)
    _, _, numbered = learn(np.arange(9.0))
    with pytest.raises(InputError, match="holds dates, but the model was fitted on numbers"):
        read(numbered, pd.date_range("2020", periods=9))


# -- dates --------------------------------------------------------------------------------------


def test_day_first_text_is_no_date_unless_its_format_is_declared():
    text = pd.Series([f"{1 + i % 28:02d}/{1 + i % 12:02d}/2020" for i in range(60)])
    assert learn(text)[1].kind == "category"
    with pytest.raises(InputError, match="none of its values is one"):
        learn(text, {"x": "date"})
    series, column, contract = learn(text, {"x": "date %d/%m/%Y"})
    assert column.kind == "datetime" and series[12] == pd.Timestamp("2020-01-13")
    assert read(contract, pd.Series(["03/02/2020"]))[0] == pd.Timestamp("2020-02-03")
    with pytest.raises(InputError, match="too many"):
        read(contract, pd.Series(["2020-02-03"] * 10))


def test_day_first_text_where_iso_dates_were_fitted_is_refused():
    _, _, contract = learn(pd.Series([f"2020-01-{1 + i % 28:02d}" for i in range(60)]))
    assert contract.columns[0].resolution == "day"
    with pytest.raises(InputError, match="write dates as 2024-12-31"):
        read(contract, pd.Series(["03/02/2020", "04/02/2020"] * 5))


def test_times_with_and_without_a_zone_are_not_mixed():
    naive, zoned = pd.Series(pd.date_range("2020", periods=9)), pd.Series(pd.date_range("2020", periods=9, tz="CET"))
    for fitted, later in ((naive, zoned), (zoned, naive)):
        _, _, contract = learn(fitted)
        assert read(contract, fitted).equals(fitted)
        for spelt in (later, later.astype(str).str.replace(" ", "T"), later.astype(object)):
            with pytest.raises(InputError, match="time zone"):
                read(contract, spelt)
    with pytest.raises(InputError, match="mixes times"):
        learn(pd.Series(["2020-01-01T10:00", "2020-01-01T10:00Z"] * 20))


def test_one_zone_is_as_good_as_another():
    moments = pd.Series(pd.date_range("2020-03-01 22:00", periods=50, freq="h", tz="UTC"))
    _, _, contract = learn(moments)
    for same in (moments.dt.tz_convert("Asia/Tokyo"), moments.dt.tz_convert("CET").map(lambda t: t.isoformat())):
        assert TableValues(contract.read(pd.DataFrame({"x": same}), ["x"]))["x"].moments.tolist() == [
            t.timestamp() * 1e6 for t in moments
        ]


# -- codes --------------------------------------------------------------------------------------


def states_of_codes(tmp_path, codes, level):
    """Whether a rule on one level fires, for the same column from memory and from a file."""
    frame = pd.DataFrame({"x": codes})
    _, contract = learn_contract(frame, None, has_names=True)
    frame.to_csv(tmp_path / "t.csv", index=False)
    rule = Rule.from_literals([("x", "==", level)])
    given = [contract.read(table, ["x"]) for table in (frame, read_table(tmp_path / "t.csv", contract=contract))]
    return [rule.fires(table).tolist() for table in given]


def test_codes_with_leading_zeros_are_the_same_from_memory_and_from_a_file(tmp_path):
    codes = [f"{i % 12:03d}" for i in range(600)]
    memory, file = states_of_codes(tmp_path, codes, "007")
    assert sum(memory) == 50 and memory == file
    _, column, _ = learn(read_table(tmp_path / "t.csv")["x"])
    assert column.kind == "category" and "007" in column.levels


@pytest.mark.filterwarnings("ignore:Levels of.*mean a missing value")
def test_levels_that_read_as_missing_elsewhere_stay_levels_where_they_were_seen(tmp_path):
    memory, file = states_of_codes(tmp_path, ["NA", "None", "EU", "US"] * 50, "NA")
    assert sum(memory) == 50 and memory == file


def test_words_that_were_missing_at_the_fit_are_missing_later():
    _, column, contract = learn(pd.Series(["NA", "a", "b"] * 20), missing_words=("", "NA"))
    assert column.missing == pytest.approx(1 / 3)
    assert read(contract, pd.Series(["NA", "a"])).isna().tolist() == [True, False]


def test_few_leading_zeros_are_said():
    frame = pd.DataFrame({"x": ["007", *(str(i) for i in range(10, 210))]})
    frame.attrs[MISSING] = ()  # as it comes from a text file
    with pytest.warns(UnreadableValuesWarning, match="begin with a zero, so the column is read as text"):
        assert learn_contract(frame, None, has_names=True)[1].columns[0].kind == "category"


def test_text_of_nothing_but_numbers_is_believed_in_a_frame_and_read_as_numbers_from_a_file():
    frame = pd.DataFrame({"x": [str(i) for i in range(10, 50)]})
    assert learn_contract(frame, None, has_names=True)[1].columns[0].kind == "category"
    frame.attrs[MISSING] = ()
    assert learn_contract(frame, None, has_names=True)[1].columns[0].kind == "number"


def test_zip_codes_are_text_when_declared():
    zips = pd.Series(RNG.integers(10000, 99999, 80))
    assert learn(zips)[1].kind == "number" and learn(zips, {"x": "text"})[1].kind == "category"
    frame, _ = learn_contract(pd.DataFrame({"x": zips}), {"x": "text"}, has_names=True)
    assert TableValues(frame.loc[zips > 5])["x"].kind == "category"
    frame, _ = learn_contract(pd.DataFrame({"x": [0, 1] * 9}), {"x": "number"}, has_names=True)
    assert TableValues(frame)["x"].kind == "number"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["x"], "must be a dict"),
        ({"y": "text"}, "Did you mean|There is"),
        ({"x": "float"}, "must be declared text, number, date"),
        ({"*": "text"}, "takes"),
        ({"x": "date day first"}, "no format"),
        ({"x": 3}, "must be declared"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(kinds, message):
    with pytest.raises(InputError, match=message):
        learn(pd.Series(["a", "b"]), kinds)


# -- suspects -----------------------------------------------------------------------------------


def suspects(y, **columns):
    frame, contract = learn_contract(pd.DataFrame(columns), None, has_names=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find_suspects(frame, contract, np.asarray(y))
    return found, [w.category for w in caught]


def test_identifiers_are_named():
    y = RNG.random(200) < 0.4
    ids = RNG.permutation(200)
    found, said = suspects(y, number=ids + 5000, text=[f"p{i}" for i in ids], age=RNG.integers(18, 90, 200))
    assert found == {"number": "identifier", "text": "identifier"} and said == [IdentifierWarning]


def test_leaks_are_named_whatever_their_kind():
    y = RNG.random(400) < 0.4
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 99, 400), unit="D")
    found, said = suspects(
        y,
        number=np.where(y, 5, -5) + RNG.normal(size=400),
        level=np.where(y, RNG.choice(["a", "b"], 400), "c"),
        present=pd.Series(day).where(y),
        honest=np.where(RNG.random(400) < 0.1, ~y, y),
    )
    assert found == dict.fromkeys(("number", "level", "present"), "tells the label") and said == [LeakWarning]


# -- tables of other libraries ------------------------------------------------------------------


def test_polars_and_pyarrow_tables_are_matched_by_name():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "y"]})
    turned = frame[["b", "a"]]
    for other in (pl.DataFrame({"b": ["x", None, "y"], "a": [1, 2, 3]}), pa.Table.from_pandas(turned)):
        read = frame_to_predict(other, ["a", "b"], "M", ["a", "b"], "rules use")
        assert read["a"].tolist() == [1, 2, 3] and read["b"].isna().tolist() == [False, True, False]
    with pytest.raises(InputError, match="collect"):
        as_frame(pl.DataFrame({"a": [1]}).lazy())
    with pytest.raises(InputError, match="nested"):
        as_frame(pl.DataFrame({"a": [[1], [2]]}))


def test_arrays_for_a_model_with_names_warn_as_scikit_learn_does():
    _, contract = learn_contract(pd.DataFrame({"a": [1, 2, 3]}), None, has_names=True)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but M was fitted with feature names"):
        frame_to_predict(np.ones((2, 1)), ["a"], "M", ["a"], "rules use", contract)


def test_sparse_input_is_refused_in_one_line():
    from scipy.sparse import csr_array

    with pytest.raises(InputError, match=r"sparse matrix.*toarray"):
        as_frame(csr_array(np.eye(3)))


TABLE = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-50, 50), st.floats(-5, 5).map(lambda v: round(v, 3))),
        st.one_of(st.none(), st.sampled_from(["007", "7", "NA", "None", "a b", "ü", "1.50", "True"])),
        st.one_of(st.none(), st.booleans()),
        st.one_of(st.none(), st.datetimes(min_value=pd.Timestamp(1990, 1, 1), max_value=pd.Timestamp(2030, 1, 1))),
    ),
    min_size=1,
    max_size=12,
)
COLUMNS = ["number", "code", "flag", "when"]
RULES = [
    Rule.from_literals(literals)
    for literals in (
        [("number", ">", 1.5)],
        [("code", "==", "007")],
        [("code", "!=", "NA")],
        [("flag", "==", True), ("number", "<=", 20.0)],
        [("when", ">", "2010-06-01")],
        [("code", "missing", None)],
    )
]


def first_table():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "number": rng.normal(size=80).round(2),
            "code": rng.choice(["007", "7", "NA", "None", "a b"], 80).astype(object),
            "flag": rng.random(80) < 0.5,
            "when": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 9000, 80), unit="D"),
        }
    )


@pytest.mark.filterwarnings("ignore::soar_jax._base.DataWarning")
@settings(max_examples=40)
@given(rows=TABLE)
def test_one_table_in_five_forms_gives_the_same_rules_firing(rows, tmp_path_factory):
    """Pandas = polars = pyarrow = CSV = Parquet."""
    pl, pa, pq = (pytest.importorskip(name) for name in ("polars", "pyarrow", "pyarrow.parquet"))
    _, contract = learn_contract(first_table(), None, has_names=True)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["number"] = table["number"].astype(float)
    table["flag"] = table["flag"].astype("boolean")
    table["when"] = pd.to_datetime(table["when"]).dt.as_unit("us")
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    schema = {"number": pl.Float64, "code": pl.String, "flag": pl.Boolean, "when": pl.Datetime("us")}
    cells = {name: [None if pd.isna(v) else v for v in table[name]] for name in COLUMNS}
    folder = tmp_path_factory.mktemp("forms")
    table.to_csv(folder / "t.csv", index=False)
    pq.write_table(arrow, folder / "t.parquet")
    forms = [
        table,
        pl.DataFrame(cells, schema=schema),
        arrow,
        read_table(folder / "t.csv", contract=contract),
        read_table(folder / "t.parquet", contract=contract),
    ]
    fires = [
        [rule.fires(frame_to_predict(form, COLUMNS, "M", COLUMNS, "rules use", contract)).tolist() for rule in RULES]
        for form in forms
    ]
    assert all(fired == fires[0] for fired in fires)


# -- as data ------------------------------------------------------------------------------------


def test_a_contract_survives_json_and_names_no_rare_level():
    frame = pd.DataFrame(
        {"a": ["u"] * 20 + ["v"] * 10 + ["just one"], "b": np.arange(31.0), "c": pd.date_range("2020", periods=31)}
    )
    _, contract = learn_contract(frame, {"b": "number strict"}, has_names=True)
    again = Contract.from_dict(contract.to_dict())
    assert again == contract and again.get("b").strict
    assert contract.get("a").levels == ("u", "v") and contract.get("a").rare_levels == 1
    assert "just one" not in str(contract.to_dict())


def test_reading_twice_is_reading_once():
    _, _, contract = learn(glucose(wrong=0), {"x": "number"})
    with pytest.warns(UnreadableValuesWarning):
        once = contract.read(pd.DataFrame({"x": glucose()}), ["x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        assert contract.read(once, ["x"]).equals(once)


def test_a_table_is_compared_with_the_fit_column_by_column():
    frame = pd.DataFrame({"a": ["u", "v"] * 30, "b": np.arange(60.0), "c": pd.date_range("2020", periods=60)})
    _, contract = learn_contract(frame, None, has_names=True)
    rule = Rule.from_literals([("a", "==", "u"), ("b", ">", 3.0), ("d", "==", "z")])
    later = pd.DataFrame(
        {
            "a": ["u", "w", None, "w"],
            "b": ["1", "99", "1,5", "2"],
            "c": pd.to_datetime(["2019-01-01", "2020-01-02", None, None]),
        }
    )
    check = check_table(later, contract, rule.conditions)
    lines = check.to_frame()
    assert lines["unseen"].tolist() == [2, 0, 0] and lines["outside"].tolist() == [0, 1, 1]
    assert lines["unreadable"].tolist() == [0, 1, 0] and lines["missing"].tolist() == [0.25, 0.25, 0.5]
    assert check.sentence() == (
        "Of 4 rows, 'a': 2 of an unseen level, 25% missing, 0% at the fit; 'b': 1 unreadable, 1 outside the range "
        "seen, 25% missing, 0% at the fit."
    )
    assert "1 outside the range seen" in str(check) and "w" not in check.sentence().replace("rows", "")
    same = check_table(frame, contract, rule.conditions)
    assert same.is_clean and same.sentence() == "" and same.to_dict()["is_clean"]
    turned = check_table(later.assign(b=pd.date_range("2020", periods=4)), contract, rule.conditions)
    assert "holds dates" in turned.sentence()
