"""Deciding by cost: which answer is cheapest given a row's probability, and what answering less often is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, InputError, IntArray
from soar_jax.posterior.metrics import confidence_of, risk_coverage
from soar_jax.states import IS_AMBIGUOUS, STATES

NO_ANSWER = 2
"""Action beside saying the first or the second class."""


@dataclass(frozen=True)
class Costs:
    """What a wrong answer costs, and what no answer costs, in any one unit.

    With probability p of the positive class, saying positive costs ``(1 - p) * false_positive`` on average, saying
    negative ``p * false_negative``, and no answer ``abstain``. The cheapest is taken. Of equal costs a label goes
    before no answer, and the first of ``classes_`` before the second, as in `predict`.

    No answer is never cheapest when ``abstain`` is at least ``break_even``: where both labels cost the same, they cost
    that much. A higher ``abstain`` is no mistake, it just has no effect.

    Parameters
    ----------
    false_positive : float
        Cost of saying positive where the truth is negative.
    false_negative : float
        Cost of saying negative where the truth is positive.
    abstain : float, optional
        Cost of no answer: a second opinion, a further test. None: every row gets a label.

    Examples
    --------
    >>> Costs(false_positive=1, false_negative=4, abstain=0.5).break_even
    0.8
    """

    false_positive: float = 1.0
    false_negative: float = 1.0
    abstain: float | None = None

    def __post_init__(self) -> None:
        """Check the three numbers."""
        for name in ("false_positive", "false_negative", "abstain"):
            value = getattr(self, name)
            if name == "abstain" and value is None:
                continue
            is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
            if not is_number or not math.isfinite(value) or value < 0:
                raise InputError(f"Costs.{name} must be a number of at least 0, got {value!r}.")
        if not (self.false_positive or self.false_negative):
            raise InputError("Costs needs an error that costs something: false_positive and false_negative are both 0.")

    @property
    def break_even(self) -> float:
        """Cost of either label where both cost the same: no answer is worth giving only if it is cheaper."""
        return float(self.false_positive * self.false_negative / (self.false_positive + self.false_negative))

    def expected(self, probability: FloatArray) -> FloatArray:
        """Average cost of saying positive, saying negative and giving no answer: (num_rows, 3)."""
        silence = np.inf if self.abstain is None else float(self.abstain)
        return np.stack(
            [
                (1 - probability) * self.false_positive,
                probability * self.false_negative,
                np.full(len(probability), silence),
            ],
            axis=1,
        )

    def cheapest(self, probability: FloatArray, positive_index: int) -> IntArray:
        """Cheapest action of each row: which of ``classes_`` to say, or `NO_ANSWER`."""
        by_action = self.expected(probability)[:, [1, 0, 2] if positive_index == 1 else [0, 1, 2]]
        return np.argmin(by_action, axis=1)


def says_positive(rates: FloatArray, positive_index: int) -> BoolArray:
    """Whether ``predict`` says positive at these probabilities of it; at 1/2 it says the first class."""
    return rates > 0.5 if positive_index == 1 else rates >= 0.5  # noqa: PLR2004


def labels_of(actions: IntArray, classes: np.ndarray) -> np.ndarray:
    """Labels as objects, None where there is no answer, as `predict_forced` has them."""
    return np.array([*classes.tolist(), None], dtype=object)[actions]


def decision_table(
    costs: Costs, states: IntArray, rates: FloatArray, classes: np.ndarray, positive_index: int
) -> pd.DataFrame:
    """Decision of each row, the expected cost of every action, and the reason in words.

    Parameters
    ----------
    states : (num_rows,) int64
        State of each row; all that a decision depends on.
    rates : (4,) float64
        P(positive class | state).
    """
    expected = costs.expected(rates)
    decisions = labels_of(costs.cheapest(rates, positive_index), classes)
    positive, negative = classes[positive_index], classes[1 - positive_index]
    fired = (
        f"only rules for {positive} fire",
        f"only rules for {negative} fire",
        "rules for both fire",
        "no rule fires",
    )
    reasons = []
    for state in range(4):
        silence = "" if costs.abstain is None else f", no answer {costs.abstain:.3g}"
        verdict = "no answer" if decisions[state] is None else f"say {decisions[state]}"
        reasons.append(
            f"{fired[state]}: {positive} with probability {rates[state]:.3f}; saying {positive} costs "
            f"{expected[state, 0]:.3g} on average, saying {negative} {expected[state, 1]:.3g}{silence}: {verdict}"
        )
    columns: dict[str, Any] = {
        "decision": pd.Series(decisions[states], dtype=object),  # so that None stays None
        "cost_positive": expected[states, 0],
        "cost_negative": expected[states, 1],
        "cost_abstain": np.full(len(states), np.nan) if costs.abstain is None else expected[states, 2],
        "probability": rates[states],
        "state": np.array(STATES, dtype=object)[states],
        "reason": np.array(reasons, dtype=object)[states],
    }
    return pd.DataFrame(columns)


def coverage_table(
    states: IntArray, rates: FloatArray, is_true: BoolArray, weights: IntArray, positive_index: int, *, single: bool
) -> pd.DataFrame:
    """List how many rows get an answer, and how many of those are wrong, as more states are trusted.

    One line per distinct confidence max(p, 1 - p) of a state that occurs, from the surest on, and a last one for
    "consensus only". ``abstained_*`` are the rows of each state that get no answer.
    """
    # said of the second class, so that a probability of exactly 1/2 is answered as `predict` answers it
    second = rates if positive_index == 1 else 1 - rates
    is_second = is_true if positive_index == 1 else ~is_true
    confidence = confidence_of(second)
    coverage, risk = risk_coverage(is_second, second[states], weights)
    thresholds = np.unique(confidence[np.unique(states)])[::-1]
    is_positive = says_positive(rates, positive_index)
    positives = np.bincount(states, weights * is_true, 4).astype(np.int64)
    negatives = np.bincount(states, weights * ~is_true, 4).astype(np.int64)

    def line(point: str, threshold: float, answered: BoolArray) -> dict[str, Any]:
        rows = positives + negatives
        return {
            "point": point,
            "threshold": threshold,
            "answered": int(rows[answered].sum()),
            "false_positives": int(negatives[answered & is_positive].sum()),
            "false_negatives": int(positives[answered & ~is_positive].sum()),
            **{f"abstained_{name}": int(rows[k]) * (not answered[k]) for k, name in enumerate(STATES)},
        }

    lines = [line(f"confidence of at least {t:.3f}", float(t), confidence >= t) for t in thresholds]
    table = pd.DataFrame(lines)
    table.insert(2, "coverage", coverage)
    table.insert(3, "risk", risk)
    if single:
        return table
    last = line("consensus only", np.nan, ~IS_AMBIGUOUS)
    wrong = last["false_positives"] + last["false_negatives"]
    last |= {
        "coverage": last["answered"] / weights.sum(),
        "risk": wrong / last["answered"] if last["answered"] else np.nan,
    }
    return pd.concat([table, pd.DataFrame([last])[table.columns]], ignore_index=True)
