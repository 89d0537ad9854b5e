"""The data contract of a table in a database: what the engine's types and counts say of each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from soar_jax.data.columns import CATEGORY, DATETIME, level_text, plain_value
from soar_jax.data.contract import FEWEST_ROWS, MOST_LEVELS, ColumnContract, Contract
from soar_jax.data.moments import moment_text
from soar_jax.database.profile import Binned, Levels, Profile
from soar_jax.database.source import TableSource


def contract_of(source: TableSource) -> Contract:
    """Say what each column is: text stays text, whatever it spells; the database has typed the table already."""
    num_rows = source.num_positives + source.num_negatives
    columns = [_describe(name, source.profiles[name], source.rows[name].type(), num_rows) for name in source.names]
    return Contract(tuple(columns), True, (), num_rows)


def _describe(name: str, profile: Profile, dtype: Any, num_rows: int) -> ColumnContract:
    kind = profile.values.kind
    is_moment = dtype.is_date() or dtype.is_timestamp()
    read_as = (
        "text" if dtype.is_string() else "boolean" if dtype.is_boolean() else "datetime" if is_moment else "number"
    )
    seen = _levels_seen(profile) if kind == CATEGORY and isinstance(profile, Levels) else _range_seen(profile, kind)
    if not profile.has_content:
        read_as = "empty"
    if kind == DATETIME:
        seen["resolution"] = "day" if dtype.is_date() else None
        seen["zone"] = "utc" if dtype.is_timestamp() and dtype.timezone is not None else "none"
    return ColumnContract(name, kind, read_as, missing=_missing_rows(profile) / num_rows, **seen)


def _missing_rows(profile: Profile) -> int:
    if isinstance(profile, Binned):
        return sum(profile.missing)
    assert isinstance(profile, Levels)
    return int((profile.positives + profile.negatives)[profile.values.is_missing].sum())


def _levels_seen(profile: Levels) -> dict[str, Any]:
    rows: dict[str, int] = {}
    first: dict[str, Any] = {}
    counts = profile.positives + profile.negatives
    for value, count, is_missing in zip(profile.series.tolist(), counts, profile.values.is_missing, strict=True):
        if not is_missing:
            text = level_text(value)
            first.setdefault(text, plain_value(value))
            rows[text] = rows.get(text, 0) + int(count)
    common = sorted((text for text in rows if rows[text] >= FEWEST_ROWS), key=lambda text: -rows[text])
    named, present = set(common[:MOST_LEVELS]), sum(rows.values()) + sum(profile.others)
    rare = present - sum(rows[text] for text in named)
    return {
        "levels": tuple(level for text, level in first.items() if text in named),
        "rare_levels": len(rows) - len(named),
        "rare_share": rare / present if present else 0.0,
        "note": "constant" if len(rows) <= 1 else "",
    }


def _range_seen(profile: Profile, kind: str) -> dict[str, Any]:
    numbers = profile.values.ordered(kind)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return {}
    low = profile.bins.low.min() if isinstance(profile, Binned) else numbers.min()
    ends = float(low), float(numbers.max())
    text = [moment_text(end) if kind == DATETIME else plain_value(end) for end in ends]
    return {"low": text[0], "high": text[1]}
