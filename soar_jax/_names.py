"""Names in messages: few, short and harmless, whatever file they come from.

A table without a header has its first record for names, and a wrong file may give a megabyte of them. So a message
never holds more than the start of a few names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 40
MOST_NAMES = 8


def short_name(name: Any, longest: int = LONGEST_NAME) -> str:
    r"""Cut a name to so many characters; what cannot be seen, and could steer a terminal, is written out.

    Examples
    --------
    >>> short_name("age"), short_name("a" * 50, 10), short_name("red\x1b[31m")
    ('age', 'aaaaaaa...', 'red\\x1b[31m')
    """
    text = str(name)
    cut = text if len(text) <= longest else text[: longest - 3] + "..."
    return visible(cut)


def visible(text: str) -> str:
    """Write out the characters that do not print, so that no text can steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def list_names(names: Iterable[Any], most: int = MOST_NAMES, longest: int = LONGEST_NAME) -> str:
    """List the first names, and say how many more there are.

    Examples
    --------
    >>> list_names("abc"), list_names("abcdef", most=3)
    ('a, b, c', 'a, b, c ... and 3 more')
    """
    given = list(names)
    shown = ", ".join(short_name(name, longest) for name in given[:most])
    left = len(given) - most
    return f"{shown} ... and {left:,} more" if left > 0 else shown
