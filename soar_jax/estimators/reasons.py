"""What estimators say of their reasons: why a row, what would change it, which rules clash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import FloatArray, InputError, Plain, check_whole
from soar_jax.data.labels import is_positive
from soar_jax.estimators.prediction import PredictionMixin

if TYPE_CHECKING:
    from soar_jax.reasons.contrasts import Contrasts
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

    def contrast(
        self,
        row: Any,
        to: Any = None,
        fixed: Sequence[str] = (),
        max_changes: int | None = None,
        directions: Mapping[str, str] | None = None,
    ) -> Contrasts:
        """Find the smallest changes of a row that lead to consensus for a class.

        Consensus: some rule for the class fires, and none for the other. The search is exact over all values that the
        rules tell apart, and lists every set of changes that needs the fewest columns. A value is never changed to
        "missing"; a missing one may be filled in.

        Parameters
        ----------
        row : DataFrame of one row, Series or dict
            Only the columns that the rules use are needed.
        to : label, optional
            The class wanted; when not given, the one that is not predicted.
        fixed : sequence of str
            Columns that cannot change.
        max_changes : int, optional
            Most columns to change.
        directions : mapping, optional
            Columns that may only grow or only fall: ``{"age": "+", "debt": "-"}``. Such a column keeps a value that is
            missing.

        Returns
        -------
        Contrasts
            Prints as sentences; says so, and why, when there is no such change. After `sample_posterior` each set of
            changes has the share of the draws in which it works.

        Examples
        --------
        >>> from soar_jax import SOARClassifier, datasets
        >>> X, y = datasets.load_car()
        >>> found = SOARClassifier().fit(X, y).contrast(X.iloc[[0]], to=1, fixed=["buyingPrice"])
        >>> found.num_changes
        3
        """
        from soar_jax.reasons.contrast import Limits, find_contrasts

        frame = self._one_row(row)
        if max_changes is not None:
            check_whole("max_changes", max_changes, 1)
        if directions is not None and not isinstance(directions, Mapping):
            raise InputError(f"directions must be a dictionary such as {{'age': '+'}}, got {directions!r}.")
        limits = Limits((fixed,) if isinstance(fixed, str) else tuple(fixed), directions, max_changes)
        model = self._rule_model()
        note, probability = model.verdict, None
        if hasattr(self, "posterior_"):
            absent = [name for name in self.posterior_._columns if name not in frame.columns]
            if absent:
                note = f"There are no probabilities: the sampled rules also use {', '.join(absent)}."
            else:
                probability = self._share_of_draws
        return find_contrasts(model, frame, to, limits, self._levels_of_candidates(), probability, note)

    def _share_of_draws(self, rows: pd.DataFrame, state: str) -> FloatArray:
        """Share of the posterior draws in which each row is in a state."""
        return np.asarray(self.posterior_.predict_state_proba(rows)[state], dtype=np.float64)

    def conflicts(self, X: Any = None, y: Any = None) -> pd.DataFrame:
        """List the pairs of opposite rules that both fire on some row, those with most rows in dispute first.

        Parameters
        ----------
        X, y : optional
            Rows to look at, and their labels. Without them the training rows are counted, which a loaded model does
            not have; without ``y`` the columns on labels are left out.

        Returns
        -------
        DataFrame
            ``positive_id``, ``negative_id``, ``positive_rule``, ``negative_rule``; ``rows`` in dispute; ``positives``
            and ``negatives`` among them; ``positive_share`` with its 90 % interval ``low`` to ``high``. After
            `sample_posterior` also ``probability``: the share of the draws that have both rules, so that the conflict
            exists; ``family_probability``: the share of those in which rules that cover nearly the same rows clash; and
            ``trusted``.
        """
        from soar_jax.reasons.conflicts import conflict_table, counts_of_training, counts_on

        model = self._rule_model()
        if X is not None:
            frame = self._frame(X)
            labels = None if y is None else is_positive(y, len(frame), self.classes_, self._label(0))
            counts = counts_on(model, frame, labels)
        elif y is not None:
            raise InputError("conflicts got y without X; give both, or neither.")
        elif hasattr(self, "fitted_pair_"):
            counts = counts_of_training(model, self.fitted_pair_)
        else:
            raise InputError("A loaded model does not keep its training rows: give X and y to find conflicts in them.")
        if not hasattr(self, "posterior_"):
            return conflict_table(model, counts)
        from soar_jax.reasons.sampled import clash_probability

        return self.posterior_._with_verdict(
            conflict_table(model, counts, clash_probability(self.posterior_, model.sets))
        )

    def _one_row(self, row: Any) -> pd.DataFrame:
        """Make a table of one row."""
        if isinstance(row, Mapping):
            row = pd.DataFrame({name: [value] for name, value in row.items()})
        elif isinstance(row, pd.Series):
            row = pd.DataFrame({name: [value] for name, value in row.items()}, index=[row.name])
        frame = self._frame(row)
        if len(frame) != 1:
            raise InputError(f"contrast takes one row, got {len(frame)}; give for instance X.iloc[[0]].")
        return frame

    def _levels_of_candidates(self) -> dict[str, list[Plain]]:
        """Levels that the contract or candidates name, as examples of "any other level"."""
        contract = getattr(self, "_contract", None)
        levels: dict[str, dict[Plain, None]] = {
            column.name: dict.fromkeys(column.levels or ()) for column in (contract.columns if contract else ())
        }
        for pool in self.fitted_pair_.target.pools if hasattr(self, "fitted_pair_") else ():
            for pattern in pool.patterns:
                for literal in pattern:
                    if literal.op in ("==", "!=") and literal.value is not None:
                        levels.setdefault(literal.column, {})[literal.value] = None
        return {name: list(mine) for name, mine in levels.items()}

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
