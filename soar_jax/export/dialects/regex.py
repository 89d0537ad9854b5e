"""Dialects with regular expressions: text is checked against the grammar before it is cast, so that no cast fails."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from soar_jax.export.dialects.base import Cell, Dialect
from soar_jax.export.grammar import INFINITIES, MOMENT, NUMBER

_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000


class RegexDialect(Dialect):
    """What DuckDB, PostgreSQL and Spark share."""

    white_space = r"[\t-\r ]*"
    _types: dict[str, str]
    """Kind of type and the condition on the type's name, with a place for the name."""

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

    def parsed_number(self, text: str, bounds: Sequence[float]) -> str:
        """Cast what the grammar takes for a number."""
        pattern = self.white_space + NUMBER + self.white_space
        words = [", ".join(f"'{word}'" for word in group) for group in INFINITIES]
        return (
            f"CASE WHEN {self.matches(text, pattern)} THEN {self.number_cast(text)} "
            f"WHEN LOWER({text}) IN ({words[0]}) THEN {self.number(float('inf'))} "
            f"WHEN LOWER({text}) IN ({words[1]}) THEN {self.number(float('-inf'))} END"
        )

    def parsed_moment(self, text: str) -> str:
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
            f"CASE WHEN {self.matches(text, MOMENT)} AND SUBSTR({trimmed}, 1, 4) <> '0000' THEN "
            f"CAST({' + '.join(parts)} - {offset} AS {self.double}) END"
        )

    def _whole(self, digits: str) -> str:
        return f"COALESCE(CAST(NULLIF({digits}, '') AS {self.long}), 0)"
