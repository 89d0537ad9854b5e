"""What SQL dialects share: how names and values are written, and what a dialect must read out of a cell.

A reading is an expression over columns of the innermost query: ``value`` (the cell as stored), ``text`` (the cell as
text), ``word`` (that text without white space at its ends) and ``type`` (the name of its type).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from soar_jax._base import InputError, Plain
from soar_jax._names import short_name
from soar_jax.data.columns import level_text
from soar_jax.data.moments import microseconds_of
from soar_jax.export.content import ExportedColumn
from soar_jax.export.grammar import WHITE_SPACE, spells_whole

STORAGES = ("text", "integer", "double", "real", "boolean", "date", "timestamp")
UNKNOWN = "unknown"
_LONG = 1 << 63


class Cell(NamedTuple):
    """Names of a cell's columns, how the table stores it, and the column of the model; ``word`` is its trimmed text."""

    value: str
    text: str
    word: str
    type: str
    storage: str
    column: ExportedColumn


class Dialect(ABC):
    """How one database writes and reads things."""

    name: ClassVar[str]
    folds_case: ClassVar[bool] = True
    """Whether two column names that differ by case only are one."""
    fence: ClassVar[str] = ""
    """What keeps the planner from computing an inner query's expressions once per use."""
    double: ClassVar[str] = "DOUBLE"
    single: ClassVar[str] = "REAL"
    long: ClassVar[str] = "BIGINT"
    string: ClassVar[str] = "VARCHAR"

    # -- writing ------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """Quote a name."""
        return '"' + checked_name(name).replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Quote a text."""
        return "'" + checked(value).replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """Write a float64 that is read back to the bit."""
        return f"CAST('{_spelling(value)}' AS {self.double})"

    def label(self, value: Plain) -> str:
        """Write a label in the type that fits it."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int) and not -_LONG <= value < _LONG:
            raise InputError("A label is a whole number beyond 64 bits; turn the labels into text and fit again.")
        return f"CAST('{value}' AS {self.long})" if isinstance(value, int) else self.number(value)

    def check_names(self, names: Sequence[str]) -> None:
        """Raise when the database takes two of these names for one."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(self.folded(name), name)
            if other != name:
                raise InputError(
                    f"{self.name} cannot tell the columns {other!r} and {name!r} apart; rename one and fit again."
                )

    def folded(self, name: str) -> str:
        """Form of a name in which equal names are one column."""
        return name.lower() if self.folds_case else name

    # -- the innermost query ------------------------------------------------------------------

    def cell_text(self, column: str, storage: str) -> str:
        """Take a column as text: dates as YYYY-MM-DD, and comparing by bytes, whatever its collation."""
        return f"CAST({column} AS {self.string})"

    @abstractmethod
    def cell_type(self, column: str) -> str:
        """Name a column's type."""

    @abstractmethod
    def is_text(self, kind: str) -> str:
        """Say whether the name of a type is one of text."""

    def character(self, code: int) -> str:
        """Write a character by its code."""
        return f"CHR({code})"

    def trimmed(self, text: str) -> str:
        """Take white space off both ends of a text, as Python does."""
        return f"TRIM({text}, {' || '.join(map(self.character, WHITE_SPACE))})"

    def iso_text(self, text: str, column: ExportedColumn) -> str:
        """Write text of a column's own date format in ISO 8601; NULL where it is none."""
        raise InputError(
            f"{self.name} cannot read dates of the format {column.contract.form!r} in column {column.name!r}; store "
            "them as ISO 8601 text (2024-12-31), or let soar predict read them from a file."
        )

    # -- reading ------------------------------------------------------------------------------

    @abstractmethod
    def missing(self, cell: Cell) -> str:
        """Say whether a cell is missing; NaN is."""

    @abstractmethod
    def level(self, cell: Cell) -> str:
        """Name a cell's level: one of those of its column, some other text, or NULL where it is missing."""

    @abstractmethod
    def number_of(self, cell: Cell) -> str:
        """Read a cell as float64: NULL where it is missing or not a number."""

    @abstractmethod
    def moment(self, cell: Cell) -> str:
        """Read a cell as microseconds since 1970 UTC in float64: NULL where it is missing or no moment."""

    def without_zeros(self, text: str) -> str:
        """Take zeros off the end of a text."""
        return f"RTRIM({text}, '0')"

    # -- helpers ------------------------------------------------------------------------------

    def _level_of(self, number: str, known: Sequence[tuple[float, str]], other: str, missing: str = "") -> str:
        """Name the level of a number or moment by comparing it with those that have a name."""
        parts = [f"WHEN {missing} THEN NULL"] if missing else []
        parts += [f"WHEN {number} = {self.number(value)} THEN {self.text(level)}" for value, level in known]
        return f"CASE {' '.join(parts)} ELSE {other} END" if parts else other

    @abstractmethod
    def parsed_number(self, word: str, bounds: Sequence[float] = ()) -> str:
        """Read text as float64: NULL where it spells no number; it is compared with ``bounds``."""

    def _level_of_cell(self, cell: Cell) -> str:
        """Name the level of text in a cell; where the fit read numbers, text that spells one is that number."""
        levels = cell.column.levels
        if not cell.column.reads_numbers:
            return self._level_of_text(cell.text, levels)
        known = floats_of(levels)
        number = self.parsed_number(cell.word, [value for value, _ in known])
        named = self._level_of(number, known, self.text(other_than(levels)))
        return f"CASE WHEN {number} IS NULL THEN {self._level_of_text(cell.text, levels)} ELSE {named} END"

    def _level_of_text(self, text: str, levels: Sequence[str]) -> str:
        """Name the level of text as `level_text` does, as far as ``levels`` can tell."""
        parts = [f"WHEN LOWER({text}) = '{word}' THEN '{level}'" for word, level in _TRUTH if level in levels]
        for level in levels:
            if spells_whole(level):  # "2.0" and "2.00" are "2", but "2." is not
                dot = self.text(f"{level}.")
                stripped = self.without_zeros(text)
                parts.append(f"WHEN {stripped} = {dot} AND {text} <> {dot} THEN {self.text(level)}")
        return f"CASE {' '.join(parts)} ELSE {text} END" if parts else text


_TRUTH = (("true", "1"), ("false", "0"))


def checked(value: str, what: str = "A level or label of the model") -> str:
    """Refuse what no database can hold in its text; the text is not shown, as it may be a cell of a table."""
    if "\0" in value:
        raise InputError(f"{what} holds a NUL character, which SQL cannot hold; replace it and fit again.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} is not valid Unicode, which SQL needs; replace it and fit again.") from None
    return value


def checked_name(name: str) -> str:
    """Refuse a name that no database can hold."""
    return checked(name, f"The name {short_name(name)!r}")


def _spelling(value: float) -> str:
    """Digits that give the float64 back, or an infinity as every dialect spells it."""
    return repr(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def other_than(levels: Sequence[str]) -> str:
    """Make a name that is none of the levels."""
    name = "other"
    while name in levels:
        name += "_"
    return name


def floats_of(levels: Sequence[str]) -> list[tuple[float, str]]:
    """Numbers whose level has one of these names."""
    found = []
    for level in levels:
        try:
            number = float(level)
        except ValueError:
            continue
        if level_text(number) == level and not math.isnan(number):
            found.append((number, level))
    return found


def moments_of(levels: Sequence[str]) -> list[tuple[float, str]]:
    """Moments, in microseconds, whose level has one of these names."""
    found = []
    for level in levels:
        try:
            moment = datetime.fromisoformat(level)
        except ValueError:
            continue
        if str(moment) == level and moment.tzinfo is None:
            found.append((microseconds_of(level), level))
    return found
