from itertools import combinations

import numpy as np
import pytest

from soar_jax.candidates.build import CandidateOptions, build_candidates
from soar_jax.candidates.catalogue import diverse_order
from soar_jax.candidates.coverage import hash_rows
from soar_jax.candidates.searched import count_conjunctions
from soar_jax.data.columns import TableValues
from soar_jax.data.items import build_items
from soar_jax.data.table import describe_column
from tests.candidates.test_patterns import OPTIONS
from tests.conftest import coverage


def build(make_table, seed, **changes):
    X, y = make_table(seed)
    options = CandidateOptions(**{**OPTIONS, **changes})
    return X, y, build_candidates(X, y, np.ones(len(y), np.int64), options, single=False)


@pytest.mark.parametrize("pools", ["directed", "shared"])
def test_one_of_each_coverage_and_kind_is_listed_for_every_side_it_may_stand_for(make_table, pools):
    X, y, candidates = build(make_table, 0, pools=pools)
    catalogue = candidates.source
    mined = [catalogue.literals(p) for p in catalogue.mined.items]
    cover = coverage(X, [[(z.column, z.op, z.value) for z in literals] for literals in mined])
    kinds = list(zip(catalogue.mined.length, catalogue.num_cuts(catalogue.mined.items), strict=True))
    rate = cover @ y.astype(int) / cover.sum(axis=1)
    for side in (0, 1):
        may = rate > y.mean() if side == 0 else rate < y.mean()
        may = (may | (pools == "shared")) & (cover.sum(axis=1) < len(y))
        expected = {(cover[i].tobytes(), kinds[i]) for i in np.flatnonzero(may)}
        listed = [(cover[i].tobytes(), kinds[i]) for i in catalogue.listed[side]]
        assert len(listed) == len(set(listed)) and set(listed) == expected


def test_aliases_are_all_other_patterns_of_the_same_coverage(make_table):
    X, _, candidates = build(make_table, 1)
    catalogue = candidates.source
    chosen = catalogue.listed[0][:40]
    pool = catalogue.pool(catalogue.mined.items[chosen], catalogue.mined.pack(catalogue.item_bits, chosen))
    mined = [catalogue.literals(p) for p in catalogue.mined.items]
    cover = coverage(X, [[(z.column, z.op, z.value) for z in literals] for literals in mined])
    of = {literals: row.tobytes() for literals, row in zip(mined, cover, strict=True)}
    for pattern, aliases in zip(pool.patterns, pool.aliases, strict=True):
        assert set(aliases) == {other for other in mined if of[other] == of[pattern] and other != pattern}


def test_rows_that_differ_in_one_bit_have_other_hashes():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 63, 20, dtype=np.uint64)
    flipped = np.repeat(bits[None], 20 * 64, axis=0)
    for i in range(20 * 64):
        flipped[i, i // 64] ^= np.uint64(1) << np.uint64(i % 64)
    assert len(np.unique(hash_rows(np.concatenate([bits[None], flipped])))) == 1 + 20 * 64


def test_every_literal_has_a_place_among_the_first_candidates():
    patterns = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [5, 6], [7, -1]])
    order = diverse_order(patterns, np.array([0.1, 0.2, 0.3, 0.4, 0.8, 0.9]))
    # 0 is the best of all, and each other literal has one pattern only, so all have rank 0 but for ties by impurity
    assert order.tolist() == [0, 1, 2, 3, 4, 5]
    near_copies = np.array([[0, 1], [0, 1], [0, 1], [2, 3]])
    assert diverse_order(near_copies, np.array([0.1, 0.2, 0.3, 0.9])).tolist() == [0, 3, 1, 2]


def test_conjunctions_are_counted_as_if_they_were_listed(make_table):
    frame, y = make_table(3, num_rows=80)
    weights = np.ones(len(y), np.int64)
    table = TableValues(frame)
    columns = [
        describe_column(table[c], y, weights, lambda p, n: np.asarray(p + n) >= 10, 3, "supervised") for c in frame
    ]
    items = build_items(columns, negations=False, missing=False)
    compatible, longest = items.compatible(), 5
    expected = np.zeros((longest + 1, longest + 1))
    for length in range(longest + 1):
        for chosen in combinations(range(len(items.literals)), length):
            if all(compatible[i, j] for i, j in combinations(chosen, 2)):
                choices = items.choices[list(chosen)]
                expected[length, (choices > 1).sum()] += choices.prod()
    assert expected[3].sum() > 0 and (items.choices > 1).any()
    assert np.allclose(count_conjunctions(items, longest), expected, rtol=1e-12)
