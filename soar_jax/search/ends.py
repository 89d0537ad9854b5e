"""What the independent searches of one fit ended in, and whether they agree.

Each search sets out anew, so that its working pools and readings are not those of the one before. A reading that
several of them lead with is no accident of where one of them began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soar_jax._base import IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout
from soar_jax.score.target import Agreement

if TYPE_CHECKING:
    from soar_jax.search.working import WorkingPools

MAX_DIFFERING = 0.05
"""Two pairs are one reading of a table when at most this share of its rows is in different states."""
NEARLY_AS_GOOD = 3.0
"""Nats that a search may have stopped short of the best pair of a reading and still have found it."""


class End(NamedTuple):
    """A pair that a search kept.

    Attributes
    ----------
    log_joint : float
    patterns : (2,) tuple of (num_rules, longest) int64
        Its rules beside those that must be in: literal indices, padded with -1.
    cover : (2, num_words) uint64
        Rows covered by each side.
    search : int
        Number of the search.
    """

    log_joint: float
    patterns: tuple[IntArray, IntArray]
    cover: WordArray
    search: int


def agreement_of(ends: Sequence[End], layout: BitLayout) -> Agreement:
    """Compare what searches ended in, row by row: which of them kept the best reading, nearly as good as it can be."""
    best = max(ends, key=lambda end: end.log_joint)
    differs = np.stack([np.bitwise_or.reduce(end.cover ^ best.cover, axis=0) for end in ends])
    is_same = np.add(*layout.counts(differs)) <= MAX_DIFFERING * layout.num_rows
    found = {
        end.search
        for end, same in zip(ends, is_same, strict=True)
        if same and end.log_joint >= best.log_joint - NEARLY_AS_GOOD
    }
    others = [end.log_joint for end, same in zip(ends, is_same, strict=True) if not same]
    searches = {end.search for end in ends}
    return Agreement(len(searches), len(found), best.log_joint - max(others, default=-np.inf))


def arrays_of_ends(ends: Sequence[End]) -> dict[str, np.ndarray]:
    """Give them as arrays, for a checkpoint."""
    longest = max((patterns.shape[1] for end in ends for patterns in end.patterns), default=1)
    most = max((len(patterns) for end in ends for patterns in end.patterns), default=0)
    rules = np.full((len(ends), 2, most, longest), -1, dtype=np.int64)
    for place, end in zip(rules, ends, strict=True):
        for side, patterns in enumerate(end.patterns):
            place[side, : len(patterns)] = patterns
    return {
        "end_log_joints": np.array([end.log_joint for end in ends]),
        "end_rules": rules,
        "end_searches": np.array([end.search for end in ends], dtype=np.int64),
    }


def ends_from(arrays: Mapping[str, np.ndarray], working: WorkingPools) -> list[End]:
    """Take what `arrays_of_ends` gave."""
    ends = []
    for log_joint, rules, search in zip(
        arrays["end_log_joints"], arrays["end_rules"], arrays["end_searches"], strict=True
    ):
        positive, negative = (mine[mine[:, 0] >= 0] for mine in rules) if rules.size else (rules[0], rules[1])
        patterns = positive, negative
        ends.append(End(float(log_joint), patterns, working.cover_of(patterns), int(search)))
    return ends
