"""To which power the likelihood is raised when pairs are compared: how many rows a table is worth."""

from __future__ import annotations

from numbers import Real
from typing import Any

from soar_jax._base import InputError

AUTO = "auto"
FULL_WORTH = 3000.0


def check_power(power: Any) -> None:
    """Refuse what is neither "auto" nor a number in (0, 1]."""
    if isinstance(power, str) and power == AUTO:
        return
    if isinstance(power, Real) and not isinstance(power, bool) and 0 < float(power) <= 1:
        return
    raise InputError(f'power must be "auto" or a number in (0, 1], got {power!r}.')


def effective_rows(num_positives: int, num_negatives: int) -> float:
    """Rows of a balanced table that tell as much: 4 n+ n- / (n+ + n-)."""
    return 4 * num_positives * num_negatives / (num_positives + num_negatives)


def resolve_power(power: Any, num_positives: int, num_negatives: int) -> float:
    """Give the power for one table."""
    if isinstance(power, str):
        return min(1.0, FULL_WORTH / effective_rows(num_positives, num_negatives))
    return float(power)
