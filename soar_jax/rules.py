"""Rules and rule sets as values that print as sentences and know how to fire."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from soar_jax import _notebook as notebook
from soar_jax._base import BoolArray, Plain
from soar_jax.data.columns import TableValues, values_of
from soar_jax.data.literals import OPERATORS, Literal
from soar_jax.data.parse import parse_literals
from soar_jax.data.spelling import name_text


@dataclass(frozen=True)
class Rule:
    """A conjunction of literals; two rules with the same literals, in whatever order, are equal.

    Examples
    --------
    >>> print(Rule((Literal("age", ">", 30), Literal("age", "<=", 50), Literal("sex", "==", "F"))))
    30 < age <= 50 and sex = F
    >>> Rule.parse("30 < age <= 50 and sex = F").columns
    ('age', 'sex')
    """

    conditions: tuple[Literal, ...]

    def __post_init__(self) -> None:
        """Keep one of literals that say the same."""
        object.__setattr__(self, "conditions", tuple(dict.fromkeys(self.conditions)))

    @property
    def literals(self) -> tuple[tuple[str, str, Any], ...]:
        """Plain data: (column, op, value) with op one of ``==``, ``!=``, ``<=``, ``>``, ``missing``."""
        return tuple((c.column, c.op, c.value) for c in self.conditions)

    @classmethod
    def from_literals(
        cls, literals: Sequence[Sequence[Any]], orders: Mapping[str, Sequence[Plain]] | None = None
    ) -> Rule:
        """Make a rule from plain data; ``orders`` as for `parse`."""
        for literal in literals:
            if len(literal) != 3 or literal[1] not in OPERATORS:  # noqa: PLR2004
                raise ValueError(f"A literal is (column, op, value) with op one of {OPERATORS}, got {literal!r}.")
        return cls(tuple(Literal(str(column), op, value) for column, op, value in literals)).in_orders(orders or {})

    @classmethod
    def parse(
        cls,
        text: str,
        columns: Iterable[str] | None = None,
        orders: Mapping[str, Sequence[Plain]] | None = None,
    ) -> Rule:
        """Read a rule as ``str`` prints it: ``age > 30 and sex = F``; see `soar_jax.data.parse`.

        Parameters
        ----------
        text : str
        columns : iterable of str, optional
            Names that the rule may use; any other is refused, and the nearest one suggested.
        orders : dict, optional
            Levels of ordered categories, the lowest first, by column: what ``severity > moderate`` compares by.
        """
        return cls(parse_literals(text, columns, orders))

    def in_orders(self, orders: Mapping[str, Sequence[Plain]]) -> Rule:
        """Compare levels of ordered categories by these orders."""
        if not any(c.column in orders for c in self.conditions):
            return self
        return Rule(tuple(c.in_order(orders.get(c.column)) for c in self.conditions))

    def __eq__(self, other: object) -> bool:
        """Say whether two rules have the same literals."""
        return frozenset(self.conditions) == frozenset(other.conditions) if isinstance(other, Rule) else NotImplemented

    def __hash__(self) -> int:
        """Hash the literals, whatever their order."""
        return hash(frozenset(self.conditions))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns the rule reads, each once."""
        return tuple(dict.fromkeys(c.column for c in self.conditions))

    def __len__(self) -> int:
        """Return the number of literals."""
        return len(self.conditions)

    def __str__(self) -> str:
        """Write the rule as a sentence; two bounds of a column become one interval."""
        parts = []
        for column in self.columns:
            mine = [c for c in self.conditions if c.column == column]
            low = next((c for c in mine if c.kind.is_lower_bound), None)
            high = next((c for c in mine if c.kind.is_upper_bound), None)
            if low is not None and high is not None:
                parts.append(f"{low.bound_text} < {name_text(column)} <= {high.bound_text}")
                mine = [c for c in mine if c is not low and c is not high]
            parts += [str(c) for c in mine]
        return " and ".join(parts)

    def fires(self, table: pd.DataFrame | TableValues) -> BoolArray:
        """Say for each row whether every literal holds."""
        values = values_of(table)
        fired = np.ones(len(values), dtype=bool)
        for condition in self.conditions:
            fired &= condition.holds(values[condition.column])
        return fired


@dataclass(frozen=True)
class RuleSet(Sequence[Rule]):
    """A disjunction of rules that speaks for one class.

    Attributes
    ----------
    label : object
        The class the rules describe.
    rules : tuple of Rule
    """

    label: Any
    rules: tuple[Rule, ...]

    def __getitem__(self, index: Any) -> Any:
        """Return a rule, or a tuple of rules for a slice."""
        return self.rules[index]

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        """Iterate over the rules."""
        return iter(self.rules)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns the rules read, each once."""
        return tuple(dict.fromkeys(column for rule in self.rules for column in rule.columns))

    def fires(self, table: pd.DataFrame | TableValues) -> BoolArray:
        """Say for each row whether any rule fires."""
        values = values_of(table)
        fired = np.zeros(len(values), dtype=bool)
        for rule in self.rules:
            fired |= rule.fires(values)
        return fired

    def longest_firing(self, table: pd.DataFrame | TableValues) -> np.ndarray:
        """Length of the longest rule that fires on each row; 0 where none does."""
        values = values_of(table)
        longest = np.zeros(len(values), dtype=np.int64)
        for rule in self.rules:
            longest = np.maximum(longest, np.where(rule.fires(values), len(rule), 0))
        return longest

    def __str__(self) -> str:
        """Write the set as an if-then statement."""
        if not self.rules:
            return f"(no rules for {self.label})"
        lines = [f"  {'if' if i == 0 else 'or if'} {rule}" for i, rule in enumerate(self.rules)]
        return "\n".join([*lines, f"  then {self.label}"])

    def __repr__(self) -> str:
        """Show the sentence, which is what a reader wants at the prompt."""
        return f"RuleSet for {self.label}:\n{self}"

    def _repr_html_(self) -> str:
        rows = [[html.escape(str(rule))] for rule in self.rules]
        head = f"<b>{html.escape(str(self.label))}</b> " + ("if any of" if rows else "has no rules")
        return notebook.block(head, notebook.table(["rule"] if rows else [], rows))


def rule_ids(sets: Sequence[RuleSet]) -> tuple[str, ...]:
    """Name the rules of a positive and a negative set as every report and export does: P1, P2, ..., N1, N2, ..."""
    return tuple(f"{letter}{i + 1}" for letter, rules in zip("PN", sets, strict=True) for i in range(len(rules)))


def firing(sets: Sequence[RuleSet], table: pd.DataFrame | TableValues) -> BoolArray:
    """Say which rules fire on each row: (num_rows, num_rules), rules in the order of `rule_ids`."""
    values = values_of(table)
    columns = [rule.fires(values) for rules in sets for rule in rules]
    return np.stack(columns, axis=1) if columns else np.zeros((len(values), 0), dtype=bool)
