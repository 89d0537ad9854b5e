"""Tables in files: CSV and Parquet, with ISO dates read as dates."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from soar_jax._base import InputError, number_of

_PARQUET = (".parquet", ".pq")
_MISSING_WORDS = ("", "NA", "NaN", "nan")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def read_table(path: str | os.PathLike[str], missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read CSV or Parquet; ``missing`` lists further texts that mean a missing value."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path}.")
    if file.suffix.lower() in _PARQUET:
        try:
            table = pd.read_parquet(file)
        except ImportError:
            raise InputError("Reading Parquet needs pyarrow: pip install 'soar-jax[parquet]'.") from None
        numbers = [number_of(text) for text in missing if text.lstrip("+-").replace(".", "", 1).isdigit()]
        return table.mask(table.isin([*missing, *numbers]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                file, index_col=False, keep_default_na=False, na_values=[*_MISSING_WORDS, *missing], low_memory=False
            )
    except pd.errors.ParserWarning:
        raise InputError(f"{path} has rows with more fields than its header names.") from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}") from None
    return _read_dates(table)


def _read_dates(table: pd.DataFrame) -> pd.DataFrame:
    """Turn text columns that hold nothing but ISO dates into dates."""
    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name]) or pd.api.types.is_bool_dtype(table[name]):
            continue
        present = table[name].dropna()
        if len(present) and _ISO_DATE.match(str(present.iloc[0])):
            dates = pd.to_datetime(table[name], format="ISO8601", errors="coerce", utc=True)
            if dates.notna().sum() == len(present):
                table[name] = dates
    return table
