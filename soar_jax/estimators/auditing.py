"""What estimators do to groups of rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, check_whole
from soar_jax.control.costs import says_positive
from soar_jax.control.groups import pick_groups
from soar_jax.data.columns import level_text
from soar_jax.data.labels import is_positive, whole_weights
from soar_jax.estimators.prediction import PredictionMixin
from soar_jax.states import IS_AMBIGUOUS, taxonomy_counts

if TYPE_CHECKING:
    from soar_jax.control.audit import Audit


class AuditingMixin(PredictionMixin):
    """Give an estimator ``audit``."""

    holdout: float

    def audit(
        self,
        X: Any,
        y: Any,
        by: Any,
        level: float = 0.9,
        *,
        reference: Any = None,
        sample_weight: Any = None,
        use_draws: bool | None = None,
        num_draws: int = 4000,
        random_state: int = 0,
    ) -> Audit:
        """Compare what the model does to groups of rows: states, errors, selection, and who gets no answer.

        Parameters
        ----------
        X, y
            Rows to judge on and their labels. Take rows that the fit never saw: on its own rows a model errs less
            often, and so may the gaps. Of the table that a fit with ``holdout`` was given, the rows that it held out
            are judged, and no others; of any other table the audit says that its figures may flatter.
        by : str or array-like of shape (n_samples,)
            A column of X, which the rules need not read, or a value for each row. Numbers and dates of more than four
            values are cut into quarters; missing values are a group of their own.
        level : float
            Level of the intervals.
        reference : group, optional
            Compare every other group with this one. When not given each group is compared with all other rows; of two
            groups, the first with the second.
        sample_weight : array-like of whole numbers, optional
            A row of weight w counts as w equal rows.
        use_draws : bool, optional
            Whether intervals hold, beside the chance of which rows were seen, how far the draws of ``posterior_``
            differ: figures are then those of a pair drawn from the posterior, not of the fitted pair, whose figure is
            the ``value``. When not given: if the posterior was sampled.
        num_draws : int
            Draws behind each interval.
        random_state : int
            Seed of those draws.

        Returns
        -------
        Audit
            ``groups``, ``gaps`` and ``rules`` as data frames; prints as text, ``to_json()``.

        Notes
        -----
        Every figure is a share, drawn from Beta(hits + 1/2, misses + 1/2) group by group: a Bayesian bootstrap of the
        rows, smoothed as Jeffreys does, without which intervals of rare errors are a little too short.
        """
        from soar_jax.control.audit import Judged, make_audit

        if not (isinstance(level, Real) and 0 < level < 1):
            raise InputError(f"level must lie strictly between 0 and 1, got {level!r}.")
        check_whole("num_draws", num_draws, 100)
        check_whole("random_state", random_state, 0)
        frame = self._frame(X)
        groups, column = pick_groups(frame, by)
        is_true = is_positive(y, len(frame), self.classes_, self._label(0))
        weights = whole_weights(sample_weight, len(frame))
        held = self._rows_held_out(frame, is_true)
        posterior = getattr(self, "posterior_", None)
        if use_draws and posterior is None:
            raise InputError("There are no draws: call sample_posterior() first, or leave out use_draws.")
        if use_draws is False:
            posterior = None
        if posterior is not None:
            posterior._warn_unless_trusted()
            frame = posterior._frame(X)
        if held is not None:
            frame, groups, is_true, weights = frame.loc[held], groups[held], is_true[held], weights[held]
        states = self._states(frame)
        judged = Judged(
            (self.positive_rules_, self.negative_rules_),
            frame,
            is_true,
            weights,
            says_positive=says_positive(self.state_probabilities(), self._positive_index),
            is_ambiguous=IS_AMBIGUOUS & (not self._single),
            states=states,
        )
        audit = make_audit(
            judged,
            groups,
            posterior,
            column=column,
            reference=None if reference is None else level_text(reference),
            level=float(level),
            num_draws=int(num_draws),
            seed=random_state,
        )
        return replace(audit, is_held_out=held is not None)

    def _rows_held_out(self, frame: pd.DataFrame, is_true: BoolArray) -> BoolArray | None:
        """Find the rows that the fit held out, where this is the table that it was given: the others count alike."""
        if not self.holdout:
            return None
        try:
            held, counted = self._hold_out(is_true), self._counted_rows(is_true)
        except InputError:  # too few rows of a class: another table
            return None
        again = taxonomy_counts(self._states(frame.loc[counted]), is_true[counted])
        return held if held.any() and np.array_equal(again, self.training_taxonomy_) else None

    @abstractmethod
    def _hold_out(self, is_true: BoolArray) -> BoolArray:
        """Say which rows are kept out of the fit."""

    @abstractmethod
    def _counted_rows(self, is_true: BoolArray) -> BoolArray:
        """Say which rows the fit counted."""
