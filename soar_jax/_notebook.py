"""Small pieces of HTML for notebooks: they take the theme's colours, and escape nothing by themselves.

Whatever comes from a table or a person is escaped by the caller, where it is known to be text.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from soar_jax.palette import EITHER

_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;overflow-wrap:break-word"
_SIGNS = {"positive": ("&#9679;", EITHER["yes"]), "negative": ("&#9632;", EITHER["no"])}


def block(head: str, *parts: str) -> str:
    """Put parts under a heading, without borders or grounds of their own."""
    return f'<div style="max-width:60em;line-height:1.45"><p style="margin:0 0 4px">{head}</p>{"".join(parts)}</div>'


def bullets(lines: Sequence[str]) -> str:
    """List plain texts, which are escaped here."""
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Make a table of cells that are HTML already."""
    if not rows:
        return ""
    head = "".join(f'<th style="{_CELL};font-weight:600">{cell}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def sign(side: str) -> str:
    """Show a side: disc for positive, square for negative."""
    glyph, colour = _SIGNS[side]
    return f'<span style="color:{colour}" title="{side}">{glyph}</span>'


def bar(share: float, side: str) -> str:
    """Draw a share of 1 as a bar."""
    width = f"{100 * min(max(share, 0.0), 1.0):.1f}"
    return (
        '<svg width="80" height="10" role="img" aria-label="' + width + ' %"><rect width="100%" height="8" y="1" '
        f'fill="currentColor" opacity=".12"/><rect width="{width}%" height="8" y="1" fill="{_SIGNS[side][1]}"/></svg>'
    )
