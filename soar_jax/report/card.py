"""The report as a Markdown model card, from the same content as the page."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from soar_jax.report.content import Content
from soar_jax.report.numbers import count, of_hundred, per_cent, span, tabular
from soar_jax.report.page import without_turns

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
_AT_START = re.compile(r"^(\s*\d+(?=[.)](?:\s|$))|\s*(?=[-+=](?:\s|$)))")
_LINE_ENDS = re.compile(r"[\r\n\u2028\u2029\x0b\x0c\x85]+")


def card_of(content: Content) -> str:
    """Print a report as Markdown."""
    return str(_environment().get_template("card.md.j2").render(report=content)).strip() + "\n"


def escape(text: Any) -> str:
    """Make a text stand in Markdown as it is: no mark-up, no HTML, no line of its own."""
    one_line = _LINE_ENDS.sub(" ", str(text))
    return _AT_START.sub(r"\1\\", _SPECIAL.sub(r"\\\1", one_line))


def code(text: Any) -> str:
    """Put a text between as many backticks as it takes."""
    one_line = _LINE_ENDS.sub(" ", str(text)).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", one_line)), default=0))
    return f"{fence} {one_line} {fence}" if "`" in one_line else f"{fence}{one_line}{fence}"


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Markdown is no HTML: `finalize` escapes whatever a template prints, but for what is marked as safe
    environment = Environment(
        loader=PackageLoader("soar_jax.report", "templates"),
        autoescape=False,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "code": _marked(code), "count": _marked(count), "of_hundred": _marked(of_hundred),
        "per_cent": _marked(per_cent), "tabular": _marked(tabular),
    }  # fmt: skip
    environment.globals |= {"span": _marked(span)}
    return environment


def _marked(function: Any) -> Any:
    from markupsafe import Markup

    return lambda *given: Markup(function(*given))


def _finalize(value: Any) -> Any:
    return value if hasattr(value, "__html__") else escape(without_turns(value))
