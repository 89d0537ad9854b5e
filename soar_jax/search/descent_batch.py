"""Descents from many pairs in one program, for devices on which a single one waits for the host in every pass.

On a CPU each descent has a program call of its own, and threads keep the cores busy. On other devices every pass of a
descent waits for the host; there all starts go down together, so that one wait serves all of them. Which of the two is
used depends on the platform alone; the pairs that they end in are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from soar_jax._base import BoolArray, in_float64
from soar_jax._progress import Clock
from soar_jax.score.compiled import at_most
from soar_jax.score.flips import NumberedPool, numbered_kinds
from soar_jax.score.pair import Pair, host_pair
from soar_jax.score.problem import Problem
from soar_jax.search.descent import Best, DescentState, descend_block

LEAST_BATCH = 16
"""Descents that go together at the least; those that nobody asked for cost a device with many cores nothing."""


def prefers_batches(mesh: Mesh | None) -> bool:
    """Say whether descents should go together; a mesh splits the rows of one descent, not the descents."""
    return mesh is None and jax.default_backend() != "cpu"


@in_float64
def descend_together(
    problem: Problem,
    pool: NumberedPool,
    starts: Sequence[BoolArray],
    kinds: np.ndarray,
    clock: Clock,
    *,
    with_exchanges: bool,
) -> list[Best]:
    """Descend from every start, each among the patterns that its kinds, (num_starts, 2, num_slots), leave.

    The number of starts is filled up with copies of the first, so that few programs are compiled.
    """
    size = max(LEAST_BATCH, 1 << (len(starts) - 1).bit_length())
    order = [*range(len(starts)), *[0] * (size - len(starts))]
    host = jax.device_get(problem)
    kinds = kinds[order].astype(np.int32)
    included = [np.asarray(starts[i]) for i in order]
    numbered = numbered_kinds(problem, kinds)
    while True:
        # sizes by kind are those that the descent's own kinds give, as in a single descent
        pairs = [host_pair(host._replace(kind=kind), start) for kind, start in zip(kinds, included, strict=True)]
        stacked = Pair(*(jnp.asarray(np.stack(leaves)) for leaves in zip(*pairs, strict=True)))
        state = descend_all(problem, pool, jnp.asarray(kinds), jnp.asarray(numbered), stacked, np.bool_(with_exchanges))
        included = list(np.array(state.pair.included))
        is_optimal = np.asarray(state.is_optimal)
        if is_optimal.all() or clock.is_over():
            log_joints = np.asarray(state.log_joint)
            return [
                Best(float(log_joints[i]), included[i], bool(is_optimal[i]) and with_exchanges)
                for i in range(len(starts))
            ]


def _descend_all(
    problem: Problem,
    pool: NumberedPool,
    kinds: jax.Array,
    numbered: jax.Array,
    pairs: Pair,
    with_exchanges: jax.Array,
) -> DescentState:
    """Run one block of every descent; those that have ended wait for the others."""

    def one(kind: jax.Array, of_pool: jax.Array, pair: Pair) -> DescentState:
        return descend_block(problem._replace(kind=kind), pool._replace(kind=of_pool), pair, with_exchanges)

    return jax.vmap(one)(kinds, numbered, pairs)


descend_all = at_most(32, jax.jit(_descend_all))
