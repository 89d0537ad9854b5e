"""Why one row got its label: a value object that reads as sentences."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from soar_jax import _notebook as notebook
from soar_jax._base import Plain
from soar_jax.data.columns import plain_value
from soar_jax.data.literals import Literal
from soar_jax.data.spelling import format_value
from soar_jax.reasons.facts import RuleFacts
from soar_jax.reasons.wording import listed, plain_cell

SHOWN_NEAR = 4
"""Near misses that are printed, the strongest first."""


@dataclass(frozen=True)
class NearMiss:
    """A rule that fails on exactly one literal.

    Attributes
    ----------
    facts : RuleFacts
        The rule.
    literal : Literal
        What it fails on.
    value : str, int, float, bool or None
        What the row has instead; None when it is missing.
    """

    facts: RuleFacts
    literal: Literal
    value: Plain | None

    def __str__(self) -> str:
        """Say which literal fails, and what the row has."""
        return f"{self.facts.id} fails on {near_text(self.literal, self.value)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.facts.id,
            "literal": [self.literal.column, self.literal.op, self.literal.value],
            "condition": str(self.literal),
            "value": self.value,
        }


def near_text(literal: Literal, value: Plain | None) -> str:
    """Say what fails and what the row has instead."""
    return f"{literal} ({'missing' if value is None else format_value(value)})"


@dataclass(frozen=True)
class Explanation:
    """Why a row got its state, its label and its probability; made by ``explain``.

    Attributes
    ----------
    index : object
        The row's label in the table.
    prediction : object
    probability : float
        Of the positive class.
    state : str
    meaning : str
        The state in words.
    positive_label : object
    fired : tuple of RuleFacts
        Rules that fire: those for the positive class, then those for the other; at most ``max_reasons`` of them, the
        strongest.
    left_out : tuple of str
        Ids of the other rules that fire.
    near_misses : tuple of NearMiss
        Rules that fail on exactly one literal; likewise at most ``max_reasons``.
    near_left_out : int
        How many near misses are left out.
    possible_states : tuple of str
        The states that the row could have if its missing values were known; its state, where they do not matter.
    missing : tuple of str
        Missing columns that a rule in play reads.
    """

    index: Any
    prediction: Any
    probability: float
    state: str
    meaning: str
    positive_label: Any
    fired: tuple[RuleFacts, ...]
    left_out: tuple[str, ...]
    near_misses: tuple[NearMiss, ...]
    near_left_out: int
    possible_states: tuple[str, ...]
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        """Sentences, the first of which names the outcome."""
        lines = [
            f"Row {self.index}: {self.prediction}, with a probability of {self.probability:.3f} of "
            f"{self.positive_label} ({self.meaning})."
        ]
        lines += [f"For {fact.label}, {fact}." for fact in self.fired]
        if self.left_out:
            lines.append(f"{len(self.left_out)} more fired: {' '.join(self.left_out)}.")
        by_strength = sorted(self.near_misses, key=lambda near: (-near.facts.precision, -near.facts.support))
        lines += [
            f"Nearly for {near.facts.label}: {near.facts.id} ({near.facts.rule}) {_fails(near)}."
            for near in by_strength[:SHOWN_NEAR]
        ]
        more = self.near_left_out + len(by_strength[SHOWN_NEAR:])
        if more:
            lines.append(f"{more} more fail on one condition only.")
        if self.missing:
            what = listed(self.missing)
            lines.append(
                f"Missing: {what}. Whatever {'its value' if len(self.missing) == 1 else 'their values'}, the row stays "
                f"{self.state}."
                if self.possible_states == (self.state,)
                else f"Missing: {what}. If known, the row would be {listed(self.possible_states, 'or')}."
            )
        return lines

    def __str__(self) -> str:
        """Say the outcome, then the reasons."""
        first, *others = self.lines()
        return "\n".join([first, *(f"  {line}" for line in others)])

    def _repr_html_(self) -> str:
        first, *others = self.lines()
        return notebook.block(f"<b>{html.escape(first)}</b>", notebook.bullets(others))

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold."""
        return {
            "index": plain_cell(self.index),
            "prediction": plain_value(self.prediction),
            "probability": self.probability,
            "state": self.state,
            "fired": [fact.to_dict() for fact in self.fired],
            "left_out": list(self.left_out),
            "near_misses": [near.to_dict() for near in self.near_misses],
            "near_left_out": self.near_left_out,
            "possible_states": list(self.possible_states),
            "missing": list(self.missing),
        }


def _fails(near: NearMiss) -> str:
    has = "is missing" if near.value is None else f"is {format_value(near.value)}"
    return f"fails only on {near.literal}: {near.literal.column} {has}"
