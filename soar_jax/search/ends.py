"""What the independent searches of one fit ended in, and whether they agree.

Each search sets out anew, so that its working pools and readings are not those of the one before. A reading that
several of them lead with is no accident of where one of them began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soar_jax._base import BoolArray, IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout
from soar_jax.score.target import Agreement

if TYPE_CHECKING:
    from soar_jax.search.working import WorkingPools

TIE = 1.0
"""Nats by which the best pair of a reading may be behind another and still lead."""
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


def compare(ends: Sequence[End], layout: BitLayout) -> tuple[End, Agreement]:
    """Choose the pair that leads, and say how many searches found its reading.

    Of pairs that are worth nearly the same the one leads whose reading most searches found: what they differ by is less
    than another sample of the rows would change, and the answer should not depend on where a search began.
    """
    most = max(end.log_joint for end in ends)
    tied = [end for end in ends if end.log_joint >= most - TIE]
    found = [_found_by(end, ends, layout) for end in tied]
    place = max(range(len(tied)), key=lambda i: (len(found[i]), tied[i].log_joint))
    leader = tied[place]
    others = [end.log_joint for end, same in zip(ends, _are_same(leader, ends, layout), strict=True) if not same]
    num_searches = len({end.search for end in ends})
    return leader, Agreement(num_searches, len(found[place]), leader.log_joint - max(others, default=-np.inf))


def _are_same(one: End, ends: Sequence[End], layout: BitLayout) -> BoolArray:
    """Say which ends are of the same reading, row by row."""
    differs = np.stack([np.bitwise_or.reduce(end.cover ^ one.cover, axis=0) for end in ends])
    return np.asarray(np.add(*layout.counts(differs)) <= MAX_DIFFERING * layout.num_rows)


def _found_by(one: End, ends: Sequence[End], layout: BitLayout) -> set[int]:
    """List the searches that kept a pair of its reading, nearly as good as it is."""
    is_good = np.array([end.log_joint >= one.log_joint - NEARLY_AS_GOOD for end in ends])
    is_found = _are_same(one, ends, layout) & is_good
    return {end.search for end, found in zip(ends, is_found, strict=True) if found}


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
