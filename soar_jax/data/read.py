"""Tables in files: CSV and Parquet.

CSV is read as text first. A model's contract then says what each column is; without one, a column is numbers, truth
values or ISO dates where all of its cells are, and text where not. Digits that begin with a zero are text.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from soar_jax._base import InputError, number_of
from soar_jax.data.cells import codes_in, distinct_cells, moments_in, number_of_cell, numbers_in
from soar_jax.data.contract import MISSING, Contract
from soar_jax.data.learn_column import MISSING_WORDS
from soar_jax.data.read_column import UTC, ZONELESS, as_datetimes, as_numbers
from soar_jax.data.sources import decode, find_delimiter, name_of, read_bytes
from soar_jax.data.spelling import short_name

_PARQUET = b"PAR1"
_TRUTH = {"true": True, "false": False}


def read_table(
    path: str | os.PathLike[str],
    missing: Sequence[str] = (),
    *,
    contract: Contract | None = None,
    kinds: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """Read CSV or Parquet, packed or not.

    Parameters
    ----------
    path : path or "-"
        A file, or standard input.
    missing : sequence of str
        Further texts that mean a missing value.
    contract : Contract, optional
        What a model's columns are: these stay text, for the model to read as at its fit.
    kinds : dict, optional
        Columns whose kind is declared: these stay text, for the fit to read.
    delimiter, encoding : str, optional
        Found out when not given.
    """
    data, name = read_bytes(path), name_of(path)
    if data.startswith(_PARQUET):
        return _read_parquet(data, name, missing)
    return _read_csv(decode(data, name, encoding), name, missing, contract, kinds or {}, delimiter)


def _read_parquet(data: bytes, name: str, missing: Sequence[str]) -> pd.DataFrame:
    try:
        table = pd.read_parquet(io.BytesIO(data))
    except ImportError:
        raise InputError("Reading Parquet needs pyarrow: pip install 'soar-jax[parquet]'.") from None
    except (ValueError, OSError):
        raise InputError(f"{name} is a damaged Parquet file.") from None
    if not missing:
        return table
    numbers = [number_of(text) for text in missing if text.lstrip("+-").replace(".", "", 1).isdigit()]
    return table.mask(table.isin([*missing, *numbers]))


def _read_csv(
    text: str,
    name: str,
    missing: Sequence[str],
    contract: Contract | None,
    kinds: Mapping[str, str],
    delimiter: str | None,
) -> pd.DataFrame:
    delimiter = find_delimiter(text) if delimiter is None else delimiter
    if len(delimiter) != 1:
        raise InputError(f"--delimiter must be one character, got {delimiter!r}.")
    _check_header(text, name, delimiter)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            raw = pd.read_csv(io.StringIO(text), sep=delimiter, index_col=False, dtype=object, na_filter=False)
    except pd.errors.ParserWarning:
        raise InputError(f"{name} has rows with more fields than its header names.") from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise InputError(f"{name} cannot be read as CSV: {' '.join(str(error).split())}") from None
    words = [*MISSING_WORDS, *missing]
    columns = {}
    for column in raw.columns:
        known = None if contract is None else contract.get(column)
        if known is None:
            cells = _blank(raw[column], words)
            columns[column] = cells if column in kinds else _type(cells)
        else:
            assert contract is not None
            here = [word for word in dict.fromkeys([*words, *contract.missing_words]) if word not in known.words]
            columns[column] = _blank(raw[column], [*here, ""])
    table = pd.DataFrame(columns, columns=raw.columns)
    table.attrs[MISSING] = tuple(words)
    return table


def _check_header(text: str, name: str, delimiter: str) -> None:
    """Refuse a first line that is not one of names; it may be a record, and is not shown."""
    try:
        header = next((row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row), None)
    except csv.Error as error:
        raise InputError(f"{name} cannot be read as CSV: {error}.") from None
    if header is None:
        raise InputError(f"{name} cannot be read as CSV: No columns to parse from file")
    names = [one.strip() for one in header]
    numbers = [number for one in names if not np.isnan(number := number_of_cell(one))]
    are_names = all(low < high for low, high in pairwise(numbers))  # 0, 1, 2, ... or wavelengths
    repeated = sorted({one for one in names if one and names.count(one) > 1}) if len(set(names)) < len(names) else []
    if not are_names or (repeated and numbers):
        raise InputError(
            f"The first line of {name} looks like a row of values, not like names of columns: {len(numbers)} of "
            f"{len(names)} fields are numbers. Put a line of names above it."
        )
    if repeated:
        raise InputError(
            f"{name} names {len(repeated)} column(s) more than once, {short_name(repeated[0])} among them; rename "
            "them, or put a line of names above the first row."
        )


def _blank(cells: pd.Series, words: Sequence[str]) -> pd.Series:
    """Treat some texts as missing."""
    is_word = cells.isin(list(words))
    return cells.mask(is_word, None) if is_word.any() else cells


def _type(cells: pd.Series) -> pd.Series:
    """Give a column the type that all of its cells have; text otherwise."""
    codes, uniques = distinct_cells(cells)
    present = codes >= 0
    if not present.any():
        return cells.astype(np.float64)
    truth = [_TRUTH.get(str(value).strip().lower()) for value in uniques]
    if present.all() and None not in truth:
        return pd.Series(np.array(truth, dtype=bool)[codes], index=cells.index, name=cells.name)
    numbers = numbers_in(cells)
    if not np.isnan(numbers[present]).any():
        return cells if codes_in(cells) else as_numbers(cells, numbers)
    moments = moments_in(cells)
    is_zoned = moments.is_zoned[present]
    if np.isnan(moments.values[present]).any() or is_zoned.any() != is_zoned.all():
        return cells
    return as_datetimes(cells, moments.values, UTC if is_zoned.all() else ZONELESS)
