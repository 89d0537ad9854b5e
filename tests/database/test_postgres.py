"""PostgreSQL by way of Ibis: `pytest -n 0 -m engines tests/database`."""

import ibis
import pytest

from soar_jax import InputError, SOARClassifier
from soar_jax.database.connect import open_table
from soar_jax.database.write import write_table
from tests.database.test_fit import QUICK, assert_same
from tests.export.made import model_of
from tests.export.test_engines import postgres  # noqa: F401

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
OUTPUTS = ["prediction", "probability", "state", "rules"]


@pytest.fixture(scope="module")
def con(postgres):  # noqa: F811
    con = ibis.postgres.connect(host=postgres.info.host, user="soar", database="postgres")
    yield con
    con.disconnect()
    postgres.close()


def filled(con, name, query):
    con.raw_sql(f"CREATE TABLE {name} AS {query}")
    return con.table(name.rpartition(".")[2])


def count(con, name):
    return con.table(name).count().execute()


def test_tables_are_written_in_one_step_and_never_over_what_is_read(con):
    con.raw_sql("CREATE SCHEMA s2")
    table = filled(con, "src", "SELECT i AS id, i % 3 AS a FROM generate_series(1, 1000) i")
    con.raw_sql("CREATE VIEW seen AS SELECT * FROM src")
    result = model_of([[("a", "==", 1)]], [[("a", "==", 2)]]).predict_table(table, keep=["id"])
    write_table(result, "judged")
    write_table(result.limit(5), "judged", overwrite=True)
    write_table(result.limit(7), "s2.judged")
    assert count(con, "judged") == 5 and con.table("judged", database="s2").count().execute() == 7
    for name in ("src", "public.src"):
        with pytest.raises(InputError, match="is read here"):
            write_table(result, name, overwrite=True)
    through = model_of([[("a", "==", 1)]], []).predict_table(con.table("seen"), keep=["id"])
    with pytest.raises(InputError, match="something else is built on it"):
        write_table(through, "src", overwrite=True)
    assert con.table("src").columns == ("id", "a") and count(con, "src") == 1000
    with pytest.raises(InputError, match="no schema 's9'"):
        write_table(result, "s9.judged")
    write_table(result.limit(3), "Judged")  # PostgreSQL tells cases apart
    assert sorted(n for n in con.list_tables() if n not in ("src", "seen")) == ["Judged", "judged"]


def test_tables_in_other_schemas_are_named_as_they_must_be_typed(con, postgres):  # noqa: F811
    con.raw_sql("CREATE SCHEMA IF NOT EXISTS s3")
    con.raw_sql("CREATE TABLE s3.only3 AS SELECT 1 AS a")
    address = f"postgres://soar@/postgres?host={postgres.info.host}"
    with pytest.raises(InputError, match=r"did you mean 's3\.only3'"):
        open_table(database=address, table="only3")
    found = open_table(database=address, table="s3.only3")
    assert found.count().execute() == 1
    found.get_backend().disconnect()


@pytest.mark.parametrize("declared", ["numeric", "numeric(6, 2)"])
def test_decimals_of_two_values_are_numbers_in_postgres_and_in_memory(con, declared):
    con.raw_sql("DROP TABLE IF EXISTS decimals")
    table = filled(
        con, "decimals", f"SELECT CAST(CASE WHEN i % 3 = 1 THEN 1.50 WHEN i % 3 = 2 THEN 0 END AS {declared}) AS a, "
        "i % 3 = 1 AS y FROM generate_series(1, 300) i",
    )  # fmt: skip
    model = SOARClassifier(**QUICK).fit_table(table, "y")
    frame = table.to_pandas()
    assert_same(model, SOARClassifier(**QUICK).fit(frame[["a"]], frame["y"]))
    assert sorted(model.predict_table(table)["state"].to_pandas()) == sorted(model.predict_table(frame)["state"])
    assert "a = 1.5" in model.describe() and not model.monitor(table).has_drifted


@pytest.mark.parametrize("number", ["numeric", "numeric(6, 2)", "bigint", "real"])
def test_labels_and_weights_of_any_type_of_number_are_numbers(con, number):
    con.raw_sql("DROP TABLE IF EXISTS labelled")
    table = filled(
        con, "labelled", f"SELECT i AS id, i % 3 AS a, (i % 2)::{number} AS w, (i % 3 = 1)::int::{number} AS y "
        "FROM generate_series(1, 300) i",
    )  # fmt: skip
    model = SOARClassifier(**QUICK).fit_table(table, "y", drop=["id"], weight="w")
    assert model.classes_.tolist() == [0, 1]
    found = model.predict_table(table, keep=["id"]).order_by("id").to_pandas()
    assert found["prediction"].tolist() == [i % 3 == 1 for i in range(1, 301)]


def test_weights_and_labels_that_cannot_be_counted_are_refused(con):
    table = filled(
        con, "odd_weights", "SELECT i AS a, i % 2 = 0 AS y, 'NaN'::float8 AS nan, 1e19::float8 AS large, "
        "now() AS moment FROM generate_series(1, 4) i",
    )  # fmt: skip
    for weight, message in (("nan", "whole numbers of at least 0"), ("large", "add up to")):
        with pytest.raises(InputError, match=message):
            SOARClassifier(**QUICK).fit_table(table, "y", weight=weight)
    with pytest.raises(InputError, match="'moment' holds dates"):
        SOARClassifier(**QUICK).fit_table(table, "moment")
