"""Rows as the candidates see them: rows that no candidate tells apart become one row with added weights.

Every pair of rule sets then has the same counts, and so the same log joint, as before; only the masks are shorter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soar_jax._base import BoolArray, IntArray, WordArray
from soar_jax.candidates.coverage import NEGATIVE_SHIFT, WORD_BITS, BitLayout, hash_rows, lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.data.table import GroupedRows

_MAX_SIGNATURE_BYTES = 1 << 29
"""Tables whose signatures would need more stay as they are."""


def merge_rows(pools: tuple[Pool, Pool], layout: BitLayout) -> tuple[tuple[Pool, Pool], BitLayout]:
    """Merge rows that are covered by the same candidates; pools and layout of fewer words, or as they were."""
    bits = np.concatenate([pool.bits for pool in pools])
    place, weights = rows_of(layout)
    if not len(bits) or len(layout.source) * -(-len(bits) // WORD_BITS) * 8 > _MAX_SIGNATURE_BYTES:
        return pools, layout
    signatures = _signatures(bits, place)
    first, group = _group(signatures)
    if len(first) == len(place):
        return pools, layout
    positives, negatives = (_added(weight, group, len(first)) for weight in weights)
    merged = lay_out(GroupedRows(np.arange(len(first))[:, None], positives, negatives))
    if merged.num_words >= layout.num_words:  # larger weights have more digits
        return pools, layout
    # by candidate again: which merged rows it covers
    covers = np.unpackbits(signatures[first].view(np.uint8), axis=1, count=len(bits), bitorder="little")
    packed = merged.pack(np.ascontiguousarray(covers.T).astype(bool))
    size = len(pools[0])
    return (replace(pools[0], bits=packed[:size]), replace(pools[1], bits=packed[size:])), merged


def rows_of(layout: BitLayout) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """One bit's place, and the positives and negatives, of every distinct row that has any."""
    places = np.flatnonzero(layout.source >= 0)
    _, first, row = np.unique(layout.source[places], return_index=True, return_inverse=True)
    shift = np.repeat(layout.shift.astype(np.int64), WORD_BITS)[places]
    is_negative: BoolArray = shift >= NEGATIVE_SHIFT
    weight = np.int64(1) << (shift - np.where(is_negative, NEGATIVE_SHIFT, 0))
    positives, negatives = (_added(weight[of], row[of], len(first)) for of in (~is_negative, is_negative))
    return places[first], (positives, negatives)


def _added(weight: IntArray, group: IntArray, num_groups: int) -> IntArray:
    """Sum weights by group; float64 holds every sum below 2 ** 53 exactly."""
    return np.bincount(group, weight, minlength=num_groups).astype(np.int64)


def _signatures(bits: WordArray, place: IntArray) -> WordArray:
    """For every row, given by a bit's place, which patterns cover it: (num_rows, words of num_patterns bits)."""
    by_byte = np.zeros((-(-len(bits) // WORD_BITS) * 8, WORD_BITS * bits.shape[1]), dtype=np.uint8)
    as_bytes = bits.view(np.uint8)
    # eight patterns at a time give one byte of every signature
    for start in range(0, len(bits), 8):
        digits = np.unpackbits(as_bytes[start : start + 8], axis=1, bitorder="little")
        by_byte[start // 8] = np.packbits(digits, axis=0, bitorder="little")[0]
    return np.ascontiguousarray(by_byte[:, place].T).view(np.uint64)


def _group(signatures: WordArray) -> tuple[IntArray, IntArray]:
    """First row of each distinct signature, and which group every row is in."""
    _, first, group = np.unique(hash_rows(signatures), return_index=True, return_inverse=True)
    if not np.array_equal(signatures[first][group], signatures):  # two hashes were equal: compare whole rows
        _, first, group = np.unique(signatures, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), group.reshape(-1).astype(np.int64)
