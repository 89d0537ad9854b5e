"""How figures are said: natural frequencies in prose, per cent in tables, and nothing about a handful of rows.

A count below `LEAST_ROWS` is not given, a share of fewer than `LEAST_SHARED` rows is not given either, and shares are
rounded to a tenth of a per cent, so that a page about a hospital's table does not point at anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from soar_jax._hundred import fixed
from soar_jax.score.intervals import interval

LEAST_ROWS = 10
MINUS = "\u2212"
LEAST_SHARED = 30
_DIGITS = 3
_FEW, _NEARLY_ALL = 0.0095, 0.9905
_TABLE_FEW, _TABLE_NEARLY_ALL = 0.0995, 0.9895
_LONG = 10_000


@dataclass(frozen=True)
class Share:
    """Hits among some rows.

    Attributes
    ----------
    rows : int, optional
        None where they are fewer than `LEAST_ROWS`.
    value, low, high : float, optional
        The share and its 90 % range; None where the rows are fewer than `LEAST_SHARED`.
    """

    rows: int | None
    value: float | None = None
    low: float | None = None
    high: float | None = None


def share_of(hits: float, rows: float) -> Share:
    """Give a share as far as it may be given."""
    if rows < LEAST_SHARED:
        return Share(int(rows) if rows >= LEAST_ROWS else None)
    low, high = interval(hits, rows)
    value, least, most = (tenths(float(x)) for x in (hits / rows, low, high))
    return Share(int(rows), value, least, most)


def tenths(share: float) -> float:
    """Round to a tenth of a per cent, and never so that the whole per cent would be another: 81.465 to 81.4."""
    near = round(share, _DIGITS)
    wholes = int(fixed(100 * near, 0)), int(fixed(100 * share, 0))
    if _TABLE_FEW <= share <= _TABLE_NEARLY_ALL and wholes[0] != wholes[1]:
        near = round(near + (wholes[1] - wholes[0]) * 10**-_DIGITS, _DIGITS)
    return near


def is_few(rows: float) -> bool:
    """Whether a count must not be given."""
    return 0 < rows < LEAST_ROWS


def coarse(share: Share) -> Share:
    """Round the rows of a share to tens, where their exact number would give away that of a few others."""
    return share if share.rows is None else replace(share, rows=round(share.rows, -1))


def plain_share(value: float | None) -> float | None:
    """Round a share that has no range."""
    return None if value is None or np.isnan(value) else tenths(float(value))


def count(number: float) -> str:
    """Write a whole number with commas."""
    return f"{number:,.0f}"


def per_hundred(share: float) -> str:
    """Say a share in whole hundredths, with a decimal below one and above ninety-nine: "31", "0.4"."""
    is_fine = 0 < share < _FEW or _NEARLY_ALL < share < 1
    text = fixed(100 * share, int(is_fine))
    if text == "0.0":
        return "fewer than 0.1"
    return "more than 99.9" if text == "100.0" else text


def of_hundred(share: float) -> str:
    """Say a share as a natural frequency."""
    return f"{per_hundred(share)} of 100"


def ratio(share: float) -> str:
    """Say a share as so many against so many, of 100: "40 : 60"."""
    part = int(fixed(100 * share, 0))
    return f"{part} : {100 - part}"


def tabular(share: float) -> str:
    """Say a share in a table, of 100."""
    return "< 0.1" if 0 < share < 0.0005 else fixed(100 * share, _decimals(share))  # noqa: PLR2004


def per_cent(share: float) -> str:
    """Say a share beside a bar."""
    return f"{tabular(share)} %"


def _decimals(share: float) -> int:
    return int(0 < share < _TABLE_FEW or _TABLE_NEARLY_ALL < share < 1)


def span(low: float, high: float, of: float | None = None) -> str:
    """Write a range of shares with the decimals of its value, or those without which it would say "always"."""
    digits = max(int(high < _TABLE_FEW or low > _TABLE_NEARLY_ALL), 0 if of is None else _decimals(of))
    return f"{fixed(100 * low, digits)}\u2013{fixed(100 * high, digits)}"


def number_text(value: float, unit: str = "") -> str:
    """Write a cut point or a value, with its unit."""
    is_money = unit in tuple("$€£¥")
    if float(value).is_integer() and abs(value) < 1e15:  # noqa: PLR2004
        text = f"{int(value):,}" if abs(value) >= _LONG or is_money else str(int(value))
    else:
        text = repr(float(value))
    return (
        f"{'-' if text.startswith('-') else ''}{unit}{text.removeprefix('-')}" if is_money else f"{text} {unit}".strip()
    )


def listed(words: Sequence[str], last: str = "and") -> str:
    """Join words as a sentence does."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)
