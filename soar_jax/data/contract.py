"""The data contract: what each column was read as when a model was fitted, and what is asked of later tables.

It is plain data, kept in the model file. Reading a table by it gives a frame in which numbers are numbers and moments
are moments, so that rules mean on later rows what they meant on the first ones. Cells that cannot be read are counted
and warned about; a column that the rules read is refused when most of it cannot be read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import (
    DataWarning,
    InputError,
    LevelOrderWarning,
    Plain,
    UnreadableValuesWarning,
    UnseenLevelsWarning,
)
from soar_jax.data.columns import CATEGORY, DATETIME, KINDS, NUMBER, ColumnValues, level_text
from soar_jax.data.learn_column import NULL_WORDS, Learnt
from soar_jax.data.read_column import Read, contradicts, read_column, refuse_storage, storage_of, without_words
from soar_jax.data.spelling import short_name

UNSEEN_SHARE, FEWEST_UNSEEN = 0.5, 10
"""Share of the values of a column that may be levels never seen without a warning, from so many values on."""
FEWEST_ROWS = 5
"""Rows that must have a level before it is named in the contract: fewer could point to a person."""
MOST_LEVELS = 1000
MISSING = "soar_jax missing words"
"""Where a frame that was read from a file keeps the words that meant "missing" (`pandas.DataFrame.attrs`)."""


@dataclass(frozen=True)
class ColumnContract:
    """What was seen of one column.

    Attributes
    ----------
    name : str
    kind : str
        ``"category"``, ``"number"`` or ``"datetime"``.
    read_as : str
        What its cells were: ``"number"``, ``"text"``, ``"boolean"``, ``"category"``, ``"datetime"`` or ``"empty"``.
    is_declared : bool
        The user said which kind it is.
    strict : bool
        Cells that cannot be read are refused.
    form : str, optional
        Format of dates that are text; None: ISO 8601.
    zone : str, optional
        Of dates: ``"none"`` or ``"utc"`` (they named a zone and are compared in UTC); None where it is not known.
    resolution : str, optional
        Of dates: the coarsest of day, second and microsecond that holds them all.
    low, high : float or str, optional
        Range of numbers and dates.
    levels : tuple, optional
        Levels that at least `FEWEST_ROWS` rows had; None where they are not known.
    rare_levels : int
        Levels that fewer rows had, which are not named.
    rare_share : float
        Share of the present values that had them.
    missing : float
        Share of the rows without a value, unreadable ones included.
    unreadable : float
        Share of the rows whose value could not be read.
    words : tuple of str
        Words that mean "missing" elsewhere and are values here.
    note : str
        ``"constant"``, ``"identifier"``, ``"tells the label"``, ``"not used"`` or nothing.
    order : tuple, optional
        Of an ordered category: all levels that its type named, the lowest first, whether or not a row had them.
    """

    name: str
    kind: str
    read_as: str
    is_declared: bool = False
    strict: bool = False
    form: str | None = None
    zone: str | None = None
    resolution: str | None = None
    low: float | str | None = None
    high: float | str | None = None
    levels: tuple[Plain, ...] | None = None
    rare_levels: int = 0
    rare_share: float = 0.0
    missing: float = 0.0
    unreadable: float = 0.0
    words: tuple[str, ...] = ()
    note: str = ""
    order: tuple[Plain, ...] | None = None

    @property
    def may_be_truth_values(self) -> bool:
        """Whether numbers lay from 0 to 1, so that truth values mean the same."""
        if self.kind != NUMBER or self.low is None or self.high is None:
            return True
        return 0 <= float(self.low) and float(self.high) <= 1

    @property
    def known_levels(self) -> tuple[str, ...]:
        """Names of the levels that the contract knows."""
        return tuple(dict.fromkeys(level_text(level) for level in (*(self.levels or ()), *(self.order or ()))))

    def refuse(self, storage: str) -> None:
        """Raise where cells of a type (see `storage_of`) cannot mean what those of the fit did."""
        refuse_storage(self.name, self.kind, self.read_as, storage, may_be_truth_values=self.may_be_truth_values)

    def range_text(self) -> str:
        """Levels or range, for a table to look at."""
        if self.kind != CATEGORY:
            return "" if self.low is None else f"{self.low} to {self.high}"
        named = [str(level) for level in self.levels or ()]
        listed = (", " if self.order is None else " < ").join(named[:8]) + (", ..." if len(named) > 8 else "")  # noqa: PLR2004
        rare = f"{self.rare_levels:,} rare" if self.rare_levels else ""
        return " and ".join(part for part in (listed, rare) if part)


@dataclass(frozen=True)
class Contract:
    """What each column of a table was read as.

    Attributes
    ----------
    columns : tuple of ColumnContract
    has_names : bool
        The table had names for its columns.
    missing_words : tuple of str
        Texts that meant a missing value.
    num_rows : int
    """

    columns: tuple[ColumnContract, ...]
    has_names: bool = True
    missing_words: tuple[str, ...] = ()
    num_rows: int = 0
    _by_name: dict[str, ColumnContract] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the columns."""
        self._by_name.update({column.name: column for column in self.columns})

    def get(self, name: str) -> ColumnContract | None:
        """One column's part."""
        return self._by_name.get(name)

    def words_of(self, column: ColumnContract) -> list[str]:
        """Texts that mean a missing value in a column."""
        return [word for word in self.missing_words if word not in column.words]

    @property
    def orders(self) -> dict[str, tuple[Plain, ...]]:
        """Levels of ordered categories, the lowest first, by column."""
        return {column.name: column.order for column in self.columns if column.order is not None}

    # -- reading ------------------------------------------------------------------------------

    def read(self, frame: pd.DataFrame, used: Iterable[str], *, warn: bool = True) -> pd.DataFrame:
        """Read a table as the first one was read; what ``used`` names must be readable, the rest should be."""
        must, found, counts = set(used), {}, []
        for name in frame.columns:
            column = self.get(name)
            if column is None:
                continue
            series = frame[name]
            try:
                read = self.read_one(series, column)
            except InputError:
                if name in must:
                    raise
                continue
            if warn and name in must and contradicts(series, column.order):
                warnings.warn(
                    f"The levels of {short_name(name)} have another order in this table than at the fit; the model's "
                    "order is used.",
                    LevelOrderWarning,
                    stacklevel=4,
                )
            if read.series is not series:
                found[name] = read.series
            if name in must and read.num_unreadable:
                counts.append((column, read))
            if warn and name in must and column.levels and column.kind == CATEGORY:
                values = ColumnValues(read.series, column.kind)
                known = column.known_levels
                is_new = np.array([*(text not in known for text in values.level_texts), False])
                present = int((~values.is_missing).sum())
                is_same = storage_of(series) in (column.read_as, "text", "category")
                warn_of_unseen(column, int(is_new[values.levels[0]].sum()), present, is_same=is_same)
                warn_of_nulls(column, read.series, values)
        for column, read in counts:
            refuse_or_warn(column, read, warn=warn)
        declared = {column.name: column.kind for column in self.columns if column.is_declared}
        if not found and not declared:
            return frame
        frame = frame.assign(**found) if found else frame.copy(deep=False)
        frame.attrs = {**frame.attrs, KINDS: declared}
        return frame

    def read_one(self, series: pd.Series, column: ColumnContract) -> Read:
        """Read one column; what cannot be read is counted."""
        series = without_words(series, self.words_of(column))
        column.refuse(storage_of(series))
        return read_column(series, column.kind, column.read_as, column.form, column.zone)

    # -- as data ------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for files and reports."""
        return {
            "num_rows": self.num_rows,
            "has_names": self.has_names,
            "missing_words": list(self.missing_words),
            "columns": [
                {
                    k: list(v) if isinstance(v, tuple) else v
                    for k, v in asdict(column).items()
                    if k != "order" or v is not None  # a file without orders is as it was before there were any
                }
                for column in self.columns
            ],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Contract:
        """Rebuild what `to_dict` gave."""
        known = {one.name for one in fields(ColumnContract)}
        columns = []
        for column in content["columns"]:
            given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in column.items() if k in known}
            columns.append(ColumnContract(**given))
        return cls(
            tuple(columns), bool(content["has_names"]), tuple(content["missing_words"]), int(content["num_rows"])
        )

    def to_frame(self, used: Iterable[str]) -> pd.DataFrame:
        """One line per column, to look at."""
        in_rules = set(used)
        lines = [
            {
                "column": column.name,
                "kind": column.kind,
                "read_as": ("ordered " if column.order else "")
                + column.read_as
                + (" (declared)" if column.is_declared else ""),
                "seen": column.range_text(),
                "missing": column.missing,
                "unreadable": column.unreadable,
                "in_rules": column.name in in_rules,
                "note": column.note,
            }
            for column in self.columns
        ]
        names = ["column", "kind", "read_as", "seen", "missing", "unreadable", "in_rules", "note"]
        return pd.DataFrame(lines, columns=names).set_index("column")

    def with_notes(self, notes: Mapping[str, str]) -> Contract:
        """Say more of some columns; what was said before stays."""
        columns = [replace(c, note=c.note or notes.get(c.name, "")) for c in self.columns]
        return replace(self, columns=tuple(columns), _by_name={})


def warn_of_nulls(column: ColumnContract, series: pd.Series, values: ColumnValues) -> None:
    """Warn where a word such as "None" was a level at the fit and is missing here, or the reverse."""
    missing = int(values.is_missing.sum())
    texts = set(values.level_texts)
    if column.words and missing > column.missing * len(series) and not texts & set(column.words):
        warnings.warn(
            f"{missing:,} of {len(series):,} values of {short_name(column.name)} are missing, where at the fit it had "
            f"the level {column.words[0]!r}; that may be the work of a reader of tables.",
            DataWarning,
            stacklevel=5,
        )
    spelt = [word for word in NULL_WORDS if word in texts and word not in column.known_levels]
    if spelt and not column.words:
        warnings.warn(
            f"{short_name(column.name)} has values such as {spelt[0]!r}, which was no level at the fit and means a "
            "missing value to many readers of tables; the model takes it for a level that it never saw.",
            UnseenLevelsWarning,
            stacklevel=5,
        )


def warn_of_unseen(column: ColumnContract, unseen: int, present: int, *, is_same: bool = True) -> None:
    """Warn where most values of a column are levels that the model never saw: it was read or written another way.

    ``is_same``: its values are of the type that they had at the fit; of others a single one is enough.
    """
    if present >= (FEWEST_UNSEEN if is_same else 1) and unseen > max(UNSEEN_SHARE, 2 * column.rare_share) * present:
        warnings.warn(
            f"{unseen:,} of {present:,} values of {short_name(column.name)} are levels that the model never saw, and "
            "for its rules any other value. Were they written another way at the fit (007 and 7, True and yes)?",
            UnseenLevelsWarning,
            stacklevel=5,
        )


def refuse_or_warn(column: ColumnContract | Learnt, read: Read, *, warn: bool = True) -> None:
    """Refuse a column of which too much cannot be read, and warn of one of which something cannot."""
    what = "dates as the model reads them" if column.kind == DATETIME else "numbers"
    name, wrong = short_name(column.name), read.num_unreadable
    good, verb = read.num_present - wrong, "is" if wrong == 1 else "are"
    counted = f"{good:,} of {read.num_present:,} values of {name} are {what}; {wrong:,} {verb} not"
    if column.strict:
        raise InputError(f"{counted}, and strict reading was asked for. Mend or blank them.")
    if read.is_mostly_unreadable:
        form = "2024-12-31" if column.form is None else column.form
        advice = f"write dates as {form}" if column.kind == DATETIME else "write numbers as 148.0"
        raise InputError(f"{counted}: too many to treat as missing. Mend the column ({advice}), or blank those cells.")
    if warn:
        warnings.warn(f"{counted} and {verb} treated as missing.", UnreadableValuesWarning, stacklevel=5)
