"""The column to predict, and the weights of rows, as the engine counts them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import InputError, IntArray
from soar_jax.candidates.coverage import MAX_ROWS
from soar_jax.data.labels import plain_labels
from soar_jax.database.engine import Engine
from soar_jax.database.expressions import equals, kind_of_type, number_literal, with_whole_microseconds

_TWO, _SHOWN, _LONG = 2, 1000, 1 << 63
_EXACT = float(1 << 53)


def require_names(table: Any, names: Sequence[str], why: str) -> None:
    """Raise when a table lacks a column, naming the nearest one that it has."""
    for name in names:
        if name not in table.columns:
            same = [column for column in table.columns if column.casefold() == str(name).casefold()]
            near = same or difflib.get_close_matches(str(name), list(table.columns), 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" It has: {', '.join(table.columns)}."
            raise InputError(f"{why} column {name!r}, which the table does not have.{hint}")


@dataclass(frozen=True)
class LabelCounts:
    """Both labels, in order, with the weight of each, and the number of rows."""

    classes: np.ndarray
    weights: IntArray


def count_labels(engine: Engine, target: str, weight: str | None) -> LabelCounts:
    """Find the two labels of a table.

    Raises
    ------
    InputError
        Where there are rows without a label, or not two labels.
    """
    table = engine.table
    dtype = table[target].type()
    kind_of_type(target, dtype)
    if dtype.is_date() or dtype.is_timestamp():
        raise InputError(f"The target column {target!r} holds dates; a label must be text, a number or a boolean.")
    if weight is not None:
        _check_weights(engine, weight)
    size = table.count() if weight is None else table[weight].cast("int64").sum()
    counted = table.group_by(label=table[target]).agg(rows=size)
    found = engine.fetch(f"count the labels of {target!r}", counted.order_by(counted.rows.desc()).limit(_SHOWN))
    if not len(found):
        raise InputError("Found array with 0 sample(s): the table has no rows to learn from.")
    is_missing = found["label"].isna().to_numpy()
    if is_missing.any():
        count = int(found["rows"][is_missing].sum())
        raise InputError(
            f"The target column {target!r} is missing in {count:,} of {int(found['rows'].sum()):,} rows; "
            "drop those rows."
        )
    found = found[found["rows"] > 0]
    labels = plain_labels(_without_decimals(found["label"]).to_numpy())
    if len(labels) < _TWO:
        raise InputError(f"The target column {target!r} has only one class; rules need two classes.")
    if len(labels) > _TWO:
        many = "at least 1,000" if len(labels) == _SHOWN else str(len(labels))
        raise InputError(
            f"Only binary classification is supported: the target column {target!r} has {many} distinct values. "
            "Give a column of two, for example by a comparison of your own."
        )
    if labels.dtype.kind not in "bf" and any(isinstance(v, int) and not -_LONG <= v < _LONG for v in labels.tolist()):
        raise InputError(f"The target column {target!r} holds whole numbers beyond 64 bits; cast it to text.")
    if len(np.unique(labels)) < _TWO:
        raise InputError(f"The two numbers in the target column {target!r} are one as float64; cast it to text.")
    order = np.argsort(labels, kind="stable")
    return LabelCounts(labels[order], found["rows"].to_numpy().astype(np.int64)[order])


def _without_decimals(labels: pd.Series) -> pd.Series:
    """Turn decimals, as which engines give several types, into whole numbers or, where one has a fraction, float64."""
    if not len(labels) or not all(isinstance(label, Decimal) for label in labels):
        return labels
    is_whole = all(label == label.to_integral_value() for label in labels)
    return pd.Series([int(label) if is_whole else float(label) for label in labels], dtype=None if is_whole else float)


def _check_weights(engine: Engine, weight: str) -> None:
    column = engine.table[weight]
    if not column.type().is_numeric():
        raise InputError(f"The weights in column {weight!r} must be whole numbers, not {column.type()}.")
    import ibis

    number = column.cast("float64")
    is_finite = (number >= 0) & (number <= number_literal(float(np.finfo(np.float64).max)))  # and no NaN
    finite = ibis.ifelse(is_finite, number, 0.0)
    small = ibis.ifelse(finite <= _EXACT, finite, 0.0)  # all larger ones are whole
    is_bad = column.isnull() | ~is_finite | (small != small.floor())
    asked = {"bad": ibis.ifelse(is_bad, 1, 0).sum(), "total": finite.sum()}
    found = engine.fetch(f"check the weights in {weight!r}", engine.table.agg(**asked))
    if not len(found) or pd.isna(found["total"][0]):
        raise InputError("Found array with 0 sample(s): the table has no rows to learn from.")
    if int(found["bad"][0]):
        raise InputError(
            f"The weights in column {weight!r} must be whole numbers of at least 0: the likelihood counts rows. "
            "Multiply them by a constant and round them."
        )
    total = float(found["total"][0])
    if total >= _LONG:  # they do not fit into what they are summed in
        raise InputError(
            f"The weights in column {weight!r} add up to {total:.3g}; at most {MAX_ROWS:,} can be counted exactly. "
            "Divide them by a constant and round them."
        )
    if not total > 0:
        raise InputError("The weights are zero for every row; no weight is left to learn from.")


@dataclass(frozen=True)
class LabelledRows:
    """Columns to learn from, beside whether a row is positive and, where rows have weights, its weight.

    Attributes
    ----------
    table : ibis.Table
    label : str
        Name of the column that says whether a row is positive.
    weight : str, optional
    """

    table: Any
    label: str
    weight: str | None

    def counted(self, rows: Any) -> dict[str, Any]:
        """Class counts as aggregates over ``rows``, which have the label and the weight."""
        label = rows[self.label]
        if self.weight is None:
            return {"positives": rows.count(where=label), "negatives": rows.count(where=~label)}
        size = rows[self.weight]
        return {"positives": size.sum(where=label).fill_null(0), "negatives": size.sum(where=~label).fill_null(0)}

    def narrow(self, value: Any) -> Any:
        """Take one expression as column ``x``, with label and weight."""
        table = self.table
        also = [self.label, *([] if self.weight is None else [self.weight])]
        return table.select(x=value, **{name: table[name] for name in also})


def label_rows(table: Any, names: Sequence[str], target: str, positive: Any, weight: str | None) -> LabelledRows:
    """Take the columns to learn from, of rows that have weight."""
    if weight is not None:
        table = table.filter(table[weight].cast("float64") > 0)
    value = positive.item() if isinstance(positive, np.generic) else positive
    label, size = (_free_name(stem, [*names, "x"]) for stem in ("soar_label", "soar_weight"))
    also = {label: equals(table[target], [value])}
    if weight is not None:
        also[size] = table[weight].cast("int64")
    taken = table.select(**{name: with_whole_microseconds(table[name]) for name in names}, **also)
    return LabelledRows(taken, label, None if weight is None else size)


def _free_name(name: str, taken: Sequence[str]) -> str:
    """Lengthen a name until no other is like it, whatever the case."""
    while name in {other.lower() for other in taken}:
        name += "_"
    return name
