"""What estimators do with constraints before they search: read them, and choose columns where these are limited."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from soar_jax._progress import Clock
from soar_jax.candidates.build import Candidates
from soar_jax.candidates.constraints import NO_CONSTRAINTS, Constraints
from soar_jax.data.columns import TableValues
from soar_jax.estimators.choose_columns import choose_columns
from soar_jax.estimators.constraints import read_constraints
from soar_jax.estimators.find_pair import FoundPair

CONSTRAINTS = ("forbid", "require", "directions", "max_rules", "max_columns")
_CHOOSING_ROUNDS = 8
"""Rounds without success after which a search ends that only helps to choose columns."""


class ConstrainedMixin:
    """Give an estimator what ``forbid``, ``require``, ``directions``, ``max_rules`` and ``max_columns`` ask for."""

    _single: bool
    n_rounds: int | None
    time_budget: float | None

    def _read_constraints(self, frame: pd.DataFrame | TableValues) -> Constraints:
        """Check forbid, require, directions, max_rules and max_columns against a table."""
        given = {name: getattr(self, name) for name in CONSTRAINTS}
        if all(value is None for value in given.values()):
            return NO_CONSTRAINTS
        return read_constraints(frame, (self._label(0), self._label(1)), single=self._single, **given)

    def _choose_columns(
        self, names: Sequence[str], build: Callable[[Constraints], Candidates], given: Constraints, started: float
    ) -> Constraints:
        """Rule columns out until no more than ``max_columns`` are left; ``build`` makes candidates."""
        if given.max_columns is None:
            return given
        from soar_jax.score.devices import current_mesh

        def time_left() -> float | None:
            """Half of it: what is chosen must then be searched."""
            return None if self.time_budget is None else (self.time_budget - time.perf_counter() + started) / 2

        rounds = _CHOOSING_ROUNDS if self.n_rounds is None else min(self.n_rounds, _CHOOSING_ROUNDS)
        return choose_columns(
            names,
            given,
            build,
            lambda candidates: self._find(candidates, time_left(), n_rounds=rounds),
            Clock(time_left()),
            current_mesh(),
        )

    @abstractmethod
    def _label(self, side: int) -> Any:
        """Class that a side's rules speak for."""

    @abstractmethod
    def _find(self, candidates: Candidates, time_left: float | None, **changes: Any) -> FoundPair:
        """Search, perhaps with some settings changed."""
