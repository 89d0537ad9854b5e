"""Conditions, values and states said in the author's words, or in plain ones where the author gave none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from soar_jax._base import Plain
from soar_jax.data.columns import level_text
from soar_jax.data.literals import Literal
from soar_jax.data.spelling import format_value, is_number
from soar_jax.report.numbers import number_text
from soar_jax.report.words import ColumnWords, Words
from soar_jax.rules import Rule
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE

TECHNICAL = ("consensus positive", "consensus negative", "active ambiguous", "passive ambiguous")
_DEFAULTS = {"above": "{} above {}", "at_most": "{} at most {}", "is": "{} is {}", "is_not": "{} is not {}"}
_DAYS = {"above": "{} later than {}", "at_most": "{} up to {}"}


def value_text(words: Words, column: str, value: Plain | None) -> str:
    """Say a value of a column."""
    mine = words.of(column)
    if value is None:
        return "not known"
    named = mine.levels.get(level_text(value))
    if named is not None:
        return named
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(float(value), mine.unit)
    return format_value(value)


def phrase(words: Words, literal: Literal) -> str:
    """Say one condition."""
    mine, label, value = words.of(literal.column), words.label(literal.column), literal.value
    if literal.op == "missing":
        return mine.phrases.get("missing", f"{label} not known")
    kind = {"<=": "at_most", ">": "above", "==": "is", "!=": "is_not"}[literal.op]
    if literal.kind.is_bound and (named := _ordered_level(mine, literal)) is not None:
        return named
    said = value_text(words, literal.column, value)
    if kind in mine.phrases:
        return mine.phrases[kind].replace("{}", said)
    if not literal.kind.is_bound and mine.levels.get(level_text(value)) is not None:
        return said if kind == "is" else f"not {said}"
    is_day = literal.kind.is_bound and literal.order is None and isinstance(value, str)
    return (_DAYS if is_day else _DEFAULTS)[kind].format(label, said)


def _ordered_level(mine: ColumnWords, literal: Literal) -> str | None:
    """Say a bound on codes that have names by the name next to the cut: "Bachelor's degree or more"."""
    codes = sorted((float(code), text) for code, text in mine.levels.items() if is_number(code))
    if not codes or literal.order is not None or isinstance(literal.value, str) or literal.value is None:
        return None
    if literal.op == ">":
        return next((f"{text} or more" for code, text in codes if code > literal.value), None)
    return next((f"{text} or less" for code, text in reversed(codes) if code <= literal.value), None)


def _between(words: Words, bounds: Sequence[Literal]) -> str:
    """Say two bounds of a column as one condition."""
    low, high = sorted(bounds, key=lambda z: z.op != ">")
    return f"{phrase(words, low)}, {phrase(words, high).removeprefix(words.label(low.column)).strip()}"


def rule_phrases(words: Words, rule: Rule) -> tuple[str, ...]:
    """Say a rule condition by condition; the first begins with a capital where the author chose its words."""
    said = []
    for literal in rule.conditions:
        mine = [z for z in rule.conditions if z.column == literal.column and z.kind.is_bound]
        is_pair = len(mine) == 2 and literal in mine and not words.of(literal.column).phrases  # noqa: PLR2004
        if is_pair and literal is mine[1]:
            continue  # said with the first
        said.append(_between(words, mine) if is_pair else phrase(words, literal))
    if said and rule.conditions[0].column in words.columns:
        said[0] = said[0][:1].upper() + said[0][1:]
    return tuple(said)


@dataclass(frozen=True)
class StateWords:
    """A state in words: headline, a few words, why, and its technical name."""

    say: str
    short: str
    why: str
    technical: str


def outcome_names(words: Words, labels: Sequence[Any], target: str | None) -> tuple[str, str]:
    """Name both outcomes: in the author's words, else by the label, with the target's name where that is a number."""
    given = (words.yes, words.no)
    names = []
    for text, label in zip(given, labels, strict=True):
        plain = format_value(level_text(label) if isinstance(label, bool) else label)
        is_bare = is_number(plain) or plain.lower() in ("true", "false", "yes", "no")
        names.append(text or ((f"{target} = {plain}" if target else f"class {plain}") if is_bare else plain))
    return names[0], names[1]


def state_words(yes: str, no: str, *, is_single: bool) -> tuple[StateWords, ...]:
    """Say the four states; with one rule set, silence is an answer."""
    if is_single:
        found = {
            POSITIVE: StateWords(f"A rule applies: {yes}", yes, f"At least one rule for {yes} applies.", "covered"),
            PASSIVE: StateWords(
                f"No rule applies: {no}", no, f"No rule applies, which speaks for {no}.", "not covered"
            ),
        }
    else:
        found = {
            POSITIVE: StateWords(f"The rules say: {yes}", yes, f"Only rules for {yes} apply.", TECHNICAL[POSITIVE]),
            PASSIVE: StateWords(
                "No rule speaks", "no rule speaks", "No rule on either side applies.", TECHNICAL[PASSIVE]
            ),
        }
    found[NEGATIVE] = StateWords(f"The rules say: {no}", no, f"Only rules for {no} apply.", TECHNICAL[NEGATIVE])
    found[ACTIVE] = StateWords(
        "The rules disagree", "the rules disagree", "Rules on both sides apply. They cannot settle this case.",
        TECHNICAL[ACTIVE],
    )  # fmt: skip
    return tuple(found[state] for state in range(4))
