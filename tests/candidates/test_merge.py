"""Rows that no candidate tells apart may be one row: every count of every pair stays the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax.candidates import merge
from soar_jax.candidates.coverage import lay_out
from soar_jax.candidates.merge import merge_rows
from soar_jax.candidates.pools import Pool, empty_pool
from soar_jax.data.table import GroupedRows
from soar_jax.states import state_masks


def pool_of(covers, layout):
    bits = layout.pack(covers)
    positives, negatives = layout.counts(bits)
    none = np.zeros(len(covers), np.int64)
    return Pool(((),) * len(covers), ((),) * len(covers), positives, negatives, np.zeros(len(covers)), bits, none)


def counts_of(pools, layout, members):
    cover = [np.bitwise_or.reduce(pool.bits[mine], axis=0) for pool, mine in zip(pools, members, strict=True)]
    return layout.counts(state_masks(cover[0], cover[1], layout.everything()))


def made(rng, num_rows, sizes, num_kinds):
    """Rows of few kinds, as far as the candidates see, with weights of either class."""
    kinds = rng.integers(num_kinds, size=num_rows)
    covers = [rng.random((size, num_kinds)) < 0.4 for size in sizes]
    weights = rng.integers(0, 5, (2, num_rows))
    weights[0, weights.sum(axis=0) == 0] = 1
    layout = lay_out(GroupedRows(np.arange(num_rows)[:, None], *weights))
    pools = tuple(pool_of(cover[:, kinds], layout) if len(cover) else empty_pool(layout.num_words) for cover in covers)
    return pools, layout


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 700),
    st.tuples(st.integers(1, 70), st.integers(0, 9)),
    st.integers(1, 90),
)
def test_every_pair_has_the_counts_it_had(seed, num_rows, sizes, num_kinds):
    rng = np.random.default_rng(seed)
    pools, layout = made(rng, num_rows, sizes, num_kinds)
    merged_pools, merged = merge_rows(pools, layout)
    assert merged.num_words <= layout.num_words
    assert (merged.num_positives, merged.num_negatives) == (layout.num_positives, layout.num_negatives)
    for _ in range(5):
        members = [rng.random(size) < 0.2 for size in sizes]
        before, after = counts_of(pools, layout, members), counts_of(merged_pools, merged, members)
        np.testing.assert_array_equal(before, after)


def test_rows_become_as_many_as_the_candidates_can_tell_apart():
    pools, layout = made(np.random.default_rng(0), 5000, (6, 3), 40)
    merged_pools, merged = merge_rows(pools, layout)
    signatures = np.unique(np.concatenate([np.unpackbits(p.bits.view(np.uint8), axis=1) for p in merged_pools]), axis=1)
    assert merged.num_words < layout.num_words / 5
    assert int(merged.source.max()) + 1 <= signatures.shape[1] <= 41


def test_equal_hashes_are_told_apart(monkeypatch):
    pools, layout = made(np.random.default_rng(1), 800, (5, 4), 20)
    expected = merge_rows(pools, layout)[1]
    monkeypatch.setattr(merge, "hash_rows", lambda signatures: np.zeros(len(signatures), np.uint64))
    assert merge_rows(pools, layout)[1].num_words == expected.num_words
