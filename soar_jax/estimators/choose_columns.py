"""``max_columns``: the columns are chosen first, and all else holds given them.

The pair is searched with all columns. Then the column whose absence costs least is left out and the rest searched
again, until few enough are left. Where a pair reads fewer columns than it may, those with the purest patterns fill up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from soar_jax._progress import Clock
from soar_jax.candidates.build import Candidates
from soar_jax.candidates.catalogue import Catalogue
from soar_jax.candidates.constraints import Constraints
from soar_jax.candidates.pools import impurity

if TYPE_CHECKING:
    from jax.sharding import Mesh

    from soar_jax.estimators.find_pair import FoundPair


def choose_columns(
    names: Sequence[str],
    given: Constraints,
    build: Callable[[Constraints], Candidates],
    search: Callable[[Candidates], FoundPair],
    clock: Clock,
    mesh: Mesh | None,
) -> Constraints:
    """Rule columns out until no more than ``max_columns`` are left.

    Parameters
    ----------
    names : sequence of str
        All columns of the table.
    build, search : callable
        Make candidates under constraints; find their best pair.
    """
    left = [name for name in names if name not in given.columns_out]
    needed = {literal.column for literal in given.required_literals()}
    most = len(left) if given.max_columns is None else given.max_columns
    while len(left) > most:
        candidates = build(given.limit_to(left, names))
        found = search(candidates)
        used = _columns_of(found)
        if len(used) <= most:
            by_purity = sorted(set(left) - used, key=lambda name: (_least_impurity(candidates, name), left.index(name)))
            used |= set(by_purity[: most - len(used)])
        else:
            from soar_jax.search.columns import column_costs

            free = [name for name in left if name in used - needed]
            costs = column_costs(found.target, found.included, free, clock, mesh)
            used.remove(free[int(np.argmin(costs))])
        left = [name for name in left if name in used]
    return given if given.max_columns is None else given.limit_to(left, names)


def _columns_of(found: FoundPair) -> set[str]:
    """Columns that the rules of a pair read."""
    return {
        literal.column
        for pool, mine in zip(found.target.pools, found.included, strict=True)
        for i in np.flatnonzero(mine[: len(pool)])
        for literal in pool.patterns[i]
    }


def _least_impurity(candidates: Candidates, name: str) -> float:
    """Least impurity of the patterns that read a column; infinite where there is none."""
    source, layout = candidates.source, candidates.layout
    if not isinstance(source, Catalogue):
        reads = [[any(literal.column == name for literal in p) for p in pool.patterns] for pool in source]
        return float(min(np.min(pool.impurity[mask], initial=np.inf) for pool, mask in zip(source, reads, strict=True)))
    is_mine = np.append([literal.column == name for literal in source.items.literals], False)
    mined = source.mined
    chosen = is_mine[mined.items].any(axis=1)
    counts = mined.positives[chosen], mined.negatives[chosen]
    return float(impurity(*counts, layout.num_positives, layout.num_negatives, source.screen).min(initial=np.inf))
