import itertools
import warnings

import numpy as np
import pytest

from soar_jax import InputError
from soar_jax.candidates import patterns
from soar_jax.candidates.build import CandidateOptions, resolve_threshold
from soar_jax.candidates.coverage import lay_out
from soar_jax.candidates.patterns import Threshold, mine_fpgrowth, mine_packed
from soar_jax.candidates.stages import drop_uninformative
from soar_jax.data.columns import TableValues
from soar_jax.data.items import build_items
from soar_jax.data.table import describe_column, group_rows

OPTIONS = dict(
    max_length=3, min_support=0.05, min_class_support=None, max_patterns=100, screen="entropy", pools="directed",
    miner="packed", max_bins=4, cuts="supervised", negations=True, missing_literals=True,
    search="full", grow_to=None,
)  # fmt: skip


def prepare(make_table, seed, threshold, weights=None):
    frame, y = make_table(seed)
    weights = np.ones(len(frame), np.int64) if weights is None else weights
    columns = [describe_column(TableValues(frame)[c], y, weights, threshold.reached, 4, "supervised") for c in frame]
    items = build_items(columns, negations=True, missing=True)
    rows = group_rows(TableValues(frame), columns, y, weights)
    layout = lay_out(rows)
    items, masks, bits = drop_uninformative(items, items.masks(rows), layout, threshold)
    return items, rows, layout, masks, bits


def as_dict(found):
    return {
        tuple(i for i in row if i >= 0): (p, n)
        for row, p, n in zip(found.items.tolist(), found.positives.tolist(), found.negatives.tolist(), strict=True)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", [Threshold(12, 200, 200), Threshold(30, 8, 10), Threshold(3, 3, 3)])
def test_packed_miner_equals_fpgrowth_and_brute_force(make_table, seed, threshold):
    items, rows, layout, masks, bits = prepare(make_table, seed, threshold)
    allowed = items.compatible()
    packed = as_dict(mine_packed(bits, allowed, layout, threshold, 3))
    fpgrowth = as_dict(mine_fpgrowth(masks, rows.positives, rows.negatives, bits, allowed, layout, threshold, 3))
    brute = {}
    for length in (1, 2, 3):
        for combo in itertools.combinations(range(len(masks)), length):
            if all(allowed[a, b] for a, b in itertools.combinations(combo, 2)):
                cover = masks[list(combo)].all(axis=0)
                p, n = int(rows.positives[cover].sum()), int(rows.negatives[cover].sum())
                if p + n >= threshold.total or p >= threshold.positives or n >= threshold.negatives:
                    brute[combo] = (p, n)
    assert packed == brute
    assert fpgrowth == brute


def test_weighted_rows_mine_like_repeated_rows(make_table):
    frame, _ = make_table(0)
    weights = np.random.default_rng(0).integers(0, 4, len(frame))
    threshold = Threshold(20, 9, 9)
    items, rows, layout, masks, bits = prepare(make_table, 0, threshold, weights)
    allowed = items.compatible()
    packed = as_dict(mine_packed(bits, allowed, layout, threshold, 3))
    assert packed == as_dict(mine_fpgrowth(masks, rows.positives, rows.negatives, bits, allowed, layout, threshold, 3))


def test_explosion_is_foreseen_and_names_the_parameter(make_table, monkeypatch):
    threshold = Threshold(3, 3, 3)
    items, _, layout, _, bits = prepare(make_table, 0, threshold)
    monkeypatch.setattr(patterns, "MAX_WORK", 200)
    with pytest.raises(InputError, match=r"Set max_length=1, raise min_support"):
        mine_packed(bits, items.compatible(), layout, threshold, 3)
    with pytest.warns(UserWarning, match="Mining stopped at length 1"):
        found = mine_packed(bits, items.compatible(), layout, threshold, 3, stop_early=True)
    assert found.length.max() == 1


@pytest.mark.parametrize(
    ("min_support", "min_class", "expected"),
    [
        (0.05, None, Threshold(60, 18, 43)),
        (60, None, Threshold(60, 60, 60)),
        (0.1, 0.02, Threshold(120, 8, 17)),
        (0.1, 3, Threshold(120, 3, 3)),
        (0.001, None, Threshold(2, 2, 2)),
    ],
)
def test_thresholds_are_shares_or_counts(min_support, min_class, expected):
    options = CandidateOptions(**{**OPTIONS, "min_support": min_support, "min_class_support": min_class})
    assert resolve_threshold(options, 352, 848) == expected


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "0.1", float("nan")])
def test_bad_supports_are_refused(bad):
    with pytest.raises(InputError, match="min_support"):
        CandidateOptions(**{**OPTIONS, "min_support": bad}).validate()


def test_rare_class_gets_candidates():
    rng = np.random.default_rng(0)
    import pandas as pd

    frame = pd.DataFrame({"a": rng.integers(0, 20, 2000).astype(str), "b": rng.choice(["u", "v"], 2000)})
    y = np.zeros(2000, bool)
    y[rng.choice(np.flatnonzero(frame["a"] == "7"), 20, replace=False)] = True
    from soar_jax import SOARClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SOARClassifier(min_support=0.2, min_class_support=0.3, n_iter=50, n_restarts=1).fit(frame, y)
    pools = model.pools_
    assert (pools.loc[pools["side"] == "positive", "rule"] == "a = 7").any()
