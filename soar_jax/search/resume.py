"""What a search needs to go on from where it stood, as plain numbers and arrays, and back.

Only what the next round depends on is kept: the working pools, the readings, the generator, and how many rounds failed.
All else follows from the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from soar_jax._sealed import Sealed
from soar_jax.score.readings import Reading
from soar_jax.search.anneal_step import BLOCK, AnnealInfo
from soar_jax.search.descent import Best
from soar_jax.search.ends import arrays_of_ends, ends_from

if TYPE_CHECKING:
    from soar_jax.search.anneal import Restarts
    from soar_jax.search.explore import Explorer


class Standing(NamedTuple):
    """How far a search over all patterns is: rounds that failed in a row, rounds, seconds, and a line per round."""

    failures: int = 0
    number: int = 0
    seconds: float = 0.0
    log: tuple[dict[str, Any], ...] = ()


def about_explorer(explorer: Explorer, standing: Standing) -> dict[str, Any]:
    """Give the plain numbers of a search between two rounds."""
    readings = explorer.niches.found
    leading = [i for i, reading in enumerate(readings) if reading.pair is explorer.best]
    state = explorer.generator.bit_generator.state
    return {
        "failures": standing.failures,
        "number": standing.number,
        "seconds": standing.seconds,
        "log": list(standing.log),
        "leader": leading[0] if leading else -1,
        "search": explorer.search,
        "is_final": explorer.is_final,
        "turns": [reading.num_turns for reading in readings],
        "generator": jax.tree.map(lambda x: x.tolist() if isinstance(x, np.ndarray) else x, state),
    }


def arrays_of_explorer(explorer: Explorer) -> dict[str, np.ndarray]:
    """Give its arrays: what is in the working pools, and the pairs found."""
    pairs = [*(reading.pair for reading in explorer.niches.found), explorer.best]
    return {
        "log_joints": np.array([pair.log_joint for pair in pairs]),
        "included": np.stack([pair.included for pair in pairs]),
        "optimal": np.array([pair.is_optimal for pair in pairs]),
        **arrays_of_ends(explorer.ends),
        **explorer.working.contents(),
    }


def put_back_explorer(explorer: Explorer, sealed: Sealed) -> Standing:
    """Bring a new search to a saved state."""
    about, arrays = sealed.about, sealed.arrays
    explorer.working.put_back(arrays)
    pairs = [
        Best(float(value), included, bool(is_optimal))
        for value, included, is_optimal in zip(arrays["log_joints"], arrays["included"], arrays["optimal"], strict=True)
    ]
    explorer.niches.found = [
        Reading(pair.log_joint, pair, explorer.working.cover(pair.included), turns)
        for pair, turns in zip(pairs, about["turns"], strict=False)
    ]
    explorer.ends = ends_from(arrays, explorer.working)
    explorer.search, explorer.is_final = int(about["search"]), bool(about["is_final"])
    leader = about["leader"]
    explorer.best = pairs[leader] if leader >= 0 else pairs[-1]
    state = about["generator"]
    state["state"] = {name: np.array(value, dtype=np.uint64) for name, value in state["state"].items()}
    state["buffer"] = np.array(state["buffer"], dtype=np.uint64)
    explorer.generator.bit_generator.state = state
    return Standing(about["failures"], about["number"], about["seconds"], tuple(about["log"]))


def arrays_of_restarts(restarts: Restarts) -> dict[str, np.ndarray]:
    """Give the arrays of annealing between two blocks: where every restart stands, and its history."""
    arrays: dict[str, np.ndarray] = {}
    for batch, (state, infos) in enumerate(zip(restarts.states, restarts.infos, strict=True)):
        arrays |= {f"state{batch}-{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        for name in AnnealInfo._fields:
            arrays[f"{name}{batch}"] = np.concatenate([np.asarray(getattr(info, name)) for info in infos])
    return arrays


def put_back_restarts(restarts: Restarts, sealed: Sealed) -> int:
    """Bring new restarts to a saved state; say how many blocks are done."""
    arrays, done = sealed.arrays, int(sealed.about["blocks"])
    for batch, state in enumerate(restarts.states):
        leaves, shape = jax.tree.flatten(state)
        saved = [arrays[f"state{batch}-{i}"] for i in range(len(leaves))]
        restarts.states[batch] = jax.device_put(jax.tree.unflatten(shape, saved), may_alias=False)
        restarts.infos[batch] = [
            AnnealInfo._make(arrays[f"{name}{batch}"][at : at + BLOCK] for name in AnnealInfo._fields)
            for at in range(0, done * BLOCK, BLOCK)
        ]
        restarts.note_bests(batch)
    return done
