"""Independent searches of one fit: when they agree, and that a checkpoint keeps what they ended in."""

import numpy as np
import pytest

from soar_jax import SOARClassifier
from soar_jax.candidates.coverage import lay_out
from soar_jax.data.table import GroupedRows
from soar_jax.search import explore
from soar_jax.search.ends import MAX_DIFFERING, NEARLY_AS_GOOD, End, agreement_of
from tests.conftest import random_table

NOTHING = (np.zeros((0, 1), np.int64), np.zeros((0, 1), np.int64))


def ends_of(layout, rows, *found):
    """Ends from (log joint, rows covered by the positive side, search)."""
    ends = []
    for log_joint, covered, search in found:
        bits = layout.pack(np.isin(np.arange(rows), covered)[None])
        ends.append(End(log_joint, NOTHING, np.concatenate([bits, np.zeros_like(bits)]), search))
    return ends


def test_a_search_has_found_a_reading_when_it_kept_nearly_its_best_pair_on_nearly_the_same_rows():
    rows = 100
    layout = lay_out(GroupedRows(np.arange(rows)[:, None], np.ones(rows, int), np.zeros(rows, int)))
    near, far = np.arange(30 + int(MAX_DIFFERING * rows)), np.arange(60)
    best = (-10.0, np.arange(30), 0)
    found = agreement_of(ends_of(layout, rows, best, (-11.0, far, 1), (-12.0, near, 1), (-30.0, far, 2)), layout)
    assert found == (3, 2, 1.0)  # search 1 led with another reading, and had found this one
    short = (-10.0 - NEARLY_AS_GOOD - 0.1, near, 1)
    assert agreement_of(ends_of(layout, rows, best, short), layout) == (2, 1, np.inf)
    assert agreement_of(ends_of(layout, rows, best, (-11.0, near[:-1], 1)), layout).num_agreeing == 2


def test_weights_of_rows_count_when_readings_are_compared():
    layout = lay_out(GroupedRows(np.arange(3)[:, None], np.array([1, 1, 98]), np.zeros(3, int)))
    light = ends_of(layout, 3, (0.0, [0], 0), (-1.0, [0, 1], 1))
    heavy = ends_of(layout, 3, (0.0, [0], 0), (-1.0, [0, 2], 1))
    assert agreement_of(light, layout).num_agreeing == 2 and agreement_of(heavy, layout).num_agreeing == 1


def test_searches_go_on_until_two_agree_or_four_have_ended(monkeypatch):
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(n_rounds=1, max_patterns=8, max_length=2).fit(X, y)
    assert model.fitted_pair_.starts.agreement.num_agreeing >= 2
    monkeypatch.setattr(explore, "NUM_AGREEING", 99)
    longer = SOARClassifier(n_rounds=1, max_patterns=8, max_length=2).fit(X, y)
    assert longer.fitted_pair_.starts.agreement.num_searches == explore.MAX_SEARCHES
    assert longer.score_ <= model.score_ + 1e-9


def test_every_reading_near_the_best_has_its_rules_among_the_candidates_and_starts_chains():
    """Two columns tell the label equally well, and a third nearly."""
    rng = np.random.default_rng(0)
    X, _ = random_table(4, num_rows=200)
    y = rng.random(200) < 0.5
    for name, share in (("one", 0.9), ("two", 0.9), ("three", 0.85)):
        X[name] = np.where(rng.random(200) < share, y, ~y).astype(int)
    model = SOARClassifier(n_rounds=2, max_patterns=12, max_length=1, max_rules=1).fit(X, y)
    pair = model.fitted_pair_
    readings = pair.starts.readings
    assert len(readings) and readings.shape[1:] == (2, pair.target.num_slots)
    for reading in readings:
        assert reading.any() and not np.array_equal(reading, pair.included)
    columns = {pool.patterns[i][0].column for pool in pair.target.pools for i in range(len(pool))}
    assert {"one", "two"} <= columns
    values = [type(pair)(**{**vars_of(pair), "included": reading}).log_joint for reading in readings]
    assert max(values) <= pair.log_joint and min(values) > pair.log_joint - 30
    assert values == sorted(values, reverse=True) or values == pytest.approx(sorted(values, reverse=True), abs=1e-6)


def vars_of(pair):
    return {name: getattr(pair, name) for name in pair.__dataclass_fields__}
