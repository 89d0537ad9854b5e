"""A few good pairs that differ in what they say of the rows: one reading of a table does not crowd out the others.

Descents from kicked copies of one leader end at near-copies of it. On Adult the best pair lies a hundred nats beyond
the best one of the first reading that greedy steps find, and is reached only when weaker readings are kept too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soar_jax._base import BoolArray, WordArray
from soar_jax.search.descent import Best, better

NUM_NICHES = 8
SAME_READING = 0.1
"""Two pairs whose states differ on less than this share of the distinct rows' bits are one reading."""


@dataclass(eq=False)
class Niche:
    """The best pair of one reading.

    Attributes
    ----------
    best : Best
    cover : (2, num_words) uint64
        Rows covered by each side.
    num_kicks : int
        How often the search set out from here.
    """

    best: Best
    cover: WordArray
    num_kicks: int = 0


class Niches:
    """At most `NUM_NICHES` readings, each with its best pair."""

    def __init__(self, num_bits: int) -> None:
        self._niches: list[Niche] = []
        self._num_bits = num_bits

    @property
    def pairs(self) -> list[Best]:
        """The best pair of each reading, best first."""
        return sorted((niche.best for niche in self._niches), key=lambda best: -best.log_joint)

    def _is_near(self, niche: Niche, cover: WordArray) -> bool:
        differs = np.bitwise_or.reduce(niche.cover ^ cover, axis=0)
        return bool(np.bitwise_count(differs).sum() < SAME_READING * self._num_bits)

    def add(self, found: Best, cover: WordArray) -> None:
        """Take a pair in where it is the best of its reading; a new reading may take the place of the worst."""
        near = [niche for niche in self._niches if self._is_near(niche, cover)]
        if near:
            leader = max(near, key=lambda niche: niche.best.log_joint)
            if better(leader.best, found) is leader.best:
                return
            self._niches = [niche for niche in self._niches if niche not in near]
        elif len(self._niches) == NUM_NICHES:
            worst = min(self._niches, key=lambda niche: niche.best.log_joint)
            if worst.best.log_joint >= found.log_joint:
                return
            self._niches.remove(worst)
        self._niches.append(Niche(found, cover))

    def keep_only(self, best: Best) -> None:
        """Forget all readings but one."""
        self._niches = [niche for niche in self._niches if niche.best is best]

    def choose(self, from_leader: bool) -> BoolArray:
        """Choose where to set out from: the leader, or the reading that had the fewest turns."""
        key = (lambda niche: -niche.best.log_joint) if from_leader else (lambda niche: niche.num_kicks)
        chosen = min(self._niches, key=key)
        chosen.num_kicks += 1
        return chosen.best.included
