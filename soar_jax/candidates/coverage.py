"""Packed coverage: which pattern is true of which row, one bit each, with exact weighted counts.

Rows carry integer weights. A distinct row with p positives and n negatives owns one bit for every
binary digit of p and of n that is set; bits of one class and one digit share 64-bit words. A word
then stands for rows of one class with one power of two as weight, so

    count = sum over words of  popcount(word & mask) << shift[word]

is exact, and with ``shift = digit`` for positives and ``32 + digit`` for negatives a single int64
sum carries both class counts: positives in the low half, negatives in the high half.
An unweighted table needs one digit only; sum of popcount(weight) <= sum of weight, so grouping
identical rows never needs more bits than the raw table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from soar_jax._base import BoolArray, InputError, IntArray, WordArray
from soar_jax.data.table import GroupedRows

WORD_BITS = 64
NEGATIVE_SHIFT = 32
LOW_HALF = (1 << NEGATIVE_SHIFT) - 1
MAX_ROWS = (1 << 31) - 1
_HASH_SEED = 12


@dataclass(frozen=True)
class BitLayout:
    """Where each distinct row's bits lie.

    Attributes
    ----------
    source : (num_words * 64,) int64
        Distinct row behind each bit; -1 for padding, which stays zero in every packed mask.
    shift : (num_words,) uint64
        How far a word's popcount is shifted before it is summed.
    num_positives, num_negatives : int
        Total weight of each class.
    """

    source: IntArray
    shift: WordArray
    num_positives: int
    num_negatives: int

    @property
    def num_words(self) -> int:
        """Number of 64-bit words of one packed mask."""
        return len(self.shift)

    @property
    def num_rows(self) -> int:
        """Total weight of both classes."""
        return self.num_positives + self.num_negatives

    def pack(self, masks: BoolArray) -> WordArray:
        """Pack boolean masks over the distinct rows: (k, num_distinct) -> (k, num_words)."""
        padded = np.concatenate([masks, np.zeros((len(masks), 1), dtype=bool)], axis=1)
        bits = padded[:, self.source]
        return np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little")).view(np.uint64)

    def everything(self) -> WordArray:
        """Pack the mask of all rows: (num_words,); padding stays zero."""
        return np.ascontiguousarray(np.packbits(self.source >= 0, bitorder="little")).view(np.uint64)

    def counts(self, packed: WordArray) -> tuple[IntArray, IntArray]:
        """Exact (positives, negatives) of each packed mask, on the host."""
        popcount = np.bitwise_count(packed)
        positives = np.zeros(len(packed), dtype=np.int64)
        negatives = np.zeros(len(packed), dtype=np.int64)
        edges = np.flatnonzero(np.diff(self.shift.astype(np.int64), prepend=-1, append=-1))
        for start, stop in pairwise(edges):
            shift = int(self.shift[start])
            total = popcount[:, start:stop].sum(axis=1, dtype=np.int64)
            if shift >= NEGATIVE_SHIFT:
                negatives += total << (shift - NEGATIVE_SHIFT)
            else:
                positives += total << shift
        return positives, negatives


def check_num_rows(num_rows: int) -> None:
    """Refuse more rows than a half of an int64 counts exactly."""
    if num_rows > MAX_ROWS:
        raise InputError(
            f"The table has {num_rows:,} rows, weights included; at most {MAX_ROWS:,} can be counted exactly. Fit to a "
            "random part of them; prediction and monitoring have no such limit."
        )


def lay_out(rows: GroupedRows) -> BitLayout:
    """Give every distinct row its bits."""
    num_positives, num_negatives = int(rows.positives.sum()), int(rows.negatives.sum())
    check_num_rows(num_positives + num_negatives)
    source: list[IntArray] = []
    shift: list[int] = []
    for weights, offset in ((rows.positives, 0), (rows.negatives, NEGATIVE_SHIFT)):
        for digit in range(int(weights.max(initial=0)).bit_length()):
            members = np.flatnonzero((weights >> digit) & 1)
            padding = -len(members) % WORD_BITS
            source.append(np.concatenate([members, np.full(padding, -1)]).astype(np.int64))
            shift += [offset + digit] * ((len(members) + padding) // WORD_BITS)
    return BitLayout(
        np.concatenate(source) if source else np.zeros(0, np.int64),
        np.array(shift, dtype=np.uint64),
        num_positives,
        num_negatives,
    )


def pad_words(packed: WordArray, num_words: int) -> WordArray:
    """Pad the last axis with zero words, so that like shapes share a compilation."""
    return np.pad(packed, [(0, 0)] * (packed.ndim - 1) + [(0, num_words - packed.shape[-1])])


@lru_cache(maxsize=8)
def _multipliers(num_words: int) -> WordArray:
    generator = np.random.Generator(np.random.Philox(key=_HASH_SEED))
    return generator.integers(0, 1 << 63, (2, num_words), dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def hash_rows(bits: WordArray) -> WordArray:
    """Hash packed rows: a sum over words of products of random odd numbers with the mixed words."""
    first, second = _multipliers(bits.shape[1])
    mixed = bits * first
    mixed ^= mixed >> np.uint64(29)
    mixed *= second
    mixed ^= mixed >> np.uint64(32)
    return mixed.sum(axis=1, dtype=np.uint64)
