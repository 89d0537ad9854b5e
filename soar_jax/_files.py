"""Files that are there whole or not at all.

A regular file is replaced in one step, and keeps its mode and, where the system allows it, its owner. A symbolic link
is followed and stays: what it points to is replaced, unless its name ends otherwise than that of the link. A device or
a pipe (``/dev/null``, ``/dev/stdout``, a FIFO) is written into and never replaced; a disk or a socket is refused, and
so is a file that may not be written, though its folder may.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
from pathlib import Path

from soar_jax._base import InputError

_STREAM = re.compile(r"/dev/(stdin|stdout|stderr|tty|fd/\d+)|/proc/(self|\d+)/fd/\d+")
_LONGEST_PREFIX = 100


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write text so that no reader ever sees half a file."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write beside the target and move into place; see the module on links, devices and owners."""
    target = check_target(path)
    if target is None:
        try:
            with open(path, "ab", buffering=0) as stream:
                _write_all(stream.fileno(), content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        return
    before = target.stat() if target.exists() else None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:_LONGEST_PREFIX]}.")
    except OSError as error:  # the user knows the target's name, not that of the file beside it
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        try:
            _write_all(handle, content)
            _keep_owner_and_mode(handle, before)
            os.fsync(handle)
        finally:
            os.close(handle)
        Path(name).replace(target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(target)) from None
        raise


def check_target(path: str | os.PathLike[str]) -> Path | None:
    """Find the regular file that a path stands for, or None for a stream; raise where nothing can be written.

    Call it before long work, so that the work is not lost.
    """
    given = Path(path)
    if _STREAM.fullmatch(os.path.normpath(given.absolute())):
        return None
    try:
        target = given.resolve()
        mode = target.stat().st_mode if target.exists() else None
    except (OSError, RuntimeError):  # links that go round in a circle
        raise InputError(f"{given} cannot be followed to a file; name another.") from None
    if given.is_symlink() and mode is not None and stat.S_ISREG(mode) and target.suffix != given.suffix:
        raise InputError(f"{given} is a link to {target.name}, a file of another kind; name the file that you mean.")
    if mode is None:
        if not target.parent.is_dir():
            raise InputError(f"There is no folder {target.parent} to save {target.name} in.")
        return _writable(target, target.parent)
    if stat.S_ISDIR(mode):
        raise InputError(f"{given} is a folder; name a file.")
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return None
    if not stat.S_ISREG(mode):
        raise InputError(f"{given} is a {'disk' if stat.S_ISBLK(mode) else 'socket'}, not a file; name another.")
    _writable(target, target.parent)
    return _writable(target, target)


def _writable(target: Path, place: Path) -> Path:
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return target


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _keep_owner_and_mode(handle: int, before: os.stat_result | None) -> None:
    """Give the new file the owner and mode of the one it replaces, or those of any new file."""
    if before is None:
        os.chmod(handle, 0o666 & ~_umask())
        return
    now = os.fstat(handle)
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        if (owner, group) not in ((-1, now.st_gid), (now.st_uid, -1)):
            try:
                os.chown(handle, owner, group)
            except PermissionError:
                continue  # only root gives files away
    os.chmod(handle, stat.S_IMODE(before.st_mode) & 0o777)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
