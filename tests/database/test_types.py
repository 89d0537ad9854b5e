"""`predict_table` on a database refuses and warns as `predict` does on a frame."""

import datetime as dt
import warnings

import ibis
import numpy as np
import pandas as pd
import pytest

from soar_jax import DataWarning, InputError, UnreadableValuesWarning, UnseenLevelsWarning
from soar_jax.data.learn import learn_contract
from tests.export.made import model_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Ibis
MIDNIGHT = dt.datetime(2024, 2, 1)
LITERALS = {
    "answer": ("==", "yes"), "n": (">", 2.0), "local": (">", "2024-01-15"), "zoned": (">", "2024-01-15"),
    "code": ("==", "007"),
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), "D"))
    frame = pd.DataFrame(
        {
            "answer": ["yes", "no"] * 30, "n": np.arange(60) / 4, "local": days,
            "zoned": days.dt.tz_localize("UTC"), "code": ["007", "012"] * 30,
        }
    )  # fmt: skip
    contract = learn_contract(frame, None, has_names=True)[1]
    rules = [[(name, *literal)] for name, literal in LITERALS.items()]
    return model_of(rules, [], columns=dict.fromkeys(frame, "words"), contract=contract)


def table_of(**values):
    rows = 40
    given = {"answer": "yes", "n": 3.5, "local": MIDNIGHT, "zoned": MIDNIGHT.replace(tzinfo=dt.UTC), "code": "007"}
    columns = {k: v if isinstance(v, list) else [v] * rows for k, v in (given | values).items()}
    frame = pd.DataFrame(columns)
    return frame, ibis.memtable(frame)


@pytest.fixture(autouse=True, scope="module")
def backend():
    ibis.set_backend(ibis.duckdb.connect())


@pytest.mark.parametrize(
    "values",
    [
        {"n": True}, {"n": dt.date(2024, 1, 1)}, {"local": 3.5}, {"local": MIDNIGHT.replace(tzinfo=dt.UTC)},
        {"zoned": MIDNIGHT}, {"zoned": True}, {"answer": MIDNIGHT}, {"n": ["1.5"] * 10 + ["12 mg"] * 30},
        {"local": ["2024-01-01"] * 10 + ["1/2/2024"] * 30},
    ],
)  # fmt: skip
def test_28_2_predict_table_refuses_what_predict_refuses(model, values):
    frame, table = table_of(**values)
    with pytest.raises(InputError) as there:
        model.predict_table(table)
    with pytest.raises(InputError) as here:
        model.predict_table(frame)
    assert str(there.value) == str(here.value)


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        ({"answer": True}, UnseenLevelsWarning),
        ({"code": 7}, UnseenLevelsWarning),
        ({"code": [7.0] + [None] * 39}, UnseenLevelsWarning),
        ({"answer": ["yes"] * 15 + ["YES"] * 25}, UnseenLevelsWarning),
        ({"n": ["1.5"] * 30 + ["x"] * 10}, UnreadableValuesWarning),
        ({"local": ["2024-02-01"] * 39 + ["x"]}, UnreadableValuesWarning),
    ],
)
def test_28_2_predict_table_warns_as_predict_does(model, values, warning):
    frame, table = table_of(**values)
    with pytest.warns(warning) as there:
        lazy = model.predict_table(table)
    with pytest.warns(warning) as here:
        wanted = model.predict_table(frame)
    told = [[str(w.message) for w in of if issubclass(w.category, DataWarning)] for of in (there, here)]
    assert told[0] == told[1]
    assert lazy.to_pandas()["state"].tolist() == wanted["state"].tolist()


def test_28_2_a_table_of_the_same_types_is_read_without_a_word(model):
    frame, table = table_of(answer=["yes", None] * 20, n=[None, 3.5] * 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        lazy = model.predict_table(table)
        assert lazy.to_pandas()["state"].tolist() == model.predict_table(frame)["state"].tolist()
        assert len(model.predict_table(table.limit(0)).to_pandas()) == 0
