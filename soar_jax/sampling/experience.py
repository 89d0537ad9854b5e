"""What warm-up has seen: where proposals go, and between which readings of the table they leap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soar_jax._base import BoolArray, FloatArray, WordArray
from soar_jax.score.readings import Reading, Readings
from soar_jax.score.target import Target

NUM_READINGS = 12
SAME_READING = 0.02
"""Two pairs whose states differ on less than this share of the rows are one reading."""


class Experience(NamedTuple):
    """What kernels may be tuned by.

    Attributes
    ----------
    inclusion : (2 * num_slots,) float64
        How often each numbered pattern was in, towards the cold end.
    readings : (num_readings, 2 * num_slots) bool
        Good pairs that differ in what they say of the rows, best first.
    """

    inclusion: FloatArray
    readings: BoolArray


class Memory:
    """The best pair of each reading that the draws of warm-up met."""

    def __init__(self, target: Target) -> None:
        self._pools, self._layout = target.merged
        self._num_slots = target.num_slots
        self._readings: Readings[BoolArray] = Readings(NUM_READINGS, self._are_same)

    def _are_same(self, differs: WordArray) -> BoolArray:
        return np.asarray(np.add(*self._layout.counts(differs)) < SAME_READING * self._layout.num_rows)

    @property
    def pairs(self) -> BoolArray:
        """The pairs, best first: (num_readings, 2 * num_slots)."""
        return np.array(self._readings.pairs, dtype=bool).reshape(-1, 2 * self._num_slots)

    @property
    def log_joints(self) -> FloatArray:
        """Their log joints."""
        return np.array(sorted((reading.log_joint for reading in self._readings.found), reverse=True))

    def keep(self, packed: np.ndarray, log_joint: FloatArray) -> None:
        """Look at draws: membership, (num, 2, bytes), eight patterns per byte, and log joints."""
        _, first = np.unique(packed.reshape(len(packed), -1), axis=0, return_index=True)
        for i in first[np.argsort(-log_joint[first], kind="stable")]:
            if self._readings.is_out_of_reach(float(log_joint[i])):
                return  # so are all that are worth less
            included = np.unpackbits(packed[i], axis=-1, count=self._num_slots).astype(bool)
            self.put(included.reshape(-1), float(log_joint[i]))

    def put(self, included: BoolArray, log_joint: float) -> None:
        """Look at one pair, (2 * num_slots,)."""
        by_side = included.reshape(2, -1)
        cover = [
            np.bitwise_or.reduce(pool.bits[mine[: len(pool)]], axis=0)
            for pool, mine in zip(self._pools, by_side, strict=True)
        ]
        self._readings.add(Reading(log_joint, included, np.stack(cover)))
