"""What estimators say of rows: states, probabilities, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import FloatArray, IntArray
from soar_jax.data.check import TableCheck, check_table
from soar_jax.data.columns import TableValues
from soar_jax.data.contract import Contract
from soar_jax.data.labels import by_class, is_positive
from soar_jax.data.table import frame_to_predict, match_names
from soar_jax.estimators.sampling import SamplingMixin
from soar_jax.rules import RuleSet
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.rates import positive_rates
from soar_jax.states import STATES, counts_from_taxonomy, states_of, taxonomy_counts


class PredictionMixin(SamplingMixin):
    """Give an estimator ``predict`` and its kin; a loaded model needs no more than these attributes."""

    _single = False
    positive_rules_: RuleSet
    negative_rules_: RuleSet
    classes_: np.ndarray
    features_used_: list[str]
    training_taxonomy_: pd.Series
    _positive_index: int
    _column_names: list[str]
    _contract: Contract
    _hyper: Hyperparameters

    def _label(self, side: int) -> Any:
        """Class that a side's rules speak for."""
        return self.classes_[self._positive_index if side == 0 else 1 - self._positive_index]

    def _frame(self, X: Any) -> pd.DataFrame:
        """Check a table to predict on; only the columns that the rules use are needed."""
        check_is_fitted(self, "classes_")
        return frame_to_predict(
            X, self._column_names, type(self).__name__, self.features_used_, "The rules use", self._contract
        )

    # -- the data contract --------------------------------------------------------------------

    @property
    def contract_(self) -> dict[str, Any]:
        """What each column was read as at the fit, as plain data; it is in the model file."""
        check_is_fitted(self, "classes_")
        return self._contract.to_dict()

    @property
    def columns_(self) -> pd.DataFrame:
        """What each column was read as at the fit, one line per column."""
        check_is_fitted(self, "classes_")
        return self._contract.to_frame(self.features_used_)

    def check(self, X: Any) -> TableCheck:
        """Compare a table with the one that the model was fitted on, column by column.

        Counts values that cannot be read, levels that were not seen and values outside the range seen, and gives the
        share missing beside that at the fit. Nothing is refused; what `predict` would refuse is said.

        Returns
        -------
        TableCheck
            Prints as a short report; ``to_frame()``, ``to_dict()``, ``sentence()``.
        """
        check_is_fitted(self, "classes_")
        frame = match_names(X, self._column_names, type(self).__name__, self._contract)
        rules = [*self.positive_rules_, *self.negative_rules_]
        return check_table(frame, self._contract, [z for rule in rules for z in rule.conditions])

    def _states(self, X: Any) -> IntArray:
        values = TableValues(self._frame(X))
        return states_of(self.positive_rules_.fires(values), self.negative_rules_.fires(values))

    def state_probabilities(self) -> FloatArray:
        """P(positive class | state) of each state: posterior mean of its rate."""
        check_is_fitted(self, "classes_")
        positives, negatives = counts_from_taxonomy(self.training_taxonomy_)
        return positive_rates(self._hyper, positives, negatives)

    def predict_table(self, X: Any) -> pd.DataFrame:
        """Label, probability of the positive class and state of each row, with one walk over the rules."""
        states = self._states(X)
        positive = self.state_probabilities()[states]
        labels = self.classes_[np.argmax(by_class(positive, self._positive_index), axis=1)]
        names = np.array(STATES, dtype=object)[states]
        return pd.DataFrame({"prediction": labels, "probability": positive, "state": names})

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities, columns in the order of ``classes_``.

        A row's probability is the posterior mean of the rate of its state: consensus positive,
        consensus negative, active or passive. It is the fitted pair's, also after `sample_posterior`; the averaged
        model is ``posterior_.committee()``.
        """
        return by_class(self.state_probabilities()[self._states(X)], self._positive_index)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row; always a label."""
        check_is_fitted(self, "classes_")
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_state(self, X: Any) -> np.ndarray:
        """State of each row: ``"positive"``, ``"negative"``, ``"active"`` or ``"passive"``."""
        return np.array(STATES, dtype=object)[self._states(X)]

    def taxonomy(self, X: Any, y: Any) -> pd.Series:
        """Count the eight cases CTP, CFP, CTN, CFN, AAP, AAN, PAP, PAN (Table 1)."""
        states = self._states(X)
        return taxonomy_counts(states, is_positive(y, len(states), self.classes_, self._label(0)))
