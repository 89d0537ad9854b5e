"""Rules as text: reads what ``str(rule)`` prints, whatever the names and levels are.

    rule      = condition { "and" condition }
    condition = name "=" level  |  name "is not" level  |  name "is missing"
              | name "<=" cut   |  name ">" cut         |  cut "<" name "<=" cut

Of a column whose levels have an order, which must be given, a cut is a level: ``severity > moderate``.
A name, a level or a cut stands as it is, or in double quotes with the escapes of JSON (`soar_jax.data.spelling` says
when it must). "==" and "!=" are read as "=" and "is not".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from soar_jax._base import InputError, Plain
from soar_jax.data.literals import Literal
from soar_jax.data.moments import microseconds_of
from soar_jax.data.spelling import is_number, read_level, suggest

EXAMPLE = "30 < age <= 50 and sex = F and job is missing"
_OPERATOR = re.compile(
    r"\s*(?P<sign><=|>=|==|!=|=|<|>)|\s+(?P<words>is\s+not(?=\s)|is\s+missing(?=\s+and\s|\s*$))", re.IGNORECASE
)
_AND = re.compile(r"\s+and(?=\s|$)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_SIGNS = {"=": "==", "==": "==", "!=": "!=", "<=": "<=", ">": ">", "<": "<"}


class _Word(NamedTuple):
    """A name or value: its text, where it stands, and whether it was in quotes."""

    text: str
    place: int
    is_quoted: bool


class _Reader:
    """A text and how far it has been read."""

    def __init__(self, text: str, orders: Mapping[str, Sequence[Plain]]) -> None:
        self.text, self.place, self.orders = text, 0, orders

    def error(self, what: str, place: int | None = None) -> InputError:
        where = (self.place if place is None else place) + 1
        return InputError(f"Cannot read the rule {self.text!r}: {what} at character {where}. An example: {EXAMPLE}")

    def skip_space(self) -> None:
        found = _SPACE.match(self.text, self.place)
        assert found is not None
        self.place = found.end()

    @property
    def is_at_end(self) -> bool:
        return self.place >= len(self.text)

    def word(self, end: re.Pattern[str], what: str) -> _Word:
        """Read a quoted text, or all up to the first match of ``end``."""
        self.skip_space()
        place = self.place
        if self.text.startswith('"', place):
            try:
                content, self.place = json.JSONDecoder(strict=False).raw_decode(self.text, place)
            except json.JSONDecodeError as error:
                raise self.error(f"a quoted {what} does not end as it should ({error.msg})", place) from None
            return _Word(content, place, True)
        found = end.search(self.text, place)
        self.place = len(self.text) if found is None else found.start()
        content = self.text[place : self.place].strip()
        if not content:
            raise self.error(f"a {what} is wanted", place)
        if '"' in content:
            raise self.error(f"a {what} with a double quote in it must stand in quotes as a whole", place)
        return _Word(content, place, False)

    def operator(self) -> str:
        """Read "=", "is not", "is missing", "<=", ">" or the "<" of an interval."""
        found = _OPERATOR.match(self.text, self.place)
        if found is None:
            raise self.error("one of =, <=, >, is not, is missing is wanted")
        if found["sign"] == ">=":
            raise self.error("rules know > and <= but not >=", found.start("sign"))
        self.place = found.end()
        if found["words"] is not None:
            return "missing" if found["words"].lower().endswith("missing") else "!="
        return _SIGNS[found["sign"]]

    def level(self) -> Plain:
        word = self.word(_AND, "level")
        return word.text if word.is_quoted else read_level(word.text)

    def bound(self, name: str, op: str, word: _Word) -> Literal:
        """Make a comparison: with a level where the column's levels have an order."""
        order = self.orders.get(name)
        if order is None:
            return Literal(name, op, self.cut(word))
        level = word.text if word.is_quoted else read_level(word.text)
        return Literal(name, op, level).in_order(order)

    def cut(self, word: _Word) -> Plain:
        """Make a cut point of a word: a moment or a number, in quotes a moment first."""
        if not word.is_quoted and is_number(word.text):
            return float(word.text)
        try:
            microseconds_of(word.text)
        except (ValueError, OverflowError):
            if is_number(word.text):
                return float(word.text)
            raise self.error(f"{word.text!r} is neither a number nor a date such as 2024-12-31", word.place) from None
        return word.text

    def condition(self) -> list[Literal]:
        """Read one condition; an interval is two literals."""
        first = self.word(_OPERATOR, "condition")
        if self.is_at_end:
            raise self.error("one of =, <=, >, is not, is missing is wanted after a column's name")
        place = self.place
        op = self.operator()
        if op == "missing":
            return [Literal(first.text, op)]
        if op in ("==", "!="):
            return [Literal(first.text, op, self.level())]
        if op != "<":
            return [self.bound(first.text, op, self.word(_AND, "number or date"))]
        name = self.word(_OPERATOR, "column's name")
        if self.is_at_end or self.operator() != "<=":
            raise self.error('"<" stands only in intervals such as 30 < age <= 50', place)
        low, high = first, self.word(_AND, "number or date")
        return [self.bound(name.text, ">", low), self.bound(name.text, "<=", high)]

    def rule(self) -> list[Literal]:
        """Read all conditions."""
        found = self.condition()
        while True:
            joint = _AND.match(self.text, self.place)
            if joint is None:
                self.skip_space()
                if not self.is_at_end:
                    raise self.error('"and" or the end is wanted')
                return found
            self.place = joint.end()
            found += self.condition()


def parse_literals(
    text: str, columns: Iterable[str] | None = None, orders: Mapping[str, Sequence[Plain]] | None = None
) -> tuple[Literal, ...]:
    """Read a conjunction of literals; with ``columns``, names that are not among them are refused.

    ``orders`` gives the levels of ordered categories, the lowest first, by column.
    """
    if not isinstance(text, str):
        raise InputError(f"A rule is read from text such as {EXAMPLE!r}, got {type(text).__name__}.")
    literals = tuple(_Reader(text, orders or {}).rule())
    known = None if columns is None else [str(name) for name in columns]
    for literal in literals:
        if known is not None and literal.column not in known:
            raise InputError(f"The rule {text!r} reads column {literal.column!r}. {suggest(literal.column, known)}")
    return literals
