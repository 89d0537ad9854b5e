"""Columns that a fit should not believe in: those that name rows, and those that tell the label by themselves."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, IdentifierWarning, LeakWarning
from soar_jax.data.cells import numbers_like
from soar_jax.data.columns import CATEGORY, NUMBER, ColumnValues, TableValues, number_columns
from soar_jax.data.contract import Contract
from soar_jax.data.spelling import short_list

IDENTIFIER, LEAK = "identifier", "tells the label"
FEWEST_NAMES = 50
"""Rows from which on values that differ are taken for names of rows."""
NAMED_SHARE = 0.98
"""Share of the rows that must have a value, and of the values that must differ, for that."""
_HALF = 0.5
_MANY_ROWS = 1000
LEAK_SHARE = 0.005
"""Share of the rows that a column may get wrong and still be said to tell the label."""
FEWEST_OF_A_CLASS = 30
_RARE = 5


def find_suspects(frame: pd.DataFrame, contract: Contract, is_true: BoolArray) -> dict[str, str]:
    """Warn of identifiers and of columns that tell the label; what was found, by column."""
    table, found = TableValues(frame), dict[str, str]()
    enough = min(int(is_true.sum()), int((~is_true).sum())) >= FEWEST_OF_A_CLASS
    numbers = [column.name for column in contract.columns if column.kind == NUMBER and column.note != "constant"]
    plain = dict(_errors_of_numbers(frame, numbers, is_true)) if len(frame) >= FEWEST_NAMES else {}
    for column in contract.columns:
        if column.name in plain:
            names_rows_too, errors = plain[column.name]
            if names_rows_too:
                found[column.name] = IDENTIFIER
            elif enough and errors <= LEAK_SHARE * len(frame):
                found[column.name] = LEAK
            continue
        values = table[column.name]
        is_constant = column.note == "constant" and not values.is_missing.any()
        if is_constant or len(frame) < FEWEST_NAMES:
            continue
        if names_rows(values, column.kind):
            found[column.name] = IDENTIFIER
        elif enough and errors_of_one_column(values, column.kind, is_true) <= LEAK_SHARE * len(frame):
            found[column.name] = LEAK
    names = {what: [name for name, said in found.items() if said == what] for what in (IDENTIFIER, LEAK)}
    if names[IDENTIFIER]:
        warnings.warn(
            f"Nearly every row has a value of its own in {short_list(names[IDENTIFIER])}: it names rows, and says "
            "nothing of later ones. Leave it out.",
            IdentifierWarning,
            stacklevel=5,
        )
    if names[LEAK]:
        warnings.warn(
            f"One column alone tells the label of nearly every row: {short_list(names[LEAK])}. If it was written down "
            "after the outcome was known, leave it out.",
            LeakWarning,
            stacklevel=5,
        )
    return found


def _errors_of_numbers(
    frame: pd.DataFrame, names: Iterable[str], is_true: BoolArray
) -> Iterator[tuple[str, tuple[bool, int]]]:
    """Say of columns of plain numbers what `names_rows` and `errors_of_one_column` say of one, many at a time."""
    for part, numbers in number_columns(frame, names):
        place = np.argsort(numbers, axis=0, kind="stable")  # missing values come last
        ordered, labels = np.take_along_axis(numbers, place, axis=0), is_true[place]
        seen = ~np.isnan(ordered)
        present, positives = seen.sum(axis=0), (labels & seen).sum(axis=0)
        with np.errstate(invalid="ignore"):
            is_whole = (~seen | (np.isfinite(ordered) & (ordered == np.round(ordered)))).all(axis=0)
            is_running = ordered[np.maximum(present - 1, 0), np.arange(len(part))] - ordered[0] < 2 * present
            distinct = (ordered[1:] > ordered[:-1]).sum(axis=0) + (present > 0)
        named = is_whole & (is_running | (present >= _MANY_ROWS)) & (distinct >= NAMED_SHARE * present)
        named &= present >= max(FEWEST_NAMES, NAMED_SHARE * len(frame))
        is_last = seen & np.concatenate([ordered[1:] != ordered[:-1], np.ones((1, len(part)), dtype=bool)])
        running = np.cumsum(np.where(labels, 1, -1) * seen, axis=0)
        # the sum after the last row of a value; before that, and within one, that of the value before
        last = np.maximum.accumulate(np.where(is_last, np.arange(1, len(frame) + 1)[:, None], 0), axis=0)
        running = np.take_along_axis(np.concatenate([np.zeros((1, len(part)), dtype=np.int64), running]), last, axis=0)
        climb = np.maximum((running - np.minimum(np.minimum.accumulate(running, axis=0), 0)).max(axis=0), 0)
        fall = np.maximum((np.maximum(np.maximum.accumulate(running, axis=0), 0) - running).max(axis=0), 0)
        negatives = present - positives
        unseen = np.minimum(is_true.sum() - positives, (~is_true).sum() - negatives)
        errors = unseen + np.minimum(positives - climb, negatives - fall)
        yield from zip(part, zip(named.tolist(), errors.tolist(), strict=True), strict=True)


def names_rows(values: ColumnValues, kind: str) -> bool:
    """Whether hardly a value comes twice and the values look like names: text, or whole numbers, running or many."""
    present = int((~values.is_missing).sum())
    if present < max(FEWEST_NAMES, NAMED_SHARE * len(values.is_missing)):
        return False
    if kind == CATEGORY:
        codes, uniques = values.levels
        num_levels = np.count_nonzero(np.bincount(codes[codes >= 0], minlength=len(uniques)))
        # measurements that are text for a comma or a unit differ, too
        return bool(num_levels >= NAMED_SHARE * present and numbers_like(values.series).share_odd < _HALF)
    if kind != NUMBER:
        return False
    numbers = values.numbers[~values.is_missing]
    if not (np.isfinite(numbers).all() and (numbers == np.round(numbers)).all()):
        return False
    is_running = numbers.max() - numbers.min() < 2 * present
    return bool((is_running or present >= _MANY_ROWS) and len(np.unique(numbers)) >= NAMED_SHARE * present)


def errors_of_one_column(values: ColumnValues, kind: str, is_true: BoolArray) -> int:
    """Rows that the best reading of one column gets wrong: level by level, or from a cut to another.

    Missing is a value too.
    """
    missing = values.is_missing
    errors = _smaller(is_true[missing])
    if kind == CATEGORY:
        codes = values.levels[0]
        size = len(values.levels[1])
        present = codes >= 0
        positives = np.bincount(codes[present & is_true], minlength=size)
        negatives = np.bincount(codes[present & ~is_true], minlength=size)
        rare = positives + negatives < _RARE  # a level of few rows tells their labels by chance
        errors += int(np.minimum(positives, negatives)[~rare].sum())
        return errors + int(min(positives[rare].sum(), negatives[rare].sum()))
    numbers = values.ordered(kind)
    seen = ~np.isnan(numbers)
    order = np.argsort(numbers[seen], kind="stable")
    ordered, labels = numbers[seen][order], is_true[seen][order]
    if not len(ordered):
        return errors
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    # a reading "from a to b" errs on the positives outside and the negatives inside: with the running sum of both
    # signs, positives - (s[b] - s[a]), least where the sum climbs most; one cut is a reading with an open end
    running = np.concatenate([[0], np.cumsum(np.where(labels, 1, -1))[is_last]])
    climb = int((running - np.minimum.accumulate(running)).max())
    fall = int((np.maximum.accumulate(running) - running).max())
    return errors + min(int(labels.sum()) - climb, int((~labels).sum()) - fall)


def _smaller(labels: BoolArray) -> int:
    return int(min(labels.sum(), (~labels).sum()))
