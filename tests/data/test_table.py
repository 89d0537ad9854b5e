import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax import InputError
from soar_jax.data.columns import ColumnValues, TableValues, infer_kind
from soar_jax.data.cuts import cut_points, shortest_number
from soar_jax.data.items import build_items
from soar_jax.data.table import as_frame, describe_column, group_rows

ALL = lambda p, n: np.ones(len(p), bool)


def describe(series, y=None, method="supervised", max_bins=5):
    y = np.arange(len(series)) % 2 == 0 if y is None else np.asarray(y)
    return describe_column(ColumnValues(series.rename("x")), y, np.ones(len(series), np.int64), ALL, max_bins, method)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b", None], "category"),
        ([True, False, None], "category"),
        ([0, 1, 1], "category"),
        ([0, 1, 2], "number"),
        ([0.5, None, 1.5, 2.5], "number"),
        (pd.Series([1, 2, None, 3], dtype="Int64"), "number"),
        (pd.Series([1, 2, 3], dtype=object), "number"),
        (pd.Series(["x", "y"], dtype="category"), "category"),
        (pd.to_datetime(["2020-01-01", "2021-01-01", None]), "datetime"),
        (["a", 1, 2.5], "category"),
    ],
)
def test_kinds_are_read_from_values(values, kind):
    assert infer_kind(pd.Series(values, name="x")) == kind


@pytest.mark.parametrize("bad", [pd.to_timedelta([1, 2, 3]), np.array([1j, 2j, 3])])
def test_columns_that_cannot_be_ordered_or_matched_give_one_clear_error(bad):
    with pytest.raises(InputError, match="'x'"):
        infer_kind(pd.Series(bad, name="x"))


def test_lists_in_cells_give_one_clear_error():
    with pytest.raises(InputError, match="plain columns"):
        describe(pd.Series([[1], [2], [1]]))


def test_duplicate_column_names_are_refused():
    with pytest.raises(InputError, match="'a' stands more than once"):
        as_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_odd_column_names_are_kept():
    names = ["with space", 'quote"d', "a=b", "ünï", "", "1"]
    assert list(as_frame(pd.DataFrame([range(6)], columns=names)).columns) == names


@pytest.mark.parametrize(
    ("seen", "later", "cells"),
    [
        (["2", "3", "5more"], [2, 3, 2.0], [0, 1, 0]),  # a CSV without "5more" reads as numbers
        ([True, False], ["x", True, None], [2, 1, 3]),
        (["a", "b"], ["b", "never seen", np.nan], [1, 2, 3]),
    ],
)
def test_levels_match_by_text_and_unseen_ones_never_raise(seen, later, cells):
    column = describe(pd.Series(seen, dtype=object))
    assert ColumnValues(pd.Series(later, dtype=object)).cells(column).tolist() == cells


def test_numbers_read_as_text_or_garbage_never_raise():
    column = describe(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), max_bins=2, method="quantile")
    cells = ColumnValues(pd.Series(["1", "99", "junk", None, "-inf"], dtype=object)).cells(column)
    assert cells.tolist() == [0, 1, 2, 2, 0]


def test_datetimes_become_readable_dates():
    days = pd.Series(pd.date_range("2020-01-01", periods=400, freq="D"))
    column = describe(days, y=days >= "2020-07-01", max_bins=2)
    items = build_items([column], negations=False, missing=False)
    assert [str(lit) for lit in items.literals] == ["x <= 2020-06-30", "x > 2020-06-30"]
    assert items.literals[1].holds(days).tolist() == (days > "2020-06-30").tolist()


@given(st.floats(-1e9, 1e9), st.floats(0, 1e6))
def test_shortest_number_stays_in_its_gap(low, width):
    high = low + width
    if high > low:
        assert low <= shortest_number(low, high) < high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (30, 31, 30),
        (29.4, 30.6, 30),
        (0.123, 0.178, 0.15),
        (0, 114, 0),
        (1234, 5678, 3000),
        (-3.2, -1.9, -3),
        (99, 101, 100),
    ],
)
def test_shortest_number_has_few_digits(low, high, expected):
    assert shortest_number(low, high) == expected


@pytest.mark.parametrize("method", ["supervised", "quantile"])
@settings(deadline=None, max_examples=60)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), seed=st.integers(0, 99))
def test_cut_points_ascend_and_split_the_values(method, values, seed):
    distinct = np.unique(np.array(values))
    labels = np.random.default_rng(seed).random(len(distinct))
    cuts = cut_points(distinct, labels, 1 - labels, max_bins=5, method=method)
    assert len(cuts) <= 4
    assert cuts == sorted(set(cuts))
    for cut in cuts:
        assert (distinct <= cut).any() and (distinct > cut).any()


def test_supervised_cuts_find_the_change_of_labels():
    values = np.arange(100.0)
    positives = (values > 62).astype(float)
    assert cut_points(values, positives, 1 - positives, max_bins=2, method="supervised") == [62.0]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_literals_on_cells_equal_literals_on_raw_values(
    seed,
):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "text": rng.choice(["a", "b", "c", None], 50),
            "number": np.where(rng.random(50) < 0.1, np.nan, rng.normal(size=50).round(1)),
            "flag": rng.choice([True, False, None], 50),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, 50), unit="D"),
        }
    )
    y = rng.random(50) < 0.5
    ones = np.ones(50, np.int64)
    columns = [describe_column(TableValues(frame)[c], y, ones, ALL, 4, "supervised") for c in frame]
    items = build_items(columns, negations=True, missing=True)
    for i, literal in enumerate(items.literals):
        series = frame[literal.column]
        by_cell = items.truth[i][ColumnValues(series).cells(columns[items.column[i]])]
        assert np.array_equal(by_cell, literal.holds(series)), str(literal)
        if literal.op != "missing":
            assert not literal.holds(series)[series.isna()].any()


def test_grouping_keeps_class_totals_and_merges_equal_rows():
    frame = pd.DataFrame({"a": list("xxyy"), "b": [1, 1, 2, 2]})
    y = np.array([True, False, True, True])
    columns = [describe(frame["a"]), describe(frame["b"])]
    columns = [type(c)(name, c.kind, c.levels, c.cuts) for name, c in zip("ab", columns, strict=True)]
    rows = group_rows(TableValues(frame), columns, y, np.array([1, 2, 3, 4]))
    assert sorted(zip(rows.positives.tolist(), rows.negatives.tolist(), strict=True)) == [(1, 2), (7, 0)]


def test_grouping_survives_keys_beyond_64_bits():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 30, (200, 20)).astype(str), columns=[f"c{i}" for i in range(20)])
    frame = pd.concat([frame, frame], ignore_index=True)
    y = np.arange(400) < 200
    ones = np.ones(400, np.int64)
    columns = [describe_column(TableValues(frame)[c], y, ones, ALL, 4, "supervised") for c in frame]
    rows = group_rows(TableValues(frame), columns, y, ones)
    assert len(rows.cells) == 200
    assert (rows.positives == 1).all() and (rows.negatives == 1).all()


def test_28_8_categories_of_polars_are_read_by_old_versions_and_new():
    polars = pytest.importorskip("polars")
    values = ["x", "y", None, "x"]
    plain = polars.Series(values, dtype=polars.Categorical)
    ordered = polars.Series(["l", "h", None, "l"], dtype=polars.Enum(["l", "m", "h"]))
    frame = as_frame(polars.DataFrame({"plain": plain, "ordered": ordered}))
    assert frame["plain"].tolist()[:2] == values[:2] and frame["plain"].isna().tolist() == [False, False, True, False]
    assert isinstance(frame["plain"].dtype, pd.CategoricalDtype) and not frame["plain"].cat.ordered
    assert list(frame["ordered"].cat.categories) == ["l", "m", "h"] and frame["ordered"].cat.ordered
