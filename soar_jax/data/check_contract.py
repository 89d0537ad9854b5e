"""Whether a contract and the literals of rules, as plain data from a file, agree with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soar_jax._json import Damaged
from soar_jax.data.columns import CATEGORY, DATETIME, NUMBER, level_text
from soar_jax.data.moments import microseconds_of


def demand(holds: bool, said: str) -> None:
    """Raise `Damaged`, with what is wrong, unless something holds."""
    if not holds:
        raise Damaged(said)


def is_moment(value: Any) -> bool:
    """Whether a value is a moment as cut points are written."""
    try:
        microseconds_of(value)
    except (ValueError, TypeError):
        return False
    return True


def check_contract(contract: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Check that a contract speaks of columns that there are, and of ranges; give the kind of each column."""
    kinds = {column["name"]: column["kind"] for column in contract["columns"]}
    demand(len(kinds) == len(contract["columns"]), "contract.columns names a column twice")
    demand(set(kinds) <= set(names), "contract.columns names a column that the model does not have")
    for i, column in enumerate(contract["columns"]):
        low, high, where = column["low"], column["high"], f"contract.columns[{i}]"
        order = column.get("order")
        if order is not None:
            demand(column["kind"] == CATEGORY, f"{where} has an order of levels but is no category")
            demand(len(set(map(level_text, order))) == len(order), f"{where} has a level twice in its order")
        demand((low is None) == (high is None), f"{where} has one end of its range")
        if low is None:
            continue
        if column["kind"] == DATETIME:
            demand(is_moment(low) and is_moment(high), f"{where} has a range that is no range of dates")
            demand(microseconds_of(low) <= microseconds_of(high), f"{where} has its range turned round")
            continue
        try:
            ends = float(low), float(high)  # infinite ends are text
        except ValueError:
            raise Damaged(f"{where} has a range that is no range of numbers") from None
        demand(ends[0] <= ends[1], f"{where} has its range turned round")
    return kinds


def orders_in(contract: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Levels of ordered categories by column."""
    return {column["name"]: column["order"] for column in contract["columns"] if column.get("order") is not None}


def check_literals(
    literals: Sequence[Sequence[Any]],
    names: Sequence[str],
    kinds: Mapping[str, str],
    where: str,
    orders: Mapping[str, Sequence[Any]],
) -> None:
    """Check that literals read columns that there are, each with a value that its operator and its column know."""
    for column, op, value in literals:
        demand(column in names, f"{where} reads a column that the model does not have")
        demand((value is None) == (op == "missing"), f"{where} has a literal without its value")
        if op not in ("<=", ">"):
            continue
        if column in orders:
            is_level = level_text(value) in map(level_text, orders[column])
            demand(is_level, f"{where} compares with a level that is not in the order of its column")
            continue
        is_text = isinstance(value, str)
        demand(not isinstance(value, bool) and (not is_text or is_moment(value)), f"{where} has no cut point")
        wanted = DATETIME if is_text else NUMBER
        demand(kinds.get(column, wanted) == wanted, f"{where} compares a column as its contract does not allow")
