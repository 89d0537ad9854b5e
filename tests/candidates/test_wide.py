"""Tables with too many pairs of literals: what is mined is exact, and the prior counts what it was chosen from."""

import numpy as np
import pytest

from soar_jax.candidates import wide
from soar_jax.candidates.build import CandidateOptions, build_candidates
from soar_jax.candidates.searched import count_conjunctions
from soar_jax.search.certificate import Certificate

OPTIONS = dict(
    max_length=None, min_support=0.05, min_class_support=None, max_patterns=100, screen="entropy", pools="shared",
    miner="packed", max_bins=4, cuts="supervised", negations=False, missing_literals=True, search="full", grow_to=None,
)  # fmt: skip


def build(make_table, **changes):
    frame, y = make_table(3, num_rows=150)
    options = CandidateOptions(**{**OPTIONS, **changes})
    return build_candidates(frame, y.astype(bool), np.ones(len(frame), np.int64), options, single=False)


def patterns_of(mined):
    return {
        tuple(i for i in row if i >= 0): counts
        for row, *counts in zip(mined.items.tolist(), mined.positives.tolist(), mined.negatives.tolist(), strict=True)
    }


@pytest.fixture
def narrow_and_wide(make_table, monkeypatch):
    whole = build(make_table, max_length=2)
    monkeypatch.setattr(wide, "MAX_CANDIDATES", 10)
    num_items = len(whole.source.item_bits)
    monkeypatch.setattr(wide, "MAX_PAIRS", 4 * num_items)
    with pytest.warns(UserWarning, match=r"too many to mine them all.*their pairs with the 4 best of them"):
        return whole, build(make_table)


def test_pairs_with_the_best_literals_are_mined_exactly(narrow_and_wide):
    whole, part = narrow_and_wide
    every, found = patterns_of(whole.source.mined), patterns_of(part.source.mined)
    pairs = {pattern for pattern in found if len(pattern) == 2}
    # the four that were paired are in more pairs than any other
    in_pairs = np.bincount(np.array(sorted(pairs)).ravel(), minlength=len(part.source.item_bits))
    best = set(np.argsort(-in_pairs, kind="stable")[:4].tolist())
    assert found == {pattern: n for pattern, n in every.items() if len(pattern) == 1 or best & set(pattern)}
    assert part.source.mined.num_paired == 4 and part.source.mined.full_length == 1
    order = [tuple(row) for row in part.source.mined.items.tolist() if row[1] >= 0]
    assert order == sorted(order)


def test_the_prior_counts_all_pairs_that_the_best_were_chosen_from(narrow_and_wide):
    _, part = narrow_and_wide
    everything = count_conjunctions(part.source.items, part.searched.longest)
    np.testing.assert_array_equal(part.searched.hypotheses[2:], everything[2:])
    assert part.searched.hypotheses[2].sum() > part.searched.patterns[2].sum()


def test_the_certificate_says_which_pairs_were_mined():
    text = str(Certificate(True, 900, True, 2, 2, num_paired=4))
    assert "all 900 mined patterns of up to 2 literals: every single literal, and pairs with at least" in text


def test_literals_of_one_column_share_a_pattern_only_as_an_interval(make_table):
    items = build(make_table, max_length=2).source.items
    allowed = items.compatible()
    for i, one in enumerate(items.literals):
        for j, other in enumerate(items.literals):
            bounds = {one.kind.is_lower_bound, other.kind.is_lower_bound} == {True, False} and (
                one.kind.is_upper_bound or other.kind.is_upper_bound
            )
            gap = items.column[i] == items.column[j] and bounds and (items.truth[i] & items.truth[j]).any()
            assert allowed[i, j] == (items.column[i] != items.column[j] or gap), (str(one), str(other))


def test_a_column_of_very_many_levels_is_not_wide(make_table, monkeypatch):
    source = build(make_table, max_length=1).source
    one_column = source.items.select(source.items.column == source.items.column[0])
    assert wide._num_pairs(one_column) == 0
    monkeypatch.setattr(wide, "MAX_FREQUENT", 0)
    bits = source.item_bits[: len(one_column.literals)]
    assert not wide.has_too_many_pairs(one_column, bits, source.layout, None)
