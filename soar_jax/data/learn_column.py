"""How a column of a training table is understood.

Types that say what they are (numbers, booleans, categories, datetimes) are believed. Text is numbers, or ISO dates,
where at least `READ_SHARE` of the values present are; the others are treated as missing, with a warning. Digits that
begin with a zero are codes, and a column that has some stays text. So does a column of nothing but numbers in a table
that has types: somebody made it text. What the user declared comes first.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from soar_jax._base import InputError, UnreadableValuesWarning
from soar_jax.data.cells import codes_in, moments_in, numbers_in, numbers_like
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER, ColumnValues, infer_kind
from soar_jax.data.declared import Declared
from soar_jax.data.read_column import UTC, ZONELESS, as_datetimes, as_numbers, storage_of
from soar_jax.data.spelling import short_name

READ_SHARE = 0.95
"""Share of the present values of a text column that must be numbers, or dates, for it to be read as such."""
LIKE_SHARE = 0.5
"""Share of the present values of a text column that look like numbers, beyond which its reader is told."""
MOST_NAMED_NUMBERS = 10
"""Different values up to which text that looks like numbers may well be levels: 2, 3, 4, 5more."""
MISSING_WORDS = ("", "NA", "NaN", "nan")
"""What means "missing" in a text file."""
NULL_WORDS = (*MISSING_WORDS, "None", "N/A", "n/a", "null", "NULL", "<NA>", "#N/A", "#NA", "NaT")
"""What means "missing" to some reader of tables or another."""
_BINARY = 2


@dataclass(frozen=True)
class Learnt:
    """One column as it was understood."""

    name: str
    series: pd.Series
    kind: str
    read_as: str
    strict: bool
    num_present: int
    num_unreadable: int = 0
    form: str | None = None
    zone: str | None = None
    words: tuple[str, ...] = ()

    @cached_property
    def values(self) -> ColumnValues:
        """The values as literals see them."""
        return ColumnValues(self.series, self.kind)


def learn_column(series: pd.Series, declared: Declared, *, has_types: bool = True) -> Learnt:
    """Decide what a column is; a table that was read from a text file has no types."""
    storage = storage_of(series)
    if storage == "sparse":
        series, storage = series.sparse.to_dense(), "number"
    present = int(series.notna().sum())
    name = str(series.name)
    if declared.kind == DATETIME or (declared.kind is None and storage == "datetime"):
        return _learn_dates(name, series, storage, declared, present)
    if declared.kind == NUMBER:
        if storage == "datetime":
            raise InputError(f"Column {short_name(name)} is declared a number but holds dates.")
        return _learn_numbers(name, series, storage, declared, present)
    if declared.kind is None and storage == "text":
        found = _learn_text(name, series, declared, present, has_types=has_types)
        if found is not None:
            return found
    kind = CATEGORY if declared.kind == CATEGORY or storage == "text" else infer_kind(series)
    words = null_words(series) if storage in ("text", "category") else ()
    return Learnt(name, series, kind, storage, declared.strict, present, words=words)


def null_words(series: pd.Series) -> tuple[str, ...]:
    """Values of a column of text that mean "missing" to some reader."""
    found = set(series[series.isin(list(NULL_WORDS))])
    return tuple(word for word in NULL_WORDS if word in found)


def _learn_text(name: str, series: pd.Series, declared: Declared, present: int, *, has_types: bool) -> Learnt | None:
    """Find numbers or ISO dates in text; None where it is text."""
    needed = max(1.0, READ_SHARE * present)
    numbers = numbers_in(series)
    num_numbers = int((~np.isnan(numbers)).sum())
    if num_numbers >= needed and len(np.unique(numbers[~np.isnan(numbers)])) > _BINARY:
        if has_types and num_numbers == present:
            return None
        codes = codes_in(series)
        if not codes:
            return Learnt(
                name, as_numbers(series, numbers), NUMBER, "text", declared.strict, present, present - num_numbers
            )
        if codes < present - needed:
            warnings.warn(
                f"{codes:,} of {present:,} values of {short_name(name)} begin with a zero, so the column is read as "
                "text; declare it a number if it is one.",
                UnreadableValuesWarning,
                stacklevel=6,
            )
        return None
    moments = moments_in(series)
    if (~np.isnan(moments.values)).sum() >= needed:
        return _learn_dates(name, series, "text", declared, present)
    if num_numbers < needed:
        _warn_of_numbers(name, series, has_types=has_types)
    return None


def _warn_of_numbers(name: str, series: pd.Series, *, has_types: bool) -> None:
    """Say that a column of text looks like numbers: as text it will hardly be of use."""
    seen = numbers_like(series)
    if seen.plain + seen.odd <= LIKE_SHARE * seen.present or series.nunique() <= MOST_NAMED_NUMBERS:
        return
    if codes_in(series) >= (1 - READ_SHARE) * seen.present:
        return
    odd = f", {seen.odd:,} more look like numbers with a comma, a unit or a sign" if seen.odd else ""
    how = 'kinds={"COLUMN": "number"}, or "text"' if has_types else "--number COLUMN, or --text COLUMN"
    warnings.warn(
        f"{seen.plain:,} of {seen.present:,} values of {short_name(name)} are numbers{odd}; the column is read as "
        f"text, where each value is a level. Write plain numbers such as 148.0, or say what it is ({how}): of numbers, "
        "the others are then missing.",
        UnreadableValuesWarning,
        stacklevel=7,
    )


def _learn_numbers(name: str, series: pd.Series, storage: str, declared: Declared, present: int) -> Learnt:
    if storage in ("number", "boolean"):
        return Learnt(name, series, NUMBER, "number", declared.strict, present)
    numbers = numbers_in(series)
    wrong = present - int((~np.isnan(numbers)).sum())
    return Learnt(name, as_numbers(series, numbers), NUMBER, "text", declared.strict, present, wrong)


def _learn_dates(name: str, series: pd.Series, storage: str, declared: Declared, present: int) -> Learnt:
    """Read dates, all with a zone or all without."""
    if storage == "number":
        raise InputError(
            f"Column {short_name(name)} is declared a date but holds numbers; nobody can tell what they count. Turn "
            "them into dates first, for example with pandas.to_datetime(column, unit='s')."
        )
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        zone = ZONELESS if series.dt.tz is None else UTC
        return Learnt(name, series, DATETIME, "datetime", declared.strict, present, zone=zone)
    moments = moments_in(series, declared.form)
    is_read = ~np.isnan(moments.values)
    num_zoned = int((moments.is_zoned & is_read).sum())
    if 0 < num_zoned < is_read.sum():
        raise InputError(
            f"Column {short_name(name)} mixes times with and without a time zone; give all of them a zone, or none."
        )
    wrong = present - int(is_read.sum())
    if present and wrong == present:
        raise InputError(
            f"Column {short_name(name)} is declared a date, but none of its values is one. Dates are ISO 8601 text "
            '(2024-12-31), or text of a declared format: kinds={"when": "date %d/%m/%Y"}.'
        )
    zone = UTC if num_zoned else ZONELESS
    if storage == "text":
        read = as_datetimes(series, moments.values, zone)
        return Learnt(name, read, DATETIME, "text", declared.strict, present, wrong, declared.form, zone)
    return Learnt(name, series, DATETIME, "datetime", declared.strict, present, wrong, zone=zone)
