"""What estimators do with a table that stays in its database: fit, predict, watch."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import InputError, check_whole
from soar_jax.candidates.build import CandidateOptions, Candidates
from soar_jax.candidates.constraints import Constraints
from soar_jax.data.labels import class_weights
from soar_jax.estimators.constrained import ConstrainedMixin
from soar_jax.estimators.exporting import ExportingMixin

if TYPE_CHECKING:
    from soar_jax.data.contract import Contract
    from soar_jax.database.monitor import Monitoring

MOST_GROUPS = 200_000
"""Groups up to which `TablesMixin.fit_table` searches all rows as they are grouped."""


def is_ibis_table(table: Any) -> bool:
    """Say whether this is a table expression of Ibis, without importing it."""
    return type(table).__module__.startswith("ibis.") and hasattr(table, "get_backend")


class TablesMixin(ExportingMixin, ConstrainedMixin):
    """Give an estimator ``fit_table``, ``predict_table`` and ``monitor``."""

    holdout: float
    honest: bool
    progress: bool
    class_weight: Any
    kinds: Any
    rules_: pd.DataFrame
    seed_: int
    _contract: Contract

    def fit_table(
        self,
        table: Any,
        target: str,
        *,
        drop: Sequence[str] = (),
        weight: str | None = None,
        max_groups: int = MOST_GROUPS,
    ) -> Self:
        """Learn the rule sets of a table in a database; no row of it leaves the database.

        The engine types the columns, counts their values and bins and groups the rows by what the literals tell apart.
        Only those counts are fetched, and the search is the same as for `fit`: pair, score and taxonomy are equal to
        the bit where every column has at most 100,000 distinct values. A column of more is cut between fine bins,
        counted exactly; of a text column of more, levels with less than 1 / 5,000 of each class are "other".

        Parameters
        ----------
        table : ibis.Table
            A table expression of Ibis, on DuckDB, Spark, PostgreSQL and others.
        target : str
            The column to predict, with two distinct values and none missing.
        drop : sequence of str
            Columns to leave out.
        weight : str, optional
            A column of whole numbers: a row of weight w counts as w equal rows.
        max_groups : int
            Groups up to which all rows are searched as they are. Beyond, patterns are mined on a sample of the rows and
            the screened ones are counted on all rows; ``certificate_`` then says so.

        Returns
        -------
        self
            Also sets ``queries_``: what was asked of the database, seconds, lines and bytes fetched.
        """
        started = time.perf_counter()
        before = dict(self.__dict__)
        try:
            self._fit_table(table, target, drop, weight, max_groups, started)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit_table(
        self, table: Any, target: str, drop: Sequence[str], weight: str | None, max_groups: int, started: float
    ) -> None:
        if not is_ibis_table(table):
            raise InputError(f"table must be a table expression of Ibis, got {type(table).__name__}; frames go to fit.")
        from soar_jax.database.contract import contract_of
        from soar_jax.database.engine import Engine
        from soar_jax.database.sampled import build_table_candidates
        from soar_jax.database.source import TableSource
        from soar_jax.database.target import count_labels, require_names

        self._check_parameters()
        self._draw_seed()
        check_whole("max_groups", max_groups, 1)
        for name, value in (("honest", self.honest), ("holdout", self.holdout)):
            if value:
                raise InputError(
                    f"{name}={value!r} needs single rows, which stay in the database; split the table by a filter of "
                    "your own, fit to one part and judge on the other."
                )
        if self.kinds is not None:
            raise InputError("kinds is for tables without types; cast the columns in the database instead.")
        named = [target, *([] if weight is None else [weight])]
        require_names(table, [*named, *drop], "The fit names")
        names = [name for name in table.columns if name not in {*named, *drop}]
        if not names:
            raise InputError("Found array with 0 feature(s): no column is left to learn from.")
        engine = Engine(table, progress=bool(self.progress))
        labels = count_labels(engine, target, weight)
        self.classes_ = labels.classes
        self._positive_index = self._find_positive()
        self._column_names = names
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        self.held_out_ = np.zeros(0, dtype=np.int64)
        by_class = class_weights(self.class_weight, labels.classes, labels.weights.astype(np.float64))
        if not np.array_equal(by_class, np.round(by_class)):
            raise InputError("class_weight must hold whole numbers for a table in a database: its rows are counted.")
        self._row_weight = (labels.weights * by_class).sum() / labels.weights.sum()
        factors = int(by_class[self._positive_index]), int(by_class[1 - self._positive_index])
        source = TableSource(engine, names, target, labels, self._positive_index, weight, factors, int(max_groups))
        self._contract = contract_of(source)
        given = self._read_constraints(source.values)
        options = self._candidate_options()

        def build(constraints: Constraints) -> Candidates:
            return build_table_candidates(source, options, constraints, single=self._single, seed=self.seed_)

        given = self._choose_columns(names, build, given, started)
        self._search(build(given), started)
        self.queries_ = pd.DataFrame(engine.log)

    def predict_table(self, X: Any, keep: Sequence[str] | None = None) -> Any:
        """Label, probability of the positive class and state of each row, with one walk over the rules.

        Parameters
        ----------
        X : DataFrame, array-like or ibis.Table
            Of an Ibis table nothing is fetched: the result is a lazy table of the same database with the columns
            ``prediction``, ``probability``, ``state`` and ``rules`` (ids of the rules that fire).
        keep : sequence of str, optional
            Columns of an Ibis table to carry along; all when not given.
        """
        if not is_ibis_table(X):
            return super().predict_table(X)
        from soar_jax.database.predict import predict_lazily

        check_is_fitted(self, "classes_")
        return predict_lazily(X, self._content(), keep)

    def monitor(self, table: Any, level: float = 0.99) -> Monitoring:
        """Compare state shares and firing rates of a new batch with what the training rows lead one to expect.

        Needs no labels. Each share has a posterior predictive interval: where the training rows had k of n rows in a
        state, a batch of m rows from the same source has a Beta-binomial number there. The intervals hold together:
        a batch without drift is called drifted with probability ``1 - level`` at most, nearly.

        Parameters
        ----------
        table : DataFrame or ibis.Table
            The batch; an Ibis table is counted by one query in its database.
        level : float
            Probability that all intervals together hold a batch without drift.
        """
        from soar_jax.database.monitor import compare, count_frame, count_table

        check_is_fitted(self, "classes_")
        if not 0 < level < 1:
            raise InputError(f"level must lie in (0, 1), got {level!r}.")
        if self.class_weight is not None:
            raise InputError("With class_weight the training shares are weighted; fit without it to monitor batches.")
        content = self._content()
        if is_ibis_table(table):
            found = count_table(table, content)
        else:
            found = count_frame(self._frame(table), (self.positive_rules_, self.negative_rules_))
        return compare(found, content, self.training_taxonomy_, self.rules_, float(level))

    # -- what `fit` has and uses, too ----------------------------------------------------------

    @abstractmethod
    def _check_parameters(self) -> None: ...

    @abstractmethod
    def _find_positive(self) -> int: ...

    @abstractmethod
    def _candidate_options(self) -> CandidateOptions: ...

    @abstractmethod
    def _draw_seed(self) -> None: ...

    @abstractmethod
    def _search(self, candidates: Candidates, started: float) -> None: ...
