"""Which literals hold on each row, hence which rules fire and which fail on exactly one literal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from soar_jax._base import BoolArray, IntArray
from soar_jax.data.columns import TableValues
from soar_jax.data.literals import Literal
from soar_jax.rules import Rule

CHUNK_ROWS = 1 << 17
NOT_NEAR = -1


@dataclass(frozen=True)
class Truths:
    """Rules applied to rows, literal by literal.

    Attributes
    ----------
    rules : tuple of Rule
    literals : tuple of Literal
        The different literals of the rules.
    columns : tuple of str
        The columns they read.
    fired : (num_rows, num_rules) bool
    near : (num_rows, num_rules) int16
        Where a rule fails on exactly one literal, which of ``literals`` that is; else `NOT_NEAR`.
    missing : (num_rows, num_columns) bool
    live : (num_rows, num_rules) bool
        Rules that fire, or would if the missing values were right.
    """

    rules: tuple[Rule, ...]
    literals: tuple[Literal, ...]
    columns: tuple[str, ...]
    fired: BoolArray
    near: npt.NDArray[np.int16]
    missing: BoolArray
    live: BoolArray

    @cached_property
    def reads(self) -> BoolArray:
        """Which rules have a literal on which column, other than that it is missing: (num_rules, num_columns)."""
        place = {name: k for k, name in enumerate(self.columns)}
        reads = np.zeros((len(self.rules), len(self.columns)), dtype=bool)
        for r, rule in enumerate(self.rules):
            reads[r, [place[z.column] for z in rule.conditions if not is_about_missing(z)]] = True
        return reads


def is_about_missing(literal: Literal) -> bool:
    """Whether a missing value leaves no doubt about the literal."""
    return literal.op == "missing"


def is_contradictory(rule: Rule) -> bool:
    """Whether a rule wants a column to be missing and to have a value."""
    absent = {z.column for z in rule.conditions if is_about_missing(z)}
    return any(z.column in absent and not is_about_missing(z) for z in rule.conditions)


def truths_of(rules: Sequence[Rule], values: TableValues) -> Truths:
    """Apply every literal once to every row."""
    literals = tuple(dict.fromkeys(z for rule in rules for z in rule.conditions))
    columns = tuple(dict.fromkeys(z.column for z in literals))
    place = {z: i for i, z in enumerate(literals)}
    has = np.zeros((len(literals), len(rules)), dtype=np.float32)
    for r, rule in enumerate(rules):
        has[[place[z] for z in rule.conditions], r] = 1
    numbers = has * np.arange(len(literals), dtype=np.float32)[:, None]
    num_rows = len(values)
    missing = np.zeros((num_rows, len(columns)), dtype=bool)
    for k, name in enumerate(columns):
        missing[:, k] = values[name].is_missing
    column_of = np.array([columns.index(z.column) for z in literals], dtype=np.int64)
    is_open = np.array([not is_about_missing(z) for z in literals], dtype=bool)
    possible = np.array([not is_contradictory(rule) for rule in rules], dtype=bool)
    holds = np.empty((num_rows, len(literals)), dtype=bool)
    for i, literal in enumerate(literals):
        holds[:, i] = literal.holds(values[literal.column])
    fired = np.empty((num_rows, len(rules)), dtype=bool)
    near = np.empty((num_rows, len(rules)), dtype=np.int16)
    live = np.empty((num_rows, len(rules)), dtype=bool)
    for start in range(0, num_rows, CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        fails = (~holds[part]).astype(np.float32)
        count = fails @ has
        fired[part] = count == 0
        near[part] = np.where(count == 1, fails @ numbers, NOT_NEAR)
        known = fails * ~(missing[part][:, column_of] & is_open)
        live[part] = (known @ has == 0) & possible
    return Truths(tuple(rules), literals, columns, fired, near, missing, live)


def distinct_rows(table: np.ndarray) -> tuple[IntArray, IntArray]:
    """First place of each distinct row, and which distinct row each row is."""
    if not table.shape[1] or not len(table):
        return np.zeros(min(1, len(table)), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    packed = np.packbits(table, axis=1) if table.dtype == bool else table
    whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1])))
    _, first, inverse = np.unique(whole[:, 0], return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)
