"""Single cells of text: when they are numbers, codes or moments. Used alike for files and for tables in memory.

A number is digits with at most one point, a sign and an exponent; "148,0", "1 000" and "12 mg" are none. A moment is
ISO 8601 text, or text of one declared format: "03/02/2020" is the third of February to some and the second of March
to others, and nobody can tell from the cell.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, InputError
from soar_jax.data.moments import EPOCH

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
_GROUPED = r"(\d{1,3}([,.' \u00a0\u202f]\d{3})+|\d+)([.,]\d+)?"
_NUMBER_LIKE = re.compile(
    rf"\s*[<>~\u2248\u2264\u2265]?=?\s*[-+\u2212]?{_GROUPED}\s*(%|[a-zA-Z\u00b5\u00b0\u00b2\u00b3/]{{1,6}})?\s*"
)
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_MICROSECOND = timedelta(microseconds=1)
_FARTHEST = timedelta(hours=14)
"""No place is farther from UTC; exports read times alike."""


class NumbersLike(NamedTuple):
    """How many cells are text that people read as numbers: plain ones, and ones with a comma, a unit or a sign."""

    plain: int
    odd: int
    present: int

    @property
    def share_odd(self) -> float:
        """Share of the present cells that are numbers with something to them."""
        return self.odd / max(self.present, 1)


class Moments(NamedTuple):
    """Cells read as moments: microseconds since 1970 (NaN: none), and which of them name a time zone."""

    values: FloatArray
    is_zoned: BoolArray


def is_code(text: str) -> bool:
    """Whether digits begin with a zero that a number would lose: 007."""
    return _CODE.fullmatch(text.strip()) is not None


def number_of_cell(value: Any) -> float:
    """Read one cell as a number; NaN where it is none."""
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else np.nan
    if not isinstance(value, Real | Decimal | np.bool_):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond float64 reads as the same digits in text do
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def moment_of_cell(value: Any, form: str | None) -> tuple[float, bool]:
    """Read one cell as a moment, and say whether it names a zone; (NaN, False) where it is none."""
    if isinstance(value, str):
        moment = _read_moment(value.strip(" "), form)
    elif isinstance(value, pd.Timestamp | np.datetime64):
        moment = pd.Timestamp(value).to_pydatetime(warn=False)
    elif isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day)
    else:
        moment = None
    if moment is None:
        return np.nan, False
    is_zoned = moment.tzinfo is not None
    return float(((moment if is_zoned else moment.replace(tzinfo=UTC)) - EPOCH) // _MICROSECOND), is_zoned


def _read_moment(text: str, form: str | None) -> datetime | None:
    try:
        if form is not None:
            return datetime.strptime(text, form)
        moment = datetime.fromisoformat(text) if _ISO.fullmatch(text) else None
    except ValueError:  # 2020-02-30
        return None
    offset = None if moment is None else moment.utcoffset()
    return None if offset is not None and abs(offset) > _FARTHEST else moment


def distinct_cells(series: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Code of each cell (-1: missing) and the cell behind each code."""
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:
        raise InputError(
            f"Column {series.name!r} holds values that cannot be compared; "
            "turn lists, sets or dictionaries into plain columns first."
        ) from None
    return codes, list(uniques)


def numbers_in(series: pd.Series) -> FloatArray:
    """Every cell as a number, NaN where it is missing or none; each distinct cell is read once."""
    codes, uniques = distinct_cells(series)
    return np.array([*(number_of_cell(value) for value in uniques), np.nan])[codes]


def moments_in(series: pd.Series, form: str | None = None) -> Moments:
    """Every cell as a moment, NaN where it is missing or none; each distinct cell is read once."""
    codes, uniques = distinct_cells(series)
    read = [*(moment_of_cell(value, form) for value in uniques), (np.nan, False)]
    return Moments(np.array([value for value, _ in read])[codes], np.array([zoned for _, zoned in read])[codes])


def numbers_like(series: pd.Series) -> NumbersLike:
    """Count the cells that people read as numbers: "148,0", "1 000", "12 mg", "<0.5" and "5.1%" beside "148.0"."""
    codes, uniques = distinct_cells(series)
    rows = np.bincount(codes[codes >= 0], minlength=len(uniques))
    is_plain = np.array([not np.isnan(number_of_cell(value)) for value in uniques], dtype=bool)
    is_odd = np.array([isinstance(v, str) and _NUMBER_LIKE.fullmatch(v) is not None for v in uniques], dtype=bool)
    return NumbersLike(int(rows[is_plain].sum()), int(rows[is_odd & ~is_plain].sum()), int(rows.sum()))


def codes_in(series: pd.Series) -> int:
    """How many cells are digits that begin with a zero."""
    codes, uniques = distinct_cells(series)
    return int(np.array([*(isinstance(value, str) and is_code(value) for value in uniques), False])[codes].sum())
