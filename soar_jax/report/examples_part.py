"""Rows of the tested table as examples: only where the author asked for them."""

from __future__ import annotations

import numpy as np

from soar_jax._base import IntArray
from soar_jax.reasons.explain import Explanations
from soar_jax.reasons.explanation import NearMiss
from soar_jax.reasons.wording import plain_cell
from soar_jax.report.content import ExampleRow
from soar_jax.report.phrases import phrase, value_text
from soar_jax.report.states_part import answered_states
from soar_jax.report.subject import Subject, Tested
from soar_jax.report.words import Words
from soar_jax.states import ACTIVE, PASSIVE, POSITIVE

SHOWN_NEAR = 4
SHOWN_FIRED = 4


def example_rows(
    subject: Subject, tested: Tested | None, words: Words, wanted: int, outcomes: tuple[str, str]
) -> tuple[ExampleRow, ...]:
    """Show rows in dispute, rows without a rule and rows answered wrongly, in turn: the first of each in the table."""
    if tested is None or not wanted or not subject.model.rules:
        return ()
    reasons = Explanations(subject.model, tested.frame)
    states: IntArray = subject.model.states_of(reasons._truths.fired)
    answered = answered_states(is_single=subject.model.single)
    wrong = np.isin(states, answered) & ((states == POSITIVE) != tested.is_true)
    kinds = [np.flatnonzero(wrong)]
    if not subject.model.single:
        kinds = [np.flatnonzero(states == ACTIVE), np.flatnonzero(states == PASSIVE), *kinds]
    chosen = [(kind, int(mine[i])) for i in range(wanted) for kind, mine in enumerate(kinds) if i < len(mine)][:wanted]
    columns = list(dict.fromkeys(c for rule in subject.model.rules for c in rule.columns))
    found = []
    for _, row in sorted(chosen):
        why = reasons[row]
        values = {name: plain_cell(tested.frame[name].iloc[row]) for name in columns}
        near = sorted(why.near_misses, key=lambda n: -n.facts.precision)[:SHOWN_NEAR]
        found.append(
            ExampleRow(
                int(states[row]),
                tuple((words.label(name), value_text(words, name, value)) for name, value in values.items()),
                tuple(fact.id for fact in why.fired),
                () if why.fired else tuple(_near(n, words) for n in near),
                outcomes[0] if tested.is_true[row] else outcomes[1],
                bool(wrong[row]),
                values,
            )
        )
    return tuple(found)


def _near(miss: NearMiss, words: Words) -> tuple[str, str]:
    """Say what a rule lacks: a condition that is not met, or a value that is not known."""
    if miss.value is None:
        return miss.facts.id, f"cannot tell: {words.label(miss.literal.column)} not known"
    return miss.facts.id, f"one condition not met: {phrase(words, miss.literal)}"
