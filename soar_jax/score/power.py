"""To which power the likelihood is raised when pairs are compared: how many rows a table is worth.

A model of four rates is never quite true. Its evidence for one pair over another grows with the rows all the same,
until it decides between details that the model cannot mean. A power h below 1 stops that growth: each row then counts
as h of a row in the choice of the rules (Miller and Dunson 2019), and wholly in every rate that is claimed.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from soar_jax._base import InputError

AUTO = "auto"
MOST_ROWS = 4000
"""Effective rows that a table counts as at most, with power "auto"; `experiments/evidence.py` compares others."""


def check_power(power: Any) -> None:
    """Refuse what is neither "auto" nor a number in (0, 1]."""
    if isinstance(power, str) and power == AUTO:
        return
    if isinstance(power, Real) and not isinstance(power, bool) and 0 < float(power) <= 1:
        return
    raise InputError(f'power must be "auto" or a number in (0, 1], got {power!r}.')


def effective_rows(num_positives: int, num_negatives: int) -> float:
    """Rows of a balanced table that tell as much: 4 n+ n- / (n+ + n-), so that a rare class keeps its weight."""
    return 4 * num_positives * num_negatives / (num_positives + num_negatives)


def resolve_power(power: Any, num_positives: int, num_negatives: int) -> float:
    """Give the power for one table: that at which it counts as `MOST_ROWS` effective rows, or the number given."""
    if isinstance(power, str):
        return min(1.0, MOST_ROWS / effective_rows(num_positives, num_negatives))
    return float(power)


def at_power(power: float) -> str:
    """Name a power below 1 in a sentence: " at power 0.25"; nothing at power 1."""
    return "" if power == 1 else f" at power {power:.3g}"


def power_in_words(power: float, num_rows: int) -> str:
    """Say what the power did, for a reader who has not heard of it; empty at power 1."""
    if power == 1:
        return ""
    return (
        f"The rules were chosen at power {power:.3g}: as if the table had {round(power * num_rows):,} rows like these, "
        f"not {num_rows:,}. Every rate counts all rows."
    )
