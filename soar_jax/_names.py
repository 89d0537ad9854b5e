"""Names in messages: few, short and harmless, whatever file they come from.

A table without a header has its first record for names, and a wrong file may give a megabyte of them. So a message
never holds more than the start of a few names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
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


def short_names(texts: Sequence[Any], longest: int = LONGEST_NAME) -> tuple[str, ...]:
    """Cut names to so many characters so that they still differ: of those that begin alike, what differs is kept.

    Examples
    --------
    >>> short_names(["back within 30 days", "back within 90 days"], 14)
    ('back...30 days', 'back...90 days')
    """
    full = [str(text) for text in texts]
    cut = tuple(short_name(text, longest) for text in full)
    if len(set(cut)) == len(set(full)):
        return cut
    same = next(i for i, signs in enumerate(zip_longest(*full)) if len(set(signs)) > 1)
    head = max(longest // 3, longest - 3 - max(len(text) - same for text in full))
    return tuple(visible(f"{text[:head]}...{text[same : same + longest - head - 3]}") for text in full)


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
