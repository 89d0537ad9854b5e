"""SQLite."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from soar_jax._base import Plain
from soar_jax.data.read_column import UTC, ZONELESS
from soar_jax.export.dialects.base import Cell, Dialect, floats_of, other_than
from soar_jax.export.grammar import INFINITIES, WHITE_SPACE

_STEP = 62
_LONG, _EXACT = 1 << 63, 1 << 53
_MOMENT = """(SELECT CASE WHEN zone = {zone} AND d GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'
 AND DATE(d, '+0 days') = d AND d >= '0001'
 AND (t = d OR (SUBSTR(t, 11, 1) IN (' ', 'T') AND hm GLOB '[0-2][0-9]:[0-5][0-9]' AND hm < '24'
 AND (rest = '' OR (rest GLOB ':[0-5][0-9]*'
 AND (LENGTH(rest) = 3 OR (SUBSTR(rest, 4) GLOB '.[0-9]*' AND SUBSTR(rest, 5) NOT GLOB '*[^0-9]*'
 AND LENGTH(rest) <= 13)))) AND ABS(shift) <= 840 AND SUBSTR(digits, 3, 2) < '60'))
 THEN CAST(STRFTIME('%s', d) * 1000000
 + CAST(SUBSTR(hm, 1, 2) AS INTEGER) * 3600000000 + CAST(SUBSTR(hm, 4, 2) AS INTEGER) * 60000000
 + CAST(SUBSTR(rest, 2, 2) AS INTEGER) * 1000000 + CAST(SUBSTR(SUBSTR(rest, 5) || '000000', 1, 6) AS INTEGER)
 - shift * 60000000 AS REAL) END
 FROM (SELECT t, d, hm, zone, SUBSTR(tail, 1, LENGTH(tail) - LENGTH(zone)) AS rest, digits,
 CASE WHEN zone LIKE '-%' THEN -1 ELSE 1 END
 * (CAST(SUBSTR(digits, 1, 2) AS INTEGER) * 60 + CAST(SUBSTR(digits, 3, 2) AS INTEGER)) AS shift
 FROM (SELECT t, d, hm, tail, zone, REPLACE(SUBSTR(zone, 2), ':', '') AS digits
 FROM (SELECT t, SUBSTR(t, 1, 10) AS d, SUBSTR(t, 12, 5) AS hm, SUBSTR(t, 17) AS tail,
 CASE WHEN SUBSTR(t, 17) GLOB '*Z' THEN 'Z'
 WHEN SUBSTR(t, 17) GLOB '*[+-][0-9][0-9]:[0-9][0-9]' THEN SUBSTR(t, -6)
 WHEN SUBSTR(t, 17) GLOB '*[+-][0-9][0-9][0-9][0-9]' THEN SUBSTR(t, -5)
 WHEN SUBSTR(t, 17) GLOB '*[+-][0-9][0-9]' THEN SUBSTR(t, -3) ELSE '' END AS zone
 FROM (SELECT TRIM({text}) AS t)))))"""


class SQLite(Dialect):
    """SQLite; run on 3.40.

    Every value has a type of its own there, whatever the column was declared as, so ``types`` changes nothing. Dates
    are text. SQLite rounds the last bit of some text numbers otherwise than Python does; a text that spells a cut
    point as Python would is equal to it all the same.
    """

    name = "SQLite"
    fence = " LIMIT -1 OFFSET 0"
    double, single, long, string = "REAL", "REAL", "INTEGER", "TEXT"

    def folded(self, name: str) -> str:
        """Fold ASCII letters only."""
        return name.translate(str.maketrans(string.ascii_uppercase, string.ascii_lowercase))

    def number(self, value: float) -> str:
        """Put a float64 together from integers, since SQLite may be off by a bit when it reads decimals."""
        if math.isinf(value):
            return "9e999" if value > 0 else "-9e999"
        mantissa, exponent = math.frexp(value)
        whole, exponent = int(mantissa * 2**53), exponent - 53
        while whole and whole % 2 == 0:
            whole, exponent = whole // 2, exponent + 1
        if not whole or (exponent >= 0 and abs(whole) << exponent < _LONG):
            return f"CAST({whole << exponent if whole else 0} AS REAL)"
        operator, steps, written = ("*" if exponent > 0 else "/"), abs(exponent), f"CAST({whole} AS REAL)"
        while steps:
            step = min(steps, _STEP)
            written += f" {operator} CAST({1 << step} AS REAL)"
            steps -= step
        return f"({written} /* {value!r} */)"

    def label(self, value: Plain) -> str:
        """Write a label; booleans are 1 and 0."""
        if isinstance(value, bool):
            return str(int(value))
        return super().label(value)

    def cell_text(self, column: str, storage: str) -> str:
        """Take the text without its column's collation."""
        return f"CAST({column} AS TEXT) COLLATE BINARY"

    def cell_type(self, column: str) -> str:
        """Name the type of each value."""
        return f"TYPEOF({column})"

    def is_text(self, kind: str) -> str:
        """Say whether a value is text."""
        return f"{kind} = 'text'"

    def trimmed(self, text: str) -> str:
        """Take white space off both ends of a text, as Python does."""
        return f"TRIM({text}, CHAR({', '.join(map(str, WHITE_SPACE))}))"

    def missing(self, cell: Cell) -> str:
        """Say whether a cell is missing; SQLite stores NaN as NULL."""
        return f"{cell.value} IS NULL"

    def level(self, cell: Cell) -> str:
        """Name a cell's level by the type of its value; the text of a real number has too few digits."""
        levels = cell.column.levels
        real = self._level_of(f"CAST({cell.value} AS REAL)", floats_of(levels), self.text(other_than(levels)))
        plain = self._level_of_text(cell.text, levels)
        text = f"WHEN 'text' THEN {self._level_of_cell(cell)} " if cell.column.reads_numbers else ""
        return f"CASE {cell.type} WHEN 'real' THEN {real} {text}ELSE {plain} END"

    def number_of(self, cell: Cell) -> str:
        """Read a cell as float64 by the type of its value."""
        return (
            f"CASE {cell.type} WHEN 'text' THEN {self.parsed_number(cell.word, cell.column.numbers)} "
            f"WHEN 'blob' THEN NULL ELSE CAST({cell.value} AS REAL) END"
        )

    def moment(self, cell: Cell) -> str:
        """Read text; numbers are no moments."""
        # SQLite has no regular expressions: its own functions take the text apart
        which = {None: "zone", ZONELESS: "''", UTC: "(CASE zone WHEN '' THEN 'none' ELSE zone END)"}
        parsed = _MOMENT.replace("\n", "").format(text=cell.text, zone=which[cell.column.contract.zone])
        return f"CASE {cell.type} WHEN 'text' THEN {parsed} END"

    def parsed_number(self, word: str, bounds: Sequence[float] = ()) -> str:
        """Read text that SQLite itself takes for a number: any other text is greater than every number."""
        words = [", ".join(f"'{spelt}'" for spelt in group) for group in INFINITIES]
        equal = "".join(
            f"WHEN CAST({word} AS REAL) = CAST('{bound!r}' AS REAL) THEN {self.number(bound)} "
            for bound in bounds
            if not (bound.is_integer() and abs(bound) < _EXACT)
        )
        read = f"CAST({word} AS REAL)"
        return (
            f"CASE WHEN {word} <= CAST(9e999 AS REAL) THEN {f'CASE {equal}ELSE {read} END' if equal else read} "
            f"WHEN LOWER({word}) IN ({words[0]}) THEN 9e999 WHEN LOWER({word}) IN ({words[1]}) THEN -9e999 END"
        )
