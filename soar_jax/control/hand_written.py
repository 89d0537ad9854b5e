"""Rules as people write them: read, checked against the columns of a model, and compared by what they say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from soar_jax._base import InputError, Plain
from soar_jax.data.columns import level_text, plain_value
from soar_jax.data.literals import Literal
from soar_jax.data.moments import microseconds_of, moment_text
from soar_jax.data.table import require_columns
from soar_jax.rules import Rule


def literal_key(literal: Literal) -> tuple[Any, ...]:
    """Tell literals apart by what they say: 2, 2.0 and "2" are one level, spellings of a moment one cut."""
    if literal.order is not None:
        return literal.column, literal.op, level_text(literal.value)
    if literal.kind.is_bound:
        is_moment = isinstance(literal.value, str)
        bound = microseconds_of(literal.value) if is_moment else float(literal.value)  # type: ignore[arg-type]
        return literal.column, literal.op, is_moment, bound
    return literal.column, literal.op, "" if literal.value is None else level_text(literal.value)


def rule_key(rule: Rule) -> frozenset[tuple[Any, ...]]:
    """Tell rules apart by their literals, in any order."""
    return frozenset(literal_key(condition) for condition in rule.conditions)


def as_rule(rule: Any, orders: Mapping[str, Sequence[Plain]]) -> Rule:
    """Take a rule as a Rule, as literals (column, op, value) or as text; ``orders`` of levels as `Rule.parse` does."""
    if isinstance(rule, str):
        if not hasattr(Rule, "parse"):
            raise InputError("Give the rule as literals: [('age', '>', 30), ('sex', '==', 'F')].")
        rule = Rule.parse(rule, orders=orders)
    if isinstance(rule, Rule):
        return rule.in_orders(orders)
    try:
        return Rule.from_literals([tuple(literal) for literal in rule]).in_orders(orders)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"This is not a rule: {error}") from None


def read_rule(given: Any, columns: Sequence[str], orders: Mapping[str, Sequence[Plain]] | None = None) -> Rule:
    """Take a rule in any form, and check it against the columns."""
    rule = as_rule(given, orders or {})
    if not rule.conditions:
        raise InputError("A rule needs at least one literal; an empty one would fire on every row.")
    require_columns(pd.DataFrame(columns=list(columns)), rule.columns, "The rule names")
    checked = [_checked(condition) for condition in rule.conditions]
    return Rule(tuple({literal_key(literal): literal for literal in checked}.values()))


def _checked(literal: Literal) -> Literal:
    """Take a value that JSON can hold and that the operator can compare with."""
    if literal.op == "missing":
        return Literal(literal.column, literal.op)
    if literal.value is None:
        raise InputError(f"{literal.column!r} {literal.op} needs a value; 'missing' is an operator of its own.")
    value: Plain = plain_value(literal.value)
    if literal.order is not None:  # its value is a level of the order
        return literal
    if not literal.kind.is_bound:
        return Literal(literal.column, literal.op, value)
    try:
        bound: Plain = moment_text(microseconds_of(value)) if isinstance(value, str) else float(value)
    except ValueError:
        bound = math.nan
    if isinstance(bound, float) and not math.isfinite(bound):
        raise InputError(f"{literal.column!r} {literal.op} needs a finite number or an ISO 8601 date to compare with.")
    return Literal(literal.column, literal.op, bound)
