"""Predictions averaged over the draws, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.columns import TableValues
from soar_jax.data.table import frame_to_predict
from soar_jax.posterior.judged import JudgedDraws
from soar_jax.posterior.voting import CHUNK_ROWS, states_of_members
from soar_jax.rules import Rule
from soar_jax.score.rates import as_positive, draw_rates
from soar_jax.states import STATES

_MAX_CHECK_DRAWS = 400


class PosteriorPredictions(JudgedDraws):
    """What the draws say of rows."""

    # -- predictions --------------------------------------------------------------------------

    def _frame(self, X: Any) -> pd.DataFrame:
        """Check a table to predict on."""
        fitted = self.fitted
        return frame_to_predict(
            X, fitted.columns, fitted.model, self._columns, "The sampled rules use", fitted.contract
        )

    def _states(self, X: Any) -> IntArray:
        """State of every row in every draw: (num_chains * num_draws, num_rows)."""
        frame = self._frame(X)
        rules, included = self._sampled_rules
        return states_of_members(TableValues(frame), len(frame), rules, included)

    @cached_property
    def _sampled_rules(self) -> tuple[tuple[list[Rule], list[Rule]], tuple[BoolArray, BoolArray]]:
        """Rules of each side that any draw has, and which draw has which."""
        rules, included = [], []
        for pool, members in zip(self.pools, self._members, strict=True):
            by_draw = members.reshape(self.num_chains * self.num_draws, len(pool))
            ever = np.flatnonzero(by_draw.any(axis=0))
            rules.append([Rule(pool.patterns[i]) for i in ever])
            included.append(by_draw[:, ever])
        return (rules[0], rules[1]), (included[0], included[1])

    @cached_property
    def _columns(self) -> list[str]:
        """Columns that any sampled rule reads."""
        rules, _ = self._sampled_rules
        return list(dict.fromkeys(column for side in rules for rule in side for column, *_ in rule.literals))

    def _by_chunk(self, X: Any) -> Iterator[pd.DataFrame]:
        """Yield parts of the table small enough for one entry per draw and row."""
        self._warn_unless_trusted()
        frame = self._frame(X)
        for start in range(0, max(len(frame), 1), CHUNK_ROWS):
            yield frame.iloc[start : start + CHUNK_ROWS]

    def predict_state_proba(self, X: Any) -> pd.DataFrame:
        """Share of the draws in which each row is in each state; the four columns sum to 1."""
        parts = []
        for part in self._by_chunk(X):
            states = self._states(part)
            parts.append(np.stack([(states == k).mean(axis=0) for k in range(4)], axis=1))
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(np.concatenate(parts), columns=list(STATES), index=index)

    def _probability(self, X: Any) -> FloatArray:
        """P(positive) of every row in every draw."""
        return np.take_along_axis(self._positive_rates.reshape(-1, 4), self._states(X), axis=1)

    def log_likelihood_of(self, X: Any, y: Any) -> FloatArray:
        """Log probability of each row's label in every draw of pair and rates: (num_chains, num_draws, num_rows)."""
        frame = self._frame(X)
        labels = self.fitted.is_positive(y, len(frame))
        drawn = draw_rates(np.random.Generator(np.random.Philox(0)), self._hyper, *self._state_counts())
        rates = as_positive(drawn).reshape(-1, 4)
        chance = np.concatenate(
            [np.take_along_axis(rates, self._states(part), axis=1) for part in self._by_chunk(frame)], axis=1
        )
        return np.log(np.where(labels, chance, 1 - chance)).reshape(self.num_chains, self.num_draws, -1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities averaged over draws, columns in the order of ``classes_``."""
        positive = np.concatenate([self._probability(part).mean(axis=0) for part in self._by_chunk(X)])
        return self.fitted.by_class(positive)

    def uncertainty(self, X: Any) -> pd.DataFrame:
        """Split each row's uncertainty, in nats.

        ``total`` is the entropy of the averaged probability; ``label_noise`` the average entropy within a draw
        (aleatoric: more data would not help); ``model_doubt`` the rest (epistemic: draws disagree).
        """
        from scipy.special import entr

        means, noises = [], []
        for part in self._by_chunk(X):
            probability = self._probability(part)
            means.append(probability.mean(axis=0))
            noises.append((entr(probability) + entr(1 - probability)).mean(axis=0))
        mean, noise = np.concatenate(means), np.concatenate(noises)
        total = entr(mean) + entr(1 - mean)
        return pd.DataFrame(
            {"total": total, "label_noise": noise, "model_doubt": np.maximum(total - noise, 0.0)},
            index=X.index if isinstance(X, pd.DataFrame) else None,
        )

    def predictive_check(self, X: Any, y: Any, random_state: int = 0) -> pd.DataFrame:
        """Posterior predictive check: where labels drawn from the model do not look like the labels seen.

        For every level of every column (numbers and dates in quarters): positives seen, positives in labels drawn
        anew from the posterior (mean and 90 % interval), and a two-sided predictive p-value. A group with a small
        p-value is one whose outcome the rule sets miss.
        """
        from soar_jax.posterior.predictive import check_groups

        frame = self._frame(X)
        labels = self.fitted.is_positive(y, len(frame))
        generator = np.random.Generator(np.random.Philox(random_state))
        total = self.num_chains * self.num_draws
        chosen = generator.choice(total, min(total, _MAX_CHECK_DRAWS), replace=False)
        drawn = draw_rates(np.random.Generator(np.random.Philox(random_state)), self._hyper, *self._state_counts())
        rates = as_positive(drawn).reshape(-1, 4)[chosen]
        parts = [np.take_along_axis(rates, self._states(part)[chosen], axis=1) for part in self._by_chunk(frame)]
        return self._with_verdict(check_groups(frame, labels, np.concatenate(parts, axis=1), generator))
