"""Whole fits from DuckDB equal those of a data frame to the bit, and what is out of reach is refused."""

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from soar_jax import InputError, SOARClassifier, datasets
from soar_jax.candidates.coverage import MAX_ROWS
from soar_jax.database import sampled
from soar_jax.database import source as source_module
from soar_jax.database.source import TableSource
from tests.database.tables import built, duckdb_table, frame_source, frame_table, planted, source_of
from tests.export.made import model_of

pytestmark = pytest.mark.filterwarnings("ignore")
QUICK = dict(n_rounds=2, max_patterns=60, max_length=2, grow_to=2)


def assert_same(model, other):
    assert model.score_ == other.score_ and model.gain_ == other.gain_
    pd.testing.assert_frame_equal(model.rules_, other.rules_)
    pd.testing.assert_series_equal(model.training_taxonomy_, other.training_taxonomy_)
    assert model.certificate_ == other.certificate_ and list(model.classes_) == list(other.classes_)
    assert model.features_used_ == other.features_used_


def fit_frame(table, target, model, **how):
    frame = table.to_pandas()
    return model.fit(frame.drop(columns=target), frame[target], **how)


@pytest.fixture(scope="module")
def car():
    X, y = datasets.load_car()
    return frame_table(X.assign(ziel=np.asarray(y)), name="car")


@pytest.fixture(scope="module")
def car_model(car):
    return SOARClassifier(**QUICK).fit_table(car, "ziel")


@pytest.fixture(scope="module")
def car_frame_model(car):
    return fit_frame(car, "ziel", SOARClassifier(**QUICK))


def test_a_fit_to_car_equals_that_of_its_data_frame(car_model, car_frame_model, tmp_path):
    assert_same(car_model, car_frame_model)
    assert car_model.positive_rules_.label == 1
    assert car_model.queries_["lines"].max() <= 1728 and (car_model.queries_["bytes"] > 0).all()
    car_model.save(tmp_path / "model.json")
    loaded = SOARClassifier.load(tmp_path / "model.json")
    assert loaded.describe() == car_model.describe() and loaded.certificate_ == car_model.certificate_


def adult(num_rows):
    X, y = datasets.load_adult()
    return frame_table(X.assign(ziel=np.asarray(y)).head(num_rows), name="adult")


def test_columns_and_patterns_of_adult_are_those_of_its_data_frame():
    table = adult(4000).rename(label="ziel").mutate(label=ibis._.label.cast("boolean"))
    found, wanted = built(source_of(table)), built(frame_source(table))
    assert found[0] == wanted[0] and found[1] == wanted[1] and len(found[1]) > 1000


@pytest.mark.slow
def test_a_default_fit_to_adult_equals_that_of_its_data_frame():
    table = adult(4000)
    assert_same(SOARClassifier().fit_table(table, "ziel"), fit_frame(table, "ziel", SOARClassifier()))


def test_constraints_weights_and_classes_act_as_on_a_data_frame():
    frame = planted(600)
    frame["gewicht"] = np.random.default_rng(1).integers(0, 4, len(frame))
    table = frame_table(frame, name="planted")
    how = dict(
        forbid=["seit", ("größe", "kinder")], directions={"kinder": "+"}, require={"positive": ["größe > 171.23"]},
        class_weight={True: 2}, max_columns=3, **QUICK,
    )  # fmt: skip
    model = SOARClassifier(**how).fit_table(table, "label", weight="gewicht")
    read = table.to_pandas()
    X, y = read.drop(columns=["label", "gewicht"]), read["label"]
    assert_same(model, SOARClassifier(**how).fit(X, y, sample_weight=read["gewicht"]))


def test_what_is_sampled_is_the_same_as_on_the_data_frame(car_model, car_frame_model):
    """Candidates, their counts and the priors are all that sampling sees."""
    other = car_frame_model
    mine, theirs = car_model.fitted_pair_.target, other.fitted_pair_.target
    for one, two in zip(mine.pools, theirs.pools, strict=True):
        assert one.patterns == two.patterns and one.aliases == two.aliases
        np.testing.assert_array_equal(one.positives, two.positives)
        np.testing.assert_array_equal(one.negatives, two.negatives)
    assert car_model.priors_ == other.priors_
    assert mine.merged[1].num_words == theirs.merged[1].num_words
    pd.testing.assert_frame_equal(car_model.pools_, other.pools_)


def test_too_many_groups_are_mined_on_a_sample_and_counted_on_all_rows(monkeypatch):
    monkeypatch.setattr(sampled, "SAMPLE_ROWS", 400)
    frame = planted(4000)
    table = frame_table(frame, name="many")
    model = SOARClassifier(**QUICK).fit_table(table, "label", max_groups=150)
    assert model.certificate_.num_sampled > 0 and "sample" in str(model.certificate_)
    assert not model.certificate_.are_all_mined
    read = table.to_pandas()
    counted = model.taxonomy(read.drop(columns="label"), read["label"])
    pd.testing.assert_series_equal(counted, model.training_taxonomy_)
    assert counted.sum() == 4000
    found = " ".join(str(rule) for rule in model.positive_rules_)
    assert "aktiv = True and kinder > 2" in found
    grouped = model.queries_[model.queries_["what"] == "count the rows of each group"]
    assert grouped["lines"].max() <= 151


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        ([("y", "boolean"), ("a", "integer")], [], "no rows"),
        ([("y", "boolean"), ("a", "integer")], [(True, 1), (None, 2)], "missing in 1 of 2 rows"),
        ([("y", "boolean"), ("a", "integer")], [(True, 1), (True, 2)], "has only one class; rules need two"),
        ([("y", "integer"), ("a", "integer")], [(1, 1), (2, 2), (3, 3)], "has 3 distinct values"),
        ([("y", "date"), ("a", "integer")], [("2020-01-01", 1), ("2020-01-02", 2)], "'y' holds dates"),
        ([("y", "boolean"), ("a", "integer")], [(True, None), (False, None)], "Every value of the table is missing"),
    ],
)
def test_tables_that_cannot_be_learnt_from_are_refused(columns, rows, message):
    with pytest.raises(InputError, match=message):
        SOARClassifier().fit_table(duckdb_table(columns, rows), "y")


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = SOARClassifier()
    with pytest.raises(InputError, match="Did you mean 'label'"):
        model.fit_table(frame_table(planted(50)), "lable")
    with pytest.raises(InputError, match="Did you mean 'label'"):
        model.fit_table(frame_table(planted(50)), "LABEL")
    with pytest.raises(InputError, match="Did you mean 'farbe'"):
        model.fit_table(frame_table(planted(50)), "label", drop=["frabe"])
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("declared", ["INTEGER[]", "STRUCT(a INTEGER)", "BLOB", "MAP(VARCHAR, INTEGER)", "INTERVAL"])
def test_types_that_cannot_be_read_are_named(declared):
    con = ibis.duckdb.connect()
    con.raw_sql(f"CREATE TABLE t (y BOOLEAN, odd {declared})")
    con.raw_sql("INSERT INTO t VALUES (true, NULL), (false, NULL)")
    with pytest.raises(InputError, match=r"Column 'odd' has type .* leave it out"):
        SOARClassifier().fit_table(con.table("t"), "y")


@pytest.mark.parametrize("how", [{"honest": True}, {"holdout": 0.2}])
def test_what_needs_single_rows_is_refused(how):
    with pytest.raises(InputError, match="needs single rows"):
        SOARClassifier(**how).fit_table(frame_table(planted(50)), "label")


def test_more_rows_than_can_be_counted_are_refused_before_any_is_grouped():
    rows = [(True, 1, MAX_ROWS // 2), (False, 2, MAX_ROWS // 2 + 2)]
    table = duckdb_table([("y", "boolean"), ("a", "integer"), ("w", "integer")], rows)
    with pytest.raises(InputError, match=r"at most 2,147,483,647 can be counted exactly"):
        SOARClassifier().fit_table(table, "y", weight="w")


def test_counts_of_ten_billion_rows_are_exact_until_they_are_refused(monkeypatch):
    """The engine's sums and what is made of them are int64: only the search has a limit."""
    from soar_jax.database import source as module

    monkeypatch.setattr(module, "check_num_rows", lambda num_rows: None)
    big = 10_000_000_000_000_001
    table = duckdb_table([("label", "boolean"), ("a", "text"), ("w", "integer")], [(True, "x", big), (False, "y", 3)])
    from soar_jax.database.engine import Engine
    from soar_jax.database.target import count_labels

    engine = Engine(table)
    labels = count_labels(engine, "label", "w")
    source = TableSource(engine, ["a"], "label", labels, 1, "w", (1, 1), 100)
    assert (source.num_positives, source.num_negatives) == (big, 3)
    column = source.describe("a", lambda p, n: p + n > 0, 4, "supervised")
    assert source.count_cells([column])[0][0].tolist() == [big, 0, 0, 0]


@pytest.mark.parametrize(
    "weights", [[1, -1], [1, None], [1, 0.5], [1, float("nan")], [1, float("inf")], [1, -float("inf")]]
)
def test_weights_must_be_whole(weights):
    kind = "float" if any(isinstance(weight, float) for weight in weights) else "integer"
    rows = [(True, 1, weights[0]), (False, 2, weights[1])]
    table = duckdb_table([("y", "boolean"), ("a", "integer"), ("w", kind)], rows)
    with pytest.raises(InputError, match="whole numbers of at least 0"):
        SOARClassifier().fit_table(table, "y", weight="w")


@pytest.mark.parametrize(
    ("kind", "weights"), [("integer", [2**62, 2**62]), ("float", [1e19, 1]), ("float", [1e308] * 2)]
)
def test_weights_beyond_what_can_be_summed_are_refused_as_too_many(kind, weights):
    rows = [(True, 1, weights[0]), (False, 2, weights[1])]
    table = duckdb_table([("y", "boolean"), ("a", "integer"), ("w", kind)], rows)
    with pytest.raises(InputError, match=r"'w' add up to .*; at most 2,147,483,647 can be counted exactly"):
        SOARClassifier().fit_table(table, "y", weight="w")


def typed_table(**columns):
    """A DuckDB table of 300 rows with columns by expressions of ``i``, the row's number."""
    con = ibis.duckdb.connect()
    listed = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
    con.raw_sql(f"CREATE TABLE t AS SELECT {listed} FROM range(300) s(i)")
    return con.table("t")


@pytest.mark.parametrize(
    ("declared", "labels"),
    [
        ("(i % 3 = 1)::INTEGER::DECIMAL(4, 2)", [0, 1]),
        ("CASE WHEN i % 3 = 1 THEN 1.5 ELSE 0 END::DECIMAL(4, 2)", [0.0, 1.5]),
        ("(i % 3 = 1)::INTEGER::HUGEINT", [0, 1]),
        ("(i % 3 = 1)::INTEGER::UBIGINT", [0, 1]),
    ],
)
def test_labels_of_any_type_of_number_are_saved_and_predicted_as_numbers(declared, labels, tmp_path):
    table = typed_table(a="i % 3", b="i % 2", y=declared)
    model = SOARClassifier(**QUICK).fit_table(table, "y")
    assert model.classes_.tolist() == labels and type(model.classes_.tolist()[0]) is type(labels[0])
    model.save(tmp_path / "model.json")
    judged = SOARClassifier.load(tmp_path / "model.json").predict_table(table)
    assert judged.to_pandas()["prediction"].tolist() == [labels[i % 3 == 1] for i in range(300)]
    assert model.taxonomy(table.to_pandas(), table.to_pandas()["y"].astype(float)).sum() == 300


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("TIMESTAMPTZ '2020-01-01 00:00:00+00' + INTERVAL (i % 2) DAY", "'y' holds dates"),
        ("18446744073709551615::UBIGINT - (i % 2)::UBIGINT", "'y' holds whole numbers beyond 64 bits"),
        ("18446744073709551615::HUGEINT - i % 2", "'y' holds whole numbers beyond 64 bits"),
        ("1.1::DECIMAL(38, 30) + (i % 2) * 1e-29::DECIMAL(38, 30)", "'y' are one as float64"),
        ("'secret'", "'y' has only one class; rules"),
    ],
)
def test_labels_that_no_model_can_keep_are_refused_before_the_fit(declared, message, monkeypatch):
    monkeypatch.setattr(SOARClassifier, "_search", None)
    with pytest.raises(InputError, match=message) as raised:
        SOARClassifier(**QUICK).fit_table(typed_table(a="i % 3", y=declared), "y")
    assert "secret" not in str(raised.value) and "1844" not in str(raised.value)


def test_unsigned_numbers_beyond_64_bits_are_learnt_from_and_predicted():
    table = typed_table(a="18446744073709551615::UBIGINT - (i % 2)::UBIGINT", y="i % 2 = 1")
    model = SOARClassifier(**QUICK).fit_table(table, "y")
    assert_same(model, fit_frame(table, "y", SOARClassifier(**QUICK)))
    assert (model.predict_table(table).to_pandas()["prediction"] == (np.arange(300) % 2 == 1)).all()
    assert not model.monitor(table).has_drifted


def test_a_cell_with_a_nul_character_is_not_shown_and_its_column_is_named():
    table = typed_table(a="CASE WHEN i % 2 = 1 THEN 'secret' || chr(0) ELSE 'b' END", y="i % 2 = 1")
    with pytest.raises(InputError, match="A value of column 'a' holds a NUL character") as raised:
        SOARClassifier(**QUICK).fit_table(table, "y")
    assert "secret" not in str(raised.value)
    model = model_of([[("a", "==", "secret\0")]], [], columns={"a": "words"})
    with pytest.raises(InputError, match="A level of column 'a' holds a NUL character") as raised:
        model.predict_table(table)
    assert "secret" not in str(raised.value)


def test_a_preview_says_how_many_groups_to_expect(capsys):
    table = frame_table(planted(3000))
    source = source_of(table, max_groups=10)
    source.engine._progress = True
    with pytest.raises(InputError, match="more than 10 groups"):
        built(source)
    shown = capsys.readouterr().err
    assert "groups to expect" in shown
    assert "count the values of column 'farbe'" in [query.what for query in source.engine.log]


@pytest.mark.parametrize("declared", ["DECIMAL(6, 2)", "DECIMAL(38, 2)"])
def test_decimals_of_two_values_are_numbers_in_the_engine_and_in_memory(declared):
    con = ibis.duckdb.connect()
    con.raw_sql(
        f"CREATE TABLE t AS SELECT CAST(CASE WHEN i % 3 = 1 THEN 1.5 WHEN i % 3 = 2 THEN 0 END AS {declared}) AS a, "
        "i % 3 = 1 AS y FROM range(300) s(i)"
    )
    table = con.table("t")
    model, frame = SOARClassifier(**QUICK).fit_table(table, "y"), table.to_pandas()
    assert_same(model, fit_frame(table, "y", SOARClassifier(**QUICK)))
    assert "a = 1.5" in model.describe()
    arrow = frame.assign(a=frame["a"].astype(pd.ArrowDtype(pa.decimal128(38, 2))))
    states = [model.predict_table(rows)["state"].tolist() for rows in (frame, arrow)]
    assert states == [model.predict_table(table)["state"].to_pandas().tolist()] * 2
    assert set(states[0]) >= {"positive"} and not model.monitor(table).has_drifted


def nanoseconds(con, name, num_rows=400):
    """Three milliseconds apart, each with up to 999 nanoseconds more, before and after 1970."""
    con.raw_sql(
        f"CREATE OR REPLACE TABLE {name} AS SELECT make_timestamp_ns((i % 8 - 4) * 3000000 + (i * 7 % 5) * 249) AS c, "
        f"i % 8 >= 3 AS y FROM range({num_rows}) s(i)"
    )
    return con.table(name)


@pytest.mark.parametrize("most_values", [100_000, 3])
def test_nanoseconds_are_cut_to_the_microsecond_in_the_engine_as_in_memory(monkeypatch, most_values):
    monkeypatch.setattr(source_module, "MOST_VALUES", most_values)
    table = nanoseconds(ibis.duckdb.connect(), "ns")
    model, frame = SOARClassifier(**QUICK).fit_table(table, "y"), table.to_pandas()
    assert_same(model, fit_frame(table, "y", SOARClassifier(**QUICK)))
    wanted = model.predict_table(frame)["state"].value_counts().to_dict()
    assert model.predict_table(table)["state"].to_pandas().value_counts().to_dict() == wanted
    assert model.training_taxonomy_.to_dict()["CTP"] == wanted["positive"] and not model.monitor(table).has_drifted


@pytest.mark.parametrize("types", [None, {"c": "timestamp"}])
def test_exports_cut_nanoseconds_too(types):
    con = ibis.duckdb.connect()
    table = nanoseconds(con, "ns")
    model = model_of([[("c", ">", "1969-12-31T23:59:59.997000")]], [[("c", "<=", "1969-12-31T23:59:59.997000")]])
    found = con.raw_sql(model.to_sql("duckdb", "ns", types=types)).fetchall()
    states = model.predict_table(table.to_pandas())["state"]
    assert sorted(row[2] for row in found) == sorted(states) and states.value_counts()["negative"] == 200
