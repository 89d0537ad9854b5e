"""The averaged model as a thing of its own: pairs of rule sets with weights, which vote on probability and state.

A fitted estimator predicts with its one pair, before and after sampling. Averaging is asked for by name:
``clf.posterior_.committee()``. Label, state and probability of a row come from the same votes, so that they cannot
contradict each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from soar_jax import __version__
from soar_jax._base import BoolArray, FloatArray, IntArray, check_whole
from soar_jax._files import write_text_atomically
from soar_jax._json import sealed
from soar_jax.data.check import TableCheck, check_table
from soar_jax.data.columns import TableValues
from soar_jax.data.contract import Contract
from soar_jax.data.labels import by_class, is_positive
from soar_jax.data.table import frame_to_predict, match_names
from soar_jax.posterior.committee_file import FORMAT, FORMAT_VERSION, committee_content
from soar_jax.posterior.voting import CHUNK_ROWS, states_of_members
from soar_jax.rules import Rule
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE, STATES, taxonomy_counts

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior

_HALF = 0.5


@dataclass(frozen=True)
class Committee:
    """A weighted committee of pairs of rule sets; made by ``Posterior.committee``.

    Attributes
    ----------
    rules : (2,) tuple of tuples of Rule
        Every rule that any pair has, for the positive and the negative class.
    included : (2,) tuple of (num_pairs, num_rules) bool
        Which of a side's rules each pair has.
    weights : (num_pairs,) float64
        Share of each pair; they sum to 1.
    rates : (num_pairs, 4) float64
        P(positive class | state) in each pair: posterior mean.
    classes_ : (2,) array
    positive_index : int
        Which of the classes is positive.
    columns : tuple of str
        Names of the training table's columns.
    verdict : str
        What ``diagnose()`` said of the draws behind it.
    is_trusted : bool
    contract : Contract, optional
        What the columns were read as.
    """

    rules: tuple[tuple[Rule, ...], tuple[Rule, ...]]
    included: tuple[BoolArray, BoolArray]
    weights: FloatArray
    rates: FloatArray
    classes_: np.ndarray
    positive_index: int
    columns: tuple[str, ...]
    verdict: str
    is_trusted: bool
    contract: Contract | None = None

    def __repr__(self) -> str:
        """Say how many pairs vote, and whether the draws behind them can be trusted."""
        sizes = " + ".join(str(len(side)) for side in self.rules)
        return f"Committee of {len(self.weights)} pairs of rule sets ({sizes} rules). {self.verdict}"

    # -- votes --------------------------------------------------------------------------------

    @cached_property
    def features_used_(self) -> list[str]:
        """Columns that any rule reads."""
        return list(dict.fromkeys(column for side in self.rules for rule in side for column, *_ in rule.literals))

    def _frame(self, X: Any) -> pd.DataFrame:
        names, used = list(self.columns), self.features_used_
        return frame_to_predict(X, names, type(self).__name__, used, "The committee's rules use", self.contract)

    def check(self, X: Any) -> TableCheck:
        """Compare a table with the one that the model was fitted on, column by column."""
        said = Contract((), False) if self.contract is None else self.contract
        frame = match_names(X, list(self.columns), type(self).__name__, said)
        return check_table(frame, said, [z for side in self.rules for rule in side for z in rule.conditions])

    @property
    def contract_(self) -> dict[str, Any]:
        """What each column was read as at the fit, as plain data."""
        return {} if self.contract is None else self.contract.to_dict()

    def _votes(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """P(positive) of every row, and the share of the pairs in each state: (num_rows,) and (num_rows, 4)."""
        frame = self._frame(X)
        probability, shares = np.zeros(len(frame)), np.zeros((len(frame), 4))
        for start in range(0, len(frame), CHUNK_ROWS):
            part = frame.iloc[start : start + CHUNK_ROWS]
            states = states_of_members(TableValues(part), len(part), self.rules, self.included)
            rows = slice(start, start + len(part))
            probability[rows] = self.weights @ np.take_along_axis(self.rates, states, axis=1)
            for state in range(4):
                shares[rows, state] = self.weights @ (states == state)
        return probability, shares

    def _states(self, probability: FloatArray, shares: FloatArray) -> IntArray:
        """Take a consensus that most pairs share and the averaged probability bears out; else say ambiguous."""
        ambiguous = np.where(shares[:, ACTIVE] >= shares[:, PASSIVE], ACTIVE, PASSIVE)
        is_sure = np.where(probability > _HALF, shares[:, POSITIVE], shares[:, NEGATIVE]) > _HALF
        return np.where(is_sure, np.where(probability > _HALF, POSITIVE, NEGATIVE), ambiguous)

    def predict_table(self, X: Any) -> pd.DataFrame:
        """Label, probability of the positive class and state of each row."""
        probability, shares = self._votes(X)
        labels = self.classes_[np.argmax(by_class(probability, self.positive_index), axis=1)]
        names = np.array(STATES, dtype=object)[self._states(probability, shares)]
        return pd.DataFrame({"prediction": labels, "probability": probability, "state": names})

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities averaged over the pairs, columns in the order of ``classes_``."""
        return by_class(self._votes(X)[0], self.positive_index)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row; always a label."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_state(self, X: Any) -> np.ndarray:
        """State of each row.

        ``"positive"`` or ``"negative"`` where more than half of the pairs are in that consensus and the averaged
        probability is on its side; else ``"active"`` or ``"passive"``, whichever more pairs say.
        """
        return np.array(STATES, dtype=object)[self._states(*self._votes(X))]

    def predict_state_proba(self, X: Any) -> pd.DataFrame:
        """Share of the pairs in which each row is in each state; the four columns sum to 1."""
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(self._votes(X)[1], columns=list(STATES), index=index)

    def score(self, X: Any, y: Any) -> float:
        """Share of right labels."""
        return float((self.predict(X) == np.asarray(y)).mean())

    def taxonomy(self, X: Any, y: Any) -> pd.Series:
        """Count the eight cases CTP, CFP, CTN, CFN, AAP, AAN, PAP, PAN (Table 1)."""
        states = self._states(*self._votes(X))
        return taxonomy_counts(states, is_positive(y, len(states), self.classes_, self.classes_[self.positive_index]))

    @property
    def rules_(self) -> pd.DataFrame:
        """Every rule with the share of the pairs that have it, most shared first."""
        frames = [
            pd.DataFrame(
                {
                    "class": [self.classes_[self.positive_index if side == 0 else 1 - self.positive_index]]
                    * len(rules),
                    "side": [STATES[side]] * len(rules),
                    "rule": [str(rule) for rule in rules],
                    "share": self.weights @ included,
                }
            ).sort_values("share", ascending=False, kind="stable")
            for side, (rules, included) in enumerate(zip(self.rules, self.included, strict=True))
        ]
        return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)

    # -- files --------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the committee as JSON."""
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "soar_jax_version": __version__,
            "classes": self.classes_.tolist(),
            "positive_index": self.positive_index,
            "columns": list(self.columns),
            "verdict": self.verdict,
            "is_trusted": self.is_trusted,
            "contract": None if self.contract is None else self.contract.to_dict(),
            "rules": [[rule.literals for rule in side] for side in self.rules],
            "pairs": [
                {
                    "weight": float(weight),
                    "rates": rates.tolist(),
                    "rules": [np.flatnonzero(included[k]).tolist() for included in self.included],
                }
                for k, (weight, rates) in enumerate(zip(self.weights, self.rates, strict=True))
            ],
        }
        plain = json.loads(json.dumps(content, allow_nan=False, default=_plain))
        write_text_atomically(path, json.dumps(sealed(plain), ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Committee:
        """Read a committee from JSON."""
        content = committee_content(path)
        contract = None if content["contract"] is None else Contract.from_dict(content["contract"])
        orders = {} if contract is None else contract.orders
        positive, negative = (tuple(Rule.from_literals(rule, orders) for rule in side) for side in content["rules"])
        pairs = content["pairs"]
        included = [
            _membership([pair["rules"][side] for pair in pairs], len(rules))
            for side, rules in enumerate((positive, negative))
        ]
        weights = np.array([pair["weight"] for pair in pairs], dtype=np.float64)
        return cls(
            (positive, negative),
            (included[0], included[1]),
            weights / weights.sum(),
            np.array([pair["rates"] for pair in pairs], dtype=np.float64).reshape(-1, 4),
            np.array(content["classes"]),
            int(content["positive_index"]),
            tuple(content["columns"]),
            content["verdict"],
            content["is_trusted"],
            contract,
        )


def _membership(members: Sequence[Sequence[int]], num_rules: int) -> BoolArray:
    included = np.zeros((len(members), num_rules), dtype=bool)
    for row, mine in zip(included, members, strict=True):
        row[[int(i) for i in mine]] = True
    return included


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot write a {type(value).__name__} to a committee's file")


def form_committee(post: Posterior, max_pairs: int, random_state: int) -> Committee:
    """Take the distinct pairs of a posterior with their shares, or so many draws, evenly."""
    check_whole("max_pairs", max_pairs, 1)
    rules, included = post._sampled_rules
    total = len(included[0])
    flat = np.concatenate(included, axis=1)
    _, first, counts = np.unique(np.packbits(flat, axis=1), axis=0, return_index=True, return_counts=True)
    if len(first) <= max_pairs:
        chosen, weights = first, counts / total
    else:
        start = np.random.Generator(np.random.Philox(random_state)).random()
        chosen = ((np.arange(max_pairs) + start) * total / max_pairs).astype(np.int64)
        weights = np.full(max_pairs, 1 / max_pairs)
    ever = [np.flatnonzero(by_draw[chosen].any(axis=0)) for by_draw in included]
    fitted, verdict = post.fitted, post.diagnose()
    positive, negative = (tuple(rules[side][i] for i in ever[side]) for side in (0, 1))
    return Committee(
        (positive, negative),
        (included[0][chosen][:, ever[0]], included[1][chosen][:, ever[1]]),
        weights,
        post._positive_rates.reshape(-1, 4)[chosen],
        fitted.classes,
        fitted.positive_index,
        fitted.columns,
        str(verdict),
        verdict.is_trusted,
        fitted.contract,
    )
