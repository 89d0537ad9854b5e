"""The parameters ``forbid``, ``require``, ``directions``, ``max_rules`` and ``max_columns``, read and checked.

Whatever cannot be met is refused here, before anything is searched, with one sentence that says which parts disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import MAX_RULES, InputError, Plain, check_whole
from soar_jax.candidates.constraints import (
    Constraints,
    Direction,
    check_kind,
    extend_column,
    never_holds,
    two_values,
)
from soar_jax.data.columns import CATEGORY, Column, ColumnValues, TableValues, level_text, values_of
from soar_jax.data.literals import OPERATORS, Literal
from soar_jax.data.parse import parse_literals
from soar_jax.data.spelling import suggest
from soar_jax.rules import Rule
from soar_jax.states import STATES

_PAIR, _TRIPLE = 2, 3
_SIGNS = {"+": True, "-": False}


def read_constraints(
    frame: pd.DataFrame | TableValues,
    labels: Sequence[Any],
    *,
    single: bool,
    forbid: Any,
    require: Any,
    directions: Any,
    max_rules: Any,
    max_columns: Any,
) -> Constraints:
    """Read the parameters for one table.

    Parameters
    ----------
    frame : DataFrame or TableValues
        The table given to ``fit``, or its columns' distinct values.
    labels : (positive label, negative label)
    single : bool
        One-class method: there are no negative rules.
    """
    table = values_of(frame)
    columns_out, apart, literals_out = _read_forbid(forbid, table)
    given = Constraints(
        columns_out,
        apart,
        literals_out,
        _read_require(require, table, labels, single),
        _read_directions(directions, table),
        _read_max_rules(max_rules, single),
        _read_max_columns(max_columns),
    )
    _check_together(given, table)
    return given


def _check_name(name: Any, table: TableValues, what: str) -> str:
    names = list(table.frame.columns)
    if not isinstance(name, str) or name not in names:
        raise InputError(f"{what} names column {name!r}, which the table does not have. {suggest(str(name), names)}")
    return name


def _check_literal(literal: Literal, table: TableValues, what: str) -> Literal:
    """Check a literal against its column: kind, and for levels that the table has it."""
    _check_name(literal.column, table, what)
    values = table[literal.column]
    check_kind(literal, values.kind, f"{what} has")
    if literal.op in ("==", "!=") and level_text(literal.value) not in values.level_texts:
        raise InputError(
            f"{what} has {str(literal)!r}, but no row of the table has that level of {literal.column!r}; "
            "check its spelling."
        )
    return literal


def _triple(given: Sequence[Any], what: str) -> Literal:
    if len(given) != _TRIPLE or given[1] not in OPERATORS:
        raise InputError(f"{what}: a literal is (column, op, value) with op one of {OPERATORS}, got {given!r}.")
    return Literal(*given)


# -- forbid -----------------------------------------------------------------------------------


def _read_forbid(
    forbid: Any, table: TableValues
) -> tuple[frozenset[str], tuple[tuple[str, str], ...], frozenset[Literal]]:
    columns: set[str] = set()
    pairs: dict[tuple[str, str], None] = {}
    literals: set[Literal] = set()
    for entry in _listed(forbid, "forbid", "columns, pairs of columns and literals"):
        if isinstance(entry, str) and entry in table.frame.columns:
            columns.add(entry)
        elif isinstance(entry, tuple | list) and len(entry) == _PAIR and not isinstance(entry[0], Literal):
            one, other = (_check_name(name, table, "forbid") for name in entry)
            if one == other:
                raise InputError(f"forbid pairs column {one!r} with itself; to rule it out, give its name alone.")
            pairs[(one, other)] = None
        else:
            literals.add(_one_literal(entry, table))
    return frozenset(columns), tuple(pairs), frozenset(literals)


def _one_literal(entry: Any, table: TableValues) -> Literal:
    if isinstance(entry, str):
        try:
            found: Sequence[Literal] = parse_literals(entry, orders=_orders(table))
        except InputError:
            _check_name(entry, table, "forbid")  # most likely a column's name: the nearest one helps more
            raise
    else:
        found = _rule(entry, "forbid", _orders(table)).conditions
    if len(found) != 1:
        raise InputError(
            f"forbid has {entry!r}, which is {len(found)} literals; give a column, a pair of columns or one literal."
        )
    return _check_literal(found[0], table, "forbid")


def _listed(value: Any, what: str, of: str) -> Sequence[Any]:
    """Take a list; a single thing is a list of one."""
    if value is None:
        return ()
    if isinstance(value, str | Rule | Literal):
        return (value,)
    if not isinstance(value, tuple | list):
        raise InputError(f"{what} must be a list of {of}, got {value!r}.")
    return value


# -- require ----------------------------------------------------------------------------------


def _orders(table: TableValues) -> dict[str, tuple[Plain, ...]]:
    """Levels of ordered categories by column."""
    return {name: order for name in table.frame.columns if (order := table[name].order) is not None}


def _rule(entry: Any, what: str, orders: Mapping[str, Sequence[Plain]]) -> Rule:
    """Take a rule as text, as a `Rule`, a `Literal`, a triple, or a list of those."""
    if isinstance(entry, Rule):
        return entry.in_orders(orders)
    if isinstance(entry, Literal):
        return Rule((entry,)).in_orders(orders)
    if isinstance(entry, str):
        return Rule(parse_literals(entry, orders=orders))
    if isinstance(entry, tuple | list) and entry:
        if isinstance(entry[0], str):
            return Rule((_triple(entry, what),)).in_orders(orders)
        literals = tuple(one if isinstance(one, Literal) else _triple(one, what) for one in entry)
        return Rule(literals).in_orders(orders)
    raise InputError(f"{what} wants text such as 'age > 30 and sex = F', a Rule or its literals, got {entry!r}.")


def required_rules(
    require: Any, labels: Sequence[Any], orders: Mapping[str, Sequence[Plain]]
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Read the rules of each side that must be in; whether a table has their columns and levels is not asked.

    ``orders`` has the levels of ordered categories by column.
    """
    if require is None:
        return (), ()
    if not isinstance(require, Mapping):
        raise InputError(
            f'require must say for which side, as in {{"positive": ["age > 30 and sex = F"]}}: {require!r}.'
        )
    sides: tuple[dict[Rule, None], dict[Rule, None]] = {}, {}
    for name, rules in require.items():
        side = _side_of(name, labels)
        for entry in _listed(rules, f"require[{name!r}]", "rules"):
            sides[side][_rule(entry, f"require[{name!r}]", orders)] = None
    return tuple(sides[0]), tuple(sides[1])


def _read_require(
    require: Any, table: TableValues, labels: Sequence[Any], single: bool
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    sides = required_rules(require, labels, _orders(table))
    if single and sides[1]:
        raise InputError("require has rules for the negative class, but this model has positive rules only.")
    for rule in (*sides[0], *sides[1]):
        for literal in rule.conditions:
            _check_literal(literal, table, "require")
        if _contradicts_itself(rule, table):
            raise InputError(f"require has {str(rule)!r}, which can never be true.")
    return sides


def _side_of(name: Any, labels: Sequence[Any]) -> int:
    texts = [level_text(label) for label in labels]
    if level_text(name) in texts:
        return texts.index(level_text(name))
    if name in STATES[:2]:
        return STATES.index(name)
    known = ", ".join(repr(one) for one in (*STATES[:2], *(str(label) for label in labels)))
    raise InputError(f"require names side {name!r}; give one of {known}.")


def _contradicts_itself(rule: Rule, table: TableValues) -> bool:
    columns = {name: extend_column(Column(name, table[name].kind), rule.conditions) for name in rule.columns}
    return never_holds(rule, columns)


# -- directions and limits --------------------------------------------------------------------


def _read_directions(directions: Any, table: TableValues) -> dict[str, Direction]:
    if directions is None:
        return {}
    if not isinstance(directions, Mapping):
        raise InputError(f'directions must be a mapping such as {{"income": "+"}}, got {directions!r}.')
    found = {}
    for name, sign in directions.items():
        _check_name(name, table, "directions")
        if sign not in _SIGNS:
            raise InputError(f"directions[{name!r}] must be '+' or '-', got {sign!r}.")
        found[name] = Direction(_SIGNS[sign], _values_in_order(table[name], name))
    return found


def _values_in_order(values: ColumnValues, name: str) -> tuple[Plain, Plain] | None:
    if values.kind != CATEGORY:
        return None
    both = two_values(values)
    if both is None and values.order is None:
        raise InputError(
            f"directions names column {name!r}, which is a category: its levels have no order. Turn it into a number, "
            "or into an ordered category, or leave it out of directions."
        )
    return both


def _read_max_rules(max_rules: Any, single: bool) -> tuple[int, int] | None:
    if max_rules is None:
        return None
    if not isinstance(max_rules, tuple | list | np.ndarray):
        check_whole("max_rules", max_rules, 1)
        return min(int(max_rules), MAX_RULES), min(int(max_rules), MAX_RULES)
    if single or len(max_rules) != _PAIR:
        wanted = "a whole number" if single else "a whole number, or a pair of them for the two sides"
        raise InputError(f"max_rules must be {wanted}, got {max_rules!r}.")
    for most in max_rules:
        check_whole("max_rules of a side", most, 0)
    if not any(max_rules):
        raise InputError("max_rules allows no rule on either side; allow one at least.")
    return min(int(max_rules[0]), MAX_RULES), min(int(max_rules[1]), MAX_RULES)


def _read_max_columns(max_columns: Any) -> int | None:
    if max_columns is None:
        return None
    check_whole("max_columns", max_columns, 1)
    return int(max_columns)


# -- together ---------------------------------------------------------------------------------


def _check_together(given: Constraints, table: TableValues) -> None:
    """Refuse constraints that cannot all be met."""
    if set(table.frame.columns) <= given.columns_out:
        raise InputError("forbid names every column of the table; leave at least one.")
    for side, rules in enumerate(given.required):
        for rule in rules:
            _check_required(rule, side, given)
        most = MAX_RULES if given.max_rules is None else given.max_rules[side]
        if len(rules) > most:
            raise InputError(
                f"require has {len(rules)} {STATES[side]} rules, but a side may have at most {most}; raise max_rules "
                "or require fewer."
            )
    columns = dict.fromkeys(name for rules in given.required for rule in rules for name in rule.columns)
    if given.max_columns is not None and len(columns) > given.max_columns:
        raise InputError(
            f"The required rules read {len(columns)} columns ({', '.join(columns)}), but max_columns is "
            f"{given.max_columns}; raise it or require less."
        )


def _check_required(rule: Rule, side: int, given: Constraints) -> None:
    for literal in rule.conditions:
        if literal.column in given.columns_out:
            raise InputError(f"require has {str(rule)!r}, but forbid rules column {literal.column!r} out.")
        if literal in given.literals_out:
            raise InputError(f"require has {str(rule)!r}, but forbid rules {str(literal)!r} out.")
        direction = given.directions.get(literal.column)
        if direction is not None and not direction.allows(literal, side):
            raise InputError(
                f"require has {str(rule)!r} as a {STATES[side]} rule, but {str(literal)!r} goes against "
                f"directions[{literal.column!r}] = {'+' if direction.is_up else '-'!r}."
            )
    for one, other in given.apart:
        if {one, other} <= set(rule.columns):
            raise InputError(f"require has {str(rule)!r}, but forbid keeps {one!r} and {other!r} apart.")
