"""What estimators say of their reasons: why a row, what would change it, which rules clash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import check_whole
from soar_jax.estimators.prediction import PredictionMixin

if TYPE_CHECKING:
    from soar_jax.reasons.explain import Explanations
    from soar_jax.reasons.facts import RuleModel


class ReasonsMixin(PredictionMixin):
    """Give an estimator ``explain``, ``contrast`` and ``conflicts``; a loaded model has them too."""

    rules_: pd.DataFrame

    def explain(self, X: Any, max_reasons: int | None = None) -> Explanations:
        """Say for each row which rules fired, which nearly did, and what its missing values leave open.

        Parameters
        ----------
        X : DataFrame or array-like
            Rows to explain; only the columns that the rules use are needed.
        max_reasons : int, optional
            Show at most so many rules, and so many near misses, per row: those of highest precision, then support.

        Returns
        -------
        Explanations
            ``to_frame()``, ``to_json()``, and by position an `Explanation` per row; all of them print as sentences.

        Examples
        --------
        >>> from soar_jax import SOARClassifier, datasets
        >>> X, y = datasets.load_car()
        >>> reasons = SOARClassifier().fit(X, y).explain(X)
        >>> reasons[0].state
        'negative'
        """
        from soar_jax.reasons.explain import Explanations

        if max_reasons is not None:
            check_whole("max_reasons", max_reasons, 1)
        frame = self._frame(X)
        return Explanations(self._rule_model(), frame, None if max_reasons is None else int(max_reasons))

    def _rule_model(self) -> RuleModel:
        """Return the fitted pair as the reasons see it."""
        from soar_jax.reasons.facts import RuleModel, rule_facts

        check_is_fitted(self, "classes_")
        sets = (self.positive_rules_, self.negative_rules_)
        inclusion: list[float | None] = [None] * len(self.rules_)
        verdict = None
        if hasattr(self, "posterior_"):
            from soar_jax.reasons.sampled import inclusion_of

            inclusion = inclusion_of(self.posterior_, sets)
            diagnosis = self.posterior_.diagnose()
            verdict = None if diagnosis.is_trusted else str(diagnosis)
        return RuleModel(
            sets,
            rule_facts(sets, self.rules_, inclusion),
            self.state_probabilities(),
            self.classes_,
            self._positive_index,
            self._single,
            tuple(self._column_names),
            verdict,
        )
