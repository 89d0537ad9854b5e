"""`BOAClassifier`: one rule set, the ancestor of SOAR."""

from __future__ import annotations

from soar_jax._base import IntArray
from soar_jax.estimators.base import RuleSetClassifier
from soar_jax.estimators.soar import DEFAULT_CONSENSUS, DEFAULT_RULES
from soar_jax.score import priors
from soar_jax.score.priors import Hyperparameters, Opinion


class BOAClassifier(RuleSetClassifier):
    """One rule set for the positive class: Bayesian Or's of And's (Wang et al.).

    Rows that no rule covers are predicted negative. The same miner, screen, score and annealer as
    `SOARClassifier`, with an empty negative pool: covered rows are then in consensus positive
    (TP, FP) and the others passive (TN, FN).

    Parameters
    ----------
    consensus : Opinion or pair of Opinion, optional
        How often a covered row should be positive and an uncovered one negative.
    max_length, min_support, min_class_support, max_patterns, screen, pools, miner, max_bins, cuts, \
negations, missing_literals, rule_prior, n_iter, n_restarts, temperature, random_share, row_choice, \
time_budget, progress, positive, random_state
        As in `SOARClassifier`.
    """

    _single = True

    def _hyperparameters(self, num_rows: int, pool_size: IntArray) -> Hyperparameters:
        consensus = DEFAULT_CONSENSUS if self.consensus is None else self.consensus
        covered, uncovered = priors.both("consensus", consensus, (Opinion,))
        rules = DEFAULT_RULES if self.rule_prior is None else self.rule_prior
        # C- and active never occur; passive is "no rule fires" and speaks for the negative class
        return priors.resolve((covered, uncovered), (uncovered, uncovered), rules, num_rows, pool_size)  # type: ignore[arg-type]
