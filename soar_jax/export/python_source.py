"""A fitted model as Python source that needs nothing but Python."""

from __future__ import annotations

import inspect
import math
from datetime import UTC, datetime
from typing import Any

from soar_jax.export import python_runtime
from soar_jax.export.content import ExportedColumn, ExportedRule, ModelContent

_HEADER = '''"""Rules learnt by soar_jax, as plain Python: `predict` says what the fitted model says.

It imports nothing but the standard library. A row is a dictionary from column to value. Text is read as a moment
when it has the format that was declared for its column; without one, when it is YYYY-MM-DD, perhaps with a time and an
offset in ISO 8601. What cannot be read is missing; a value of a type that the model refuses raises ValueError.
"""

'''
_PREDICT = '''

def predict(row: Any) -> dict[str, Any]:
    """Give state, label, probability of the positive class, and the ids of the rules that fire, for one row."""
    read: dict[Any, Any] = {}
    fired = [(name, is_positive) for name, is_positive, conditions in RULES if fires(conditions, COLUMNS, row, read)]
    positive = any(side for _, side in fired)
    negative = any(not side for _, side in fired)
    state = ("active" if negative else "positive") if positive else "negative" if negative else "passive"
    label, probability = STATES[state]
    return {"state": state, "label": label, "probability": probability, "rules": [name for name, _ in fired]}


def predict_many(rows: Any) -> list[dict[str, Any]]:
    """Give the same for each of many rows."""
    return [predict(row) for row in rows]
'''


def python_of(content: ModelContent) -> str:
    """Write the module; names and values stand in it as Python's own literals, so that they cannot be code."""
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    lines = [
        f"VERSION = {content.version!r}",
        f"MADE = {made!r}",
        f"MODEL = {content.title!r}",
        f"CLASSES = {content.classes!r}",
        f"POSITIVE = {content.positive!r}",
        "",
        "# state: label, probability of the positive class",
        "STATES = {",
        *(f"    {state.name!r}: ({state.label!r}, {state.probability!r})," for state in content.states),
        "}",
        "",
        "# what the columns were read as when the model was fitted",
        "COLUMNS = {",
        *(f"    {column.name!r}: {_column(column)!r}," for column in content.columns),
        "}",
        "",
        "# id, whether it speaks for the positive class, conditions: column, how its value is read, operator, value",
        "RULES = (",
        *(line for rule in content.rules for line in _rule(rule)),
        ")",
    ]
    runtime = inspect.getsource(python_runtime).replace("  # noqa: PLR0124", "")
    imports, _, functions = runtime[runtime.index("from __future__") :].partition("\n\n_NUMBER")
    return f"{_HEADER}{imports}\n\n" + "\n".join(lines) + f"\n\n_NUMBER{functions}{_PREDICT}"


def _rule(rule: ExportedRule) -> list[str]:
    conditions = "".join(f"({c.column!r}, {c.reading!r}, {c.op!r}, {_value(c.value)}), " for c in rule.conditions)
    return [
        f"    # {_one_line(rule.sentence)}",
        f"    ({rule.id!r}, {rule.is_positive!r}, ({conditions.rstrip(' ')})),",
    ]


def _column(column: ExportedColumn) -> dict[str, Any]:
    kept = ("name", "kind", "read_as", "form", "zone", "strict", "may_be_truth_values")
    return {name: getattr(column.contract, name) for name in kept} | {"words": column.words}


def _value(value: str | tuple[str, ...] | float | None) -> str:
    return f'float("{value!r}")' if isinstance(value, float) and math.isinf(value) else repr(value)


def _one_line(text: str) -> str:
    """Make a comment that cannot end early: whatever is not printable is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
