"""What users declare of columns: ``kinds={"zip": "text", "when": "date %d/%m/%Y", "*": "strict"}``.

A declaration is ``text``, ``number`` or ``date``, the last perhaps with a format as `datetime.strptime` reads it, and
perhaps the word ``strict`` behind it or alone: then a cell that cannot be read is refused, not treated as missing.
``"*"`` stands for all columns and takes ``strict`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from soar_jax._base import InputError
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER
from soar_jax.data.spelling import short_name, suggest

EVERY = "*"
_STRICT = "strict"
_WORDS = {"text": CATEGORY, "number": NUMBER, "date": DATETIME}


class Declared(NamedTuple):
    """What was said of a column: its kind and the format of its dates, None where nothing was, and strictness."""

    kind: str | None = None
    form: str | None = None
    strict: bool = False


def read_declarations(kinds: Any, columns: Sequence[str]) -> dict[str, Declared]:
    """Check declarations against the columns of a table: one `Declared` per column."""
    if kinds is None:
        return dict.fromkeys(columns, Declared())
    if not isinstance(kinds, Mapping):
        raise InputError(f"kinds must be a dict from column names to text, number or date, got {type(kinds).__name__}.")
    given = {str(name): _read(str(name), what) for name, what in kinds.items()}
    for name, declared in given.items():
        if name == EVERY and EVERY not in columns:
            if declared.kind is not None:
                raise InputError(f'kinds: "{EVERY}" stands for all columns and takes "{_STRICT}" alone.')
        elif name not in columns:
            raise InputError(
                f"kinds names column {short_name(name)}, which the table does not have. {suggest(name, columns)}"
            )
    is_strict = EVERY in given and EVERY not in columns
    found = {name: given.get(name, Declared()) for name in columns}
    return {name: declared._replace(strict=declared.strict or is_strict) for name, declared in found.items()}


def _read(name: str, what: Any) -> Declared:
    words = what.split() if isinstance(what, str) else []
    strict = bool(words) and words[-1] == _STRICT
    if strict:
        words = words[:-1]
    if not words and strict:
        return Declared(strict=True)
    if not words or words[0] not in _WORDS or (len(words) > 1 and words[0] != "date"):
        raise InputError(
            f"kinds: {short_name(name)} must be declared text, number, date or a date with its format "
            f'("date %d/%m/%Y"), perhaps with "strict" behind it; got {what!r}.'
        )
    form = " ".join(words[1:]) or None
    if form is not None and "%" not in form:
        raise InputError(f'kinds: {form!r} is no format of dates; an example is "date %d/%m/%Y".')
    return Declared(_WORDS[words[0]], form, strict)
