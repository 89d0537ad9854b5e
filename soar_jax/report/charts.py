"""Where things stand in the charts; the templates draw them as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soar_jax.report.content import Point, StateEntry

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 10, 44
_LINE = 16
_LONGEST = 26
_LETTER = 6.8
"""Width of a letter, about."""
_SHIFTS = (0, -1, 1, -2, 2, -3, 3, -4, 4)
Box = tuple[float, float, float, float]
PER_ROW, STEP, RADIUS = 20, 16.5, 7


def dots(state: StateEntry, *, positive_first: bool) -> dict[str, Any]:
    """Dots of a state: full ones are positive; what does not fit the state's answer comes last."""
    yes, no, unknown = state.dots
    kinds = (["y"] * yes + ["n"] * no if positive_first else ["n"] * no + ["y"] * yes) + ["u"] * unknown
    found = [
        {"kind": kind, "x": RADIUS + STEP * (i % PER_ROW), "y": RADIUS + STEP * (i // PER_ROW)}
        for i, kind in enumerate(kinds)
    ]
    rows = max(1, -(-len(kinds) // PER_ROW))
    return {"dots": found, "height": STEP * rows - 2, "width": STEP * PER_ROW}


def plot(points: Sequence[Point], *, is_square: bool) -> dict[str, Any]:
    """Place points, ranges, ticks and labels: on a square of shares, or with a height that suits the points."""
    top = 1.0 if is_square else _nice(max(p.high for p in points))
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place_x(share: float) -> float:
        return round(LEFT + across * share, 1)

    def place_y(share: float) -> float:
        return round(TOP + up * (1 - share / top), 1)

    placed = [
        {"x": place_x(p.x), "y": place_y(p.y), "low": place_y(p.low), "high": place_y(p.high), "label": _short(p.label)}
        for p in points
    ]
    return {
        "points": placed,
        "labels": _labels(placed),
        "x_ticks": [(place_x(t), f"{100 * t:.0f}") for t in (0, 0.25, 0.5, 0.75, 1)],
        "y_ticks": [(place_y(t * top), f"{100 * t * top:g}") for t in (0, 0.25, 0.5, 0.75, 1)],
        "box": (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
    }


def _nice(most: float) -> float:
    return next((top for top in (0.02, 0.04, 0.08, 0.2, 0.4, 0.6, 0.8) if top >= most), 1.0)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _labels(placed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put each label beside its point, or as near as it can be without meeting a point or another label."""
    taken = [(p["x"] - 6, p["y"] - 6, p["x"] + 6, p["y"] + 6) for p in placed]
    taken += [(p["x"] - 2, p["high"], p["x"] + 2, p["low"]) for p in placed]  # ranges
    found = []
    for point in sorted(placed, key=lambda p: -p["y"]):
        width = _LETTER * len(point["label"])
        for shift in _SHIFTS:
            for anchor, start in (("start", point["x"] + 11), ("end", point["x"] - 11 - width)):
                y = point["y"] + shift * _LINE
                box = (start, y - _LINE / 2, start + width, y + _LINE / 2)
                if not _fits(box, taken):
                    continue
                taken.append(box)
                x = point["x"] + (11 if anchor == "start" else -11)
                found.append({"x": round(x, 1), "y": round(y + 4, 1), "text": point["label"], "anchor": anchor})
                break
            else:
                continue
            break
    return found


def _fits(box: Box, taken: Sequence[Box]) -> bool:
    """Whether a box lies in the picture and meets none of the others."""
    is_inside = box[0] >= LEFT and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT - BOTTOM
    return is_inside and not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken
    )


def alternative(points: Sequence[Point]) -> str:
    """Say a chart in words, for readers who do not see it."""
    return "; ".join(
        f"{p.label} at {100 * p.x:.0f}: {100 * p.y:.1f} ({100 * p.low:.1f} to {100 * p.high:.1f})" for p in points
    )
