"""The working pools: a small, changing choice of patterns that the search moves within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax
import numpy as np

from soar_jax._base import BoolArray, IntArray, WordArray, in_float64
from soar_jax.candidates.catalogue import Catalogue
from soar_jax.candidates.coverage import NEGATIVE_SHIFT, pad_words
from soar_jax.candidates.patterns import pack
from soar_jax.score.flips import NumberedPool, number_pool, restrict
from soar_jax.score.pricing import Query
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import Problem


class WorkingPools:
    """Patterns of both sides in a fixed number of slots, so that bringing others in compiles nothing.

    Attributes
    ----------
    patterns : (2, num_slots, longest) int64
        Literal indices, padded with -1; -1 throughout in an empty slot.
    bits : (2, num_slots, num_words) uint64
    kind : (2, num_slots) int32
        1 + kind; 0 for an empty slot, and for a rule that must be in.
    required : (2, num_slots) bool
        Slots of the rules that must be in; they always stay.
    """

    def __init__(self, catalogue: Catalogue, hyper: Hyperparameters, problem: Problem) -> None:
        num_slots, num_words = problem.num_slots, catalogue.layout.num_words
        self._catalogue, self._hyper, self._problem = catalogue, hyper, problem
        self._prior, self._max_rules = np.asarray(problem.prior), np.asarray(problem.max_rules)
        self._everything = catalogue.layout.everything()
        longest = max(hyper.kind.shape[1] - 1, *(patterns.shape[1] for patterns in catalogue.required))
        self.patterns = np.full((2, num_slots, longest), -1, dtype=np.int64)
        self.bits = np.zeros((2, num_slots, num_words), dtype=np.uint64)
        self.kind = np.zeros((2, num_slots), dtype=np.int32)
        self._place: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        self._key: tuple[list[bytes], list[bytes]] = ([b""] * num_slots, [b""] * num_slots)
        self._used = np.full((2, num_slots), -1, dtype=np.int64)
        self._round = 0
        self._on_device: tuple[Problem, NumberedPool] | None = None
        self.required: BoolArray = np.zeros((2, num_slots), dtype=bool)
        for side, patterns in enumerate(catalogue.required):
            count, width = patterns.shape
            self.patterns[side, :count, :width] = patterns
            self.bits[side, :count] = pack(patterns, catalogue.item_bits)
            self.required[side, :count] = True

    def __len__(self) -> int:
        """Slots per side."""
        return self.kind.shape[1]

    def bring_in(self, side: int, patterns: IntArray, protected: BoolArray) -> None:
        """Put patterns, best first, in empty slots or in place of those that were of use longest ago.

        Parameters
        ----------
        patterns : (num_patterns, at most longest) int64
        protected : (2, num_slots) bool
            Slots that must stay as they are.
        """
        self._round += 1
        if not len(patterns):
            return
        width = self.patterns.shape[2]
        patterns = np.pad(patterns, ((0, 0), (0, width - patterns.shape[1])), constant_values=-1)
        bits = pack(patterns, self._catalogue.item_bits)
        kind = 1 + self._hyper.kinds_of(side, (patterns >= 0).sum(axis=1), self._catalogue.num_cuts(patterns))
        new, seen = [], set()
        for i, (row, k) in enumerate(zip(bits, kind, strict=True)):
            key = _key_of(row, k)
            slot = self._place[side].get(key)
            if slot is not None:
                self._used[side, slot] = self._round
            elif key not in seen:
                seen.add(key)
                new.append((i, key))
        order = np.argsort(self._used[side], kind="stable")
        must_stay = protected[side] | self.required[side]
        free = order[~must_stay[order] & (self._used[side][order] < self._round)]
        for slot, (i, key) in zip(free, new, strict=False):
            self._place[side].pop(self._key[side][slot], None)
            self._place[side][key] = int(slot)
            self._key[side][slot] = key
            self.patterns[side, slot], self.bits[side, slot], self.kind[side, slot] = patterns[i], bits[i], kind[i]
            self._used[side, slot] = self._round
            self._on_device = None

    def contents(self) -> dict[str, np.ndarray]:
        """Give what is in the pools, and since when."""
        return {"patterns": self.patterns, "kind": self.kind, "used": self._used, "round": np.array(self._round)}

    def put_back(self, saved: Mapping[str, np.ndarray]) -> None:
        """Take what `contents` gave; all else follows from it."""
        self.patterns, self.kind, self._used = (saved[name].copy() for name in ("patterns", "kind", "used"))
        self._round = int(saved["round"])
        for side, (patterns, kind) in enumerate(zip(self.patterns, self.kind, strict=True)):
            bits = pack(patterns, self._catalogue.item_bits)
            self.bits[side] = np.where((patterns[:, :1] >= 0), bits, np.uint64(0))
            keys = [_key_of(row, k) if k > 0 else b"" for row, k in zip(self.bits[side], kind, strict=True)]
            self._key[side][:] = keys
            self._place[side].clear()
            self._place[side].update({key: slot for slot, key in enumerate(keys) if key})
        self._on_device = None

    @in_float64
    def on_device(self) -> tuple[Problem, NumberedPool]:
        """Make the problem of the pools, as arrays on the device."""
        if self._on_device is None:
            num_words = self._problem.bits.shape[1]
            words = np.ascontiguousarray(pad_words(self.bits, num_words).transpose(0, 2, 1))
            # empty slots stand for a pattern that covers nothing and can never be worth its price
            size = np.where(self.kind > 0, np.arange(1, len(self) + 1), 0).max(axis=1).astype(np.int32)
            bits, kind, size = jax.device_put((words, self.kind, size))
            problem = self._problem._replace(bits=bits, kind=kind, pool_size=size)
            self._on_device = problem, number_pool(problem)
        return self._on_device

    def restricted(self, allowed: BoolArray) -> tuple[Problem, NumberedPool]:
        """Make the same problem with some of the patterns out of bounds."""
        return restrict(*self.on_device(), self.kind, allowed)

    def cover(self, included: BoolArray) -> WordArray:
        """Rows that each side of a pair covers: (2, num_words)."""
        return np.stack([np.bitwise_or.reduce(self.bits[side, included[side]], axis=0) for side in (0, 1)])

    def cover_of(self, patterns: Sequence[IntArray]) -> WordArray:
        """Rows that each side of a pair covers, given by its rules beside those that must be in: (2, num_words)."""
        bits = [
            np.concatenate([pack(mine, self._catalogue.item_bits), self.bits[side, self.required[side]]])
            for side, mine in enumerate(patterns)
        ]
        return np.stack([np.bitwise_or.reduce(mine, axis=0) for mine in bits])

    def hold(self, side: int, patterns: IntArray, protected: BoolArray) -> IntArray:
        """Bring a few patterns in and say in which slots they are; those that find none are left out."""
        self.bring_in(side, patterns, protected)
        bits = pack(patterns, self._catalogue.item_bits)
        kind = 1 + self._hyper.kinds_of(side, (patterns >= 0).sum(axis=1), self._catalogue.num_cuts(patterns))
        keys = [_key_of(row, k) for row, k in zip(bits, kind, strict=True)]
        return np.array([self._place[side][key] for key in keys if key in self._place[side]], dtype=np.int64)

    def query(self, included: BoolArray, side: int, without: int | None = None) -> Query:
        """Ask what could be added to a side of a pair, perhaps with one of its rules taken out."""
        members = [np.flatnonzero(included[s]) for s in (0, 1)]
        if without is not None:
            members[side] = members[side][members[side] != without]
        own, other = (np.bitwise_or.reduce(self.bits[s, members[s]], axis=0) for s in (side, 1 - side))
        positive, negative = (own, other) if side == 0 else (other, own)
        states = np.stack(
            [positive & ~negative, negative & ~positive, positive & negative, self._everything & ~(own | other)]
        )
        positives, negatives = self._catalogue.layout.counts(states)
        num_kinds = self._prior.shape[1]
        sizes = np.stack([np.bincount(self.kind[s, members[s]], minlength=num_kinds) for s in (0, 1)])
        now = np.take_along_axis(self._prior, sizes[..., None], axis=-1)[..., 0]
        more = np.take_along_axis(self._prior[side], sizes[side][:, None] + 1, axis=-1)[:, 0]
        log_prior = now.sum() + more - now[side]
        log_prior[0] = -np.inf
        if len(members[side]) >= self._max_rules[side]:
            log_prior[:] = -np.inf
        return Query(
            np.int32(side),
            states[3],
            other & ~own,
            positives + (negatives << NEGATIVE_SHIFT),
            log_prior,
        )


def _key_of(bits: WordArray, kind: int) -> bytes:
    """Tell patterns apart: by the rows they cover, and their kind."""
    return bits.tobytes() + bytes([int(kind)])
