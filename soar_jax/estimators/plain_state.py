"""Fitted tables as plain data in saved estimators: pickle, skops and joblib then need nothing of pandas' insides."""

from __future__ import annotations

from typing import Any

import pandas as pd

_MARK = "__table__"


def plain_table(table: pd.DataFrame | pd.Series) -> dict[str, Any]:
    """Take a table apart into lists and names."""
    frame = table.to_frame() if isinstance(table, pd.Series) else table
    is_counted = isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))
    return {
        _MARK: "series" if isinstance(table, pd.Series) else "frame",
        "columns": list(frame.columns),
        "dtypes": [str(dtype) for dtype in frame.dtypes],
        "cells": [frame.iloc[:, i].tolist() for i in range(frame.shape[1])],
        "index": None if is_counted else frame.index.tolist(),
        "index_name": frame.index.name,
    }


def table_of(plain: dict[str, Any]) -> pd.DataFrame | pd.Series:
    """Put it together again."""
    rows = len(plain["cells"][0]) if plain["cells"] else 0
    index = pd.RangeIndex(rows) if plain["index"] is None else pd.Index(plain["index"])
    index.name = plain["index_name"]
    series = [
        pd.Series(cells, index=index, dtype=dtype, name=name)
        for name, cells, dtype in zip(plain["columns"], plain["cells"], plain["dtypes"], strict=True)
    ]
    if plain[_MARK] == "series":
        return series[0]
    return pd.concat(series, axis=1) if series else pd.DataFrame(index=index)


class PlainStateMixin:
    """Save an estimator's tables as plain data, and make them again."""

    def __getstate__(self) -> dict[str, Any]:
        """Take tables apart."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {
            name: plain_table(value) if isinstance(value, pd.DataFrame | pd.Series) else value
            for name, value in state.items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make tables again."""
        made = {
            name: table_of(value) if isinstance(value, dict) and _MARK in value else value
            for name, value in state.items()
        }
        super().__setstate__(made)  # type: ignore[misc]
