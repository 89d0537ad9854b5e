"""Groups of rows: named, in order, and with which others each is compared."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from soar_jax._base import InputError, IntArray
from soar_jax.data.table import require_columns
from soar_jax.posterior.predictive import name_groups

MAX_GROUPS = 100


def pick_groups(frame: pd.DataFrame, by: Any) -> tuple[pd.Series, str | None]:
    """Find what the groups come from, and its name where it is a column of the table."""
    if isinstance(by, str | int | np.integer):
        require_columns(frame, [str(by)], "by names")
        return frame[str(by)], str(by)
    values = by if isinstance(by, pd.Series) else pd.Series(by)
    check_consistent_length(frame, values)
    name = values.name if isinstance(by, pd.Series) else None
    is_column = name is not None and str(name) in frame.columns
    return values.rename(name).reset_index(drop=True), str(name) if is_column else None


def read_groups(column: pd.Series) -> tuple[list[str], IntArray]:
    """Names of the groups, in order, and the group of each row."""
    named = name_groups(column.reset_index(drop=True))
    # quarters of numbers in the order of the numbers, levels by name; missing last
    firsts = column.reset_index(drop=True).groupby(named, sort=False).min() if _is_ordered(column) else None
    names = sorted(set(named[column.notna().to_numpy()]), key=(lambda n: firsts[n]) if firsts is not None else str)
    names += [name for name in dict.fromkeys(named) if name not in set(names)]
    if len(names) > MAX_GROUPS:
        raise InputError(
            f"by has {len(names):,} groups, at most {MAX_GROUPS} can be compared; join some of them first."
        )
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[name] for name in named], dtype=np.int64)


def _is_ordered(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column))


def compared_with(counts: IntArray, names: list[str], reference: str | None) -> tuple[list[int], IntArray, list[str]]:
    """Say which groups are compared, with which counts, and with whom in words.

    Each group with all the other rows; of two groups, the first with the second; with a ``reference``, every other
    group with that one.
    """
    if reference is not None:
        if reference not in names:
            near = difflib.get_close_matches(reference, names, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(names)}."
            raise InputError(f"reference={reference!r} is not one of the groups.{hint}")
        base = names.index(reference)
        which = [i for i in range(len(names)) if i != base]
        return which, np.repeat(counts[..., [base], :, :], len(which), axis=-3), [reference] * len(which)
    rest = counts.sum(axis=-3, keepdims=True) - counts
    if len(names) == 2:  # noqa: PLR2004
        return [0], rest[..., :1, :, :], [names[1]]
    which = list(range(len(names))) if len(names) > 1 else []
    return which, rest[..., which, :, :], ["the rest"] * len(which)
