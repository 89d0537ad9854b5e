"""A sampling run on disk: a folder of finished blocks and the state after the last of them.

A process that is killed loses at most the blocks since the last save; resuming gives the draws that an
uninterrupted run would have given.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from soar_jax import __version__
from soar_jax._base import InputError
from soar_jax._files import write_bytes_atomically, write_text_atomically
from soar_jax.sampling.draws import Block
from soar_jax.sampling.sampler import Sampler
from soar_jax.sampling.temper import Draw, RoundSums
from soar_jax.score.problem import Problem

_FORMAT = 2
_RUN = "run.json"
_STATE = "state.npz"


def fingerprint(problem: Problem, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a run depends on: its data as a hash, its settings as they are."""
    digest = hashlib.sha256()
    for name, leaf in problem._asdict().items():
        array = np.asarray(leaf)
        digest.update(f"{name}{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    plain = json.loads(json.dumps(dict(settings)))
    return {
        "format": _FORMAT,
        "soar_jax": __version__,
        "jax": jax.__version__,
        "problem": digest.hexdigest(),
        "settings": plain,
    }


def _write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    import io

    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    write_bytes_atomically(path, buffer.getvalue())


class SavedRun:
    """Save a run's blocks in a folder, and resume from it.

    Parameters
    ----------
    path : path
        A folder; made when it is not there. One that holds another run is refused.
    identity : dict
        From `fingerprint`.
    seconds_between : float
        Save at most this often; the last block is always saved.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Mapping[str, Any], *, seconds_between: float = 10.0
    ) -> None:
        self.folder = Path(path)
        self.identity = dict(identity)
        self._seconds_between = seconds_between
        self._last_save = time.perf_counter()
        self._num_saved = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; name a folder for the saved run.")
        self.folder.mkdir(parents=True, exist_ok=True)
        run = self.folder / _RUN
        if run.exists():
            self._check_same(json.loads(run.read_text(encoding="utf-8")))
        else:
            write_text_atomically(run, json.dumps(self.identity, indent=1) + "\n")

    def _check_same(self, found: dict[str, Any]) -> None:
        if found == self.identity:
            return
        differs = [key for key in self.identity if key != "settings" and found.get(key) != self.identity[key]]
        mine, theirs = self.identity["settings"], found.get("settings", {})
        differs += [f"{key}={theirs.get(key)!r}, now {mine[key]!r}" for key in mine if theirs.get(key) != mine[key]]
        raise InputError(
            f"{self.folder} holds another run ({'; '.join(differs)}); choose another folder or repeat its settings."
        )

    def _block(self, index: int) -> Path:
        return self.folder / f"block-{index:05d}.npz"

    def restore(self, sampler: Sampler, blocks: list[Block]) -> int:
        """Bring a new sampler to the saved state, fill ``blocks``, and return how many blocks are done."""
        if not (self.folder / _STATE).exists():
            return 0
        with np.load(self.folder / _STATE) as state:
            leaves, shape = jax.tree.flatten(sampler.replicas)
            sampler.replicas = jax.tree.unflatten(shape, [state[f"replicas{i}"] for i in range(len(leaves))])
            sampler.ladder, sampler.centre = state["ladder"], state["centre"]
            for included, log_joint in zip(state["readings"], state["reading_log_joints"], strict=True):
                sampler.memory.put(included, float(log_joint))
            sampler.focus_on(state["inclusion"] if "inclusion" in state else None)
            if "learnt0" in state:
                sampler.learnt = RoundSums(*(state[f"learnt{i}"] for i in range(len(RoundSums._fields))))
            sampler.rounds_learnt = int(state["rounds_learnt"])
            sampler.is_warmup_cut = bool(state["warmup_cut"]) and int(state["num_blocks"]) > 0
            done, num_blocks = int(state["done"]), int(state["num_blocks"])
        for index in range(done - num_blocks, done):
            with np.load(self._block(index)) as saved:
                sums = RoundSums(*(saved[f"sums{i}"] for i in range(len(RoundSums._fields))))
                blocks.append(Block(sums, Draw(*(saved[f"draws{i}"] for i in range(len(Draw._fields))))))
        self._num_saved = done
        return done

    def keep(self, sampler: Sampler, blocks: list[Block], done: int) -> None:
        """Save if it is time to."""
        if time.perf_counter() - self._last_save >= self._seconds_between:
            self.finish(sampler, blocks, done)

    def finish(self, sampler: Sampler, blocks: list[Block], done: int) -> None:
        """Save now: new blocks first, then the state that vouches for them."""
        first = done - len(blocks)
        for index in range(max(first, self._num_saved), done):
            sums, draws = blocks[index - first]
            arrays = {f"sums{i}": leaf for i, leaf in enumerate(sums)}
            _write_arrays(self._block(index), arrays | {f"draws{i}": leaf for i, leaf in enumerate(draws)})
        state = {f"replicas{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(sampler.replicas))}
        state |= {
            "ladder": sampler.ladder,
            "centre": sampler.centre,
            "done": np.array(done),
            "num_blocks": np.array(len(blocks)),
        }
        state["rounds_learnt"] = np.array(sampler.rounds_learnt)
        state["warmup_cut"] = np.array(sampler.is_warmup_cut)
        state |= {"readings": sampler.memory.pairs, "reading_log_joints": sampler.memory.log_joints}
        if sampler.inclusion is not None:
            state["inclusion"] = sampler.inclusion
        if sampler.learnt is not None:
            state |= {f"learnt{i}": leaf for i, leaf in enumerate(sampler.learnt)}
        _write_arrays(self.folder / _STATE, state)
        self._num_saved = done
        self._last_save = time.perf_counter()
