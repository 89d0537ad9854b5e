"""A few good pairs that differ in what they say of the rows: one reading of a table does not crowd out the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from soar_jax._base import WordArray

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
    is_same : callable
        Whether two pairs that differ on these rows, (num_words,) uint64, are one reading.
    """

    def __init__(self, most: int, is_same: Callable[[WordArray], bool]) -> None:
        self.found: list[Reading[P]] = []
        self._most, self._is_same = most, is_same

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
        near = [old for old in self.found if self._is_same(np.bitwise_or.reduce(old.cover ^ new.cover, axis=0))]
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
