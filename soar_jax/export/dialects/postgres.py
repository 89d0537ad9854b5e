"""PostgreSQL."""

from __future__ import annotations

from soar_jax.export.dialects.base import Cell, checked
from soar_jax.export.dialects.typed import TypedDialect

_LONGEST_NAME = 63
_OVERFLOW, _UNDERFLOW = "1.797693134862315807937e308", "2.4703282292062328e-324"
"""Magnitudes from which on, and below which, a float64 is infinite or zero; a cast would fail there."""


class Postgres(TypedDialect):
    """PostgreSQL; run on 15.

    Names of more than 63 bytes are cut by the server, here as in the definition of the table.
    """

    name = "PostgreSQL"
    fence = " OFFSET 0"
    folds_case = False  # quoted names keep their case
    double, string = "double precision", "text"
    _types = {  # noqa: RUF012
        "double": "{} = 'double precision'",
        "real": "{} = 'real'",
        "decimal": "{} = 'numeric'",
        "boolean": "{} = 'boolean'",
        "date": "{} = 'date'",
        "timestamp": "{} = 'timestamp without time zone'",
        "instant": "{} = 'timestamp with time zone'",
    }

    def folded(self, name: str) -> str:
        """Cut a name as the server does."""
        return name.encode()[:_LONGEST_NAME].decode(errors="ignore")

    def text(self, value: str) -> str:
        """Quote a text; with backslashes in the form that no setting of the server changes."""
        quoted = "'" + checked(value).replace("'", "''") + "'"
        return "E" + quoted.replace("\\", "\\\\") if "\\" in value else quoted

    def cell_text(self, column: str, storage: str) -> str:
        """Take a column as text: moments in ISO 8601, whatever the session's DateStyle."""
        if storage in ("date", "timestamp"):
            return f"(TO_JSONB({column}) #>> '{{}}')"
        if storage != "unknown":
            return f'CAST({column} AS text) COLLATE "C"'
        return (
            f"CASE WHEN {self.cell_type(column)} IN ('date', 'timestamp without time zone', 'timestamp with time zone')"
            f" THEN TO_JSONB({column}) #>> '{{}}' ELSE CAST({column} AS text) END COLLATE \"C\""
        )

    def cell_type(self, column: str) -> str:
        """Name a column's type."""
        return f"CAST(PG_TYPEOF({column}) AS text)"

    def is_text(self, kind: str) -> str:
        """Say whether the name of a type is one of text."""
        return f"{kind} IN ('text', 'character varying', 'character')"

    def trimmed(self, text: str) -> str:
        """Take white space off both ends of a text, as Python does."""
        return f"B{super().trimmed(text)}"

    def matches(self, text: str, pattern: str) -> str:
        """Test the whole text against a pattern."""
        return f"{text} ~ {self.text(f'^({pattern})$')}"

    def extract(self, text: str, pattern: str) -> str:
        """Take the first group of a pattern's first match."""
        return f"SUBSTRING({text} FROM {self.text(pattern)})"

    def number_cast(self, text: str) -> str:
        """Turn text that spells a number into float64; too large is infinite and too small is zero, as in pandas."""
        exponent = self.extract(text, "[eE]([+-]?[0-9]+)")
        size = f"LENGTH(LTRIM({exponent}, '+-0'))"
        exact = f"CAST({text} AS numeric)"
        return (
            f"CASE WHEN LENGTH({text}) > 1000 THEN NULL "
            f"WHEN {size} > 4 THEN CASE WHEN {exponent} LIKE '-%' "
            f"OR {self.matches(text, '[+-]?[0.]+[eE].*')} "
            f"THEN {self.number(0.0)} WHEN {text} LIKE '%-%' THEN {self.number(float('-inf'))} "
            f"ELSE {self.number(float('inf'))} END "
            f"WHEN ABS({exact}) < {_UNDERFLOW} THEN {self.number(0.0)} "
            f"WHEN {exact} >= {_OVERFLOW} THEN {self.number(float('inf'))} "
            f"WHEN {exact} <= -{_OVERFLOW} THEN {self.number(float('-inf'))} "
            f"ELSE CAST({exact} AS double precision) END"
        )

    def days(self, text: str) -> str:
        """Days from 1970-01-01 to a valid date."""
        return f"CAST(CAST({text} AS date) - DATE '1970-01-01' AS bigint)"

    def is_nan(self, value: str) -> str:
        """Test a floating-point number for NaN, which PostgreSQL takes for equal to itself."""
        return f"({value} = 'NaN')"

    def stored_moment(self, cell: Cell) -> str:
        """Microseconds of a date or timestamp column, with a time zone or without."""
        return f"CAST(EXTRACT(EPOCH FROM {cell.value}) * 1000000 AS double precision)"

    def instant(self, cell: Cell) -> str:
        """Microseconds of a timestamp with a time zone, through its ISO text."""
        return f"CAST(EXTRACT(EPOCH FROM CAST({cell.text} AS timestamptz)) * 1000000 AS double precision)"
