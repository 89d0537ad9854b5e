"""How names and values are spelt in a rule, so that `soar_jax.data.parse` reads back what was printed.

Ordinary names and values stand as they are. Whatever could be taken for another part of the sentence (a name with
"=", a level with "and" in it, spaces at an end, line breaks, nothing at all) stands in double quotes with the escapes
of JSON.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from itertools import pairwise

from soar_jax import _names
from soar_jax._base import Plain
from soar_jax.data.columns import level_text

_OPERATOR_SIGNS = frozenset("<>=")
_LARGEST_WHOLE = 1e15


def format_value(value: Plain | None) -> str:
    """Print whole floats without a fraction and text as it is."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    return str(value)


def quoted(text: str) -> str:
    """Put a text in double quotes; what cannot be seen is escaped."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _words(text: str) -> list[str]:
    return text.lower().split()


def _is_plain(text: str) -> bool:
    """Whether a text can stand without quotes where the word "and" ends it."""
    return bool(text) and text == text.strip() and text.isprintable() and '"' not in text and "and" not in _words(text)


def name_text(name: str) -> str:
    """Spell a column's name."""
    ends_early = any(pair in {("is", "not"), ("is", "missing")} for pair in pairwise(_words(name)))
    return quoted(name) if not _is_plain(name) or ends_early or _OPERATOR_SIGNS & set(name) else name


def read_level(text: str) -> Plain:
    """Read a level that stands without quotes: a number or a truth value where it is printed in just this way."""
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        if format_value(number) == text:
            return number
    return {"True": True, "False": False}.get(text, text)


def level_as_text(value: Plain | None) -> str:
    """Spell a level."""
    text = format_value(value)
    if _is_plain(text) and level_text(read_level(text)) == level_text(value):
        return text
    return quoted(value if isinstance(value, str) else level_text(value))


def bound_level_as_text(value: Plain | None) -> str:
    """Spell a level that may stand before a name, as the lower end of an interval."""
    text = level_as_text(value)
    return text if text.startswith('"') or name_text(text) == text else quoted(text)


def is_number(text: str) -> bool:
    """Say whether a text would be read as a number."""
    try:
        return float(text) == float(text)  # NaN is none
    except ValueError:
        return False


def moment_as_text(text: str) -> str:
    """Spell a moment; one that could be read as a number stands in quotes."""
    return text if _is_plain(text) and not is_number(text) and not _OPERATOR_SIGNS & set(text) else quoted(text)


def suggest(name: str, names: Iterable[str]) -> str:
    """Name the nearest of some names, or all of them if none is near: the end of a message."""
    known = [str(one) for one in names]
    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean {short_name(near[0])}?" if near else f"There is: {short_list(known)}."


def short_name(name: object) -> str:
    """Quote a name for a message, shortened: what looks like a name may be a record of somebody."""
    return repr(_names.short_name(name))


short_list = _names.list_names
