"""Spark SQL."""

from __future__ import annotations

import re

from soar_jax._base import InputError
from soar_jax.export.dialects.base import Cell, checked, checked_name
from soar_jax.export.dialects.typed import TypedDialect
from soar_jax.export.grammar import WHITE_SPACE

_VARIABLE = re.compile(r"\$\{.*\}", re.DOTALL)
_TO_UTC = "MAP('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', 'timeZone', 'UTC')"


class Spark(TypedDialect):
    r"""Spark SQL; run on 4.3, in ANSI mode and not.

    Spark replaces ``${name}`` in a query before it reads it, in names and text alike: such names are refused, and such
    text, like text with backslashes, is written as bytes.
    """

    name = "Spark"
    single, string = "FLOAT", "STRING"
    space = "[\t-\r ]"
    _types = {  # noqa: RUF012
        "double": "{} = 'double'",
        "real": "{} = 'float'",
        "decimal": "{} LIKE 'decimal%'",
        "boolean": "{} = 'boolean'",
        "date": "{} = 'date'",
        "timestamp": "{} = 'timestamp_ntz'",
        "instant": "{} = 'timestamp'",
    }

    def identifier(self, name: str) -> str:
        """Quote a name."""
        if _VARIABLE.search(name):
            raise InputError(f"Spark would replace the ${{...}} in the name {name!r}; rename it and fit again.")
        return "`" + checked_name(name).replace("`", "``") + "`"

    def text(self, value: str) -> str:
        r"""Quote a text; as bytes where a setting of Spark could change what it means, or where it cannot be seen."""
        if any(mark in checked(value) for mark in "\\$'\"") or not value.isprintable():
            return f"CAST(X'{value.encode().hex().upper()}' AS STRING)"
        return f"'{value}'"

    def cell_text(self, column: str, storage: str) -> str:
        """Take a column as text: instants in UTC, whatever the session's time zone."""
        plain = f"CAST({column} AS STRING)"
        if storage != "unknown":
            return plain
        moment = f"GET_JSON_OBJECT(TO_JSON(NAMED_STRUCT('v', {column}), {_TO_UTC}), {self.text('$.v')})"
        return f"CASE WHEN {self.cell_type(column)} = 'timestamp' THEN {moment} ELSE {plain} END"

    def cell_type(self, column: str) -> str:
        """Name a column's type."""
        return f"TYPEOF({column})"

    def is_text(self, kind: str) -> str:
        """Say whether the name of a type is one of text."""
        return f"{kind} = 'string'"

    def trimmed(self, text: str) -> str:
        """Take white space off both ends of a text, as Python does."""
        return f"TRIM(BOTH {self.text(''.join(map(chr, WHITE_SPACE)))} FROM {text})"

    def matches(self, text: str, pattern: str) -> str:
        """Test the whole text against a pattern; in Java the sign $ would let a last line break pass."""
        return f"{text} RLIKE {self._pattern(f'^({pattern})(?!a|[^a])')}"

    def extract(self, text: str, pattern: str) -> str:
        """Take the first group of a pattern's first match."""
        return f"REGEXP_EXTRACT({text}, {self._pattern(pattern)}, 1)"

    def without_zeros(self, text: str) -> str:
        """Take zeros off the end of a text; RTRIM has its arguments the other way round."""
        return f"TRIM(TRAILING '0' FROM {text})"

    def _pattern(self, pattern: str) -> str:
        """Write a pattern with its two control characters spelled out."""
        parts = pattern.replace("\t", "', CHR(9), '").replace("\r", "', CHR(13), '")
        return f"'{pattern}'" if parts == pattern else f"CONCAT('{parts}')"

    def number_cast(self, text: str) -> str:
        """Turn text that spells a number into float64."""
        return f"TRY_CAST({text} AS DOUBLE)"

    def days(self, text: str) -> str:
        """Days from 1970-01-01 to a valid date."""
        return f"CAST(UNIX_DATE(TRY_CAST({text} AS DATE)) AS BIGINT)"

    def is_nan(self, value: str) -> str:
        """Test a floating-point number for NaN."""
        return f"ISNAN({value})"

    def stored_moment(self, cell: Cell) -> str:
        """Microseconds of a date or timestamp column."""
        if cell.storage == "date":
            return f"CAST(CAST(UNIX_DATE({cell.value}) AS BIGINT) * 86400000000 AS DOUBLE)"
        return f"CAST(UNIX_MICROS({cell.value}) AS DOUBLE)"

    def instant(self, cell: Cell) -> str:
        """Microseconds of an instant, whose text is in UTC."""
        return self.parsed_moment(cell.text)
