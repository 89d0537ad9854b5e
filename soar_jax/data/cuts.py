"""Readable cut points for ordered columns."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable

import numpy as np
from scipy.special import xlogy

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.moments import shortest_time

MIN_LEAF = 0.01
"""Share of the rows that must lie on either side of a cut."""
EFFECTIVE_POSITIONS = 40
"""Independent positions of a cut in a column of many distinct values; see `positions_per_cut`."""


def split_entropy(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Weight times entropy in nats, with 0 log 0 = 0."""
    total = positives + negatives
    return xlogy(total, total) - xlogy(positives, positives) - xlogy(negatives, negatives)


def supervised_positions(positives: FloatArray, negatives: FloatArray, max_cuts: int, min_leaf: float) -> list[int]:
    """Cut where the labels change most: best-first splits by information gain.

    Returns positions i such that the cut lies between distinct values i and i + 1.
    """
    below_positive = np.concatenate([[0.0], np.cumsum(positives)])
    below_negative = np.concatenate([[0.0], np.cumsum(negatives)])

    def best_split(start: int, stop: int) -> tuple[float, int] | None:
        middle = np.arange(start + 1, stop)
        left_p, left_n = (
            below_positive[middle] - below_positive[start],
            below_negative[middle] - below_negative[start],
        )
        right_p, right_n = (
            below_positive[stop] - below_positive[middle],
            below_negative[stop] - below_negative[middle],
        )
        allowed = (left_p + left_n >= min_leaf) & (right_p + right_n >= min_leaf)
        if not allowed.any():
            return None
        whole = split_entropy(left_p[:1] + right_p[:1], left_n[:1] + right_n[:1])[0]
        gain = whole - split_entropy(left_p, left_n) - split_entropy(right_p, right_n)
        best = int(np.argmax(np.where(allowed, gain, -np.inf)))
        return float(gain[best]), int(middle[best])

    cuts: list[int] = []
    heap: list[tuple[float, int, int, int]] = []

    def push(start: int, stop: int) -> None:
        split = best_split(start, stop)
        if split is not None and split[0] > 0:
            heapq.heappush(heap, (-split[0], start, split[1], stop))

    push(0, len(positives))
    while heap and len(cuts) < max_cuts:
        _, start, middle, stop = heapq.heappop(heap)
        cuts.append(middle - 1)
        push(start, middle)
        push(middle, stop)
    return cuts


def supervised_positions_of_many(
    positives: IntArray, negatives: IntArray, is_last: BoolArray, max_cuts: int, min_leaf: FloatArray
) -> tuple[IntArray, BoolArray]:
    """Find what `supervised_positions` finds in many columns at once.

    Parameters
    ----------
    positives, negatives : (num_rows, num_columns) int64
        Counts of the rows of each column in the order of its values; those without a value, which come last, count 0.
    is_last : (num_rows, num_columns) bool
        Which rows are the last of their value.
    min_leaf : (num_columns,) float64

    Returns
    -------
    tuple
        Rows after which cuts lie, unordered, and which of these places hold a cut: (max_cuts, num_columns).
    """
    num_rows, num_columns = positives.shape
    columns, rows = np.arange(num_columns), np.arange(1, num_rows + 1)[:, None]
    none = np.zeros((1, num_columns), dtype=np.int64)
    below = [np.concatenate([none, np.cumsum(part, axis=0)]) for part in (positives, negatives)]
    counts = np.arange(int((below[0] + below[1]).max(initial=0)) + 1, dtype=np.float64)
    weighed = xlogy(counts, counts)

    def entropy(positive: IntArray, negative: IntArray) -> FloatArray:
        return np.asarray(weighed[positive + negative] - weighed[positive] - weighed[negative])

    def best_split(start: IntArray, stop: IntArray) -> tuple[FloatArray, IntArray]:
        left = [part[1:] - part[start, columns] for part in below]
        right = [part[stop, columns] - part[1:] for part in below]
        allowed = is_last & (rows > start) & (rows < stop)
        allowed &= (left[0] + left[1] >= min_leaf) & (right[0] + right[1] >= min_leaf)
        left, right = ([np.where(allowed, part, 0) for part in side] for side in (left, right))
        whole = entropy(*(part[stop, columns] - part[start, columns] for part in below))
        gain = np.where(allowed, whole - entropy(*left) - entropy(*right), -np.inf)
        best = np.argmax(gain, axis=0)
        return gain[best, columns], best + 1

    start, stop, middle = (np.zeros((max_cuts + 1, num_columns), dtype=np.int64) for _ in range(3))
    gain = np.full((max_cuts + 1, num_columns), -np.inf)
    stop[0] = (is_last * rows).max(axis=0, initial=0)
    gain[0], middle[0] = best_split(start[0], stop[0])
    cuts, is_cut = np.zeros((max_cuts, num_columns), dtype=np.int64), np.zeros((max_cuts, num_columns), dtype=bool)
    for cut in range(max_cuts):
        # of segments that gain alike, the first
        first = np.where(gain == gain.max(axis=0), start, num_rows + 1)
        segment = np.argmin(first, axis=0)
        is_cut[cut] = gain[segment, columns] > 0
        cuts[cut] = middle[segment, columns] - 1
        ends = stop[segment, columns].copy()
        start[cut + 1], stop[cut + 1] = middle[segment, columns], ends
        stop[segment, columns] = middle[segment, columns]
        left = best_split(start[segment, columns], stop[segment, columns])
        gain[segment, columns], middle[segment, columns] = left
        gain[cut + 1], middle[cut + 1] = best_split(start[cut + 1], ends)
    return cuts, np.logical_and.accumulate(is_cut, axis=0)


def quantile_positions(weights: FloatArray, max_cuts: int) -> list[int]:
    """Cut so that the bins hold about equally many rows."""
    cumulative = np.cumsum(weights)
    wanted = cumulative[-1] * np.arange(1, max_cuts + 1) / (max_cuts + 1)
    return [int(i) for i in np.searchsorted(cumulative, wanted).clip(0, len(weights) - 2)]


def positions_per_cut(num_distinct: int, num_cuts: int) -> float:
    """Say how many positions stand behind each cut that the labels placed, as independent tries.

    Neighbouring positions give nearly the same split, so a column of many distinct values offers few independent ones.
    The best of all splits of n rows in noise behaves as the maximum of a standardised Brownian bridge: a gain of t nats
    is (2 t - 1) log((1 - e) / e) times as probable as for a single split when splits down to a share e of the rows are
    allowed. With e = 3 % that is 38 at 6 nats and 80 at 12; fits to noise and to real tables decided for
    `EFFECTIVE_POSITIONS`.
    """
    positions = min(max(num_distinct - 1, 1), EFFECTIVE_POSITIONS)
    return max(1.0, positions / max(num_cuts, 1))


def shortest_number(low: float, high: float) -> float:
    """Find the number with the fewest digits in [low, high), nearest the middle among equals."""
    if low <= 0 < high:
        return 0.0
    if math.isinf(high):
        return low
    if math.isinf(low):
        low = high - max(1.0, abs(high))
    middle = low / 2 + high / 2
    exponent = math.floor(math.log10(max(abs(low), abs(high))))
    for power in range(exponent, max(exponent - 17, -300), -1):
        scale = 10.0 ** abs(power)
        rounded = round(middle / scale) * scale if power >= 0 else round(middle * scale) / scale
        step = scale if power >= 0 else 1 / scale
        for candidate in (rounded, rounded - step, rounded + step):
            tidy = float(f"{candidate:.{max(0, -power)}f}")
            if low <= tidy < high:
                return tidy
    return low


def cut_positions(positives: FloatArray, negatives: FloatArray, *, max_bins: int, method: str) -> list[int]:
    """Ascending positions i such that a cut lies between distinct values i and i + 1; see `cut_points`."""
    weights = np.asarray(positives + negatives, dtype=np.float64)
    if method == "quantile":
        positions = quantile_positions(weights, max_bins - 1)
    else:
        min_leaf = max(1.0, MIN_LEAF * float(weights.sum()))
        positions = supervised_positions(positives, negatives, max_bins - 1, min_leaf)
        if not positions:
            positions = quantile_positions(weights, 1)
    unique: IntArray = np.unique(np.array(positions, dtype=np.int64))
    return unique.tolist()


def cut_points(
    distinct: FloatArray,
    positives: FloatArray,
    negatives: FloatArray,
    *,
    max_bins: int,
    method: str,
    is_time: bool = False,
    lowest: FloatArray | None = None,
) -> list[float]:
    """Ascending cut points c for literals ``x <= c`` and ``x > c``, rounded as far as the bins allow.

    Parameters
    ----------
    distinct : (k,) float64
        Distinct finite values, ascending.
    positives, negatives : (k,)
        Weight of each value in each class.
    max_bins : int
        Number of bins at most.
    method : {"supervised", "quantile"}
        Where to cut: where the labels change most, or at equal shares of the rows.
    is_time : bool
        Values are microseconds since 1970 UTC and are rounded to calendar units.
    lowest : (k,) float64, optional
        Where each weight is of a bin, its lowest value; ``distinct`` then holds the highest.
    """
    if len(distinct) < 2:  # noqa: PLR2004
        return []
    positions = cut_positions(positives, negatives, max_bins=max_bins, method=method)
    above = distinct if lowest is None else lowest
    return cuts_in([(float(distinct[i]), float(above[i + 1])) for i in positions], is_time=is_time)


def cuts_in(gaps: Iterable[tuple[float, float]], *, is_time: bool) -> list[float]:
    """Choose a readable cut in each gap between two values."""
    return [shortest_time(*gap) if is_time else shortest_number(*_as_written(*gap)) for gap in gaps]


def _as_written(low: float, high: float) -> tuple[float, float]:
    """Narrow a gap so that a cut in it parts the values as they are written, too, where they are of single precision.

    0.3 in single precision is 0.30000001192..., and the same table in double precision, or as text, has 0.3.
    """
    narrow = max(low, _written(low)), min(high, _written(high))
    return narrow if narrow[0] < narrow[1] else (low, high)


def _written(value: float) -> float:
    """Read a number that single precision holds as it is written there; any other is what it is."""
    if value.is_integer():
        return value
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return float(str(single)) if float(single) == value else value
