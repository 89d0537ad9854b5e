"""What estimators decide: a label, or none, by ambiguity or by cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import InputError
from soar_jax.control.costs import NO_ANSWER, Costs, coverage_table, decision_table, labels_of
from soar_jax.data.labels import is_positive, whole_weights
from soar_jax.estimators.prediction import PredictionMixin
from soar_jax.states import IS_AMBIGUOUS


class DecidingMixin(PredictionMixin):
    """Give an estimator ``predict(X, abstain=...)``, ``decide`` and ``risk_coverage``."""

    def predict(self, X: Any, abstain: str | Costs = "never") -> np.ndarray:
        """Most probable class of each row; always a label, unless ``abstain`` says otherwise.

        Parameters
        ----------
        X : DataFrame or array-like
        abstain : {"never", "ambiguous"} or Costs
            ``"never"``, the default: a label for every row, in the type of ``classes_``. ``"ambiguous"``: rows where
            both rule sets fire, or none, get no answer; all others the label of ``"never"``. (A `BOAClassifier` has one
            rule set, so that none of its rows is ambiguous.) ``Costs(...)``: the answer of least expected cost by
            ``predict_proba``, which may be none; see `Costs` for ties.

        Returns
        -------
        array
            With ``"ambiguous"`` or ``Costs`` an array of objects: labels, and None where there is no answer, as in
            ``predict_forced``.
        """
        if isinstance(abstain, str) and abstain == "never":
            return super().predict(X)
        if isinstance(abstain, Costs):
            states = self._states(X)
            return labels_of(abstain.cheapest(self.state_probabilities(), self._positive_index)[states], self.classes_)
        if not (isinstance(abstain, str) and abstain == "ambiguous"):
            raise InputError(f"abstain must be 'never', 'ambiguous' or Costs(...), got {abstain!r}.")
        states = self._states(X)
        actions = Costs().cheapest(self.state_probabilities(), self._positive_index)
        if not self._single:
            actions[IS_AMBIGUOUS] = NO_ANSWER
        return labels_of(actions[states], self.classes_)

    def decide(self, X: Any, costs: Costs) -> pd.DataFrame:
        """Give the answer of least expected cost for each row, with what every answer would cost and why.

        Parameters
        ----------
        X : DataFrame or array-like
        costs : Costs
            What each kind of error costs, and what no answer costs.

        Returns
        -------
        DataFrame
            ``decision``: a label, or None for no answer, equal to ``predict(X, abstain=costs)``. ``cost_positive``,
            ``cost_negative``, ``cost_abstain``: expected cost of each answer (NaN where ``costs`` has no abstaining).
            ``probability`` of the positive class; ``state``; ``reason`` in words.
        """
        if not isinstance(costs, Costs):
            raise InputError(f"costs must be Costs(...), got {costs!r}.")
        states = self._states(X)
        table = decision_table(costs, states, self.state_probabilities(), self.classes_, self._positive_index)
        return table.set_axis(X.index, axis=0) if isinstance(X, pd.DataFrame) else table

    def risk_coverage(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """List how often the answers are wrong when only the surer rows get one.

        Parameters
        ----------
        X, y
            Rows to judge on, best those that the fit never saw, and their labels.
        sample_weight : array-like of whole numbers, optional
            A row of weight w counts as w equal rows.

        Returns
        -------
        DataFrame
            One line per threshold on the confidence max(p, 1 - p), from the surest state on, and one (``point``) for
            "consensus only", which is ``predict(X, abstain="ambiguous")``. ``coverage``: share of rows with an answer;
            ``risk``: share of wrong ones among them; ``false_positives``, ``false_negatives``: wrong answers by
            kind; ``abstained_positive``, ``abstained_negative``, ``abstained_active``, ``abstained_passive``: rows of
            each state without an answer.
        """
        states = self._states(X)
        weights = whole_weights(sample_weight, len(states))
        is_true = is_positive(y, len(states), self.classes_, self._label(0))
        rates, index = self.state_probabilities(), self._positive_index
        return coverage_table(states, rates, is_true, weights, index, single=self._single)
