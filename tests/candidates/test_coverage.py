import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax import InputError
from soar_jax.candidates.coverage import lay_out
from soar_jax.data.table import GroupedRows


def rows_of(positives, negatives):
    cells = np.arange(len(positives))[:, None]
    return GroupedRows(cells, np.asarray(positives, np.int64), np.asarray(negatives, np.int64))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000)), min_size=1, max_size=90),
    st.integers(0, 1000),
)
def test_packed_counts_equal_weighted_sums(weights, seed):
    positives, negatives = np.array(weights).T
    layout = lay_out(rows_of(positives, negatives))
    masks = np.random.default_rng(seed).random((5, len(positives))) < 0.5
    counted = layout.counts(layout.pack(masks))
    assert np.array_equal(counted[0], masks @ positives)
    assert np.array_equal(counted[1], masks @ negatives)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=200))
def test_grouped_bits_never_outnumber_raw_rows(weights):
    layout = lay_out(rows_of(weights, np.zeros(len(weights))))
    assert (layout.source >= 0).sum() <= sum(weights)


def test_too_many_rows_are_refused():
    with pytest.raises(InputError, match="at most"):
        lay_out(rows_of([2**31], [1]))
