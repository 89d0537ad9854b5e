"""Compiled programs kept between processes: the second fit of a like-sized table starts at once.

A cold fit of a small table is mostly compilation. JAX can keep what it compiled in a folder; this sets that up with a
folder per version and processor, so that a program never runs on a machine that it was not compiled for.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

_PLACE = re.compile(r"[0-9a-f]{16}")
"""Name of a folder that `keep_programs` makes."""
_SETTINGS = {
    "jax_compilation_cache_dir": None,
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


def default_folder() -> Path:
    """Say where programs are kept when no folder is given: under the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "soar_jax"


def _machine() -> str:
    """Name the processor and the versions that a program depends on, as a short hash."""
    parts = [platform.machine(), platform.processor()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        parts += sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    except OSError:
        parts.append(platform.platform())
    for package in ("jax", "jaxlib"):
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def keep_programs_of_command() -> None:
    """Keep the programs of the ``soar`` command, in the folder named by ``SOAR_PROGRAMS``; "off" keeps none."""
    chosen = os.environ.get("SOAR_PROGRAMS", "")
    if chosen != "off":
        keep_programs(chosen or None)


def keep_programs(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Keep compiled programs between processes; call it before the first fit.

    The ``soar`` command does so by itself. Programs depend on the shapes of a table, not on its cells: nothing of the
    data is in the folder.

    Parameters
    ----------
    folder : path, optional
        Where to keep them; ``soar_jax`` in the user's cache folder when not given. A folder that JAX was already told
        of (``JAX_COMPILATION_CACHE_DIR``) is left as it is.

    Returns
    -------
    Path or None
        The folder in use, or None where none can be written.
    """
    told = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if told and folder is None:
        return Path(told)
    place = (default_folder() if folder is None else Path(folder)) / _machine()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    if not os.access(place, os.W_OK):
        return None
    settings = {**_SETTINGS, "jax_compilation_cache_dir": str(place)}
    if "jax" in sys.modules:
        import jax

        for name, value in settings.items():
            jax.config.update(name, value)  # type: ignore[no-untyped-call]
    else:  # JAX reads these when it is imported, which costs a second
        os.environ |= {name.upper(): str(value) for name, value in settings.items()}
    return place


class KeptPrograms(NamedTuple):
    """What is kept between processes."""

    folder: Path | None
    """Where, or None where the command was told to keep nothing."""
    num_programs: int
    num_bytes: int


def kept_programs() -> KeptPrograms:
    """Say which programs the command keeps, those of other versions and processors included."""
    folder = _folder_of_command()
    files = [] if folder is None else list(_files_in(folder))
    return KeptPrograms(folder, sum(file.name.endswith("-cache") for file in files), sum(map(_size, files)))


def clear_programs() -> KeptPrograms:
    """Delete the programs that the command keeps, and say what they were; nothing else in the folder is touched."""
    kept = kept_programs()
    for file in [] if kept.folder is None else list(_files_in(kept.folder)):
        file.unlink(missing_ok=True)
        with suppress(OSError):  # others are in it still
            file.parent.rmdir()
    return kept


def _folder_of_command() -> Path | None:
    chosen = os.environ.get("SOAR_PROGRAMS", "")
    if chosen == "off":
        return None
    told = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if told and not chosen:
        return Path(told)
    return Path(chosen) if chosen else default_folder()


def _files_in(folder: Path) -> Iterator[Path]:
    """List what JAX keeps in the folders that `keep_programs` makes, and only that."""
    for place in folder.iterdir() if folder.is_dir() else ():
        if _PLACE.fullmatch(place.name) and place.is_dir() and not place.is_symlink():
            yield from (file for file in place.iterdir() if file.name.endswith(("-cache", "-atime")))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # another process took it away
        return 0
