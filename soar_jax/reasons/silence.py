"""The search behind open states and contrasts: values on which none of some rules fires.

A box says for each column which cells its value may be in, as bits. A rule maps each column it reads to the cells that
suit it; it can fire in a box when every one of its columns can suit it. To silence it, one of its columns must leave
those cells: the search tries each in turn, for the rule that leaves the fewest ways first, until no rule can fire.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from soar_jax.reasons.cells import KEPT

Box = dict[str, int]
"""Cells that the value of a column may be in, as bits, by column."""


class TooManySteps(Exception):
    """The search took more steps than it may."""


class Steps:
    """How many steps searches may still take together."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self) -> None:
        """Take one."""
        self.left -= 1
        if self.left < 0:
            raise TooManySteps


def silent_boxes(
    box: Box, rules: Sequence[Mapping[str, int]], steps: Steps, allowed: Mapping[str, int], budget: int = 0
) -> Iterator[Box]:
    """Yield boxes in which no rule fires, whichever of their values is taken; together they hold all such values.

    Parameters
    ----------
    box : dict
        The columns whose value may vary, and over which cells; any other column keeps its value.
    rules : sequence of mappings
        Cells that suit each rule, by column it reads; the bit `KEPT` says that the column's present value does.
    steps : Steps
    allowed : mapping
        Columns outside the box that may join it, and with which cells.
    budget : int
        How many may join.
    """
    seen: set[frozenset[tuple[str, int]]] = set()

    def visit(box: Box, budget: int) -> Iterator[Box]:
        key = frozenset(box.items())
        if key in seen:
            return
        seen.add(key)
        steps.take()
        fewest: list[tuple[str, int]] | None = None
        for rule in rules:
            if not all(box.get(name, KEPT) & suits for name, suits in rule.items()):
                continue
            ways = _ways(rule, box, allowed, budget)
            if fewest is None or len(ways) < len(fewest):
                fewest = ways
                if not ways:
                    return
        if fewest is None:
            yield box
            return
        for name, cells in fewest:
            yield from visit({**box, name: cells}, budget - (name not in box))

    yield from visit(box, budget)


def _ways(rule: Mapping[str, int], box: Box, allowed: Mapping[str, int], budget: int) -> list[tuple[str, int]]:
    ways = []
    for name, suits in rule.items():
        cells = box[name] if name in box else allowed.get(name, 0) if budget > 0 else 0
        left = cells & ~suits
        if left:
            ways.append((name, left))
    return ways
