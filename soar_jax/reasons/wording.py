"""How reasons are said: values of a row as text, and what a state means in words."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import pandas as pd

from soar_jax._base import Plain
from soar_jax.data.columns import plain_value
from soar_jax.data.spelling import format_value
from soar_jax.reasons.facts import RuleModel
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE


def is_absent(value: Any) -> bool:
    """Whether one value of a table is missing."""
    found = pd.isna(value)
    return bool(found) if isinstance(found, bool) or getattr(found, "ndim", 1) == 0 else False


def plain_cell(value: Any) -> Plain | None:
    """Turn one value of a table into what JSON can hold; dates as ISO 8601 text."""
    if is_absent(value):
        return None
    if isinstance(value, datetime):
        at_midnight = value.hour == value.minute == value.second == value.microsecond == 0
        return value.date().isoformat() if at_midnight and value.tzinfo is None else value.isoformat()
    return value.isoformat() if isinstance(value, date) else plain_value(value)


def cell_text(value: Any) -> str:
    """Print one value of a table as rules print theirs."""
    plain = plain_cell(value)
    return "missing" if plain is None else format_value(plain)


def state_text(model: RuleModel, state: int) -> str:
    """Say what a state means."""
    positive, negative = model.label(0), model.label(1)
    if model.single and state == PASSIVE:
        return f"no rule for {positive} fires, which speaks for {negative}"
    return {
        POSITIVE: f"rules for {positive} fire" if model.single else f"consensus: only rules for {positive} fire",
        NEGATIVE: f"consensus: only rules for {negative} fire",
        ACTIVE: f"conflict: rules for {positive} and for {negative} fire",
        PASSIVE: "silence: no rule fires",
    }[state]


def listed(words: Sequence[str], last: str = "and") -> str:
    """Join words as a sentence does."""
    return " ".join([", ".join(words[:-1]), last, words[-1]]) if len(words) > 1 else "".join(words)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Make an HTML table of plain texts."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
