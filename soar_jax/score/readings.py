"""A few good pairs that differ in what they say of the rows: one reading of a table does not crowd out the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from soar_jax._base import BoolArray, WordArray

P = TypeVar("P")


@dataclass(eq=False)
class Reading(Generic[P]):
    """The best pair of one reading.

    Attributes
    ----------
    log_joint : float
    pair : P
    cover : (2, num_words) uint64
        Rows covered by each side.
    num_turns : int
        How often a search set out from here.
    """

    log_joint: float
    pair: P
    cover: WordArray
    num_turns: int = 0


def _scores_higher(new: Reading[P], old: Reading[P]) -> bool:
    return new.log_joint > old.log_joint


class Readings(Generic[P]):
    """At most so many readings, each with its best pair.

    Parameters
    ----------
    most : int
    are_same : callable
        Whether pairs that differ on these rows, (num_pairs, num_words) uint64, are one reading: (num_pairs,) bool.
    """

    def __init__(self, most: int, are_same: Callable[[WordArray], BoolArray]) -> None:
        self.found: list[Reading[P]] = []
        self._most, self._are_same = most, are_same

    @property
    def pairs(self) -> list[P]:
        """The best pair of each reading, best first."""
        return [reading.pair for reading in sorted(self.found, key=lambda reading: -reading.log_joint)]

    def add(
        self,
        new: Reading[P],
        is_better: Callable[[Reading[P], Reading[P]], bool] = lambda a, b: a.log_joint > b.log_joint,
    ) -> None:
        """Take a pair in where it is the best of its reading; a new reading may take the place of the worst."""
        near = self._near(new.cover)
        if near:
            if not is_better(new, max(near, key=lambda reading: reading.log_joint)):
                return
            self.found = [reading for reading in self.found if reading not in near]
        elif len(self.found) == self._most:
            worst = min(self.found, key=lambda reading: reading.log_joint)
            if worst.log_joint >= new.log_joint:
                return
            self.found.remove(worst)
        self.found.append(new)

    def is_out_of_reach(self, log_joint: float) -> bool:
        """Whether no pair that is worth so little could be taken in, whatever it says of the rows."""
        return len(self.found) == self._most and log_joint <= min(reading.log_joint for reading in self.found)

    def _near(self, cover: WordArray) -> list[Reading[P]]:
        """Find the readings that say nearly the same of the rows."""
        if not self.found:
            return []
        differs = np.bitwise_or.reduce(np.stack([old.cover for old in self.found]) ^ cover, axis=1)
        return [old for old, same in zip(self.found, self._are_same(differs), strict=True) if same]
