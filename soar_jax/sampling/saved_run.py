"""A sampling run on disk: a chain of files, each with some blocks of draws and the state after them.

A process that is killed loses at most the blocks since the last save; resuming gives the draws that an uninterrupted
run would have given. Each file carries a checksum, says which run and which blocks it is of, and names the checksum of
the file before it: files that were swapped, taken from another run, cut short or altered are found out, and the run
goes on from the last file that is good.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from soar_jax._base import InputError
from soar_jax._files import write_bytes_atomically, write_text_atomically
from soar_jax._sealed import DamagedFileError, Sealed, difference, digest_of, identify, seal, unseal
from soar_jax.sampling.draws import Block
from soar_jax.sampling.sampler import Sampler
from soar_jax.sampling.temper import Draw, RoundSums
from soar_jax.score.problem import Problem

_FORMAT = "run 4"
_SUMS = ("learnt", "met")
"""What a sampler has added up since its last adaptation."""
_RUN = "run.json"


class DamagedRunWarning(UserWarning):
    """Part of a saved run could not be used."""


def fingerprint(problem: Problem, settings: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, Any]:
    """Say what a run depends on; ``names`` are the candidates and classes, in order."""
    return identify(_FORMAT, problem, names, settings)


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
        self._num_files = 0
        self._previous = hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; name a folder for the saved run.")
        self.folder.mkdir(parents=True, exist_ok=True)
        found = self._owner()
        if found is not None and found != self.identity:
            raise InputError(
                f"{self.folder} holds another run ({difference(self.identity, found)}); choose another folder or "
                "repeat its settings."
            )
        if found is None or not (self.folder / _RUN).exists():
            write_text_atomically(self.folder / _RUN, json.dumps(self.identity, indent=1) + "\n")

    def _owner(self) -> dict[str, Any] | None:
        """Find out whose folder it is: by its note, or else by the first file that can be read."""
        try:
            note = json.loads((self.folder / _RUN).read_text(encoding="utf-8"))
            if isinstance(note, dict):
                return note
        except FileNotFoundError:
            pass
        except (ValueError, RecursionError):
            (self.folder / _RUN).unlink()
        except OSError as error:
            raise InputError(f"{self.folder / _RUN} cannot be read ({error.strerror}); name another folder.") from None
        for path in self._files():
            try:
                identity = unseal(_bytes_of(path)).about.get("identity")
            except DamagedFileError:
                continue
            if isinstance(identity, dict):
                return identity
        return None

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("blocks-*.soar"))

    def _file(self, number: int) -> Path:
        return self.folder / f"blocks-{number:05d}.soar"

    # -- reading ------------------------------------------------------------------------------

    def _about(self, number: int, done: int, num_blocks: int) -> dict[str, Any]:
        """Describe a file: whose it is, its place, the blocks it goes up to, and the file before it."""
        return {
            "identity": self.identity,
            "file": number,
            "done": done,
            "num_blocks": num_blocks,
            "previous": self._previous,
        }

    def _read(self, number: int, sampler: Sampler) -> Sealed:
        """Read one file, and refuse what does not belong in its place."""
        sealed = unseal(_bytes_of(self._file(number)))
        about = sealed.about
        if about.get("identity") != self.identity:
            raise DamagedFileError("is of another run")
        done, num_blocks = about.get("done"), about.get("num_blocks")
        if not (isinstance(done, int) and isinstance(num_blocks, int) and 0 <= num_blocks <= done):
            raise DamagedFileError("was not written by soar_jax")
        if about != self._about(number, done, num_blocks) or done <= self._num_saved:
            raise DamagedFileError("does not follow the file before it")
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(sampler.replicas)]
        for i, leaf in enumerate(leaves):
            saved = sealed.arrays.get(f"replicas{i}")
            if saved is None or (saved.shape, saved.dtype) != (leaf.shape, leaf.dtype):
                raise DamagedFileError("was not written by soar_jax")
        return sealed

    def restore(self, sampler: Sampler, blocks: list[Block]) -> int:
        """Bring a new sampler to the last good state, fill ``blocks``, and return how many blocks are done."""
        last: Sealed | None = None
        problem = ""
        while self._file(self._num_files).exists():
            try:
                sealed = self._read(self._num_files, sampler)
                new = _blocks_of(sealed)
            except DamagedFileError as damage:
                problem = f"{self._file(self._num_files).name} {damage}"
                break
            blocks.extend(new)
            del blocks[: len(blocks) - sealed.about["num_blocks"]]
            last, self._previous, self._num_saved = sealed, sealed.digest, sealed.about["done"]
            self._num_files += 1
        rest = self._files()[self._num_files :]
        if rest:
            problem = problem or f"{self._file(self._num_files).name} is missing"
            for path in rest:
                path.replace(path.with_suffix(".unused"))
            warnings.warn(
                f"In the saved run {self.folder}, {problem}; the run goes on from the {self._num_saved} blocks before.",
                DamagedRunWarning,
                stacklevel=2,
            )
        if last is not None:
            _put_back(sampler, last)
        return self._num_saved

    # -- writing ------------------------------------------------------------------------------

    def keep(self, sampler: Sampler, blocks: list[Block], done: int) -> None:
        """Save if it is time to."""
        if time.perf_counter() - self._last_save >= self._seconds_between:
            self.finish(sampler, blocks, done)

    def finish(self, sampler: Sampler, blocks: list[Block], done: int) -> None:
        """Save now what is not saved yet: new blocks, and the state after them."""
        if done == self._num_saved:
            return
        new = blocks[max(0, len(blocks) - (done - self._num_saved)) :]
        content = seal(self._about(self._num_files, done, len(blocks)), _arrays_of(sampler, new))
        write_bytes_atomically(self._file(self._num_files), content)
        self._previous, self._num_saved = digest_of(content), done
        self._num_files += 1
        self._last_save = time.perf_counter()


def _arrays_of(sampler: Sampler, blocks: list[Block]) -> dict[str, np.ndarray]:
    """Lay a sampler's state and some blocks out as named arrays."""
    arrays = {f"replicas{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(sampler.replicas))}
    arrays |= {
        "ladder": sampler.ladder,
        "centre": sampler.centre,
        "rounds_learnt": np.array(sampler.rounds_learnt),
        "warmup_cut": np.array(sampler.is_warmup_cut),
        "readings": sampler.memory.pairs,
        "reading_log_joints": sampler.memory.log_joints,
        "num_new": np.array(len(blocks)),
    }
    if sampler.inclusion is not None:
        arrays["inclusion"] = sampler.inclusion
    for name in _SUMS:
        sums = getattr(sampler, name)
        arrays |= {} if sums is None else {f"{name}{i}": np.asarray(leaf) for i, leaf in enumerate(sums)}
    for place, (sums, draws) in enumerate(blocks):
        arrays |= {f"block{place}sums{i}": np.asarray(leaf) for i, leaf in enumerate(sums)}
        arrays |= {f"block{place}draws{i}": np.asarray(leaf) for i, leaf in enumerate(draws)}
    return arrays


def _blocks_of(sealed: Sealed) -> list[Block]:
    """Read the blocks of a file."""
    arrays = sealed.arrays
    try:
        return [
            Block(
                RoundSums(*(arrays[f"block{place}sums{i}"] for i in range(len(RoundSums._fields)))),
                Draw(*(arrays[f"block{place}draws{i}"] for i in range(len(Draw._fields)))),
            )
            for place in range(int(arrays["num_new"]))
        ]
    except (KeyError, TypeError) as error:
        raise DamagedFileError("was not written by soar_jax") from error


def _put_back(sampler: Sampler, sealed: Sealed) -> None:
    """Bring a new sampler to a saved state."""
    arrays = sealed.arrays
    leaves, shape = jax.tree.flatten(sampler.replicas)
    sampler.replicas = jax.tree.unflatten(shape, [arrays[f"replicas{i}"] for i in range(len(leaves))])
    sampler.ladder, sampler.centre = arrays["ladder"], arrays["centre"]
    for included, log_joint in zip(arrays["readings"], arrays["reading_log_joints"], strict=True):
        sampler.memory.put(included, float(log_joint))
    sampler.focus_on(arrays.get("inclusion"))
    for name in _SUMS:
        if f"{name}0" in arrays:
            setattr(sampler, name, RoundSums(*(arrays[f"{name}{i}"] for i in range(len(RoundSums._fields)))))
    sampler.rounds_learnt = int(arrays["rounds_learnt"])
    sampler.is_warmup_cut = bool(arrays["warmup_cut"]) and sealed.about["num_blocks"] > 0


def _bytes_of(path: Path) -> bytes:
    """Read a file of blocks."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFileError(f"cannot be read ({error.strerror})") from None
