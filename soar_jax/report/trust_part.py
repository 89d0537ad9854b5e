"""How far to trust it: chances against what was found, and what an answer for everyone costs."""

from __future__ import annotations

import numpy as np

from soar_jax.control.costs import says_positive
from soar_jax.report.content import Basis, Point, StateEntry
from soar_jax.report.measured import Measured
from soar_jax.report.numbers import LEAST_SHARED, listed, of_hundred, per_hundred, share_of
from soar_jax.report.states_part import answered_states, shown_states
from soar_jax.report.subject import Subject
from soar_jax.report.words import Words
from soar_jax.states import ACTIVE

_TELLING = 0.03


def calibration(subject: Subject, states: tuple[StateEntry, ...], basis: Basis) -> tuple[tuple[Point, ...], str]:
    """Chance by the model and share found, of each state with enough rows; and a sentence on the worst."""
    points, worst, gap = [], None, 0.0
    for k in shown_states(is_single=subject.model.single):
        state = states[k]
        found = state.positive
        if found.value is None or found.low is None or found.high is None:
            continue
        points.append(Point(state.short, round(state.chance, 3), found.value, found.low, found.high))
        outside = max(found.low - state.chance, state.chance - found.high, 0.0)
        if outside > 0 and abs(state.chance - found.value) > max(gap, _TELLING):
            worst, gap = state, abs(state.chance - found.value)
    if not points:
        return (), ""
    if worst is None or worst.positive.value is None:
        unchecked = [f"“{s.short}”" for s in unchecked_states(subject, states)]
        said = "No chance is off by more than its range and 3 of 100."
        if unchecked:
            said = (
                "Of the chances shown, none is off by more than its range and 3 of 100. Not checked, for too few "
                f"{basis.noun}: {listed(unchecked)}."
            )
        return tuple(points), said
    where = "Where the rules disagree" if worst is states[ACTIVE] else f"For “{worst.short}”"
    note = (
        f"{where} the model says {per_hundred(worst.chance)}, the {basis.noun} "
        f"say {per_hundred(worst.positive.value)}: do not take that chance at its word."
    )
    return tuple(points), note


def unchecked_states(subject: Subject, states: tuple[StateEntry, ...]) -> list[StateEntry]:
    """States that rows are in, but too few to check the chance that the model gives there."""
    shown = [states[k] for k in shown_states(is_single=subject.model.single)]
    return [state for state in shown if state.positive.value is None and state.rows != 0]


def cost_of_answers(
    subject: Subject, measured: Measured, states: tuple[StateEntry, ...], words: Words
) -> tuple[tuple[Point, ...], str]:
    """Share of wrong labels as less and less certain states get one too; and a sentence on the price."""
    model, rows = subject.model, measured.states
    says = says_positive(model.rates, model.positive_index)
    wrong = np.where(says, measured.state_negatives, measured.state_positives)
    shown = [k for k in shown_states(is_single=model.single) if rows[k] > 0]
    answered = answered_states(is_single=model.single)
    order = sorted(shown, key=lambda k: (k not in answered, -max(model.rates[k], 1 - model.rates[k])))
    points: list[Point] = []
    total, errors, labels = 0, 0, []
    for k in order:
        total, errors = total + int(rows[k]), errors + int(wrong[k])
        labels.append(states[k].short)
        share = share_of(errors, total)
        if share.value is None or share.low is None or share.high is None:
            continue
        is_all, is_agreed = k == order[-1], labels and set(order[: len(labels)]) == set(answered) & set(shown)
        label = "everyone" if is_all and words.rows == "people" else f"all {words.rows}" if is_all else (
            "all agreements" if is_agreed else f"only “{labels[0]}”" if len(labels) == 1 else f"+ guess: {labels[-1]}"
        )  # fmt: skip
        points.append(Point(label, round(total / measured.num_rows, 3), share.value, share.low, share.high))
    if len(points) == 1:  # one state only: nothing to choose
        return (), ""
    return tuple(points), _price(subject, measured, wrong, answered, words)


def _price(subject: Subject, measured: Measured, wrong: np.ndarray, answered: tuple[int, int], words: Words) -> str:
    rows = measured.states
    agreed, others = list(answered), [k for k in range(4) if k not in answered]
    if subject.model.single or rows[others].sum() < LEAST_SHARED or rows[agreed].sum() < LEAST_SHARED:
        return ""
    inside, outside, everything = (float(wrong[k].sum() / rows[k].sum()) for k in (agreed, others, [0, 1, 2, 3]))
    return (
        f"Where the rules agree, {of_hundred(inside)} answers are wrong. With an answer forced on all {words.rows} it "
        f"is {of_hundred(everything)}: among those added, {of_hundred(outside)} would be wrong."
    )
