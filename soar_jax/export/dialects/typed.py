"""Dialects whose columns have types and that have regular expressions: DuckDB, PostgreSQL and Spark.

A column whose storage the user gave is read directly. Any other is read through its text, with its type deciding what
the text means, since one SELECT must not fail on a type. Text is checked against the grammar before it is cast, so
that no cast fails.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from soar_jax.data.read_column import ZONELESS
from soar_jax.export.content import ExportedColumn
from soar_jax.export.dialects.base import UNKNOWN, Cell, Dialect, floats_of, moments_of, other_than
from soar_jax.export.grammar import INFINITIES, NUMBER, form_patterns, moment_pattern

_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000


class TypedDialect(Dialect):
    """What DuckDB, PostgreSQL and Spark share."""

    space = r"[\t-\r ]"
    _types: dict[str, str]
    """Kind of type and the condition on the type's name, with a place for the name."""

    # -- reading ------------------------------------------------------------------------------

    def missing(self, cell: Cell) -> str:
        """Say whether a cell is missing; NaN is."""
        is_null = f"{cell.value} IS NULL"
        if cell.storage in ("double", "real"):
            return f"({is_null} OR {self.is_nan(cell.value)})"
        if cell.storage != UNKNOWN:
            return is_null
        return f"({is_null} OR ({self.has_type(cell, 'double', 'real')} AND LOWER({cell.text}) = 'nan'))"

    def level(self, cell: Cell) -> str:
        """Name a cell's level: one of those of its column, some other text, or NULL where it is missing."""
        levels = cell.column.levels
        storage, other = cell.storage, self.text(other_than(levels))
        if storage == "text" or (storage == "real" and cell.column.reads_numbers):
            return self._level_of_cell(cell)
        if storage == "boolean":
            return f"CASE WHEN {cell.value} THEN '1' WHEN NOT {cell.value} THEN '0' END"
        if storage in ("integer", "date"):
            return cell.text
        if storage == "timestamp":
            return self._level_of(self.moment(cell), moments_of(levels), other, f"{cell.value} IS NULL")
        if storage in ("double", "real"):
            return self._level_of(self.number_of(cell), floats_of(levels), other, self.missing(cell))
        # as a level, 0.1 of single precision is what is written 0.1
        as_real = (self.parsed_number if cell.column.reads_numbers else self._widened)(cell.word)
        parts = [
            f"WHEN {self.missing(cell)} THEN NULL",
            f"WHEN {self.has_type(cell, 'real')} THEN " + self._level_of(as_real, floats_of(levels), other),
            f"WHEN {self.has_type(cell, 'double', 'decimal')} THEN "
            + self._level_of(self.parsed_number(cell.word), floats_of(levels), other),
            f"WHEN {self.has_type(cell, 'timestamp', 'instant')} THEN "
            + self._level_of(self.moment(cell), moments_of(levels), other),
            *(
                [f"WHEN {self.is_text(cell.type)} THEN {self._level_of_cell(cell)}"]
                if cell.column.reads_numbers
                else []
            ),
            f"ELSE {self._level_of_text(cell.text, levels)}",
        ]
        return "CASE " + " ".join(parts) + " END"

    def number_of(self, cell: Cell) -> str:
        """Read a cell as float64: NULL where it is missing or not a number."""
        storage = cell.storage
        if storage == "text":
            return self.parsed_number(cell.word)
        if storage == "integer":
            return f"CAST({cell.value} AS {self.double})"
        if storage in ("double", "real"):
            return f"CASE WHEN NOT {self.is_nan(cell.value)} THEN CAST({cell.value} AS {self.double}) END"
        if storage == "boolean":
            one, zero = self.number(1.0), self.number(0.0)
            return f"CASE WHEN {cell.value} THEN {one} WHEN NOT {cell.value} THEN {zero} END"
        if storage in ("date", "timestamp"):
            return f"CAST(NULL AS {self.double})"
        return (
            f"CASE WHEN {self.has_type(cell, 'boolean')} THEN "
            f"CASE {cell.text} WHEN 'true' THEN {self.number(1.0)} WHEN 'false' THEN {self.number(0.0)} END "
            f"WHEN {self.has_type(cell, 'real')} THEN {self._widened(cell.word)} "
            f"WHEN {self.has_type(cell, 'date', 'timestamp', 'instant')} THEN NULL "
            f"ELSE {self.parsed_number(cell.word)} END"
        )

    def moment(self, cell: Cell) -> str:
        """Read a cell as microseconds since 1970 UTC in float64: NULL where it is missing or no moment."""
        # a date or timestamp has no zone to name
        zone = cell.column.contract.zone if cell.column.contract.form is None else None
        parsed = self.parsed_moment(cell.text, zone)
        if cell.storage == "text":
            return parsed
        if cell.storage in ("date", "timestamp"):
            return self.stored_moment(cell)
        if cell.storage == "boolean":
            return f"CAST(NULL AS {self.double})"
        instant = f"CAST(NULL AS {self.double})" if zone == ZONELESS else self.instant(cell)
        return f"CASE WHEN {self.has_type(cell, 'instant')} THEN {instant} ELSE {parsed} END"

    @abstractmethod
    def is_nan(self, value: str) -> str:
        """Test a floating-point number for NaN."""

    @abstractmethod
    def stored_moment(self, cell: Cell) -> str:
        """Microseconds of a date or timestamp column."""

    @abstractmethod
    def instant(self, cell: Cell) -> str:
        """Microseconds of a column that, by its type's name, is a timestamp with a time zone."""

    def _widened(self, text: str) -> str:
        """Read the text of a single-precision number as the float64 of the same value."""
        return f"CAST(CAST({self.parsed_number(text)} AS {self.single}) AS {self.double})"

    # -- text -----------------------------------------------------------------------------------

    @abstractmethod
    def matches(self, text: str, pattern: str) -> str:
        """Test the whole text against a pattern."""

    @abstractmethod
    def extract(self, text: str, pattern: str) -> str:
        """Take the first group of a pattern's first match; empty or NULL where there is none."""

    @abstractmethod
    def number_cast(self, text: str) -> str:
        """Turn text that spells a number into float64."""

    @abstractmethod
    def days(self, text: str) -> str:
        """Days from 1970-01-01 to a valid date."""

    def has_type(self, cell: Cell, *kinds: str) -> str:
        """Compare the type's name."""
        tests = [self._types[kind].format(cell.type) for kind in kinds]
        return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"

    def parsed_number(self, word: str, bounds: Sequence[float] = ()) -> str:
        """Cast what the grammar takes for a number."""
        infinite = [", ".join(f"'{spelt}'" for spelt in group) for group in INFINITIES]
        return (
            f"CASE WHEN {self.matches(word, NUMBER)} THEN {self.number_cast(word)} "
            f"WHEN LOWER({word}) IN ({infinite[0]}) THEN {self.number(float('inf'))} "
            f"WHEN LOWER({word}) IN ({infinite[1]}) THEN {self.number(float('-inf'))} END"
        )

    def iso_text(self, text: str, column: ExportedColumn) -> str:
        """Write text of a column's own date format in ISO 8601; NULL where it is none."""
        patterns = form_patterns(str(column.contract.form), self.space)
        if not patterns:
            return super().iso_text(text, column)
        part = {field: self.extract(text, pattern) for field, pattern in patterns.items()}
        if "y" in part:
            part["Y"] = f"CASE WHEN {part['y']} < '69' THEN '20' ELSE '19' END || {part['y']}"
        year, month, day = part.get("Y", "'1900'"), *(f"LPAD(TRIM({part.get(k, 1)}), 2, '0')" for k in "md")
        time = " || ':' || ".join(f"LPAD({part[k]}, 2, '0')" if k in part else "'00'" for k in "HMS")
        fraction = f" || '.' || {part['f']}" if "f" in part else ""
        iso = f"{year} || '-' || {month} || '-' || {day} || ' ' || {time}{fraction}"
        return f"CASE WHEN {self.matches(text, next(iter(patterns.values())))} THEN {iso} END"

    def parsed_moment(self, text: str, zone: str | None = None) -> str:
        """Add up the parts of what the grammar takes for a moment."""
        trimmed = f"TRIM({text})"
        tail = f"SUBSTR({trimmed}, 17)"  # what follows HH:MM
        hours = self._whole(self.extract(tail, "[+-]([0-9][0-9])"))
        minutes = self._whole(self.extract(tail, "[+-][0-9][0-9]:?([0-9][0-9])"))
        fraction = self.extract(tail, "[.]([0-9]+)")
        parts = (
            f"{self.days(f'SUBSTR({trimmed}, 1, 10)')} * {_DAY}",
            f"{self._whole(f'SUBSTR({trimmed}, 12, 2)')} * {_HOUR}",
            f"{self._whole(f'SUBSTR({trimmed}, 15, 2)')} * {_MINUTE}",
            f"{self._whole(self.extract(tail, '^:([0-9][0-9])'))} * {_SECOND}",
            self._whole(f"SUBSTR(RPAD({fraction}, 6, '0'), 1, 6)"),
        )
        offset = f"CASE WHEN {tail} LIKE '%-%' THEN -1 ELSE 1 END * ({hours} * {_HOUR} + {minutes} * {_MINUTE})"
        return (
            f"CASE WHEN {self.matches(text, moment_pattern(zone))} AND SUBSTR({trimmed}, 1, 4) <> '0000' THEN "
            f"CAST({' + '.join(parts)} - {offset} AS {self.double}) END"
        )

    def _whole(self, digits: str) -> str:
        return f"COALESCE(CAST(NULLIF({digits}, '') AS {self.long}), 0)"
