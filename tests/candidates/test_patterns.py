import itertools
import warnings

import numpy as np
import pytest

from soar_jax import InputError
from soar_jax.candidates import patterns
from soar_jax.candidates.build import CandidateOptions, resolve_threshold
from soar_jax.candidates.coverage import lay_out
from soar_jax.candidates.patterns import Threshold, mine_fpgrowth, mine_packed
from soar_jax.candidates.sources import cell_counts
from soar_jax.candidates.stages import keep_informative
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
    items = keep_informative(items, cell_counts(rows, columns), threshold)
    masks = items.masks(rows)
    return items, rows, layout, masks, layout.pack(masks)


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

    frame = pd.DataFrame(
        {"a": np.char.add("k", rng.integers(0, 20, 2000).astype(str)), "b": rng.choice(["u", "v"], 2000)}
    )
    y = np.zeros(2000, bool)
    y[rng.choice(np.flatnonzero(frame["a"] == "k7"), 20, replace=False)] = True
    from soar_jax import SOARClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SOARClassifier(min_support=0.2, min_class_support=0.3, n_iter=50, n_restarts=1).fit(frame, y)
    pools = model.pools_
    assert (pools.loc[pools["side"] == "positive", "rule"] == "a = k7").any()


def test_limits_of_mining_are_kept_to_the_last_unit(make_table, monkeypatch):
    threshold = Threshold(3, 3, 3)
    items, _, layout, _, bits = prepare(make_table, 0, threshold)
    allowed = items.compatible()

    def mine(max_length):
        return mine_packed(bits, allowed, layout, threshold, max_length)

    pairs = int(np.triu(allowed, 1).sum())  # every literal is frequent here
    found = mine(2)
    num_pairs = int((found.length == 2).sum())
    limits = [
        ("MAX_WORK", pairs * layout.num_words, 2, "Patterns of length 2 .* Set max_length=1"),
        ("MAX_CANDIDATES", pairs, 2, "Patterns of length 2 .* Set max_length=1"),
        ("MAX_FREQUENT", len(found.items), 2, "patterns up to length 2 are frequent.* Set max_length=1"),
        ("MAX_KEPT_BYTES", num_pairs * (layout.num_words * 8 + len(bits)), 3, "up to length 2 are .* max_length=1"),
    ]
    assert (found.length == 1).sum() == len(bits)
    for name, most, max_length, message in limits:
        with monkeypatch.context() as patch:
            patch.setattr(patterns, name, most)
            assert mine(max_length).length.max() == max_length
            patch.setattr(patterns, name, most - 1)
            with pytest.raises(InputError, match=message):
                mine(max_length)
