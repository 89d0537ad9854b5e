"""Colours and signs of every picture: two hues, blue and orange, that stay apart for the colour-blind and in grey.

No red, no green: neither outcome is good or bad. A second sign always goes with the hue: disc and square, full and
hollow. Conflict has no colour of its own, it is both sides at once; silence is neither.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ink": "#18212b",
    "soft": "#4d5966",
    "line": "#d5dbe1",
    "hair": "#e8ecef",
    "wash": "#f4f6f8",
    "none": "#76828e",
    "yes": "#1b5ea8",
    "no": "#a84f07",
}
"""On a light ground, by use: ground, text, second text, rules, tracks, tint, "off" outlines, both sides."""
DARK = {
    "paper": "#11161b",
    "ink": "#e6eaee",
    "soft": "#a3afba",
    "line": "#37424d",
    "hair": "#252e37",
    "wash": "#192027",
    "none": "#8894a0",
    "yes": "#7fb6f2",
    "no": "#f0a25a",
}
PRINT = LIGHT | {"ink": "#000000", "soft": "#333333", "line": "#999999", "hair": "#dddddd", "wash": "#ffffff",
                 "none": "#666666", "yes": "#134b8a", "no": "#8f4305"}  # fmt: skip
EITHER = {"yes": "#3f82cc", "no": "#c26d1d"}
"""Both sides where the ground is not known, as in a notebook: for signs and bars, not for text."""
MARKERS = {"positive": "o", "negative": "s"}
"""Matplotlib's signs of the two sides."""


def css_variables(colours: dict[str, str]) -> str:
    """Write colours as custom properties of CSS."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())
