"""Labels in the charts: whole, inside, and clear of points, of ranges, of lines and of each other."""

import itertools

import numpy as np
import pytest

from soar_jax.report.charts import HEIGHT, LEFT, WIDTH, crosses, plot
from soar_jax.report.content import Point

NAMES = ("only “income above 50,000 $ = 0”", "all agreements", "+ guess: the rules disagree", "all rows")


def boxes(found):
    """Where each line of a label is drawn, with letters a little narrower than the chart reckons."""
    for label in found["labels"]:
        width = 6.2 * len(label["text"])
        left = {"start": label["x"], "end": label["x"] - width, "middle": label["x"] - width / 2}[label["anchor"]]
        yield left, label["y"] - 10, left + width, label["y"] + 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("is_square", [False, True])
def test_labels_are_whole_and_meet_no_point_and_no_line(seed, is_square):
    rng = np.random.default_rng(seed)
    across, up = np.sort(rng.uniform(0.05, 1, 4)), np.sort(rng.uniform(0.02, 0.5, 4))
    if is_square:
        across, up = rng.uniform(0.05, 0.95, (2, 4))
    if np.ptp(across) < 0.4 or np.diff(np.sort(up)).min() < 0.03:
        across, up = np.array([0.1, 0.4, 0.7, 1.0]), np.array([0.05, 0.1, 0.3, 0.4])
    points = [Point(name, x, y, y - 0.01, y + 0.01) for name, x, y in zip(NAMES, across, up, strict=True)]
    found = plot(points, is_square=is_square)
    said = " ".join(label["text"] for label in found["labels"])
    assert all(name in said for name in NAMES) and "…" not in said
    places = [(p["x"], p["y"]) for p in found["points"]]
    for left, top, right, bottom in boxes(found):
        assert left >= LEFT and right <= WIDTH and top >= 0 and bottom <= HEIGHT
        assert not any(left < x < right and top < y < bottom for x, y in places)
    all_boxes = list(boxes(found))
    for i, one in enumerate(all_boxes):
        for two in all_boxes[:i]:
            assert not (one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3])
    if not is_square:
        assert not any(crosses(line, box) for line in itertools.pairwise(places) for box in all_boxes)


def test_a_stroke_crosses_a_box_or_misses_it():
    assert crosses(((0, 0), (10, 10)), (4, 4, 6, 6)) and crosses(((0, 5), (10, 5)), (4, 4, 6, 6))
    assert not crosses(((0, 0), (10, 0)), (4, 4, 6, 6)) and not crosses(((0, 0), (3, 3)), (4, 4, 6, 6))


def test_only_a_label_that_would_fill_the_chart_is_cut():
    found = plot([Point("word " * 60, 0.5, 0.5, 0.4, 0.6)], is_square=True)
    assert len(found["labels"]) == 3 and found["labels"][-1]["text"].endswith("…")
