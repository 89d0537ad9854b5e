"""What estimators say of their own fit: in words, on fresh rows, and beside fits to permuted labels."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import BoolArray, InputError, IntArray, check_whole
from soar_jax._progress import ProgressBar
from soar_jax.data.labels import is_positive, plain_labels, whole_weights
from soar_jax.estimators.fresh import fresh_rules, fresh_states
from soar_jax.estimators.noise_check import NoiseCheck, check_noise
from soar_jax.estimators.prediction import PredictionMixin
from soar_jax.score.power import at_power
from soar_jax.score.rates import as_positive
from soar_jax.states import PASSIVE


class JudgingMixin(PredictionMixin):
    """Give an estimator ``measure_fresh``, ``conclude`` and ``noise_check``."""

    progress: bool
    gain_: float
    is_local_optimum_: bool
    power_: float
    rules_: pd.DataFrame
    _edits: tuple[dict[str, Any], ...] = ()

    def measure_fresh(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Measure rules and states on rows that the fit never saw, as ``holdout`` does: sets ``fresh_states_``.

        ``rules_`` gains ``fresh_support``, ``fresh_precision`` and its 90 % interval ``fresh_low`` to ``fresh_high``.
        """
        frame = self._frame(X)
        weights = whole_weights(sample_weight, len(frame))
        self._measure(frame, is_positive(y, len(frame), self.classes_, self._label(0)), weights)
        return self

    def _measure(self, frame: pd.DataFrame, is_true: BoolArray, weights: IntArray) -> None:
        fresh = fresh_rules((self.positive_rules_, self.negative_rules_), frame, is_true, weights)
        self.rules_ = pd.concat([self.rules_.drop(columns=fresh.columns, errors="ignore"), fresh], axis=1)
        claimed = as_positive(self.state_probabilities())  # from "positive" to "what the state speaks for", and back
        self.fresh_states_ = fresh_states(claimed, self._states(frame), is_true, weights)

    def conclude(self) -> str:
        """Say in words what the fit found."""
        check_is_fitted(self, "classes_")
        sizes = len(self.positive_rules_), len(self.negative_rules_)
        if not any(sizes) and self._edits:
            return (
                "Every rule was taken out by hand. Every row is predicted alike, "
                f"{self._label(0)} with probability {self.state_probabilities()[PASSIVE]:.3f}."
            )
        if not any(sizes) and not self.is_local_optimum_:
            if hasattr(self, "certificate_") and self.certificate_.was_interrupted:
                return "The search was interrupted before it found a rule."
            return "The search was stopped before it found a rule; give it more time_budget."
        power = at_power(self.power_)
        if not any(sizes):
            hint = " A higher power may find some." if power else ""
            return (
                f"Nothing here beats the base rate{power}: no rule is worth what it costs among all that were searched."
                f"{hint} Every row is predicted alike, {self._label(0)} with probability "
                f"{self.state_probabilities()[PASSIVE]:.3f}."
            )
        plural = "" if sizes[0] == 1 else "s"
        counts = f"{sizes[0]} rule{plural} for {self._label(0)}"
        counts += "" if self._single else f" and {sizes[1]} for {self._label(1)}"
        none = "the required ones alone" if self._num_required else "no rules"
        favour = "" if np.isnan(self.gain_) else f"; the rows favour them over {none} by {self.gain_:.1f} nats{power}"
        stopped = "" if not self.was_stopped_ else f" {self.certificate_}"
        return f"{counts}{favour}.{stopped}"

    @property
    def was_stopped_(self) -> bool:
        """Whether the time budget or an interrupt ended the search early."""
        check_is_fitted(self, "classes_")
        return bool(getattr(self, "certificate_", None) is not None and self.certificate_.was_stopped)

    def noise_check(
        self, X: Any, y: Any, repeats: int = 20, random_state: int = 0, sample_weight: Any = None
    ) -> NoiseCheck:
        """Compare the fit with fits to permuted labels: what this search finds where there is nothing.

        Parameters
        ----------
        X, y, sample_weight
            The training table, as it was given to ``fit``.
        repeats : int
            Permutations; the smallest possible p-value is 1 / (1 + repeats).
        random_state : int
            Seed of the permutations.
        """
        check_is_fitted(self, "classes_")
        check_whole("repeats", repeats, 1)
        check_whole("random_state", random_state, 0)
        if np.isnan(self.gain_):
            raise InputError("This model comes from a file that does not say its gain; fit it again to check it.")
        labels = np.asarray(plain_labels(y))

        def refit(permuted: np.ndarray) -> tuple[float, int]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of these fits only gain and size count
                model = clone(self).set_params(progress=False).fit(X, permuted, sample_weight)
            return model.gain_, len(model.rules_) - self._num_required

        num_rules = len(self.rules_) - self._num_required
        with ProgressBar() if self.progress else nullcontext() as bar:
            return check_noise(self.gain_, num_rules, refit, labels, int(repeats), random_state, bar)

    @property
    def _num_required(self) -> int:
        """How many of the rules had to be in."""
        return self.certificate_.num_required if hasattr(self, "certificate_") else 0
