"""Shares said in whole numbers, so that the same rows are said in the same numbers wherever they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

HUNDRED = 100


def fixed(number: float, digits: int) -> str:
    """Write a number that is not negative with so many decimals, halves upwards as the script of the page does."""
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def share_out(counts: Sequence[float], total: int = HUNDRED) -> list[int]:
    """Give each count its part of a total by largest remainders, so that the parts sum to it."""
    everything = sum(counts)
    if not everything:
        return [0] * len(counts)
    exact = [count * total / everything for count in counts]
    parts = [int(share) for share in exact]
    for i in sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])[: total - sum(parts)]:
        parts[i] += 1
    return parts


def share_in_two(first: Sequence[float], second: Sequence[float]) -> tuple[list[int], list[int]]:
    """Share a hundred out to two groups of counts: each group as a whole is rounded as it would be alone."""
    total = sum(first) + sum(second)
    if not total:
        return [0] * len(first), [0] * len(second)
    part = int(fixed(HUNDRED * sum(first) / total, 0))
    return share_out(first, part), share_out(second, HUNDRED - part)
