"""Which patterns are alike: the graph along which the sampler exchanges and heals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray, WordArray, round_up_to_bucket
from soar_jax.candidates.coverage import BitLayout
from soar_jax.candidates.pools import Pool

_CHUNK_WORDS = 1 << 22
_MIN_EDGES = 64
_FLOOR = 0.01
"""Weight of a pattern that warm-up has never seen included."""


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


@dataclass(frozen=True)
class Kinship:
    """How the candidates of both sides relate.

    Attributes
    ----------
    number : (num,) int64
        side * num_slots + index of each candidate.
    similarity : (num, num) float64
        Jaccard similarity of coverage, 0 on the diagonal.
    is_kin : (num, num) bool
        Same side, and the literals of one are among those of the other: one generalises the other.
    """

    number: IntArray
    similarity: FloatArray
    is_kin: BoolArray


def find_kinship(pools: tuple[Pool, Pool], layout: BitLayout, num_slots: int) -> Kinship:
    """Compare every two candidates; patterns are numbered with padding between the sides."""
    number = np.concatenate([np.arange(len(pools[0])), num_slots + np.arange(len(pools[1]))])
    similarity = jaccard(np.concatenate([pools[0].bits, pools[1].bits]), layout)
    np.fill_diagonal(similarity, 0.0)
    patterns = [*pools[0].patterns, *pools[1].patterns]
    names = {literal: i for i, literal in enumerate(dict.fromkeys(z for pattern in patterns for z in pattern))}
    has = np.zeros((len(patterns), len(names)), dtype=np.float32)
    for row, pattern in zip(has, patterns, strict=True):
        row[[names[literal] for literal in pattern]] = 1
    length = has.sum(axis=1)
    side = number >= num_slots
    is_kin = (has @ has.T == np.minimum(length[:, None], length)) & (length[:, None] != length)
    return Kinship(number, similarity, is_kin & (side[:, None] == side))


def _strongest(strength: FloatArray, count: int) -> IntArray:
    """Per row the columns of greatest strength, strongest first; -1 where it is not positive."""
    order = np.argsort(-strength, axis=1, kind="stable")[:, :count]
    return np.where(np.take_along_axis(strength, order, axis=1) > 0, order, -1)


def nearest(kinship: Kinship, num_slots: int, count: int, inclusion: FloatArray, *, kin_only: bool) -> IntArray:
    """List for each numbered pattern the relatives that matter most: (2 * num_slots, count), -1 where fewer.

    Parameters
    ----------
    inclusion : (2 * num_slots,) float64
        How often warm-up saw each pattern included; similar patterns that occur come first.
    kin_only : bool
        Only patterns that generalise or specialise it.
    """
    strength = kinship.similarity * (inclusion[kinship.number] + _FLOOR)
    if kin_only:
        strength = strength * kinship.is_kin
    lists = np.full((2 * num_slots, count), -1, dtype=np.int64)
    if len(kinship.number):
        found = _strongest(strength, count)
        lists[kinship.number, : found.shape[1]] = np.where(found >= 0, kinship.number[found], -1)
    return lists


def find_edges(kinship: Kinship, count: int) -> IntArray:
    """Pairs of patterns to exchange: each one's most similar of either side, and its closest kin: (num_edges, 2).

    Filled up with pairs of the first pattern with itself, which are no exchange, so that like pools share shapes.
    """
    parts = []
    for strength in (kinship.similarity, kinship.similarity * kinship.is_kin):
        found = _strongest(strength, count) if len(strength) else np.zeros((0, 0), dtype=np.int64)
        one = np.repeat(np.arange(len(found)), found.shape[1])
        other = found.reshape(-1)
        parts.append(np.stack([one, other], axis=1)[other >= 0])
    edges = np.sort(np.concatenate(parts), axis=1)
    edges = np.unique(edges, axis=0)
    padded = np.zeros((round_up_to_bucket(len(edges), _MIN_EDGES), 2), dtype=np.int64)
    padded[: len(edges)] = kinship.number[edges].reshape(-1, 2)
    return padded
