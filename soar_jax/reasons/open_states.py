"""What missing values leave open: the states that a row could still have.

A missing value could be any value of its column; see `soar_jax.reasons.cells`. Literals on it are undetermined, except
"is missing", which holds. Literals of one column are never taken as independent: they are asked about the same cell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soar_jax._base import BoolArray, IntArray
from soar_jax.reasons.cells import ColumnCells, cells_of, parts_of
from soar_jax.reasons.near import Truths, distinct_rows, is_about_missing
from soar_jax.reasons.silence import Box, Steps, TooManySteps, silent_boxes
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE, STATES

MAX_STEPS = 20_000
"""Steps of one search. A search that needs more leaves its state counted as possible."""


def open_states(truths: Truths, num_positive: int, states: IntArray) -> npt.NDArray[np.uint8]:
    """Find the states that each row could have, as bits: state k where bit k is set.

    The search runs once for all rows with the same missing columns and the same rules in play, however many columns are
    missing. It is exact up to `MAX_STEPS` steps; beyond them a state that was not ruled out counts as possible.

    Parameters
    ----------
    truths : Truths
    num_positive : int
        How many of the rules, which come first, are positive.
    states : (num_rows,) int64
        What each row's state is now.
    """
    result: npt.NDArray[np.uint8] = (1 << states).astype(np.uint8)
    # a missing value matters where a rule in play reads it
    matters = truths.missing & (truths.live.astype(np.float32) @ truths.reads.astype(np.float32) > 0)
    rows = np.flatnonzero(matters.any(axis=1))
    if not len(rows):
        return result
    first, inverse = distinct_rows(np.concatenate([truths.live[rows], matters[rows]], axis=1))
    finder = _Finder(truths, num_positive)
    found = [finder.states(truths.live[rows[i]], matters[rows[i]]) for i in first]
    result[rows] = np.array(found, dtype=np.uint8)[inverse]
    return result


def state_names(bits: int) -> tuple[str, ...]:
    """Names of the states whose bit is set."""
    return tuple(name for k, name in enumerate(STATES) if bits >> k & 1)


class _Finder:
    """Finds possible states for rules in play and columns that are missing."""

    def __init__(self, truths: Truths, num_positive: int) -> None:
        self.columns = truths.columns
        self.num_positive = num_positive
        self.cells: dict[str, ColumnCells] = cells_of(truths.rules)
        self.suits: list[Box] = []
        for rule in truths.rules:
            suits = {}
            for name, literals in parts_of(rule).items():
                about_value = [z for z in literals if not is_about_missing(z)]
                if about_value:
                    suits[name] = self.cells[name].suits(about_value)
            self.suits.append(suits)

    def states(self, live: BoolArray, missing: BoolArray) -> int:
        """Find the states, as bits."""
        names = [self.columns[k] for k in np.flatnonzero(missing)]
        everything = {name: self.cells[name].full for name in names}
        sides: tuple[list[Box], list[Box]] = ([], [])
        for r in np.flatnonzero(live):
            # of the columns that are present, a rule in play has all that it wants
            wants = {name: cells for name, cells in self.suits[r].items() if name in everything}
            if all(wants.values()):
                sides[int(r >= self.num_positive)].append(wants)
        positive, negative = sides
        found = 0
        if any(_meet(p, n) for p in positive for n in negative):
            found |= 1 << ACTIVE
        if any(_can_be_silent({**everything, **p}, negative) for p in positive):
            found |= 1 << POSITIVE
        if any(_can_be_silent({**everything, **n}, positive) for n in negative):
            found |= 1 << NEGATIVE
        if _can_be_silent(everything, [*positive, *negative]):
            found |= 1 << PASSIVE
        return found


def _meet(one: Box, other: Box) -> bool:
    """Whether two rules can fire together."""
    return all(cells & other[name] for name, cells in one.items() if name in other)


def _can_be_silent(box: Box, rules: list[Box]) -> bool:
    """Whether some values of a box fire none of the rules."""
    try:
        return next(silent_boxes(box, rules, Steps(MAX_STEPS), {}), None) is not None
    except TooManySteps:
        return True
