"""Columns, grouped rows and mined patterns from DuckDB are those of the data frame."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from soar_jax import InputError
from soar_jax.candidates.build import build_from
from soar_jax.candidates.constraints import Constraints
from soar_jax.data.items import build_items
from soar_jax.data.literals import Literal
from soar_jax.database import source as source_module
from soar_jax.database.cells import coarse_codes, unpack
from soar_jax.rules import Rule
from tests.database.tables import (
    OPTIONS,
    built,
    duckdb_table,
    frame_source,
    frame_table,
    planted,
    small_tables,
    source_of,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@settings(max_examples=60)
@given(small_tables())
def test_columns_and_patterns_equal_those_of_a_data_frame(made):
    table = duckdb_table(*made)
    try:
        wanted = built(frame_source(table))
    except InputError as error:
        with pytest.raises(InputError) as raised:
            built(source_of(table))
        assert str(raised.value) == str(error)
        return
    columns, patterns, searched = built(source_of(table))
    assert [(c.name, c.kind, c.cuts, c.has_other, c.choices) for c in columns] == [
        (c.name, c.kind, c.cuts, c.has_other, c.choices) for c in wanted[0]
    ]
    assert patterns == wanted[1]
    np.testing.assert_array_equal(searched.hypotheses, wanted[2].hypotheses)


def test_groups_are_as_coarse_as_the_literals_and_lose_no_row():
    table = frame_table(planted(2000))
    source = source_of(table)
    _, patterns, _ = built(source)
    fetched = [query for query in source.engine.log if query.what == "count the rows of each group"]
    _, wanted, _ = built(frame_source(table))
    assert patterns == wanted
    assert fetched[0].lines < 2000


def test_codes_unpack_to_cells_that_satisfy_the_same_literals():
    table = frame_table(planted(500))
    source = frame_source(table)
    threshold = lambda p, n: p + n >= 10
    columns = [source.describe(name, threshold, 4, "supervised") for name in source.names]
    items = build_items(columns, negations=False, missing=False)
    counts = source.count_cells(columns)
    for codes in coarse_codes([p + n > 0 for p, n in counts], items):
        told = np.array([items.truth[i] for i in np.flatnonzero(items.column == codes.place)])
        has_rows = np.add(*counts[codes.place]) > 0
        for cell in np.flatnonzero(has_rows):
            np.testing.assert_array_equal(told[:, codes.cell[codes.of_cell[cell]]], told[:, cell])
        keys = np.arange(len(codes.cell))[:, None]
        np.testing.assert_array_equal(unpack(keys, [[codes]], len(columns))[:, codes.place], codes.cell)


def test_keys_that_need_more_than_62_bits_are_split():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{i}": rng.choice(list("abcdef"), 200) for i in range(30)})
    frame["label"] = rng.random(200) < 0.5
    table = frame_table(frame)
    source = source_of(table)
    assert built(source)[1] == built(frame_source(table))[1]


def many_values(num_rows=6000, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"x": rng.lognormal(0, 3, num_rows), "t": pd.to_datetime(rng.integers(0, 2**50, num_rows), unit="us")}
    )
    frame.loc[:50, "x"] = np.nan
    frame.loc[60:62, "x"] = [np.inf, -np.inf, 0.0]
    frame["label"] = (frame["x"] > 20) ^ (rng.random(num_rows) < 0.1)
    return frame


def test_bins_of_very_many_values_are_ordered_whole_and_fine(monkeypatch):
    monkeypatch.setattr(source_module, "MOST_VALUES", 100)
    frame = many_values()
    source = source_of(frame_table(frame))
    for name, values in (("x", frame["x"].dropna()), ("t", frame["t"].astype("int64"))):
        bins = source.profiles[name].bins
        assert (bins.low <= bins.high).all() and (bins.high[:-1] < bins.low[1:]).all()
        label = frame["label"][values.index].to_numpy()
        for i in range(len(bins.low)):
            inside = ((values >= bins.low[i]) & (values <= bins.high[i])).to_numpy()
            assert (inside & label).sum() == bins.positives[i] and (inside & ~label).sum() == bins.negatives[i]
        heavy = (bins.positives + bins.negatives) > len(values) / 100
        assert not (heavy & (bins.high > bins.low)).any()


def test_bins_span_more_than_the_largest_number(monkeypatch):
    monkeypatch.setattr(source_module, "MOST_VALUES", 100)
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=1000), rng.uniform(-1.7, 1.7, 1000) * 1e308, [-1.79e308, 1.79e308]])
    source = source_of(frame_table(pd.DataFrame({"x": x, "label": x > 0})))
    bins = source.profiles["x"].bins
    assert (bins.high[:-1] < bins.low[1:]).all() and bins.positives.sum() + bins.negatives.sum() == len(x)
    assert len(bins.low) > 100 and built(source)[0][0].cuts


def test_cuts_between_bins_count_every_row_and_come_near_the_best_cut(monkeypatch):
    frame = many_values()
    table = frame_table(frame)
    exact, _, _ = built(frame_source(table))
    monkeypatch.setattr(source_module, "MOST_VALUES", 100)
    columns, patterns, _ = built(source_of(table))
    x = columns[0]
    assert min(abs((frame["x"] <= cut).sum() - (frame["x"] <= 20).sum()) for cut in x.cuts) <= 2
    assert len(x.cuts) == len(exact[0].cuts)
    for cut in x.cuts:
        label = frame["label"].to_numpy()
        above = (frame["x"] > cut).to_numpy()
        counts = patterns.get((Literal("x", ">", cut),))
        assert counts is None or counts == ((above & label).sum(), (above & ~label).sum())


def test_required_cuts_that_go_through_a_bin_are_counted_by_the_engine(monkeypatch):
    monkeypatch.setattr(source_module, "MOST_VALUES", 100)
    frame = many_values()
    source = source_of(frame_table(frame))
    built(source)
    bins = source.profiles["x"].bins
    widest = int(np.argmax(np.where(np.isfinite(bins.high), bins.positives * (bins.high > bins.low), 0)))
    cut = float(bins.low[widest] / 2 + bins.high[widest] / 2)
    rule = Rule((Literal("x", ">", cut),))
    made, _ = build_from(source, OPTIONS, Constraints(required=((rule,), ())), single=False)
    pool = made.source.pool(made.source.required[0], made.source.item_bits[made.source.required[0][:, 0]], 0)
    above = (frame["x"] > cut).to_numpy()
    assert int(pool.positives[0]) == (above & frame["label"]).sum()
    assert any("count the cells of column 'x'" in query.what for query in source.engine.log)


def test_levels_of_a_wide_text_column_are_limited_and_the_rest_is_other(monkeypatch):
    rng = np.random.default_rng(0)
    words = np.where(rng.random(3000) < 0.3, "common", [f"rare {i}" for i in rng.integers(0, 2000, 3000)])
    frame = pd.DataFrame({"w": words, "label": (words == "common") ^ (rng.random(3000) < 0.2)})
    table = frame_table(frame)
    wanted = built(frame_source(table))
    monkeypatch.setattr(source_module, "MOST_VALUES", 100)
    monkeypatch.setattr(source_module, "MOST_LEVELS", 20)
    found = built(source_of(table))
    assert found[0] == wanted[0] and found[0][0].levels == ("common",) and found[0][0].has_other
    assert found[1] == wanted[1]


def test_only_aggregates_cross(monkeypatch):
    """Every query that is executed groups or aggregates at its top, and no more lines cross than groups and values."""
    import ibis.expr.operations as ops
    from ibis.backends.duckdb import Backend

    seen = []
    execute = Backend.execute

    def watched(self, expr, *args, **kwargs):
        op = expr.op()
        while isinstance(op, ops.Limit | ops.Sort | ops.Project | ops.Filter | ops.DropColumns | ops.Field):
            op = op.parent if not isinstance(op, ops.Field) else op.rel
        result = execute(self, expr, *args, **kwargs)
        seen.append((type(op).__name__, len(result)))
        return result

    monkeypatch.setattr(Backend, "execute", watched)
    monkeypatch.setattr(Backend, "to_pyarrow", None)
    table = frame_table(planted(5000))
    source = source_of(table)
    built(source)
    assert len(seen) == len(source.engine.log) and {kind for kind, _ in seen} == {"Aggregate"}
    assert max(lines for _, lines in seen) < 2500
