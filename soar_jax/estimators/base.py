"""What both estimators share: parameters, fitting, reading and predicting with rule sets."""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, metadata_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from soar_jax._base import (
    BoolArray,
    InputError,
    IntArray,
    NothingFoundWarning,
    check_choice,
    check_seconds,
    check_whole,
    draw_seed,
)
from soar_jax._progress import ProgressBar, announce
from soar_jax.candidates.build import CandidateOptions, Candidates, build_candidates, build_honest_candidates
from soar_jax.candidates.constraints import Constraints
from soar_jax.control.edits import known_literals
from soar_jax.data.columns import level_text
from soar_jax.data.contract import MISSING
from soar_jax.data.labels import alike, counted_weights, plain_labels
from soar_jax.data.learn import learn_contract
from soar_jax.data.suspects import find_suspects
from soar_jax.data.table import as_frame, has_names
from soar_jax.estimators.deciding import DecidingMixin
from soar_jax.estimators.editing import EditingMixin
from soar_jax.estimators.find_pair import FoundPair, SearchSettings, find_pair
from soar_jax.estimators.fresh import split_rows
from soar_jax.estimators.notebook import NotebookMixin
from soar_jax.estimators.plain_state import PlainStateMixin
from soar_jax.estimators.reporting import ReportingMixin
from soar_jax.estimators.rule_table import pool_table, rule_table
from soar_jax.estimators.tables import TablesMixin
from soar_jax.rules import Rule, RuleSet
from soar_jax.score.power import check_power, power_in_words, resolve_power
from soar_jax.score.priors import StatePriors
from soar_jax.score.rates import claims_of
from soar_jax.score.rule_priors import SearchedRules
from soar_jax.score.target import FittedPair
from soar_jax.search.certificate import Certificate
from soar_jax.states import STATES, taxonomy_from_counts

if TYPE_CHECKING:
    from soar_jax.search.checkpoint import CheckpointFolder

ROW_CHOICES = ("current", "best")
_AGREEMENT = 1e-9
_TWO = 2


def _checkpoint_folder(path: str | os.PathLike[str]) -> CheckpointFolder:
    from soar_jax.search.checkpoint import CheckpointFolder

    return CheckpointFolder(path)


class RuleSetClassifier(
    PlainStateMixin,
    ClassifierMixin,
    DecidingMixin,
    EditingMixin,
    NotebookMixin,
    ReportingMixin,
    TablesMixin,
    BaseEstimator,
    ABC,
):
    """A scikit-learn classifier made of one or two rule sets."""

    def __init__(
        self,
        *,
        max_length: int | None = None,
        min_support: float | int = 0.03,
        min_class_support: float | int | None = None,
        max_patterns: int = 1000,
        screen: str = "entropy",
        pools: str = "directed",
        miner: str = "packed",
        max_bins: int = 6,
        cuts: str = "supervised",
        negations: bool = False,
        missing_literals: bool = False,
        consensus: Any = None,
        rule_prior: Any = None,
        power: Any = "auto",
        honest: bool = False,
        holdout: float = 0.0,
        search: str = "full",
        grow_to: int | None = None,
        n_rounds: int | None = None,
        n_iter: int = 500,
        n_restarts: int = 4,
        temperature: float = 3.0,
        random_share: float = 0.5,
        row_choice: str = "current",
        time_budget: float | None = None,
        progress: bool = False,
        positive: Any = None,
        class_weight: Any = None,
        forbid: Any = None,
        require: Any = None,
        directions: Any = None,
        max_rules: Any = None,
        max_columns: int | None = None,
        kinds: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.max_length = max_length
        self.min_support = min_support
        self.min_class_support = min_class_support
        self.max_patterns = max_patterns
        self.screen = screen
        self.pools = pools
        self.miner = miner
        self.max_bins = max_bins
        self.cuts = cuts
        self.negations = negations
        self.missing_literals = missing_literals
        self.consensus = consensus
        self.rule_prior = rule_prior
        self.power = power
        self.honest = honest
        self.holdout = holdout
        self.search = search
        self.grow_to = grow_to
        self.n_rounds = n_rounds
        self.n_iter = n_iter
        self.n_restarts = n_restarts
        self.temperature = temperature
        self.random_share = random_share
        self.row_choice = row_choice
        self.time_budget = time_budget
        self.progress = progress
        self.positive = positive
        self.class_weight = class_weight
        self.forbid = forbid
        self.require = require
        self.directions = directions
        self.max_rules = max_rules
        self.max_columns = max_columns
        self.kinds = kinds
        self.random_state = random_state

    # where a fit is saved is no property of rows: nothing to route
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"checkpoint": metadata_routing.UNUSED}

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Learn the rule sets.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Any column types; missing values are allowed and satisfy no literal.
        y : array-like of shape (n_samples,)
            Two classes, of any label type.
        sample_weight : array-like of numbers, optional
            Whole numbers: a row of weight w counts as w equal rows, and one of weight 0 is left out. With fractions
            among them weights are relative: scaled to sum to the number of rows that have any, and rounded class by
            class so that the sums are kept (`soar_jax.data.labels.counted_weights`); the likelihood counts rows.
            ``class_weight`` multiplies them. Weights other than repeated rows shift the base rate, and with it
            ``predict_proba``.
        checkpoint : path, optional
            Folder to save the search in, about every second. Called again with the same table, settings and folder, a
            fit that was killed or stopped by its ``time_budget`` goes on from there, and ends with the same result as
            one that never stopped. Reading and mining the table is done again.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        before = dict(self.__dict__)
        try:
            self._check_parameters()
            self._draw_seed()
            self._checkpoints = None if checkpoint is None else _checkpoint_folder(checkpoint)
            frame, is_true, weights = self._validate_training(X, y, sample_weight)
            given = self._read_constraints(frame)
            held = self._hold_out(is_true)
            self.held_out_: IntArray = self.__dict__.pop("_used")[held]
            training = frame.loc[~held], is_true[~held], weights[~held]

            def build(constraints: Constraints) -> Candidates:
                return self._candidates_of(*training, constraints)

            given = self._choose_columns(list(frame.columns), build, given, started)
            with ProgressBar() if self.progress else nullcontext() as bar:
                announce(bar, "preparing", 1)
                candidates = build(given)
            self._search(candidates, started)
            if held.any():
                self._measure(frame.loc[held], is_true[held], weights[held])
            del self._checkpoints
        except BaseException:
            # a fit that fails leaves the estimator as it was, not with new labels on old rules
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    # -- parameters ---------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.n_rounds is not None:
            check_whole("n_rounds", self.n_rounds, 1)
        check_whole("n_iter", self.n_iter, 1)
        check_whole("n_restarts", self.n_restarts, 1)
        check_choice("row_choice", self.row_choice, ROW_CHOICES)
        if not (isinstance(self.temperature, Real) and 0 < self.temperature < np.inf):
            raise InputError(f"temperature must be a positive number, got {self.temperature!r}.")
        if not (isinstance(self.random_share, Real) and 0 <= self.random_share <= 1):
            raise InputError(f"random_share must lie in [0, 1], got {self.random_share!r}.")
        check_power(self.power)
        check_seconds("time_budget", self.time_budget)
        if not isinstance(self.honest, bool | np.bool_):
            raise InputError(f"honest must be True or False, got {self.honest!r}.")
        if not (isinstance(self.holdout, Real) and 0 <= self.holdout < 1):
            raise InputError(f"holdout must lie in [0, 1), got {self.holdout!r}; give a share of the rows.")

    def _candidate_options(self) -> CandidateOptions:
        options = CandidateOptions(**{name: getattr(self, name) for name in CandidateOptions.__dataclass_fields__})
        priors = self.rule_prior if isinstance(self.rule_prior, tuple | list) else (self.rule_prior,)
        if all(prior is None or isinstance(prior, SearchedRules) for prior in priors):
            return options
        if self.grow_to:
            raise InputError(
                "grow_to needs rule_prior=SearchedRules(...): the paper's priors count mined patterns only."
            )
        return replace(options, grow_to=0)

    @abstractmethod
    def _state_priors(self, num_positives: int, num_negatives: int) -> StatePriors:
        """Turn the estimator's bounds or opinions into numbers for one table."""

    # -- training -----------------------------------------------------------------------------

    def _validate_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, BoolArray, IntArray]:
        frame = as_frame(X)
        is_named = has_names(X)
        validate_data(
            self,
            X if isinstance(X, pd.DataFrame) else frame if is_named else frame.to_numpy(),
            y,
            skip_check_array=True,
        )
        self._column_names = list(frame.columns)
        for axis, what in ((0, "sample(s)"), (1, "feature(s)")):
            if frame.shape[axis] == 0:
                raise InputError(f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required.")
        labels = plain_labels(y)
        check_consistent_length(frame, labels)
        words = frame.attrs.get(MISSING, ())
        frame, self._contract = learn_contract(frame, self.kinds, has_names=is_named, missing_words=words)
        if pd.isna(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
            raise InputError("Input y contains NaN or infinity; drop the rows without a label.")
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        weights = counted_weights(sample_weight, self.class_weight, labels)
        self._row_weight = weights.sum() / counted_weights(sample_weight, None, labels).sum()
        used = weights > 0
        self._used = np.flatnonzero(used)
        if len(np.unique(labels[used])) < _TWO:
            raise InputError(
                f"y has only one class, {str(labels[used][0])!r} (n_samples={len(frame)}); rules need two classes."
            )
        if type_of_target(labels) != "binary":
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}, with {len(self.classes_)} classes; "
                f"for more classes use sklearn.multiclass.OneVsRestClassifier.{alike(labels)}"
            )
        self._positive_index = self._find_positive()
        is_true = labels == self.classes_[self._positive_index]
        frame = frame.loc[used] if not used.all() else frame
        self._contract = self._contract.with_notes(find_suspects(frame, self._contract, is_true[used]))
        return frame, is_true[used], weights[used]

    def _draw_seed(self) -> None:
        """Draw the one seed of a fit: rows that are set aside and all searches follow from it."""
        self.seed_ = draw_seed(self.random_state)

    def _hold_out(self, is_true: BoolArray) -> BoolArray:
        """Say which rows are kept out of the fit."""
        if not self.holdout:
            return np.zeros(len(is_true), dtype=bool)
        return split_rows(is_true, float(self.holdout), np.random.Generator(np.random.Philox(key=[self.seed_, 3])))

    def _candidates_of(
        self, frame: pd.DataFrame, is_true: BoolArray, weights: IntArray, given: Constraints
    ) -> Candidates:
        options = self._candidate_options()
        how: dict[str, Any] = {"single": self._single, "constraints": given}
        if not self.honest:
            return build_candidates(frame, is_true, weights, options, **how)
        is_for_scoring = self._scoring_rows(is_true)
        return build_honest_candidates(frame, is_true, weights, is_for_scoring, options, **how)

    def _scoring_rows(self, is_true: BoolArray) -> BoolArray:
        """Say which rows score the rules of an honest fit."""
        return split_rows(is_true, 0.5, np.random.Generator(np.random.Philox(key=[self.seed_, 4])))

    def _counted_rows(self, is_true: BoolArray) -> BoolArray:
        """Say which rows the fit counted: those not held out, and of an honest fit those that score."""
        counted = ~self._hold_out(is_true)
        if self.honest:
            counted[counted] = self._scoring_rows(is_true[counted])
        return counted

    def _find_positive(self) -> int:
        if self.positive is None:
            return 1
        wanted = level_text(self.positive)  # 1, 1.0, True and "1" name the same label
        matches = np.flatnonzero([level_text(label) == wanted for label in self.classes_])
        if len(matches) != 1:
            raise InputError(f"positive={self.positive!r} is not one of the labels {self.classes_.tolist()}.")
        return int(matches[0])

    def _find(self, candidates: Candidates, time_left: float | None, **changes: Any) -> FoundPair:
        """Search, perhaps with some settings changed."""
        from soar_jax.score.devices import current_mesh

        layout = candidates.layout
        settings = SearchSettings(**{name: getattr(self, name) for name in SearchSettings.__dataclass_fields__})
        states = self._state_priors(layout.num_positives, layout.num_negatives)
        base_rate = layout.num_positives / (layout.num_positives + layout.num_negatives)
        with ProgressBar() if self.progress else nullcontext() as bar:
            return find_pair(
                candidates,
                states,
                claims_of(states, base_rate, self._row_weight),
                SearchedRules() if self.rule_prior is None else self.rule_prior,
                replace(settings, **changes),
                power=resolve_power(self.power, layout.num_positives, layout.num_negatives),
                single=self._single,
                seed=self.seed_,
                time_budget=None if time_left is None else max(0.0, time_left),
                progress=bar,
                mesh=current_mesh(),
                checkpoints=self.__dict__.get("_checkpoints"),
                classes=[str(self._label(side)) for side in (0, 1)],
            )

    def _search(self, candidates: Candidates, started: float) -> None:
        elapsed = time.perf_counter() - started
        found = self._find(candidates, None if self.time_budget is None else self.time_budget - elapsed)
        if found.was_stopped and not found.certificate:
            warnings.warn(
                "The search was stopped before the best pair could be shown to be a local optimum; "
                "give it more time_budget to get that certificate.",
                stacklevel=3,
            )
        columns, name = tuple(self._column_names), type(self).__name__
        offered = {column.name for column in candidates.columns if column.levels or column.cuts}
        self._contract = self._contract.with_notes(dict.fromkeys(set(columns) - offered, "not used"))
        where = self.classes_, self._positive_index, columns, name
        fitted = FittedPair(found.target, found.included, *where, found.left_out, self._contract, found.starts)
        if abs(fitted.log_joint - found.log_joint) > _AGREEMENT * max(1.0, abs(fitted.log_joint)):
            raise RuntimeError(
                f"The device's log joint {found.log_joint!r} and the host's {fitted.log_joint!r} disagree; "
                "please report this."
            )
        self._keep(fitted, candidates, found)

    def _keep(self, fitted: FittedPair, candidates: Candidates, found: FoundPair) -> None:
        """Set the fitted attributes."""
        self.history_ = pd.DataFrame(found.history)
        self.restart_scores_ = -found.rival_log_joints
        self.stage_seconds_ = {**candidates.seconds, **found.seconds}
        self.num_frequent_patterns_ = candidates.num_mined
        self._known = known_literals(candidates)
        # draws, figures and changes of an earlier fit are not of this one
        for name in ("posterior_", "fresh_states_", "_edits", "queries_"):
            self.__dict__.pop(name, None)
        self._take(fitted, found.certificate)
        if not len(self.rules_) and self.is_local_optimum_:
            warnings.warn(self.conclude(), NothingFoundWarning, stacklevel=4)

    def _take(self, fitted: FittedPair, certificate: Certificate) -> None:
        """Set what depends on the fitted pair."""
        self.fitted_pair_ = fitted
        self._hyper = fitted.target.hyper
        self.score_ = -fitted.log_joint
        self.power_ = float(self._hyper.power)
        self.gain_ = fitted.gain
        self.certificate_ = certificate
        self.is_local_optimum_ = certificate.holds
        self.training_taxonomy_ = taxonomy_from_counts(*fitted.state_counts)
        self.priors_ = self._hyper.as_dict()
        self.__dict__.pop("fresh_states_", None)
        self._set_rules(rule_table(fitted))

    def _set_rules(self, table: pd.DataFrame) -> None:
        self.rules_ = table
        sets = []
        for side in (0, 1):
            mine = table[table["side"] == STATES[side]]
            rules = tuple(Rule.from_literals(literals, self._contract.orders) for literals in mine["literals"])
            sets.append(RuleSet(self._label(side), rules))
        self.positive_rules_, self.negative_rules_ = sets
        self.features_used_ = list(dict.fromkeys([*sets[0].columns, *sets[1].columns]))

    def _power_in_words(self) -> str:
        return power_in_words(self.power_, int(self.training_taxonomy_.sum()))

    @property
    def pools_(self) -> pd.DataFrame:
        """All candidates as plain data: class, rule, length, literals, support, impurity, aliases."""
        check_is_fitted(self, "classes_")
        if not hasattr(self, "fitted_pair_"):
            raise AttributeError("pools_ is not kept in a saved model; fit again to see the candidates.")
        return pool_table(self.fitted_pair_)

    # -- printing, files ----------------------------------------------------------------------

    def describe(self) -> str:
        """Both rule sets as text."""
        check_is_fitted(self, "classes_")
        parts = [f"{self.positive_rules_}"]
        if not self._single:
            parts.append(f"{self.negative_rules_}")
        if self.power_ < 1:
            parts.append(f"({self._power_in_words()})")
        if self.was_stopped_:
            parts.append(f"({self.certificate_})")
        return "\n".join(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted pair as JSON; nothing is left behind when writing fails.

        Posterior draws are not in the file; the averaged model is saved by ``posterior_.committee().save(path)``.
        """
        from soar_jax.estimators.model_file import save_model

        check_is_fitted(self, "classes_")
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`."""
        from soar_jax.estimators.model_file import load_model

        return load_model(path, {cls.__name__: cls})

    def __sklearn_tags__(self) -> Any:
        """Declare what scikit-learn should know: two classes, missing values and text allowed."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
