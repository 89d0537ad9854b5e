"""Readings that the search improves side by side, each in its turn.

Descents from kicked copies of one leader end at near-copies of it. On Adult the best pair lies a hundred nats beyond
the best one of the first reading that greedy steps find, and is reached only when weaker readings are kept too.
"""

from __future__ import annotations

import numpy as np

from soar_jax._base import BoolArray, WordArray
from soar_jax.score.readings import Reading, Readings
from soar_jax.search.descent import Best, better

NUM_NICHES = 8
SAME_READING = 0.1
"""Two pairs whose states differ on less than this share of the distinct rows' bits are one reading."""


class Niches(Readings[Best]):
    """At most `NUM_NICHES` readings."""

    def __init__(self, num_bits: int) -> None:
        most = SAME_READING * num_bits
        super().__init__(NUM_NICHES, lambda differs: np.bitwise_count(differs).sum(axis=1) < most)

    def keep(self, found: Best, cover: WordArray) -> None:
        """Take a pair in where it is the best of its reading."""
        self.add(Reading(found.log_joint, found, cover), lambda new, old: better(old.pair, new.pair) is new.pair)

    def keep_only(self, best: Best) -> None:
        """Forget all readings but one."""
        self.found = [reading for reading in self.found if reading.pair is best]

    def choose(self, from_leader: bool) -> BoolArray:
        """Choose where to set out from: the leader, or the reading that had the fewest turns."""
        chosen = min(self.found, key=(lambda r: -r.log_joint) if from_leader else (lambda r: r.num_turns))
        chosen.num_turns += 1
        return chosen.pair.included
