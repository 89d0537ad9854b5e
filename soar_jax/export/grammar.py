"""Text that is read as a number or as a moment, as patterns that mean the same to every regular-expression engine.

Numbers: what `soar_jax.data.cells` takes. Moments: ``YYYY-MM-DD``, then perhaps a blank or ``T`` and ``HH:MM``,
``HH:MM:SS`` or ``HH:MM:SS.f`` with one to nine digits, then perhaps ``Z`` or an offset ``+HH``, ``+HHMM`` or
``+HH:MM`` of at most 14 hours; years 0001 to 9999, blanks around it allowed. Dates of a declared format are first put
into this form.
"""

from __future__ import annotations

import re

from soar_jax.data.read_column import UTC, ZONELESS

WHITE_SPACE = (*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288)
"""Codes of the characters that may stand around a number: white space to Python."""

NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
"""Without the white space around it."""
INFINITIES = (("inf", "+inf", "infinity", "+infinity"), ("-inf", "-infinity"))
"""Words for plus and minus infinity, in any case."""

_MONTHS = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
_LEAP_YEARS = "([0-9][0-9](0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
DATE = f"([0-9][0-9][0-9][0-9]-{_MONTHS}|{_LEAP_YEARS}-02-29)"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
_ZONE = "(Z|[+-]((0[0-9]|1[0-3])(:?[0-5][0-9])?|14(:?00)?))"
_MOMENTS = {
    None: f" *{DATE}([ T]{_TIME}{_ZONE}?)? *",
    ZONELESS: f" *{DATE}([ T]{_TIME})? *",
    UTC: f" *{DATE}[ T]{_TIME}{_ZONE} *",
}
_FIELDS = {
    "Y": "[0-9][0-9][0-9][0-9]",
    "y": "[0-9][0-9]",
    "m": "1[0-2]|0[1-9]|[1-9]",
    "d": "3[01]|[12][0-9]|0[1-9]|[1-9]| [1-9]",
    "H": "2[0-3]|[01][0-9]|[0-9]",
    "M": "[0-5][0-9]|[0-9]",
    "S": "[0-5][0-9]|[0-9]",
    "f": "[0-9][0-9]?[0-9]?[0-9]?[0-9]?[0-9]?",
}
_PLAIN = re.compile(r"[A-Za-z0-9 /.,:;_-]*")


def moment_pattern(zone: str | None) -> str:
    """Pattern of a moment that names a zone, names none, or may do either; the year 0000, which passes, is none."""
    return _MOMENTS[zone]


def form_patterns(form: str, space: str) -> dict[str, str] | None:
    """Patterns of text of a date format, as `datetime.strptime` reads it.

    Gives one pattern for each of the format's fields (Y, m, d, ...), with the field as its only group; None for a
    format that has other fields, the same one twice, or signs that not every engine reads alike.
    """
    texts, fields = re.split("%.", form), re.findall("%(.)", form)
    known = all(field in _FIELDS for field in fields) and all(map(_PLAIN.fullmatch, texts))
    if not known or len({field.upper() if field == "y" else field for field in fields}) < len(fields):
        return None
    between = [re.sub(" +", lambda _: f"{space}+", _any_case(text)) for text in texts]

    def pattern(wanted: str) -> str:
        parts = [f"({_FIELDS[field]})" if field == wanted else f"(?:{_FIELDS[field]})" for field in fields]
        return "^ *" + between[0] + "".join(a + b for a, b in zip(parts, between[1:], strict=True)) + " *$"

    return {field: pattern(field) for field in fields}


def _any_case(text: str) -> str:
    """Write text as a pattern that takes its letters in either case."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else "[.]" if c == "." else c for c in text)


def spells_whole(level: str) -> bool:
    """Whether "level.0" is the same level; as in `soar_jax.data.columns.level_text`."""
    return level.lstrip("+-").isdigit()
