"""Many pairs of rule sets applied to one table: the state of every row in each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soar_jax._base import BoolArray, IntArray
from soar_jax.data.columns import TableValues
from soar_jax.rules import Rule
from soar_jax.states import states_of

CHUNK_ROWS = 2048


def states_of_members(
    values: TableValues, num_rows: int, rules: tuple[Sequence[Rule], Sequence[Rule]], included: Sequence[BoolArray]
) -> IntArray:
    """State of every row in every pair: (num_pairs, num_rows).

    Parameters
    ----------
    values : TableValues
    num_rows : int
    rules : (2,) tuple of sequences of Rule
    included : (2,) sequence of (num_pairs, num_rules) bool
        Which of a side's rules each pair has.
    """
    fires = []
    for mine, has in zip(rules, included, strict=True):
        covered = np.zeros((len(has), num_rows), dtype=bool)
        if mine:
            truth = np.stack([rule.fires(values) for rule in mine]).astype(np.float32)
            chosen = has.astype(np.float32)
            for start in range(0, num_rows, CHUNK_ROWS):
                part = slice(start, start + CHUNK_ROWS)
                covered[:, part] = chosen @ truth[:, part] > 0
        fires.append(covered)
    return states_of(fires[0], fires[1])
