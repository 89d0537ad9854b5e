"""Exports read a row as `predict` reads it: by the contract of the fit."""

import datetime as dt
import warnings

import ibis
import numpy as np
import pandas as pd
import pytest

from soar_jax import DataWarning, InputError
from soar_jax.data.contract import MISSING
from soar_jax.data.learn import learn_contract
from tests.export.engines import duckdb_of, sqlite_of
from tests.export.made import assert_same, expected, model_of
from tests.export.test_python import answers_of, module_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ibis
SPACES = [chr(i) for i in range(0x3001) if chr(i).isspace()]
NUMBERS = (
    "1.50", "2.50", " 1.5", "1.5e0", "015e-1", "+2.5", "\u00a02.5\u202f", "2.5\x1c", " inf", "-Infinity ", "inf", "x",
    "nan", "", "NA", "-999", "9" * 400, *(f"{space}1.5{space}" for space in SPACES),
)  # fmt: skip
DAYS = (
    "03/02/2024", "3/2/2024", " 3/2/24", "31/04/2024", "29/02/2023", "29/02/2024", "2024-02-03", "03/02/2024 10:00",
    "30/11/2023", "01/01/0001", "01/01/0000", "x", "", "NA", " 03/02/2024 ", "03/ 2/2024", " 3/02/2024",
)  # fmt: skip
STAMPS = ("3.2.24 7:05", "03.02.24  17:05", "03.02.69 00:00", "03.02.68 00:00", "3.2.24 24:00", "3.2.2024 7:05", "x")
ZONED = ("2024-02-03T10:00Z", "2024-02-03 10:00:00+05:30", "2024-02-03T10:00", "2024-02-03", "2024-02-04T00:00-14", "x")
LOCAL = ("2024-02-03T10:00", "2024-02-03", "2024-02-03T10:00Z", "2024-02-03 09:59:59.999999", "x", "")
FIT = {
    "two": (1.5, 2.5),
    "two as text": ("1.50", "2.50"),
    "many": tuple(np.arange(20) / 4),
    "many as text": tuple(str(i / 4) for i in range(20)),
    "when": ("01/02/2024", "05/02/2024", "28/02/2024"),
    "stamp": ("01.02.24 08:00", "05.02.24 18:00"),
    "zoned": ("2024-02-01T00:00Z", "2024-03-01T00:00Z"),
    "local": ("2024-02-01T00:00", "2024-03-01T00:00"),
    "word": ("a", "b", "x"),
}
KINDS = {
    "two as text": "number",
    "when": "date %d/%m/%Y",
    "stamp": "date %d.%m.%y %H:%M",
    "zoned": "date",
    "local": "date",
}
CELLS = {
    "two": NUMBERS, "two as text": NUMBERS, "many": NUMBERS, "many as text": NUMBERS, "when": DAYS, "stamp": STAMPS,
    "zoned": ZONED, "local": LOCAL, "word": ("a", "b", "", "NA", "nan", "?", "x", " a"),
}  # fmt: skip
LITERALS = {
    "two": [("==", 1.5), ("!=", 2.5), ("missing", None)],
    "two as text": [("<=", 2.0), (">", 2.0), ("missing", None)],
    "many": [("<=", 1.5), (">", 2.0), ("missing", None)],
    "many as text": [("<=", 1.5), (">", 2.0), ("missing", None)],
    "when": [("<=", "2024-02-02"), (">", "2024-02-02"), ("missing", None)],
    "stamp": [("<=", "2024-02-03T12:00:00"), (">", "2024-02-03T12:00:00"), ("missing", None)],
    "zoned": [("<=", "2024-02-03T10:00:00"), (">", "2024-02-03T04:30:00"), ("missing", None)],
    "local": [("<=", "2024-02-03T10:00:00"), (">", "2024-02-03"), ("missing", None)],
    "word": [("==", "a"), ("!=", "b"), ("missing", None)],
}


def contract_of(words=("", "NA", "NaN", "nan", "-999")):
    """What a fit to a text file with such columns keeps of them."""
    frame = pd.DataFrame({name: pd.Series(values * 20).head(60) for name, values in FIT.items()})
    frame.attrs[MISSING] = words
    return learn_contract(frame, KINDS, has_names=True, missing_words=words)[1]


def model_on(names, contract=None):
    rules = [[(name, op, value)] for name in names for op, value in LITERALS[name]]
    return model_of(rules, [], columns=dict.fromkeys(FIT, "words"), contract=contract or contract_of())


def rows_of(names):
    size = max(len(CELLS[name]) for name in names)
    cells = {name: [*(CELLS[name] * size)[:size], None] for name in names}
    return pd.DataFrame({name: pd.Series(mine, dtype=object) for name, mine in cells.items()})


def said(model, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return expected(model, frame)


@pytest.mark.parametrize("name", FIT)
def test_28_1_exports_read_cells_as_predict_reads_them(name):
    frame, model = rows_of([name]), model_on([name])
    good = frame.iloc[[0] * 200]  # most cells must be readable for `predict` to go on
    frame = pd.concat([frame, good], ignore_index=True)
    wanted = said(model, frame)
    assert wanted["rules"].nunique() > 2
    assert_same(answers_of(module_of(model), frame.to_dict("records")), wanted)
    columns = {name: "words"}
    con = duckdb_of(frame, columns)
    for types in (None, {name: "text"}):
        assert_same([row[1:] for row in con.execute(model.to_sql("duckdb", "t", "id", types=types)).fetchall()], wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        lazy = model.predict_table(ibis.duckdb.from_connection(con).table("t"), keep=["id"])
    assert_same(list(lazy.order_by("id").to_pandas().iloc[:, 1:].itertuples(False, None)), wanted)
    if model._contract.get(name).form is None:
        con = sqlite_of(frame, columns)
        assert_same([row[1:] for row in con.execute(model.to_sql("sqlite", "t", "id")).fetchall()], wanted)
    else:
        with pytest.raises(InputError, match=f"SQLite cannot read .* column '{name}'"):
            model.to_sql("sqlite", "t")


def test_28_1_a_format_that_sql_cannot_read_is_refused_by_name():
    frame = pd.DataFrame({"when": ["01 Feb 2024", "05 Mar 2024"] * 10})
    contract = learn_contract(frame, {"when": "date %d %b %Y"}, has_names=True)[1]
    model = model_of([[("when", ">", "2024-02-10")]], [], columns={"when": "words"}, contract=contract)
    assert_same(answers_of(module_of(model), frame.to_dict("records")), said(model, frame))
    for dialect in ("duckdb", "sqlite", "postgres", "spark"):
        with pytest.raises(InputError, match="column 'when'"):
            model.to_sql(dialect, "t")
    assert "DOUBLE" in model.to_sql("duckdb", "t", types={"when": "date"})


def test_28_1_strict_columns_are_refused_where_nothing_can_refuse_a_cell():
    frame = pd.DataFrame({"n": np.arange(20) / 4})
    contract = learn_contract(frame, {"n": "number strict"}, has_names=True)[1]
    model = model_of([[("n", ">", 2.0)]], [], columns={"n": "double"}, contract=contract)
    with pytest.raises(InputError, match=r"'n' .*strict"):
        model.to_sql("duckdb", "t")
    assert model.to_sql("duckdb", "t", types={"n": "double"})
    with pytest.raises(ValueError, match="'n'"):
        module_of(model)["predict"]({"n": "x"})


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("many", True), ("many", dt.date(2024, 2, 1)), ("when", 3.0), ("when", True), ("word", dt.datetime(2024, 2, 1)),
        ("local", dt.datetime(2024, 2, 1, tzinfo=dt.UTC)), ("zoned", dt.datetime(2024, 2, 1)),
    ],
)  # fmt: skip
def test_28_1_python_refuses_a_cell_of_a_type_that_predict_refuses(name, cell):
    model = model_on([name])
    with pytest.raises(InputError):
        model.predict(pd.DataFrame({name: pd.Series([cell], dtype=object)}))
    with pytest.raises(ValueError, match=name):
        module_of(model)["predict"]({name: cell})


@pytest.mark.parametrize(
    ("name", "given"),
    [("many", "boolean"), ("many", "date"), ("when", "double"), ("word", "timestamp"), ("zoned", "timestamp")],
)
def test_28_1_types_that_predict_refuses_are_refused_at_export(name, given):
    with pytest.raises(InputError, match=name):
        model_on([name]).to_sql("duckdb", "t", types={name: given})
