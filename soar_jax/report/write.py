"""The file of a report: its suffix says in which form."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from soar_jax._base import InputError
from soar_jax._files import check_target, write_text_atomically
from soar_jax.report.content import Content


def _page(content: Content) -> str:
    from soar_jax.report.page import page_of

    return page_of(content)


def _card(content: Content) -> str:
    from soar_jax.report.card import card_of

    return card_of(content)


FORMS: dict[str, Callable[[Content], str]] = {".html": _page, ".md": _card}
"""How a report is printed, by the suffix of its file."""


def check_path(path: str | os.PathLike[str]) -> Path:
    """Find out before the work, not after it, that a report cannot be written there."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"The first argument of report is the file to write, such as 'report.html', got {type(path).__name__}."
        )
    target = Path(path)
    if target.suffix.lower() not in FORMS:
        raise InputError(f"A report is written to a file that ends in .html or .md, got {target.name!r}.")
    check_target(target)
    return target


def write_report(content: Content, path: Path) -> None:
    """Write a report in the form that its suffix names."""
    write_text_atomically(path, FORMS[path.suffix.lower()](content))
