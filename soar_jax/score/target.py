"""The distribution over pairs that one table and one set of priors define, and the pair found in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soar_jax._base import MAX_RULES, BoolArray, FloatArray, IntArray, slots_for
from soar_jax.candidates.coverage import BitLayout
from soar_jax.candidates.merge import merge_rows
from soar_jax.candidates.pools import Pool
from soar_jax.data.contract import Contract
from soar_jax.data.labels import by_class, is_positive
from soar_jax.rules import Rule, RuleSet
from soar_jax.score.host import host_log_joint
from soar_jax.score.priors import Hyperparameters
from soar_jax.states import state_masks

if TYPE_CHECKING:
    from soar_jax.score.flips import NumberedPool
    from soar_jax.score.problem import Problem


@dataclass(frozen=True)
class Target:
    """What is searched and sampled: candidates of a table, and the priors as numbers.

    Attributes
    ----------
    pools : (Pool, Pool)
        Candidates of the positive and the negative rule set.
    layout : BitLayout
        Where each distinct row's bits lie.
    hyper : Hyperparameters
    single : bool
        One-class method: rows outside the positive rule set count as predicted negative.
    max_rules : (int, int), optional
        Rules of each side at most; as many as can be counted when not given.
    """

    pools: tuple[Pool, Pool]
    layout: BitLayout
    hyper: Hyperparameters
    single: bool = False
    max_rules: tuple[int, int] | None = None

    @property
    def num_slots(self) -> int:
        """Places for candidates per side, as in ``problem``."""
        return slots_for(max(len(pool) for pool in self.pools))

    @property
    def required(self) -> BoolArray:
        """Candidates that must be in: (2, num_slots)."""
        counts = np.array([[pool.num_required] for pool in self.pools])
        return np.asarray(np.arange(self.num_slots) < counts)

    @cached_property
    def merged(self) -> tuple[tuple[Pool, Pool], BitLayout]:
        """Pools and layout of the rows as the candidates see them; see `soar_jax.candidates.merge`."""
        return merge_rows(self.pools, self.layout)

    @cached_property
    def problem(self) -> Problem:
        """The same as arrays on the device, rows merged; made once."""
        from soar_jax.score.problem import make_problem  # predicting needs no JAX

        pools, layout = self.merged
        max_rules = (MAX_RULES, MAX_RULES) if self.max_rules is None else self.max_rules
        return make_problem(pools, layout, self.hyper, single=self.single, max_rules=max_rules)

    @cached_property
    def numbered_pool(self) -> NumberedPool:
        """Both pools in one numbering, on the device; made once."""
        from soar_jax.score.flips import number_pool

        return number_pool(self.problem)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the device's arrays out of a pickle: they can be made again, and float64 would not survive."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Agreement(NamedTuple):
    """How many searches there were, how many of them found the best reading, and by how much it leads.

    Attributes
    ----------
    num_searches, num_agreeing : int
    lead : float
        Nats between it and the best pair that any search kept of another reading; infinite without one, below 0 where
        a reading that fewer searches found is slightly better.
    """

    num_searches: int
    num_agreeing: int
    lead: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**self._asdict(), "lead": self.lead if np.isfinite(self.lead) else None}

    def __str__(self) -> str:
        """Say it in words."""
        text = f"{self.num_agreeing} of {self.num_searches} independent searches found this reading of the table"
        if not np.isfinite(self.lead):
            return f"{text}."
        return f"{text}; the next one is {abs(self.lead):.1f} nats {'behind' if self.lead >= 0 else 'better'}."


class Starts(NamedTuple):
    """What a search knows of other readings of the table.

    Attributes
    ----------
    readings : (num_readings, 2, num_slots) bool
        Their best pairs, best first, without the fitted pair.
    agreement : Agreement, optional
        None where there was nothing to search.
    """

    readings: BoolArray
    agreement: Agreement | None


@dataclass(frozen=True)
class FittedPair:
    """The pair that a search found, with all that is needed to name, score and apply it.

    Attributes
    ----------
    target : Target
    included : (2, num_slots) bool
        Which candidates are in.
    classes : (2,) array
    positive_index : int
        Which of the classes is positive.
    columns : tuple of str
        Names of the training table's columns.
    model : str
        Name of the estimator, for messages.
    left_out : float
        Rules per draw, around the pair, that are mined patterns but no candidates; NaN where it is not known.
    contract : Contract, optional
        What the columns were read as.
    starts : Starts, optional
        Where else chains should start; not known after annealing.
    """

    target: Target
    included: BoolArray
    classes: np.ndarray
    positive_index: int
    columns: tuple[str, ...]
    model: str
    left_out: float = float("nan")
    contract: Contract | None = None
    starts: Starts | None = None

    def label(self, side: int) -> Any:
        """Class that a side's rules speak for."""
        return self.classes[self.positive_index if side == 0 else 1 - self.positive_index]

    @cached_property
    def members(self) -> tuple[IntArray, IntArray]:
        """Indices of the rules in each pool."""
        positive, negative = (
            np.flatnonzero(self.included[side][: len(pool)]) for side, pool in enumerate(self.target.pools)
        )
        return positive, negative

    @cached_property
    def rule_sets(self) -> tuple[RuleSet, RuleSet]:
        """Both rule sets, in the order of the pools."""
        positive, negative = (
            RuleSet(self.label(side), tuple(Rule(pool.patterns[i]) for i in self.members[side]))
            for side, pool in enumerate(self.target.pools)
        )
        return positive, negative

    @cached_property
    def state_counts(self) -> tuple[IntArray, IntArray]:
        """Positives and negatives of each state among the training rows, counted afresh on the host: (4,) each."""
        layout, pools = self.target.layout, self.target.pools
        cover = [
            np.bitwise_or.reduce(pool.bits[members], axis=0) for pool, members in zip(pools, self.members, strict=True)
        ]
        return layout.counts(state_masks(cover[0], cover[1], layout.everything()))

    @cached_property
    def log_joint(self) -> float:
        """Log joint, computed afresh on the host."""
        pools, hyper = self.target.pools, self.target.hyper
        kinds = [hyper.kinds_of_pool(side, pool)[self.members[side]] for side, pool in enumerate(pools)]
        # those that must be in have no kind: no prior charges for them
        sizes = [np.bincount(mine[mine >= 0], minlength=hyper.searched.shape[1]) for mine in kinds]
        return host_log_joint(*self.state_counts, np.stack(sizes), hyper)

    @cached_property
    def gain(self) -> float:
        """By how many nats the rows favour these rules over none, or over those alone that must be in."""
        return self.log_joint - self.least.log_joint

    @property
    def least(self) -> FittedPair:
        """The pair of two empty rule sets, or of those rules alone that must be in."""
        return replace(self, included=self.target.required)

    def is_positive(self, y: Any, num_rows: int) -> BoolArray:
        """Check labels of rows to judge, and say which are positive."""
        return is_positive(y, num_rows, self.classes, self.label(0))

    def by_class(self, positive: FloatArray) -> FloatArray:
        """Probabilities of both classes, in the order of ``classes``, from that of the positive one: (num_rows, 2)."""
        return by_class(positive, self.positive_index)
