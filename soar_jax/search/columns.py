"""What each column is worth to a pair: how much is lost when no rule may read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soar_jax._base import BoolArray, FloatArray, in_float64
from soar_jax._progress import Clock
from soar_jax.score.flips import restrict
from soar_jax.score.target import Target
from soar_jax.search.anneal import programs_for
from soar_jax.search.descent import descend

if TYPE_CHECKING:
    from jax.sharding import Mesh


@in_float64
def column_costs(
    target: Target, included: BoolArray, columns: Sequence[str], clock: Clock, mesh: Mesh | None = None
) -> FloatArray:
    """Log joint lost without each column: its rules leave, and a descent among all other candidates makes up for it.

    Parameters
    ----------
    included : (2, num_slots) bool
        The pair.
    columns : sequence of str
    """
    problem, pool = target.problem, target.numbered_pool
    kind = np.asarray(problem.kind)
    best = descend(programs_for(problem, pool, mesh).descend, included, clock, with_exchanges=False).log_joint
    costs = []
    for name in columns:
        allowed = np.ones(included.shape, dtype=bool)
        for side, candidates in enumerate(target.pools):
            uses = [any(literal.column == name for literal in pattern) for pattern in candidates.patterns]
            allowed[side, : len(candidates)] = ~np.array(uses, dtype=bool)
        allowed |= target.required
        within = programs_for(*restrict(problem, pool, kind, allowed), mesh)
        costs.append(best - descend(within.descend, included & allowed, clock).log_joint)
    return np.array(costs)
