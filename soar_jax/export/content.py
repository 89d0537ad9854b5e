"""What every export reads: a fitted pair as plain data, with the values of its literals as they are compared.

The library compares levels by `level_text`, numbers and moments as float64. Here a level is that text, a cut is
that float64, so that an export only has to read a cell in the same way and compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soar_jax import __version__
from soar_jax._base import FloatArray, InputError, Plain
from soar_jax.data.columns import CATEGORY, DATETIME, level_text, plain_value
from soar_jax.data.columns import NUMBER as KIND_NUMBER
from soar_jax.data.contract import ColumnContract, Contract
from soar_jax.data.labels import by_class
from soar_jax.data.literals import Literal
from soar_jax.data.moments import microseconds_of
from soar_jax.rules import RuleSet, rule_ids
from soar_jax.states import STATES

LEVEL, NUMBER, MOMENT, MISSING = "level", "number", "moment", "missing"
"""The four ways of reading a cell: its level, its number, its moment, whether it is missing."""
READINGS = {CATEGORY: LEVEL, KIND_NUMBER: NUMBER, DATETIME: MOMENT}
"""How the cells of each kind of column are read."""
UNKNOWN = "unknown"
"""Where nothing is known of a column's kind."""
# moments before and after these are taken for them; see `ColumnValues.moments`
_EARLIEST, _LATEST = microseconds_of("0001-01-02"), microseconds_of("9999-12-31")


@dataclass(frozen=True)
class Condition:
    """One literal in the form it is compared in.

    Attributes
    ----------
    column : str
    op : str
        One of ``==``, ``!=``, ``in``, ``<=``, ``>``, ``missing``. A comparison of ordered levels is ``in`` the levels
        that are meant: no other system knows their order.
    reading : str
        How the cell is read: ``"level"``, ``"number"``, ``"moment"`` (microseconds since 1970 UTC) or ``"missing"``.
    value : str, tuple of str, float or None
        Level text, level texts, or cut as float64.
    """

    column: str
    op: str
    reading: str
    value: str | tuple[str, ...] | float | None

    @property
    def levels(self) -> tuple[str, ...]:
        """Level texts that it compares with."""
        if self.reading != LEVEL:
            return ()
        return self.value if isinstance(self.value, tuple) else (str(self.value),)


@dataclass(frozen=True)
class ExportedRule:
    """A rule with the name that every report gives it; ``is_positive`` says which side it is on."""

    id: str
    is_positive: bool
    sentence: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class ExportedState:
    """A state with its label and probabilities: of the positive class, and of both in the order of the classes."""

    name: str
    label: Plain
    probability: float
    by_class: tuple[float, float]


@dataclass(frozen=True)
class ExportedColumn:
    """A column that rules read, with everything they compare it with, each once, and what the fit made of it.

    ``words`` are texts that mean a missing value.
    """

    contract: ColumnContract
    words: tuple[str, ...]
    levels: tuple[str, ...]
    numbers: tuple[float, ...]
    moments: tuple[float, ...]
    reads_missing: bool

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.contract.name

    @property
    def reads_numbers(self) -> bool:
        """Whether text that spells a number is the level of that number: 1.5, 1.50 and 15e-1."""
        return self.contract.kind == CATEGORY and self.contract.read_as == "number"

    @property
    def readings(self) -> tuple[str, ...]:
        """Ways in which the rules read the column."""
        asked = ((LEVEL, self.levels), (NUMBER, self.numbers), (MOMENT, self.moments), (MISSING, self.reads_missing))
        return tuple(reading for reading, values in asked if values)


@dataclass(frozen=True)
class ModelContent:
    """A fitted model as plain data.

    Attributes
    ----------
    estimator : str
        Name of the class that was fitted.
    version : str
        Version of this package.
    classes : tuple
        Both labels, in the order of ``classes_``.
    positive : object
        The positive label.
    rules : tuple of ExportedRule
        In the order of `soar_jax.rules.rule_ids`.
    states : tuple of ExportedState
        In the order of `soar_jax.states.STATES`.
    columns : tuple of ExportedColumn
        In the order in which the rules first read them.
    """

    estimator: str
    version: str
    classes: tuple[Plain, ...]
    positive: Plain
    rules: tuple[ExportedRule, ...]
    states: tuple[ExportedState, ...]
    columns: tuple[ExportedColumn, ...]

    @property
    def title(self) -> str:
        """Say which model this is, on one line."""
        sizes = [sum(rule.is_positive is side for rule in self.rules) for side in (True, False)]
        return f"{self.estimator} with {sizes[0]} rules for {self.positive!r} and {sizes[1]} against"


def describe(
    sets: Sequence[RuleSet],
    classes: np.ndarray,
    positive_index: int,
    probabilities: FloatArray,
    estimator: str,
    contract: Contract,
) -> ModelContent:
    """Turn two rule sets, P(positive class | state) and what is known of the columns into plain data."""
    ids = iter(rule_ids(sets))
    rules = tuple(
        ExportedRule(next(ids), side == 0, str(rule), tuple(_condition(literal) for literal in rule.conditions))
        for side, rule_set in enumerate(sets)
        for rule in rule_set
    )
    labels = tuple(_label(label) for label in classes)
    both = by_class(probabilities, positive_index)
    states = tuple(
        ExportedState(name, labels[int(np.argmax(pair))], float(p), (float(pair[0]), float(pair[1])))
        for name, p, pair in zip(STATES, probabilities, both, strict=True)
    )
    return ModelContent(
        estimator, __version__, labels, labels[positive_index], rules, states, tuple(_columns(rules, contract))
    )


def _label(label: object) -> Plain:
    value = plain_value(label)
    if not isinstance(value, str | bool | int | float):
        raise InputError(f"A label of type {type(label).__name__} cannot be exported; use text, numbers or booleans.")
    return value


def _condition(literal: Literal) -> Condition:
    column, op, value = literal.column, literal.op, literal.value
    if op == "missing":
        return Condition(column, op, MISSING, None)
    if not literal.kind.is_bound:
        return Condition(column, op, LEVEL, level_text(value))
    if literal.order is not None:
        return Condition(column, "in", LEVEL, tuple(level_text(level) for level in literal.members))
    if isinstance(value, str):
        moment = microseconds_of(value)
        moment = math.inf if moment >= _LATEST else -math.inf if moment < _EARLIEST else moment
        return Condition(column, op, MOMENT, moment)
    bound = float(value)  # type: ignore[arg-type]
    if not math.isfinite(bound):
        raise InputError(f"A rule compares column {column!r} with {bound!r}; only finite cut points can be exported.")
    return Condition(column, op, NUMBER, bound)


def _columns(rules: Sequence[ExportedRule], contract: Contract) -> list[ExportedColumn]:
    conditions = [condition for rule in rules for condition in rule.conditions]

    def levels(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(level for c in conditions if c.column == name for level in c.levels))

    def values(name: str, reading: str) -> tuple[object, ...]:
        mine = (c.value for c in conditions if c.column == name and c.reading == reading)
        return tuple(dict.fromkeys(mine))

    return [
        ExportedColumn(
            known := contract.get(name) or ColumnContract(name, UNKNOWN, UNKNOWN),
            tuple(contract.words_of(known)),
            levels(name),
            values(name, NUMBER),  # type: ignore[arg-type]
            values(name, MOMENT),  # type: ignore[arg-type]
            bool(values(name, MISSING)),
        )
        for name in dict.fromkeys(condition.column for condition in conditions)
    ]
