"""The descents of a round of the full search: in threads on the cores of a CPU, all in one program elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from jax.sharding import Mesh

from soar_jax._base import BoolArray, in_float64
from soar_jax._progress import Clock
from soar_jax._threads import map_in
from soar_jax.search.anneal import programs_for
from soar_jax.search.descent import Best, descend
from soar_jax.search.descent_batch import descend_together, prefers_batches
from soar_jax.search.working import WorkingPools


class Errand(NamedTuple):
    """Where a descent sets out, and which patterns it may use first: all, or (2, num_slots) bool."""

    included: BoolArray
    allowed: BoolArray | None = None


class OneByOne:
    """Descents in threads, each a call of its own; on a mesh one after the other."""

    def __init__(self, working: WorkingPools, clock: Clock, mesh: Mesh | None, executor: Executor) -> None:
        self._working, self._clock, self._mesh, self._executor = working, clock, mesh, executor

    @in_float64
    def one(self, errand: Errand, *, with_exchanges: bool = True) -> Best:
        """Descend from one pair, among the patterns that it may use."""
        working = self._working
        problem, pool = working.on_device() if errand.allowed is None else working.restricted(errand.allowed)
        run = programs_for(problem, pool, self._mesh).descend
        return descend(run, errand.included, self._clock, with_exchanges=with_exchanges)

    def _sketch(self, errand: Errand) -> Best | None:
        if self._clock.is_over():
            return None
        included = errand.included if errand.allowed is None else self.one(errand).included
        return self.one(Errand(included), with_exchanges=False)

    def sketch(self, errands: Sequence[Errand]) -> list[Best]:
        """Descend among the patterns that each may use first, then by additions and removals, while there is time."""
        self._working.on_device()  # once, before the threads ask for it
        return [found for found in map_in(self._executor, self._sketch, errands) if found is not None]

    def polish(self, errands: Sequence[Errand]) -> list[Best]:
        """Descend from every pair, with exchanges."""
        self._working.on_device()
        return map_in(self._executor, self.one, errands)


class Together(OneByOne):
    """Descents of many pairs in one program."""

    def sketch(self, errands: Sequence[Errand]) -> list[Best]:
        """Descend among the patterns that each may use first, then by additions and removals among all."""
        included = [errand.included for errand in errands]
        detours = [i for i, errand in enumerate(errands) if errand.allowed is not None]
        for i, found in zip(detours, self.polish([errands[i] for i in detours]), strict=True):
            included[i] = found.included
        return self._descend([Errand(some) for some in included], with_exchanges=False)

    def polish(self, errands: Sequence[Errand]) -> list[Best]:
        """Descend from every pair, with exchanges."""
        return self._descend(errands, with_exchanges=True)

    def _descend(self, errands: Sequence[Errand], *, with_exchanges: bool) -> list[Best]:
        if not errands:
            return []
        problem, pool = self._working.on_device()
        kind = self._working.kind
        kinds = np.stack([kind if e.allowed is None else np.where(e.allowed, kind, 0) for e in errands])
        starts = [errand.included for errand in errands]
        return descend_together(problem, pool, starts, kinds, self._clock, with_exchanges=with_exchanges)


def descents_for(working: WorkingPools, clock: Clock, mesh: Mesh | None, executor: Executor) -> OneByOne:
    """Choose by the platform; a mesh splits the rows of one descent, not the descents."""
    return (Together if prefers_batches(mesh) else OneByOne)(working, clock, mesh, executor)
