"""The fewest columns of a row to change so that some rule of one side fires and none of the other does.

Exact over the cells of the columns: for each rule that shall fire, the columns that keep it from firing must change,
and `silent_boxes` finds every way to silence the other side with the changes that are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soar_jax.data.columns import TableValues
from soar_jax.reasons.cells import KEPT, ColumnCells, parts_of
from soar_jax.reasons.silence import Box, Steps, TooManySteps, silent_boxes
from soar_jax.rules import Rule

MAX_STEPS = 300_000
"""Steps of one search, beyond which it says that it was stopped."""


@dataclass(frozen=True)
class Found:
    """What a search for changes found.

    Attributes
    ----------
    boxes : list of Box
        Cells to change each column to. Whatever values of a box are taken, the wanted state is reached.
    is_complete : bool
        Whether these are all of the smallest changes; else the search was stopped, and there may be smaller ones.
    """

    boxes: list[Box]
    is_complete: bool = True


def suits_of(rules: Sequence[Rule], cells: Mapping[str, ColumnCells], row: TableValues) -> list[Box]:
    """Cells that suit each rule, by column; with the bit `KEPT` where the row's own value does."""
    return [
        {
            name: cells[name].suits(literals) | (KEPT if all(z.holds(row[name])[0] for z in literals) else 0)
            for name, literals in parts_of(rule).items()
        }
        for rule in rules
    ]


def smallest_changes(
    wanted: Sequence[Box], unwanted: Sequence[Box], allowed: Mapping[str, int], most: int | None = None
) -> Found:
    """Find all smallest changes after which one of the wanted rules fires and none of the unwanted.

    Parameters
    ----------
    wanted, unwanted : sequences of Box
        Cells that suit each rule; see `suits_of`. A wanted rule without columns fires anyway.
    allowed : mapping
        Cells that each column may be changed to.
    most : int, optional
        Most columns to change.
    """
    steps = Steps(MAX_STEPS)
    starts = [start for rule in wanted if (start := _start(rule, allowed)) is not None]
    some: Box | None = None
    try:
        for box, free in starts:  # is there any way at all, and how many changes are surely enough?
            for found in silent_boxes(box, unwanted, steps, free, len(free)):
                some = found if some is None or len(found) < len(some) else some
                break
        if some is None:
            return Found([])
        for size in range(min(len(some), len(some) if most is None else most) + 1):
            boxes = [
                found
                for box, free in starts
                if len(box) <= size
                for found in silent_boxes(box, unwanted, steps, free, size - len(box))
            ]
            if boxes:
                return Found(_merged(boxes))
    except TooManySteps:
        is_small = some is not None and (most is None or len(some) <= most)
        return Found([some] if some is not None and is_small else [], is_complete=False)
    return Found([])


def _start(rule: Box, allowed: Mapping[str, int]) -> tuple[Box, Box] | None:
    """List the changes without which a rule does not fire, and those that leave it firing; None where it cannot."""
    box = {name: allowed.get(name, 0) & suits for name, suits in rule.items() if not suits & KEPT}
    if not all(box.values()):
        return None
    free = {name: cells & rule.get(name, cells) for name, cells in allowed.items() if name not in box}
    return box, {name: cells for name, cells in free.items() if cells}


def _merged(boxes: list[Box]) -> list[Box]:
    """Join boxes that differ in one column, and drop those that lie in another."""
    merged: list[Box] = []
    for columns in dict.fromkeys(frozenset(box) for box in boxes):
        names = sorted(columns)
        mine = list(dict.fromkeys(tuple(box[n] for n in names) for box in boxes if set(box) == columns))
        for place in range(len(names)):
            joined: dict[tuple[int, ...], int] = {}
            for box in mine:
                rest = (*box[:place], *box[place + 1 :])
                joined[rest] = joined.get(rest, 0) | box[place]
            mine = [(*rest[:place], cells, *rest[place:]) for rest, cells in joined.items()]
        kept = [box for box in mine if not any(other != box and _within(box, other) for other in mine)]
        merged += [dict(zip(names, box, strict=True)) for box in kept]
    return merged


def _within(box: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(not cells & ~more for cells, more in zip(box, other, strict=True))
