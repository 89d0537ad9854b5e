"""What both estimators share: parameters, fitting, reading and predicting with rule sets."""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from contextlib import nullcontext
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ._base import BoolArray, FloatArray, InputError, IntArray, check_choice, check_seconds, check_whole
from .candidates import CandidateOptions, Candidates, build_candidates
from .labels import plain_labels, whole_weights
from .priors import STATES, Hyperparameters
from .rules import Rule, RuleSet
from .sampling import SamplingMixin
from .table import as_frame, level_text, require_columns
from .taxonomy import TAXONOMY, states_of, taxonomy_counts

ROW_CHOICES = ("current", "best")
_AGREEMENT = 1e-9
_TWO = 2


class RuleSetClassifier(ClassifierMixin, SamplingMixin, BaseEstimator, ABC):
    """A scikit-learn classifier made of one or two rule sets."""

    _single = False

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
        n_iter: int = 500,
        n_restarts: int = 4,
        temperature: float = 3.0,
        random_share: float = 0.5,
        row_choice: str = "current",
        time_budget: float | None = None,
        progress: bool = False,
        positive: Any = None,
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
        self.n_iter = n_iter
        self.n_restarts = n_restarts
        self.temperature = temperature
        self.random_share = random_share
        self.row_choice = row_choice
        self.time_budget = time_budget
        self.progress = progress
        self.positive = positive
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rule sets.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Any column types; missing values are allowed and satisfy no literal.
        y : array-like of shape (n_samples,)
            Two classes, of any label type.
        sample_weight : array-like of whole numbers, optional
            A row of weight w counts as w equal rows; a row of weight 0 is left out.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        before = dict(self.__dict__)
        try:
            self._check_parameters()
            frame, is_positive, weights = self._validate_training(X, y, sample_weight)
            candidates = build_candidates(frame, is_positive, weights, self._candidate_options(), single=self._single)
            self._search(candidates, started)
        except BaseException:
            # a fit that fails leaves the estimator as it was, not with new labels on old rules
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    # -- parameters ---------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole("n_iter", self.n_iter, 1)
        check_whole("n_restarts", self.n_restarts, 1)
        check_choice("row_choice", self.row_choice, ROW_CHOICES)
        if not (isinstance(self.temperature, Real) and 0 < self.temperature < np.inf):
            raise InputError(f"temperature must be a positive number, got {self.temperature!r}.")
        if not (isinstance(self.random_share, Real) and 0 <= self.random_share <= 1):
            raise InputError(f"random_share must lie in [0, 1], got {self.random_share!r}.")
        check_seconds("time_budget", self.time_budget)

    def _candidate_options(self) -> CandidateOptions:
        return CandidateOptions(**{name: getattr(self, name) for name in CandidateOptions.__dataclass_fields__})

    @abstractmethod
    def _hyperparameters(self, num_rows: int, pool_size: IntArray) -> Hyperparameters:
        """Turn the estimator's opinions into numbers for one table."""

    # -- training -----------------------------------------------------------------------------

    def _validate_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, BoolArray, IntArray]:
        frame = as_frame(X)
        validate_data(self, X if isinstance(X, pd.DataFrame) else frame.to_numpy(), y, skip_check_array=True)
        self._column_names = list(frame.columns)
        for axis, what in ((0, "sample(s)"), (1, "feature(s)")):
            if frame.shape[axis] == 0:
                raise InputError(f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required.")
        labels = plain_labels(y)
        check_consistent_length(frame, labels)
        if pd.isna(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
            raise InputError("Input y contains NaN or infinity; drop the rows without a label.")
        check_classification_targets(labels)
        weights = whole_weights(sample_weight, len(frame))
        used = weights > 0
        self.classes_ = np.unique(labels)
        if len(np.unique(labels[used])) < _TWO:
            raise InputError(
                f"y has only one class, {str(labels[used][0])!r} (n_samples={len(frame)}); rules need two classes."
            )
        if type_of_target(labels) != "binary":
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}, with {len(self.classes_)} classes; "
                "for more classes use sklearn.multiclass.OneVsRestClassifier."
            )
        self._positive_index = self._find_positive()
        is_positive = labels == self.classes_[self._positive_index]
        return frame.loc[used] if not used.all() else frame, is_positive[used], weights[used]

    def _find_positive(self) -> int:
        if self.positive is None:
            return 1
        wanted = level_text(self.positive)  # 1, 1.0, True and "1" name the same label
        matches = np.flatnonzero([level_text(label) == wanted for label in self.classes_])
        if len(matches) != 1:
            raise InputError(f"positive={self.positive!r} is not one of the labels {self.classes_.tolist()}.")
        return int(matches[0])

    def _search(self, candidates: Candidates, started: float) -> None:
        from . import anneal
        from .devices import current_mesh
        from .problem import make_problem, pool_sizes
        from .progress import ProgressBar

        hyper = self._hyperparameters(candidates.layout.num_rows, pool_sizes(candidates.pools))
        problem = make_problem(candidates.pools, candidates.layout, hyper, single=self._single)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        elapsed = time.perf_counter() - started
        with ProgressBar() if self.progress else nullcontext() as bar:
            result = anneal.run(
                problem,
                seed=seed,
                num_steps=int(self.n_iter),
                num_restarts=int(self.n_restarts),
                temperature=float(self.temperature),
                random_share=float(self.random_share),
                judge_by_best=self.row_choice == "best",
                time_budget=None if self.time_budget is None else max(0.0, self.time_budget - elapsed),
                progress=bar,
                mesh=current_mesh(),
            )
        if result.was_stopped and not result.is_local_optimum:
            warnings.warn(
                "The search was stopped before the best pair could be shown to be a local optimum; "
                "give it more time_budget to get that certificate.",
                stacklevel=3,
            )
        self._keep(candidates, hyper, result)

    def _keep(self, candidates: Candidates, hyper: Hyperparameters, result: Any) -> None:
        from .joint import host_log_joint
        from .problem import sizes_by_length

        pools, layout = candidates.pools, candidates.layout
        chosen = [np.flatnonzero(result.included[side][: len(pool)]) for side, pool in enumerate(pools)]
        cover = [np.bitwise_or.reduce(pool.bits[c], axis=0) for pool, c in zip(pools, chosen, strict=True)]
        everything = layout.pack(np.ones((1, int(layout.source.max(initial=-1)) + 1), dtype=bool))[0]
        masks = [
            cover[0] & ~cover[1],
            cover[1] & ~cover[0],
            cover[0] & cover[1],
            everything & ~(cover[0] | cover[1]),
        ]
        positives, negatives = layout.counts(np.stack(masks))
        counts = np.array(
            [
                positives[0],
                negatives[0],
                negatives[1],
                positives[1],
                positives[2],
                negatives[2],
                positives[3],
                negatives[3],
            ]
        )
        longest = hyper.pool_size.shape[1]
        sizes = np.stack([sizes_by_length(pool.length[c], longest) for pool, c in zip(pools, chosen, strict=True)])
        value = host_log_joint(counts, sizes, hyper)
        if abs(value - result.log_joint) > _AGREEMENT * max(1.0, abs(value)):
            raise RuntimeError(
                f"The device's log joint {result.log_joint!r} and the host's {value!r} disagree; please report this."
            )
        self.score_ = -value
        self.is_local_optimum_ = bool(result.is_local_optimum)
        self.training_taxonomy_ = pd.Series(counts, index=TAXONOMY, name="rows")
        self.priors_ = hyper.as_dict()
        self.history_ = pd.DataFrame(result.history)
        self.restart_scores_ = -result.restart_log_joints
        self.stage_seconds_ = {**candidates.seconds, **result.seconds}
        self.num_frequent_patterns_ = candidates.num_frequent
        self._hyper = hyper
        self._candidates = candidates
        self.__dict__.pop("posterior_", None)  # draws of an earlier fit are not of this one
        self._set_rules(_rule_table(pools, chosen, layout, [self._label(0), self._label(1)]))

    def _label(self, side: int) -> Any:
        """Class that a side's rules speak for."""
        return self.classes_[self._positive_index if side == 0 else 1 - self._positive_index]

    def _set_rules(self, table: pd.DataFrame) -> None:
        self.rules_ = table
        sets = []
        for side in (0, 1):
            mine = table[table["side"] == STATES[side]]
            sets.append(RuleSet(self._label(side), tuple(Rule.from_literals(r) for r in mine["literals"])))
        self.positive_rules_, self.negative_rules_ = sets
        self.features_used_ = list(dict.fromkeys([*sets[0].columns, *sets[1].columns]))

    @property
    def pools_(self) -> pd.DataFrame:
        """All candidates as plain data: class, rule, length, literals, support, impurity, aliases."""
        check_is_fitted(self, "classes_")
        if not hasattr(self, "_candidates"):
            raise AttributeError("pools_ is not kept in a saved model; fit again to see the candidates.")
        frames = []
        for side, pool in enumerate(self._candidates.pools):
            rules = [Rule(p) for p in pool.patterns]
            frames.append(
                pd.DataFrame(
                    {
                        "class": [self._label(side)] * len(pool),
                        "side": STATES[side],
                        "rule": [str(r) for r in rules],
                        "length": pool.length,
                        "literals": [r.literals for r in rules],
                        "support": pool.positives + pool.negatives,
                        "precision": (pool.negatives if side else pool.positives)
                        / np.maximum(pool.positives + pool.negatives, 1),
                        "impurity": pool.impurity,
                        "aliases": [tuple(str(Rule(a)) for a in group) for group in pool.aliases],
                    }
                )
            )
        return pd.concat([f for f in frames if len(f)] or frames, ignore_index=True)

    # -- prediction ---------------------------------------------------------------------------

    def _frame(self, X: Any) -> pd.DataFrame:
        """Check a table to predict on; only the columns that the rules use are needed."""
        check_is_fitted(self, "classes_")
        frame = as_frame(X)
        if not isinstance(X, pd.DataFrame):
            if frame.shape[1] != self.n_features_in_:
                raise InputError(
                    f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            if len(frame) == 0:
                raise InputError(
                    f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required."
                )
        has_names = isinstance(X, pd.DataFrame) and not isinstance(X.columns, pd.RangeIndex)
        if not has_names and frame.shape[1] == self.n_features_in_:
            frame = frame.set_axis(self._column_names, axis=1)  # by position
        require_columns(frame, self.features_used_, "The rules use")
        return frame

    def _states(self, X: Any) -> IntArray:
        frame = self._frame(X)
        return states_of(self.positive_rules_.fires(frame), self.negative_rules_.fires(frame))

    def state_probabilities(self) -> FloatArray:
        """P(positive class | state) of each state: mean of the Beta posterior of its rate."""
        check_is_fitted(self, "classes_")
        t = self.training_taxonomy_
        hits = t[["CTP", "CTN", "AAP", "PAN"]].to_numpy() + self._hyper.alpha
        misses = t[["CFP", "CFN", "AAN", "PAP"]].to_numpy() + self._hyper.beta
        rate = hits / (hits + misses)
        return np.where([True, False, True, False], rate, 1 - rate)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities, columns in the order of ``classes_``.

        A row's probability is the posterior mean of the rate of its state: consensus positive,
        consensus negative, active or passive. After `sample_posterior` it is averaged over the draws, if they
        can be trusted.
        """
        if self._averages():
            return self.posterior_.predict_proba(X)
        positive = self.state_probabilities()[self._states(X)]
        columns = [1 - positive, positive] if self._positive_index == 1 else [positive, 1 - positive]
        return np.stack(columns, axis=1)

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
        return taxonomy_counts(states, self._is_positive(y, len(states)))

    def _is_positive(self, y: Any, num_rows: int) -> BoolArray:
        """Check labels of rows to judge, and say which are positive."""
        labels = np.asarray(column_or_1d(y))
        check_consistent_length(np.empty(num_rows), labels)
        unknown = set(np.unique(labels).tolist()) - set(self.classes_.tolist())
        if unknown:
            raise InputError(f"y has labels the model does not know: {sorted(map(str, unknown))}.")
        return labels == self._label(0)

    # -- printing, files ----------------------------------------------------------------------

    def describe(self) -> str:
        """Both rule sets as text."""
        check_is_fitted(self, "classes_")
        parts = [f"{self.positive_rules_}"]
        if not self._single:
            parts.append(f"{self.negative_rules_}")
        return "\n".join(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted pair as JSON; nothing is left behind when writing fails.

        Posterior draws are not in the file: a loaded model predicts with the fitted pair.
        """
        from .model_file import save_model

        check_is_fitted(self, "classes_")
        if self._averages():
            warnings.warn(
                "The file holds the fitted pair, not the draws that predict_proba now averages over.", stacklevel=2
            )
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`."""
        from .model_file import load_model

        model = load_model(path)
        if not isinstance(model, cls):
            raise InputError(f"{os.fspath(path)} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model

    def __sklearn_tags__(self) -> Any:
        """Declare what scikit-learn should know: two classes, missing values and text allowed."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _rule_table(pools: Any, chosen: list[IntArray], layout: Any, labels: list[Any]) -> pd.DataFrame:
    """List the rules of both sets with their figures on the training rows, widest first."""
    frames = []
    totals = (layout.num_positives, layout.num_negatives)
    for side, (pool, members) in enumerate(zip(pools, chosen, strict=True)):
        support = (pool.positives + pool.negatives)[members]
        order = members[np.argsort(-support, kind="stable")]
        support = np.sort(support)[::-1]
        bits = pool.bits[order]
        own_rows = (pool.negatives if side else pool.positives)[order]
        unique = []
        for i in range(len(order)):
            others = np.bitwise_or.reduce(np.delete(bits, i, axis=0), axis=0)
            unique.append(layout.counts((bits[i] & ~others)[None])[side][0])
        rules = [Rule(pool.patterns[i]) for i in order]
        frames.append(
            pd.DataFrame(
                {
                    "class": [labels[side]] * len(order),
                    "side": [STATES[side]] * len(order),
                    "rule": [str(rule) for rule in rules],
                    "length": np.array([len(rule) for rule in rules], dtype=np.int64),
                    "support": support,
                    "precision": own_rows / np.maximum(support, 1),
                    "coverage": own_rows / max(totals[side], 1),
                    "unique_coverage": np.array(unique, dtype=np.int64) / max(totals[side], 1),
                    "literals": [rule.literals for rule in rules],
                    "aliases": [tuple(str(Rule(a)) for a in pool.aliases[i]) for i in order],
                }
            )
        )
    return pd.concat([f for f in frames if len(f)] or frames, ignore_index=True)
