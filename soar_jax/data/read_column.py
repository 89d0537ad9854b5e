"""One column of a later table, read as the contract says; what cannot be read is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import FloatArray, InputError, Plain
from soar_jax.data.cells import moments_in, numbers_in
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER, is_single, level_text
from soar_jax.data.spelling import short_name

LIMIT, FEWEST = 0.5, 10
"""Share of a column's present values that may be unreadable, where there are so many: above it it is refused."""
ZONELESS, UTC = "none", "utc"
LARGEST_WHOLE = 2.0**53
_SAID = {"number": "numbers", "boolean": "truth values", "text": "text"}


class Read(NamedTuple):
    """A column as it was read, and how many of the values present could not be."""

    series: pd.Series
    num_unreadable: int
    num_present: int

    @property
    def is_mostly_unreadable(self) -> bool:
        """Whether too much cannot be read to treat it as missing; of a few values nobody can tell."""
        return self.num_present >= FEWEST and self.num_unreadable > LIMIT * self.num_present


def storage_of(series: pd.Series) -> str:  # noqa: PLR0911
    """Say what a column's cells are: number, boolean, category, datetime, text, sparse, empty or other."""
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return "sparse"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "datetime"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if isinstance(dtype, pd.StringDtype):
        return "text" if series.notna().any() else "empty"
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    by_cells = {
        "string": "text",
        "mixed": "text",
        "mixed-integer": "text",
        "boolean": "boolean",
        "integer": "number",
        "floating": "number",
        "mixed-integer-float": "number",
        "decimal": "number",
        "datetime": "datetime",
        "datetime64": "datetime",
        "date": "datetime",
        "empty": "empty",
    }
    return by_cells.get(inferred, "other")


def without_words(series: pd.Series, words: Sequence[str]) -> pd.Series:
    """Treat some texts as missing; a column without text is left as it is."""
    if not words or storage_of(series) not in ("text", "category"):
        return series
    is_word = series.isin(list(words))
    return series.mask(is_word) if is_word.any() else series


def as_numbers(series: pd.Series, numbers: FloatArray) -> pd.Series:
    """Put numbers that were read in place of a column."""
    is_whole = len(numbers) and bool((np.abs(numbers) < LARGEST_WHOLE).all() and (numbers == np.round(numbers)).all())
    return pd.Series(numbers.astype(np.int64) if is_whole else numbers, index=series.index, name=series.name)


def as_datetimes(series: pd.Series, microseconds: FloatArray, zone: str | None) -> pd.Series:
    """Put moments that were read in place of a column."""
    is_missing = np.isnan(microseconds)
    stamps = np.where(is_missing, 0, microseconds).astype(np.int64).astype("datetime64[us]")
    stamps[is_missing] = np.datetime64("NaT")
    read = pd.Series(stamps, index=series.index, name=series.name)
    return read.dt.tz_localize("UTC") if zone == UTC else read


def read_column(series: pd.Series, kind: str, read_as: str, form: str | None, zone: str | None) -> Read:
    """Read one column as its contract says."""
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    if kind == CATEGORY:
        return _read_levels(series, read_as)
    return _read_moments(series, form, zone) if kind == DATETIME else _read_numbers(series)


def _read_levels(series: pd.Series, read_as: str) -> Read:
    if read_as == "number" and storage_of(series) in ("text", "category"):  # 1, 1.0 and 1e0 are one number
        numbers = numbers_in(series)
        series = series.astype(object).where(np.isnan(numbers), numbers)
    elif read_as == "number" and is_single(series):  # 0.1 of single precision is what is written 0.1
        codes, uniques = pd.factorize(series)
        written = [float(str(np.float32(value))) for value in uniques]
        series = pd.Series(np.array([*written, np.nan])[codes], index=series.index, name=series.name)
    return Read(series, 0, 0)


def contradicts(series: pd.Series, order: Sequence[Plain] | None) -> bool:
    """Whether a column has an order of its own in which two of these levels stand the other way round."""
    if order is None or not isinstance(series.dtype, pd.CategoricalDtype) or not series.dtype.ordered:
        return False
    place = {level_text(level): i for i, level in enumerate(order)}
    texts = (level_text(level) for level in series.dtype.categories)
    places = [place[text] for text in texts if text in place]
    return places != sorted(places)


def _read_numbers(series: pd.Series) -> Read:
    if pd.api.types.is_complex_dtype(series.dtype):
        raise InputError(f"Column {short_name(series.name)} holds complex numbers; the model was fitted on plain ones.")
    if storage_of(series) in ("number", "boolean", "empty"):
        return Read(series, 0, 0)
    numbers = numbers_in(series)
    present = int(series.notna().sum())
    return Read(as_numbers(series, numbers), present - int((~np.isnan(numbers)).sum()), present)


def _read_moments(series: pd.Series, form: str | None, zone: str | None) -> Read:
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        refuse_zone(series.name, zone, ZONELESS if series.dt.tz is None else UTC)
        return Read(series, 0, 0)
    moments = moments_in(series, form)
    present = series.notna().to_numpy()
    is_read = ~np.isnan(moments.values)
    if zone is not None:
        fits = moments.is_zoned == (zone == UTC)
        if is_read.any() and not (is_read & fits).any():
            refuse_zone(series.name, zone, ZONELESS if zone == UTC else UTC)
        is_read &= fits
    read = np.where(is_read, moments.values, np.nan)
    return Read(as_datetimes(series, read, zone), int((present & ~is_read).sum()), int(present.sum()))


def refuse_storage(name: Any, kind: str, read_as: str, storage: str, *, may_be_truth_values: bool = True) -> None:
    """Raise where cells of a type cannot mean what those of the fit did."""
    name = short_name(name)
    if kind == DATETIME and storage in ("number", "boolean"):
        raise InputError(
            f"Column {name} holds numbers, but the model was fitted on dates there. Turn them into dates first, for "
            "example with pandas.to_datetime(column, unit='s')."
        )
    fitted = "number" if kind == NUMBER else read_as
    if kind != DATETIME and storage == "datetime" and fitted in _SAID:
        raise InputError(f"Column {name} holds dates, but the model was fitted on {_SAID[fitted]} there.")
    if kind == NUMBER and storage == "boolean" and not may_be_truth_values:
        raise InputError(f"Column {name} holds truth values, but the model was fitted on numbers there.")


def refuse_zone(name: Any, zone: str | None, given: str) -> None:
    """Raise where times have a zone and those of the fit had none, or the reverse."""
    name = short_name(name)
    if zone == UTC and given == ZONELESS:
        raise InputError(
            f"Column {name} holds times without a time zone, but the model was fitted on times with one; say which it "
            "is, for example with .dt.tz_localize('UTC')."
        )
    if zone == ZONELESS and given == UTC:
        raise InputError(
            f"Column {name} holds times with a time zone, but the model was fitted on times without one; give local "
            "times as at the fit, for example with .dt.tz_localize(None)."
        )
