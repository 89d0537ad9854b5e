"""Tables of other libraries as pandas frames, column by column and with their names: polars, pyarrow and their kin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import InputError
from soar_jax.data.spelling import short_name


def from_other_library(X: Any) -> pd.DataFrame | None:
    """Turn a table that narwhals knows into a pandas frame; None for anything else, arrays among it."""
    is_sparse = hasattr(X, "tocsr")  # one kind of sparse matrix is a dictionary, too
    if (isinstance(X, Mapping) and not is_sparse) or (isinstance(X, list | tuple) and X and isinstance(X[0], Mapping)):
        raise InputError("X holds dictionaries, not a table; make one of them, for example with pandas.DataFrame(X).")
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise InputError("X is a structured array; make a table of it, for example with pandas.DataFrame(X).")
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    table = nw.from_native(X, pass_through=True)
    if table is X and hasattr(X, "__arrow_c_array__") and hasattr(X, "schema"):  # one batch of Arrow's
        table = nw.from_arrow(X, backend="pyarrow")
    if isinstance(table, nw.LazyFrame):
        raise InputError("X is a lazy table; collect it first, for example with X.collect().")
    if not isinstance(table, nw.DataFrame):
        return None  # such as a sparse matrix
    return pd.DataFrame({name: _column(table[name]) for name in table.columns}, columns=list(table.columns))


def _column(column: Any) -> pd.Series:  # noqa: PLR0911
    """Turn one column into the pandas type that says the same."""
    import narwhals as nw

    dtype = column.dtype
    if (dtype.is_integer() or dtype.is_float()) and not column.null_count():
        return pd.Series(column.to_numpy())
    values = column.to_list()
    if isinstance(dtype, nw.List | nw.Array | nw.Struct | nw.Object | nw.Binary):
        raise InputError(f"Column {short_name(column.name)} holds nested values; turn them into plain columns first.")
    if dtype.is_integer():
        return pd.Series(values, dtype="UInt64" if isinstance(dtype, nw.UInt64) else "Int64")
    if dtype.is_float() or isinstance(dtype, nw.Decimal):
        kind = np.float32 if isinstance(dtype, nw.Float32) else np.float64
        return pd.Series([np.nan if value is None else float(value) for value in values], dtype=kind)
    if isinstance(dtype, nw.Boolean):
        return pd.Series(values, dtype="boolean" if None in values else bool)
    if isinstance(dtype, nw.Categorical | nw.Enum):
        levels, is_ordered = _levels(column, values)
        return pd.Series(pd.Categorical(values, categories=levels, ordered=is_ordered))
    if isinstance(dtype, nw.Date | nw.Datetime):
        # whole microseconds, as literals compare them
        return pd.Series(pd.to_datetime(pd.Series(values, dtype=object)), dtype=_stamp(dtype))
    if isinstance(dtype, nw.Duration):
        return pd.Series(values, dtype="timedelta64[us]")
    return pd.Series(values, dtype=object)


def _levels(column: Any, values: list[Any]) -> tuple[list[Any], bool]:
    """Give the levels of a category and whether they are in order: an enumeration of polars, or Arrow's own word.

    Levels without an order are those that some row has.
    """
    import narwhals as nw

    if isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories), True
    native = column.to_native()
    if hasattr(native, "unify_dictionaries"):  # Arrow; an empty column has no part
        chunks = native.unify_dictionaries().chunks
        return (chunks[0].dictionary.to_pylist() if chunks else []), bool(native.type.ordered)
    return list(dict.fromkeys(value for value in values if value is not None)), False


def _stamp(dtype: Any) -> str:
    zone = getattr(dtype, "time_zone", None)
    return f"datetime64[us, {zone}]" if zone else "datetime64[us]"
