"""A later table beside the one that a model was fitted on, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import InputError
from soar_jax.data.columns import CATEGORY, DATETIME, ColumnValues, level_text
from soar_jax.data.contract import ColumnContract, Contract
from soar_jax.data.literals import Literal
from soar_jax.data.moments import microseconds_of
from soar_jax.data.spelling import short_name

_MORE_MISSING = 0.1


@dataclass(frozen=True)
class ColumnCheck:
    """What was found in one column.

    Attributes
    ----------
    column : str
    kind : str
    in_rules : bool
    rows : int
    is_absent : bool
        The table does not have it.
    missing, missing_at_fit : float
        Share of the rows without a value.
    unreadable : int
        Values that cannot be read.
    unseen : int
        Values whose level the fit did not see; where it saw rare levels, which are not named, those may be among them.
    unseen_at_fit : float
        Share of the values at the fit that had such a rare level.
    outside : int
        Values below or above all that the fit saw.
    refused : str
        Why `predict` would refuse the column; else nothing.
    """

    column: str
    kind: str
    in_rules: bool
    rows: int
    is_absent: bool = False
    missing: float = 0.0
    missing_at_fit: float = 0.0
    unreadable: int = 0
    unseen: int = 0
    unseen_at_fit: float = 0.0
    outside: int = 0
    refused: str = ""

    @property
    def findings(self) -> list[str]:
        """What a reader should know, in words; nothing where the column is as it was."""
        if self.is_absent:
            return ["is not in the table"] if self.in_rules else []
        found = [self.refused] if self.refused else []
        if self.unreadable:
            found.append(f"{self.unreadable:,} unreadable")
        present = self.rows * (1 - self.missing)
        if self.unseen and self.unseen > 2 * self.unseen_at_fit * present:
            found.append(f"{self.unseen:,} of an unseen{' or rare' if self.unseen_at_fit else ''} level")
        if self.outside:
            found.append(f"{self.outside:,} outside the range seen")
        if self.missing > self.missing_at_fit + _MORE_MISSING:
            found.append(f"{self.missing:.0%} missing, {self.missing_at_fit:.0%} at the fit")
        return found


@dataclass(frozen=True)
class TableCheck:
    """All columns of a table beside those of the fit; prints as a short report."""

    columns: tuple[ColumnCheck, ...]
    rows: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not any(column.findings for column in self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"rows": self.rows, "is_clean": self.is_clean, "columns": [asdict(column) for column in self.columns]}

    def to_frame(self) -> pd.DataFrame:
        """One line per column."""
        return pd.DataFrame([asdict(column) for column in self.columns]).set_index("column")

    def sentence(self) -> str:
        """Say in one line what was found in the columns that the rules read; nothing when there is nothing."""
        found = [f"{short_name(c.column)}: {', '.join(c.findings)}" for c in self.columns if c.in_rules and c.findings]
        return f"Of {self.rows:,} rows, {'; '.join(found)}." if found else ""

    def __str__(self) -> str:
        """Write one line per column that is not as it was."""
        found = [
            f"  {short_name(column.column)}{' (in rules)' if column.in_rules else ''}: {', '.join(column.findings)}"
            for column in self.columns
            if column.findings
        ]
        if not found:
            return f"{self.rows:,} rows: every column is as it was at the fit."
        return "\n".join(
            [f"{self.rows:,} rows: {len(found)} of {len(self.columns)} columns differ from the fit.", *found]
        )

    __repr__ = __str__


def check_table(frame: pd.DataFrame, contract: Contract, literals: Sequence[Literal]) -> TableCheck:
    """Compare a table with the contract; ``literals`` are those of the rules."""
    levels: dict[str, set[str]] = {}
    used = set()
    for literal in literals:
        used.add(literal.column)
        if literal.op in ("==", "!=") or literal.order is not None:
            levels.setdefault(literal.column, set()).add(level_text(literal.value))
    found = []
    for column in contract.columns:
        in_rules = column.name in used
        if column.name not in frame.columns:
            found.append(ColumnCheck(column.name, column.kind, in_rules, len(frame), is_absent=True))
            continue
        found.append(_check(frame[column.name], column, contract, levels.get(column.name, set()), in_rules=in_rules))
    return TableCheck(tuple(found), len(frame))


def _check(
    series: pd.Series, column: ColumnContract, contract: Contract, of_rules: set[str], *, in_rules: bool
) -> ColumnCheck:
    rows = len(series)
    try:
        read = contract.read_one(series, column)
    except InputError as error:
        return ColumnCheck(column.name, column.kind, in_rules, rows, missing_at_fit=column.missing, refused=str(error))
    values = ColumnValues(read.series, column.kind)
    unseen = outside = 0
    if column.kind == CATEGORY and column.levels is not None:
        known = {level_text(level) for level in column.levels} | of_rules
        is_new = np.array([*(text not in known for text in values.level_texts), False])
        unseen = int(is_new[values.levels[0]].sum())
    elif column.low is not None and column.high is not None:
        numbers = values.ordered(column.kind)
        is_time = column.kind == DATETIME
        low, high = (microseconds_of(str(v)) if is_time else float(v) for v in (column.low, column.high))
        with np.errstate(invalid="ignore"):
            outside = int(((numbers < low) | (numbers > high)).sum())
    too_many = read.num_unreadable > 0 if column.strict else read.is_mostly_unreadable
    refused = "too much of it cannot be read" if too_many else ""
    missing = float(values.is_missing.mean()) if rows else 0.0
    return ColumnCheck(
        column.name,
        column.kind,
        in_rules,
        rows,
        missing=missing,
        missing_at_fit=column.missing,
        unreadable=read.num_unreadable,
        unseen=unseen,
        unseen_at_fit=column.rare_share,
        outside=outside,
        refused=refused,
    )
