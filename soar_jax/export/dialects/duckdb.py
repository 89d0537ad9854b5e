"""DuckDB."""

from __future__ import annotations

from soar_jax.export.dialects.base import Cell
from soar_jax.export.dialects.typed import TypedDialect


class DuckDB(TypedDialect):
    """DuckDB; run on 2.0."""

    name = "DuckDB"
    _types = {  # noqa: RUF012
        "double": "{} = 'DOUBLE'",
        "real": "{} = 'FLOAT'",
        "decimal": "{} LIKE 'DECIMAL%'",
        "boolean": "{} = 'BOOLEAN'",
        "date": "{} = 'DATE'",
        "timestamp": "({0} LIKE 'TIMESTAMP%' AND {0} <> 'TIMESTAMP WITH TIME ZONE')",
        "instant": "{} = 'TIMESTAMP WITH TIME ZONE'",
    }

    def cell_text(self, column: str, storage: str) -> str:
        """Take the text without its column's collation."""
        return f'CAST({column} AS VARCHAR) COLLATE "C"'

    def cell_type(self, column: str) -> str:
        """Name a column's type."""
        return f"TYPEOF({column})"

    def is_text(self, kind: str) -> str:
        """Say whether the name of a type is one of text; enumerations are."""
        return f"({kind} = 'VARCHAR' OR {kind} LIKE 'ENUM%')"

    def matches(self, text: str, pattern: str) -> str:
        """Test the whole text against a pattern."""
        return f"REGEXP_FULL_MATCH({text}, {self.text(pattern)})"

    def extract(self, text: str, pattern: str) -> str:
        """Take the first group of a pattern's first match."""
        return f"REGEXP_EXTRACT({text}, {self.text(pattern)}, 1)"

    def number_cast(self, text: str) -> str:
        """Turn text that spells a number into float64."""
        return f"TRY_CAST({text} AS DOUBLE)"

    def days(self, text: str) -> str:
        """Days from 1970-01-01 to a valid date."""
        return f"DATE_DIFF('day', DATE '1970-01-01', TRY_CAST({text} AS DATE))"

    def is_nan(self, value: str) -> str:
        """Test a floating-point number for NaN."""
        return f"ISNAN({value})"

    def stored_moment(self, cell: Cell) -> str:
        """Whole microseconds of a date or timestamp column; DuckDB itself would round nanoseconds."""
        if cell.storage == "date":
            return f"CAST(EPOCH_US({cell.value}) AS DOUBLE)"
        count = (
            f"EPOCH_NS(CASE {cell.type} WHEN 'TIMESTAMP_NS' THEN {cell.value} END)"  # others may be out of its range
        )
        whole = f"({count} - ({count} % 1000 + 1000) % 1000) // 1000"
        return f"CAST(COALESCE({whole}, EPOCH_US({cell.value})) AS DOUBLE)"

    def instant(self, cell: Cell) -> str:
        """Microseconds of a timestamp with a time zone; TRY_CAST lets any other type pass the binder."""
        return f"CAST(EPOCH_US(TRY_CAST({cell.value} AS TIMESTAMPTZ)) AS DOUBLE)"
