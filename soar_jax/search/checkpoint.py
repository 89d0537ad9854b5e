"""A search on disk: where it stood after its last round, so that a fit that was killed goes on to the same result.

A folder has two files per search, the newest state and the one before it. Both carry a checksum and what they depend
on (`soar_jax._sealed`): a damaged one is passed over, one of other data, labels or settings is refused.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from soar_jax._base import InputError
from soar_jax._files import write_bytes_atomically
from soar_jax._sealed import DamagedFileError, Sealed, difference, identify, seal, unseal

_FORMAT = "search 1"


class DamagedCheckpointWarning(UserWarning):
    """Part of a saved search could not be used."""


class Checkpoint:
    """The state of one search.

    Parameters
    ----------
    path : Path
        The file, without its suffix.
    identity : dict
        From `soar_jax._sealed.identify`.
    seconds_between : float
        Save at most this often.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], seconds_between: float) -> None:
        self._newest, self._before = path.with_suffix(".soar"), path.with_suffix(".before.soar")
        self._identity = dict(identity)
        self._seconds_between, self._last_save = seconds_between, time.perf_counter()

    def load(self) -> Sealed | None:
        """Read the newest state that is good."""
        for path in (self._newest, self._before):
            if not path.exists():
                continue
            try:
                sealed = unseal(path.read_bytes())
            except DamagedFileError as damage:
                path.replace(path.with_suffix(".unused"))
                warnings.warn(
                    f"The checkpoint {path} {damage}; the fit goes on from the state before it.",
                    DamagedCheckpointWarning,
                    stacklevel=2,
                )
                continue
            found = sealed.about.get("identity")
            if found != self._identity:
                differs = difference(self._identity, found if isinstance(found, dict) else {})
                raise InputError(
                    f"{path.parent} holds another fit ({differs}); choose another folder or repeat its settings."
                )
            return sealed
        return None

    def keep(self, about: Mapping[str, Any], make: Callable[[], Mapping[str, np.ndarray]]) -> None:
        """Save if it is time to: the state is made only then."""
        if time.perf_counter() - self._last_save < self._seconds_between:
            return
        content = seal({**about, "identity": self._identity}, make())
        if self._newest.exists():
            self._newest.replace(self._before)
        write_bytes_atomically(self._newest, content)
        self._last_save = time.perf_counter()


class CheckpointFolder:
    """Checkpoints of a fit, which may search several times: each search has a number."""

    def __init__(self, path: str | os.PathLike[str], *, seconds_between: float = 1.0) -> None:
        self.folder = Path(path)
        self._seconds_between = seconds_between
        self._number = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; name a folder for the fit's checkpoint.")
        self.folder.mkdir(parents=True, exist_ok=True)

    def open(self, arrays: Iterable[Any], names: Iterable[str], settings: Mapping[str, Any]) -> Checkpoint:
        """Open the checkpoint of the next search, of such data and settings."""
        identity = identify(_FORMAT, arrays, names, {**settings, "search": self._number})
        path = self.folder / f"search-{self._number}"
        self._number += 1
        return Checkpoint(path, identity, self._seconds_between)
