"""`BOAClassifier`: one rule set, the ancestor of SOAR."""

from __future__ import annotations

from typing import get_args

import numpy as np

from soar_jax._base import InputError
from soar_jax.estimators.base import RuleSetClassifier
from soar_jax.score.priors import Bound, ErrorRatio, Opinion, StatePriors, both, from_opinions

DEFAULT_CONSENSUS = ErrorRatio(0.5)


class BOAClassifier(RuleSetClassifier):
    """One rule set for the positive class: Bayesian Or's of And's (Wang et al.).

    The same miner, screen, score and annealer as `SOARClassifier`, with an empty negative pool: covered rows are in
    consensus positive (TP, FP) and the others passive (TN, FN), which speaks for the negative class.

    Parameters
    ----------
    consensus : ErrorRatio, Precision, Opinion or pair of Opinion, optional
        A bound says how often a covered row must be positive; uncovered rows are then positive less often than that.
        The default is ``ErrorRatio(0.5)``. ``Opinion(rate, share=...)`` is the published form: how often a
        covered row should be positive and an uncovered one negative.
    max_length, min_support, min_class_support, max_patterns, screen, pools, miner, max_bins, cuts, \
negations, missing_literals, rule_prior, power, honest, holdout, search, grow_to, n_rounds, n_iter, n_restarts, \
temperature, random_share, row_choice, time_budget, progress, positive, class_weight, forbid, require, directions, \
max_rules, max_columns, kinds, random_state
        As in `SOARClassifier`.
    """

    _single = True

    def _state_priors(self, num_positives: int, num_negatives: int) -> StatePriors:
        consensus = DEFAULT_CONSENSUS if self.consensus is None else self.consensus
        num_rows = num_positives + num_negatives
        if isinstance(consensus, get_args(Bound)):
            high = consensus.bounds(num_positives / num_rows)[1]
            # C- and active never occur; passive is "no rule fires" and speaks for the negative class
            low = np.array([high, 0.0, 0.0, 1 - high])
            return StatePriors(np.ones(4), np.ones(4), low, np.ones(4))
        if not isinstance(consensus, tuple | list | Opinion):
            raise InputError(f"consensus must be a bound, an Opinion or a pair of Opinion, got {consensus!r}.")
        covered, uncovered = both("consensus", consensus, (Opinion,))
        return from_opinions((covered, uncovered), (uncovered, uncovered), num_rows)  # type: ignore[arg-type]
