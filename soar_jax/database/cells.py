"""Cells of rows as the engine computes them, as coarse as the literals allow, and packed into few whole numbers.

Cells that no literal of interest tells apart get one code, and columns with one code for all cells are left out: rows
that the candidates cannot tell apart are one group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soar_jax._base import BoolArray, IntArray
from soar_jax.data.columns import CATEGORY, DATETIME, Column
from soar_jax.data.items import Items
from soar_jax.database.expressions import as_moment, equals, is_missing, moment_literal, number_literal
from soar_jax.database.profile import Profile

_ROOM = 1 << 62


@dataclass(frozen=True)
class Codes:
    """Codes of one column's cells.

    Attributes
    ----------
    place : int
        Position of the column.
    of_cell : (num_cells,) int64
        Code of each cell.
    cell : (num_codes,) int64
        A cell of each code.
    has_missing : bool
        Whether a value may be missing.
    """

    place: int
    of_cell: IntArray
    cell: IntArray
    has_missing: bool


def coarse_codes(holds_rows: Sequence[BoolArray], items: Items) -> list[Codes]:
    """Give cells that the literals tell apart a code, column by column; columns that tell nothing are left out.

    ``holds_rows`` says for each column which cells hold any row; an empty cell has the code of some other.
    """
    found = []
    for place, has_rows in enumerate(holds_rows):
        truth = [items.truth[i] for i in np.flatnonzero(items.column == place)]
        if not truth or not has_rows.any():
            continue
        told = np.array(truth, dtype=bool)
        told[:, ~has_rows] = told[:, [np.argmax(has_rows)]]
        _, first, code = np.unique(told, axis=1, return_index=True, return_inverse=True)
        if len(first) > 1:
            cells = first.astype(np.int64)
            cells[code[np.argmax(has_rows)]] = np.argmax(has_rows)  # a cell with rows stands for its code
            found.append(Codes(place, code.reshape(-1).astype(np.int64), cells, bool(has_rows[-1])))
    return found


def fine_codes(place: int, column: Column) -> Codes:
    """Give every cell its own code."""
    cells = np.arange(column.num_cells)
    return Codes(place, cells, cells, True)


def code_expression(value: Any, column: Column, profile: Profile, codes: Codes) -> Any:
    """Code of each row's cell."""
    import ibis

    of_cell = codes.of_cell.tolist()
    branches = [(is_missing(value), of_cell[column.missing_cell])] if codes.has_missing else []
    if column.kind == CATEGORY:
        raw: dict[int, list[Any]] = {}
        for cell, level in zip(profile.values.cells(column), profile.values.series.tolist(), strict=True):
            if cell != column.missing_cell:
                raw.setdefault(of_cell[cell], []).append(level)
        rest = of_cell[len(column.cell_levels)]
        branches += [(equals(value, levels), code) for code, levels in raw.items() if code != rest]
    else:
        rest = of_cell[len(column.cuts)]
        is_time = column.kind == DATETIME
        number = as_moment(value) if is_time else value.cast("float64")  # NaN is caught as missing
        for cell, cut in enumerate(column.cuts):
            if of_cell[cell] != of_cell[cell + 1]:
                bound = moment_literal(cut, value.type()) if is_time else number_literal(cut)
                branches.append((number <= bound, of_cell[cell]))
    return ibis.cases(*branches, else_=rest) if branches else ibis.literal(rest)


def packed_keys(
    table: Any, columns: Sequence[Column], profiles: Mapping[str, Profile], codes: Sequence[Codes]
) -> tuple[list[Any], list[list[Codes]]]:
    """Pack codes into as few int64 as hold them: expressions, and the columns behind each."""
    import ibis

    keys: list[Any] = []
    behind: list[list[Codes]] = []
    radix = _ROOM
    for one in codes:
        column = columns[one.place]
        code = code_expression(table[column.name], column, profiles[column.name], one).cast("int64")
        if radix > _ROOM // len(one.cell):
            keys.append(code)
            behind.append([one])
            radix = len(one.cell)
        else:
            keys[-1] = keys[-1] * len(one.cell) + code
            behind[-1].append(one)
            radix *= len(one.cell)
    return keys or [ibis.literal(0).cast("int64")], behind or [[]]


def unpack(keys: IntArray, behind: Sequence[Sequence[Codes]], num_columns: int) -> IntArray:
    """Cells of each group from its keys: (num_groups, num_columns); 0 where no code tells."""
    cells = np.zeros((len(keys), num_columns), dtype=np.int64)
    for key, packed in zip(keys.T, behind, strict=True):
        left = key.copy()
        for one in reversed(packed):
            left, code = np.divmod(left, len(one.cell))
            cells[:, one.place] = one.cell[code]
    return cells


def most_groups(codes: Sequence[Codes]) -> float:
    """Say how many groups there could be at most."""
    return float(np.prod([len(one.cell) for one in codes], dtype=np.float64))
