"""What people change in a fitted estimator by hand: rules in, out and exchanged, each with its price."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import MAX_RULES, DataWarning, InputError
from soar_jax.control.edits import Change, Cover, KnownLiterals, change_pair, find_rule, log_entry, log_table, place_in
from soar_jax.control.hand_written import read_rule, rule_key
from soar_jax.data.literals import Literal
from soar_jax.estimators.constraints import required_rules
from soar_jax.estimators.prediction import PredictionMixin
from soar_jax.rules import Rule
from soar_jax.score.target import FittedPair, Target
from soar_jax.search.certificate import Certificate
from soar_jax.states import STATES


class EditingMixin(PredictionMixin):
    """Give an estimator ``with_rule``, ``without_rule``, ``replace_rule`` and ``edits_``."""

    screen: str
    max_bins: int
    cuts: str
    honest: bool
    require: Any
    seed_: int
    score_: float
    rules_: pd.DataFrame
    _known: KnownLiterals | None = None
    _edits: tuple[dict[str, Any], ...] = ()

    @property
    def edits_(self) -> pd.DataFrame:
        """Changes made by hand, oldest first: what, why, when (UTC), the change of log joint and of the rows' states.

        ``log_joint_change`` is the price in nats: minus 5 says that the rows and the prior together favour the pair
        before by a factor of exp(5). ``rows_changed`` are training rows whose state differs, ``moves`` from which to
        which; ``taxonomy_before`` and ``taxonomy_after`` the eight counts.
        """
        check_is_fitted(self, "classes_")
        return log_table(self._edits)

    def with_rule(
        self, rule: Any, side: Any, *, reason: str, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Make a new model that has one more rule; this one stays as it is.

        Parameters
        ----------
        rule : Rule, sequence of literals or str
            A `Rule`, plain literals such as ``[("age", ">", 30), ("sex", "==", "F")]``, or text.
        side : {"positive", "negative"} or label
            Which set it joins; the class it speaks for will do as well.
        reason : str
            Why, for the log.
        X, y, sample_weight : optional
            The training table, as it was given to ``fit``. Needed by a loaded model, and by any for a rule with a
            literal that the fit did not count: a level too rare, a cut at another point, and all that is no candidate
            after ``search="annealing"``.

        Returns
        -------
        model
            With the rule, ``score_``, ``rules_`` and predictions of the new pair, and one more line in ``edits_``. Its
            certificate does not hold, and it has no ``posterior_``.

        Notes
        -----
        The prior stays that of the fit. The rule counts as one of the patterns of its kind (number of literals, and of
        cuts that the labels could place) that were searched. A kind that was not searched is priced as the dearest
        that was: the one with most patterns.
        """
        check_is_fitted(self, "classes_")
        return self._edit(
            Change(self._side(side), None, read_rule(rule, self._column_names, self._contract.orders)),
            reason,
            X,
            y,
            sample_weight,
        )

    def without_rule(self, rule: Any, *, reason: str, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Make a new model that lacks a rule; this one stays as it is.

        Parameters
        ----------
        rule : str, Rule or sequence of literals
            An id (P1, P2, ... are ``positive_rules_`` in order, N1, N2, ... ``negative_rules_``), the rule's text, or
            the rule. One that the fit was told to have (``require``) is refused.
        reason, X, y, sample_weight
            As in `with_rule`.
        """
        check_is_fitted(self, "classes_")
        side, removed = find_rule((self.positive_rules_, self.negative_rules_), rule, self._contract.orders)
        return self._edit(Change(side, removed, None), reason, X, y, sample_weight)

    def replace_rule(
        self, old: Any, rule: Any, *, reason: str, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Make a new model in which one rule stands in the place of another; this one stays as it is.

        Parameters
        ----------
        old : str, Rule or sequence of literals
            The rule to take out, as in `without_rule`.
        rule : Rule, sequence of literals or str
            The rule to put in, on the same side.
        reason, X, y, sample_weight
            As in `with_rule`.
        """
        check_is_fitted(self, "classes_")
        side, removed = find_rule((self.positive_rules_, self.negative_rules_), old, self._contract.orders)
        return self._edit(
            Change(side, removed, read_rule(rule, self._column_names, self._contract.orders)),
            reason,
            X,
            y,
            sample_weight,
        )

    # -- how ----------------------------------------------------------------------------------

    def _side(self, side: Any) -> int:
        names = STATES[:2]
        labels = [self._label(0), self._label(1)]
        if isinstance(side, str) and side in names:
            found = names.index(side)
        elif side in labels:
            found = labels.index(side)
        else:
            raise InputError(f"side must be 'positive' or 'negative', or a label, got {side!r}.")
        if found and self._single:
            raise InputError(f"A {type(self).__name__} has one rule set, for {labels[0]}; there is no negative side.")
        return found

    def _edit(self, change: Change, reason: str, X: Any, y: Any, sample_weight: Any) -> Self:
        if not isinstance(reason, str) or not reason.strip():
            raise InputError("Say why, with reason='...': it is kept in the log of the model.")
        self._check_free(change)
        if (X is None) != (y is None):
            raise InputError("Give both X= and y=, the training table, or neither.")
        size = len((self.positive_rules_, self.negative_rules_)[change.side])
        if change.action == "add" and size >= MAX_RULES:
            raise InputError(f"A side holds at most {MAX_RULES} rules.")
        before, cover = self._pair_and_cover(change, X, y, sample_weight)
        after = change_pair(before, change, cover, self.screen)
        entry = log_entry(before, after, change, reason)
        old = getattr(self, "certificate_", None) or Certificate(False, 0, False, 0, 0)
        model = self._with_pair(after, replace(old, holds=False, is_edited=True))
        model._edits = (*self._edits, entry)
        if not hasattr(self, "fitted_pair_"):
            del model.fitted_pair_  # a loaded model has no candidates, and edits bring none
            known = dict(zip(self.rules_["literals"], self.rules_["aliases"], strict=True))
            model.rules_["aliases"] = [known.get(literals, ()) for literals in model.rules_["literals"]]
        return model

    def _required(self) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
        """Rules of each side that must be in: those of the fit, or as its parameters say where it was loaded."""
        if not hasattr(self, "fitted_pair_"):
            return required_rules(self.require, (self._label(0), self._label(1)), self._contract.orders)
        positive, negative = (
            tuple(Rule(pattern) for pattern in pool.patterns[: pool.num_required])
            for pool in self.fitted_pair_.target.pools
        )
        return positive, negative

    def _check_free(self, change: Change) -> None:
        """Refuse to take out what the parameters say is in: whoever reads them must be able to rely on it."""
        removed = change.removed
        if removed is not None and rule_key(removed) in map(rule_key, self._required()[change.side]):
            raise InputError(
                f"The rule {removed} is required (require), and edits keep to that; to take it out, fit again without "
                "requiring it."
            )

    def _pair_and_cover(self, change: Change, X: Any, y: Any, sample_weight: Any) -> tuple[FittedPair, Cover | None]:
        """Find the pair on its training rows, and the rows of the added rule unless it is a candidate."""
        added, fitted = change.added, getattr(self, "fitted_pair_", None)
        if fitted is not None:
            if added is None or place_in(fitted.target.pools[change.side], added) is not None:
                return fitted, None
            cover = None if self._known is None else self._known.cover(added)
            if cover is not None:
                return fitted, cover
        if X is None:
            raise InputError(self._what_is_missing(added))
        return self._recounted(fitted, added, X, y, sample_weight)

    def _what_is_missing(self, added: Rule | None) -> str:
        if not hasattr(self, "fitted_pair_"):
            return "A loaded model does not hold the training rows; give X= and y=, the table it was fitted on."
        assert added is not None
        unknown = [str(z) for z in added.conditions if self._known is None or self._known.cover(Rule((z,))) is None]
        return (
            f"The fit did not count the literal {unknown[0]!r}, so that its rows are not known; "
            "give X= and y=, the training table."
        )

    def _recounted(
        self, fitted: FittedPair | None, added: Rule | None, X: Any, y: Any, sample_weight: Any
    ) -> tuple[FittedPair, Cover | None]:
        from soar_jax.control import recount

        rows = self._training_rows(X, y, sample_weight)
        is_cut: Callable[[Literal], bool] = recount.counts_as_cut(
            rows,
            self.max_bins,
            self.cuts,
            honest=bool(self.honest),
        )
        if fitted is not None:
            pair, counted = recount.recount_pair(fitted, rows, added, self.screen)
        else:
            sets = (self.positive_rules_, self.negative_rules_)
            pools, counted = recount.pools_of_sets(sets, self._required(), rows, added, is_cut, self.screen)
            target = Target(pools, counted.layout, self._hyper, self._single)
            included = np.zeros((2, target.num_slots), dtype=bool)
            for of_side, pool in zip(included, pools, strict=True):
                of_side[: len(pool)] = True
            columns, name = tuple(self._column_names), type(self).__name__
            pair = FittedPair(
                target, included, self.classes_, self._positive_index, columns, name, contract=self._contract
            )
        if not recount.agrees(pair, self.score_, self.training_taxonomy_):
            raise InputError(
                "X and y are not the rows that the model was fitted on: its score does not come out. Give the same "
                "table, labels and sample_weight as to fit."
            )
        return pair, None if added is None else recount.cover_of(added, counted, is_cut)

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Find the rows that the fit counted in the table that was given to it."""
        from soar_jax.control.recount import TrainingRows

        again: Any = clone(self)
        again.seed_ = self.seed_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # said at the fit
            frame, is_true, weights = again._validate_training(X, y, sample_weight)
        if not np.array_equal(again.classes_, self.classes_) or again._column_names != self._column_names:
            raise InputError("X and y are not the table that the model was fitted on: columns or labels differ.")
        counted = again._counted_rows(is_true)
        return TrainingRows(frame.loc[counted], is_true[counted], weights[counted])
