"""Kicks: how a search leaves a local optimum, to descend again from somewhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from soar_jax._base import MAX_RULES, BoolArray, IntArray

_SHARE_CROSSED = 0.15
_SHARE_FORBIDDEN = 0.1
_SHARE_THINNED = 0.05
_SHARE_WITH_NEW = 0.8
_NUM_OUT = (1, 2, 3, 4, 6, 8)
_NUM_IN = (1, 2, 4, 8)
_NUM_FORBIDDEN = (1, 2, 3)
THINNINGS = (0.03, 0.1, 0.3)


class Start(NamedTuple):
    """Where a descent begins.

    Attributes
    ----------
    included : (2, num_slots) bool
    forbidden : (num_literals,) int64
        Literals that no rule may use on the first way down; all may be used on the second.
    thinning : float
        Share of the patterns that may be used on the first way down.
    seed : int
        Which ones.
    """

    included: BoolArray
    forbidden: IntArray
    thinning: float = 1.0
    seed: int = 0

    @property
    def has_detour(self) -> bool:
        """Whether a descent among some of the patterns comes first."""
        return bool(len(self.forbidden)) or self.thinning < 1

    def allowed(self, patterns: IntArray) -> BoolArray:
        """Which patterns (2, num_slots, longest) may be used on the first way down."""
        mask = np.asarray(~np.isin(patterns, self.forbidden).any(axis=2))
        if self.thinning < 1:
            mask &= np.random.Generator(np.random.Philox(key=self.seed)).random(mask.shape) < self.thinning
        return mask


_NOTHING = np.zeros(0, dtype=np.int64)


def thin(shape: tuple[int, int], thinning: float, generator: np.random.Generator) -> Start:
    """Begin with no rules and a random choice of patterns."""
    return Start(np.zeros(shape, dtype=bool), _NOTHING, thinning, int(generator.integers(2**31)))


def kick(
    included: BoolArray,
    others: list[BoolArray],
    patterns: IntArray,
    is_pattern: BoolArray,
    generator: np.random.Generator,
    max_rules: Sequence[int] = (MAX_RULES, MAX_RULES),
) -> Start:
    """Leave a pair: cross it with another, forbid literals that it uses, begin anew, or exchange rules at random.

    Parameters
    ----------
    included : (2, num_slots) bool
    others : list of (2, num_slots) bool
        Pairs to cross with.
    patterns : (2, num_slots, longest) int64
        Literals of the patterns in the slots.
    is_pattern : (2, num_slots) bool
        Slots that hold a pattern which may be in or out.
    max_rules : (int, int)
        Rules of each side at most, of those patterns.
    """
    choice = generator.random()
    if choice < _SHARE_CROSSED and len(others) > 1:
        other = others[generator.integers(len(others))]
        child = (included & other) | ((included ^ other) & (generator.random(included.shape) < 0.5))  # noqa: PLR2004
        return Start(_within(child, is_pattern, max_rules, generator), _NOTHING)
    choice = generator.random()
    if choice < _SHARE_FORBIDDEN and included.any():
        used = np.unique(patterns[included])
        forbidden = generator.permutation(used[used >= 0])[: generator.choice(_NUM_FORBIDDEN)]
        return Start(included & ~np.isin(patterns, forbidden).any(axis=2), forbidden)
    if choice < _SHARE_FORBIDDEN + _SHARE_THINNED:
        return thin(included.shape, float(generator.choice(THINNINGS)), generator)
    return Start(_exchange(included, is_pattern, generator, max_rules), _NOTHING)


def _within(
    included: BoolArray, is_pattern: BoolArray, max_rules: Sequence[int], generator: np.random.Generator
) -> BoolArray:
    """Take rules out at random where a side has too many."""
    for side, most in enumerate(max_rules):
        members = np.flatnonzero(included[side] & is_pattern[side])
        if len(members) > most:
            included[side, generator.permutation(members)[most:]] = False
    return included


def _exchange(
    included: BoolArray, is_pattern: BoolArray, generator: np.random.Generator, max_rules: Sequence[int]
) -> BoolArray:
    """Take some rules out and, mostly, put some of the patterns in."""
    kicked = included.copy()
    members = np.argwhere(kicked & is_pattern)
    for side, slot in members[generator.permutation(len(members))[: generator.choice(_NUM_OUT)]]:
        kicked[side, slot] = False
    if generator.random() < _SHARE_WITH_NEW:
        for _ in range(generator.choice(_NUM_IN)):
            side = int(generator.integers(2))
            slots = np.flatnonzero(is_pattern[side])
            if len(slots) and (kicked[side] & is_pattern[side]).sum() < max_rules[side]:
                kicked[side, generator.choice(slots)] = True
    return kicked
