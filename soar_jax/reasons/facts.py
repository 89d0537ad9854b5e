"""What is known of a fitted pair: its rules with their figures, and the rates of its states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.columns import plain_value
from soar_jax.data.labels import by_class
from soar_jax.rules import Rule, RuleSet, rule_ids
from soar_jax.score.intervals import interval
from soar_jax.states import STATES, states_of

_FRESH = ("fresh_support", "fresh_precision", "fresh_low", "fresh_high")


@dataclass(frozen=True)
class RuleFacts:
    """A rule of the fitted pair with its figures.

    Attributes
    ----------
    id : str
        P1, P2, ... for rules of the positive class, N1, N2, ... for the others.
    side : str
        ``"positive"`` or ``"negative"``.
    label : object
        The class that the rule speaks for.
    rule : Rule
    support : int
        Training rows on which it fires.
    precision, low, high : float
        Share of them in its class, and the 90 % interval of that share.
    fresh_support, fresh_precision, fresh_low, fresh_high : float, optional
        The same on rows that the fit never saw, where that was measured.
    inclusion : float, optional
        Posterior probability that the rule is in, where the posterior was sampled and the rule is a candidate of it.
    """

    id: str
    side: str
    label: Any
    rule: Rule
    support: int
    precision: float
    low: float
    high: float
    fresh_support: int | None = None
    fresh_precision: float | None = None
    fresh_low: float | None = None
    fresh_high: float | None = None
    inclusion: float | None = None

    def __str__(self) -> str:
        """Say the rule, then how far it can be believed."""
        parts = [
            f"right for {_percent(self.precision)} of {self.support:,} training rows, {_between(self.low, self.high)}"
        ]
        if self.fresh_precision is not None and self.fresh_low is not None and self.fresh_high is not None:
            between = _between(self.fresh_low, self.fresh_high)
            parts.append(f"{_percent(self.fresh_precision)} of {self.fresh_support:,} fresh rows, {between}")
        if self.inclusion is not None:
            parts.append(f"in {_percent(self.inclusion)} of the posterior draws")
        return f"{self.id}: {self.rule} ({'; '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what was not measured."""
        plain = asdict(self) | {
            "label": plain_value(self.label),
            "rule": str(self.rule),
            "literals": [list(literal) for literal in self.rule.literals],
        }
        return {name: value for name, value in plain.items() if value is not None}


def _percent(share: float) -> str:
    return f"{_hundredths(share)} %"


def _between(low: float, high: float) -> str:
    return f"90 % interval {_hundredths(low)} to {_hundredths(high)} %"


def _hundredths(share: float) -> str:
    """Round to whole per cent, but never to 0 or 100 what is neither."""
    rounded = f"{100 * share:.0f}"
    return f"{100 * share:.1f}" if rounded in ("0", "100") and 0 < share < 1 else rounded


@dataclass(frozen=True)
class RuleModel:
    """A fitted pair as the reasons see it: no training rows, no candidates, so that a loaded model will do.

    Attributes
    ----------
    sets : (RuleSet, RuleSet)
    facts : tuple of RuleFacts
        One per rule, in the order of `rule_ids`.
    rates : (4,) float64
        P(positive class | state).
    classes : (2,) array
    positive_index : int
        Which of the classes is positive.
    single : bool
        One-class method: rows on which no rule fires speak for the negative class.
    columns : tuple of str
        Names of the training table's columns.
    verdict : str, optional
        What the diagnosis of the posterior draws says when they cannot be trusted.
    """

    sets: tuple[RuleSet, RuleSet]
    facts: tuple[RuleFacts, ...]
    rates: FloatArray
    classes: np.ndarray
    positive_index: int
    single: bool
    columns: tuple[str, ...]
    verdict: str | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, in the order of `rule_ids`."""
        return (*self.sets[0], *self.sets[1])

    @property
    def num_positive(self) -> int:
        """How many of the rules are positive ones; they come first."""
        return len(self.sets[0])

    def label(self, side: int) -> Any:
        """Class that a side speaks for."""
        return self.classes[self.positive_index if side == 0 else 1 - self.positive_index]

    def labels_of(self, states: IntArray) -> np.ndarray:
        """Most probable class of rows in these states, as ``predict`` gives it."""
        return self.classes[np.argmax(by_class(self.rates, self.positive_index), axis=1)][states]

    def states_of(self, fired: BoolArray) -> IntArray:
        """State of each row, from which rules fire on it."""
        positive, negative = fired[:, : self.num_positive], fired[:, self.num_positive :]
        return states_of(np.asarray(positive.any(axis=1)), np.asarray(negative.any(axis=1)))

    @property
    def by_strength(self) -> IntArray:
        """Rules by precision, then support, strongest first."""
        keys = [(-fact.precision, -fact.support) for fact in self.facts]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def rule_facts(
    sets: tuple[RuleSet, RuleSet], table: pd.DataFrame, inclusion: Sequence[float | None]
) -> tuple[RuleFacts, ...]:
    """Take the figures of the rules from an estimator's ``rules_``."""
    table = pd.concat([table[table["side"] == side] for side in STATES[:2]])  # the order of `rule_ids`
    support = table["support"].to_numpy(dtype=np.int64)
    precision = table["precision"].to_numpy(dtype=np.float64)
    low, high = interval(np.round(precision * support), support)
    lines = table[[name for name in _FRESH if name in table]].to_dict(orient="records")
    rules = [(side, rules.label, rule) for side, rules in zip(STATES, sets, strict=False) for rule in rules]
    return tuple(
        RuleFacts(
            name, side, label, rule, int(support[i]), float(precision[i]), float(low[i]), float(high[i]),
            inclusion=inclusion[i], **_fresh(lines[i]),
        )
        for i, (name, (side, label, rule)) in enumerate(zip(rule_ids(sets), rules, strict=True))
    )  # fmt: skip


def _fresh(line: dict[Any, Any]) -> dict[str, Any]:
    """Leave out what was not measured; a count is a whole number."""
    found = {str(name): float(value) for name, value in line.items() if value is not None}
    kept = {name: value for name, value in found.items() if not math.isnan(value)}
    return {name: int(value) if name == "fresh_support" else value for name, value in kept.items()}
