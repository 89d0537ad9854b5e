"""Which patterns are alike: the graph along which the sampler exchanges and heals."""

from __future__ import annotations

import numpy as np

from ._base import FloatArray, IntArray, WordArray
from .coverage import BitLayout
from .pools import Pool

MAX_RELATIVES = 16
_CHUNK_WORDS = 1 << 22


def jaccard(bits: WordArray, layout: BitLayout) -> FloatArray:
    """Weighted Jaccard similarity of every two coverages: (num, num)."""
    total = np.add(*layout.counts(bits)).astype(np.float64)
    similarity = np.empty((len(bits), len(bits)))
    step = max(1, _CHUNK_WORDS // max(1, len(bits) * layout.num_words))
    for start in range(0, len(bits), step):
        part = bits[start : start + step, None] & bits[None]
        shared = np.add(*layout.counts(part.reshape(-1, layout.num_words))).reshape(part.shape[:2])
        union = total[start : start + step, None] + total[None] - shared
        similarity[start : start + step] = shared / np.maximum(union, 1)
    return similarity


def find_relatives(
    pools: tuple[Pool, Pool], layout: BitLayout, num_patterns: int, max_relatives: int = MAX_RELATIVES
) -> tuple[IntArray, IntArray]:
    """List each pattern's most similar ones, of both sides, so that being relatives is mutual.

    Patterns are numbered side * num_patterns + index, with padding in between.

    Returns
    -------
    relatives : (2 * num_patterns, max_relatives) int64
        Most similar first; -1 where there are fewer.
    degree : (2 * num_patterns,) int64
    """
    number = np.concatenate([np.arange(len(pools[0])), num_patterns + np.arange(len(pools[1]))])
    relatives = np.full((2 * num_patterns, max_relatives), -1, dtype=np.int64)
    degree = np.zeros(2 * num_patterns, dtype=np.int64)
    if len(number) < 2:  # noqa: PLR2004
        return relatives, degree
    similarity = jaccard(np.concatenate([pools[0].bits, pools[1].bits]), layout)
    np.fill_diagonal(similarity, -1.0)
    near = np.argsort(-similarity, axis=1, kind="stable")[:, : 2 * max_relatives]
    one = np.repeat(np.arange(len(number)), near.shape[1])
    other = near.reshape(-1)
    edges = np.unique(np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1), axis=0)
    strength = similarity[edges[:, 0], edges[:, 1]]
    # most similar first; an edge is kept when both ends still have room, which keeps the graph mutual
    for a, b in edges[np.argsort(-strength, kind="stable")]:
        first, second = number[a], number[b]
        if strength.size and similarity[a, b] > 0 and max(degree[first], degree[second]) < max_relatives:
            relatives[first, degree[first]], relatives[second, degree[second]] = second, first
            degree[first] += 1
            degree[second] += 1
    return relatives, degree
