"""Tables of other libraries as pandas frames, column by column and with their names: polars, pyarrow and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import InputError
from soar_jax.data.spelling import short_name


def from_other_library(X: Any) -> pd.DataFrame | None:
    """Turn a table that narwhals knows into a pandas frame; None for anything else, arrays among it."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    table = nw.from_native(X, pass_through=True)
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
        levels = list(dtype.categories) if isinstance(dtype, nw.Enum) else column.cat.get_categories().to_list()
        # an enumeration says its levels in order: polars compares them so
        return pd.Series(pd.Categorical(values, categories=levels, ordered=isinstance(dtype, nw.Enum)))
    if isinstance(dtype, nw.Date | nw.Datetime):
        # whole microseconds, as literals compare them
        return pd.Series(pd.to_datetime(pd.Series(values, dtype=object)), dtype=_stamp(dtype))
    if isinstance(dtype, nw.Duration):
        return pd.Series(values, dtype="timedelta64[us]")
    return pd.Series(values, dtype=object)


def _stamp(dtype: Any) -> str:
    zone = getattr(dtype, "time_zone", None)
    return f"datetime64[us, {zone}]" if zone else "datetime64[us]"
