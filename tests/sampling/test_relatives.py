"""Which patterns are alike, against definitions written out on boolean covers."""

import numpy as np
import pytest

from soar_jax.candidates.coverage import lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.sampling.relatives import find_edges, find_kinship, jaccard, nearest

A, B, C = (Literal(name, "==", 1) for name in "abc")
COVERS = (
    np.array([[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]], bool),
    np.array([[0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 0, 0]], bool),
)
PATTERNS = (((A,), (A, B), (C,)), ((B,), (B, C)))
SLOTS = 8


@pytest.fixture
def made():
    weights = np.array([3, 0, 2, 1, 1, 4]), np.array([0, 2, 1, 1, 0, 0])
    layout = lay_out(GroupedRows(np.arange(6)[:, None], *weights))
    pools = tuple(
        Pool(
            patterns,
            ((),) * len(cover),
            *layout.counts(layout.pack(cover)),
            np.zeros(len(cover)),
            layout.pack(cover),
            np.zeros(len(cover), int),
        )
        for patterns, cover in zip(PATTERNS, COVERS, strict=True)
    )
    return layout, weights[0] + weights[1], find_kinship(pools, layout, SLOTS)


def expected_similarity(total):
    covers = np.concatenate(COVERS)
    shared = (covers[:, None] & covers[None]) @ total
    union = (covers[:, None] | covers[None]) @ total
    return shared / union


def test_similarity_is_the_weighted_jaccard_index(made):
    layout, total, kinship = made
    expected = expected_similarity(total)
    assert jaccard(layout.pack(np.concatenate(COVERS)), layout) == pytest.approx(expected)
    assert kinship.similarity == pytest.approx(expected - np.diag(np.diag(expected)))
    assert kinship.number.tolist() == [0, 1, 2, SLOTS, SLOTS + 1]


def test_kin_are_of_one_side_and_nested_in_their_literals(made):
    kin = {tuple(sorted(pair)) for pair in np.argwhere(made[2].is_kin).tolist()}
    assert kin == {(0, 1), (3, 4)}  # a with a-and-b, b with b-and-c; c and b-and-c are of different sides


def test_nearest_lists_the_most_similar_that_occur_first(made):
    kinship = made[2]
    nobody = np.zeros(2 * SLOTS)
    lists = nearest(kinship, SLOTS, 3, nobody, kin_only=False)
    # pattern a covers what the negative side's b-and-c covers; then a-and-b is most like it
    assert lists[0].tolist() == [SLOTS + 1, 1, -1]
    occurs = nobody.copy()
    occurs[1] = 1.0
    assert nearest(kinship, SLOTS, 3, occurs, kin_only=False)[0].tolist() == [1, SLOTS + 1, -1]
    assert nearest(kinship, SLOTS, 3, nobody, kin_only=True)[0].tolist() == [1, -1, -1]
    assert (lists[3:SLOTS] == -1).all()  # padding has no relatives


def test_edges_join_the_similar_of_either_side_and_kin_once_each(made):
    edges = find_edges(made[2], 2)
    real = edges[edges[:, 0] != edges[:, 1]]
    assert {tuple(edge) for edge in real.tolist()} >= {(0, 1), (0, SLOTS + 1), (2, SLOTS)}
    assert len(np.unique(real, axis=0)) == len(real)
    assert (edges[len(real) :] == 0).all()
