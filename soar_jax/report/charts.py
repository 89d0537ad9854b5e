"""Where things stand in the charts; the templates draw them as inline SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from soar_jax.report.content import Point, StateEntry

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 10, 44
_LINE = 16
_LONGEST, _MOST_LINES = 28, 3
_LETTER = 6.8
"""Width of a letter, about."""
_STEPS = 10
"""How far from its point a label may stand, in half lines."""
Box = tuple[float, float, float, float]
Stroke = tuple[tuple[float, float], tuple[float, float]]
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
        {"x": place_x(p.x), "y": place_y(p.y), "low": place_y(p.low), "high": place_y(p.high), "label": p.label}
        for p in points
    ]
    ends = [(0.0, 0.0), (1.0, 1.0)] if is_square else [(p.x, p.y) for p in points]
    strokes = list(pairwise((place_x(x), place_y(y)) for x, y in ends))
    return {
        "points": placed,
        "labels": _labels(placed, strokes),
        "x_ticks": [(place_x(t), f"{100 * t:.0f}") for t in (0, 0.25, 0.5, 0.75, 1)],
        "y_ticks": [(place_y(t * top), f"{100 * t * top:g}") for t in (0, 0.25, 0.5, 0.75, 1)],
        "box": (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
    }


def _nice(most: float) -> float:
    return next((top for top in (0.02, 0.04, 0.08, 0.2, 0.4, 0.6, 0.8) if top >= most), 1.0)


def _lines(text: str) -> list[str]:
    """Break a label into lines; only one that would fill the picture is cut."""
    lines = textwrap.wrap(text, _LONGEST)
    narrower = (textwrap.wrap(text, width) for width in range(1, _LONGEST))
    lines = next((found for found in narrower if len(found) == len(lines)), lines)  # of like length
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1].rstrip() + "…"]


def _labels(placed: Sequence[dict[str, Any]], strokes: Sequence[Stroke]) -> list[dict[str, Any]]:
    """Put each label beside its point, where it meets as little as can be: no other label, no point, no line."""
    taken = [(p["x"] - 6, p["y"] - 6, p["x"] + 6, p["y"] + 6) for p in placed]
    taken += [(p["x"] - 2, p["high"], p["x"] + 2, p["low"]) for p in placed]  # ranges
    found = []
    for point in sorted(placed, key=lambda p: -p["y"]):
        lines = _lines(point["label"])
        width, height = _LETTER * max(map(len, lines)), _LINE * len(lines)
        (x, middle, anchor), box = min(
            _places(point, width, height), key=lambda place: _cost(place[1], point["y"], taken, strokes)
        )
        taken.append(box)
        first = middle - height / 2 + _LINE / 2 + 4
        found += [
            {"x": round(x, 1), "y": round(first + i * _LINE, 1), "text": line, "anchor": anchor}
            for i, line in enumerate(lines)
        ]
    return found


def _places(point: Mapping[str, Any], width: float, height: float) -> Iterator[tuple[tuple[float, float, str], Box]]:
    """Where a label may stand: right, left, above or below its point, a little higher or lower."""
    for step in range(_STEPS + 1):
        for sign in (-1, 1) if step else (1,):
            middle = point["y"] + sign * step * _LINE / 2
            starts = [(point["x"] + 11, "start"), (point["x"] - 11, "end")]
            if step * _LINE / 2 >= height / 2 + 8:
                starts.append((point["x"], "middle"))
            for x, anchor in starts:
                left = {"start": x, "end": x - width, "middle": x - width / 2}[anchor]
                yield (x, middle, anchor), (left, middle - height / 2, left + width, middle + height / 2)


def _cost(box: Box, y: float, taken: Sequence[Box], strokes: Sequence[Stroke]) -> float:
    """How bad a place is: outside the picture, on another label or point, on a line, far from its point."""
    is_inside = box[0] >= LEFT and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT - BOTTOM
    met = sum(box[0] < o[2] and o[0] < box[2] and box[1] < o[3] and o[1] < box[3] for o in taken)
    crossed = sum(crosses(stroke, box) for stroke in strokes)
    return 1e5 * (not is_inside) + 1e3 * met + 1e2 * crossed + abs((box[1] + box[3]) / 2 - y)


def crosses(stroke: Stroke, box: Box) -> bool:
    """Whether a straight line from end to end meets a box."""
    (x, y), (to_x, to_y) = stroke
    enter, leave = 0.0, 1.0
    for start, way, low, high in ((x, to_x - x, box[0], box[2]), (y, to_y - y, box[1], box[3])):
        if way == 0:
            if not low < start < high:
                return False
            continue
        ends = sorted(((low - start) / way, (high - start) / way))
        enter, leave = max(enter, ends[0]), min(leave, ends[1])
    return enter < leave


def alternative(points: Sequence[Point]) -> str:
    """Say a chart in words, for readers who do not see it."""
    return "; ".join(
        f"{p.label} at {100 * p.x:.0f}: {100 * p.y:.1f} ({100 * p.low:.1f} to {100 * p.high:.1f})" for p in points
    )
