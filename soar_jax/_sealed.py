"""Arrays in a file that says what it belongs to, with a checksum: damage is seen before anything is read.

A sealed file is a line that names the format, the SHA-256 of the rest, and the rest: a NumPy archive without pickles,
whose member ``about`` is JSON.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from soar_jax import __version__

_MAGIC = b"soar_jax sealed 1\n"
_DIGEST = 64


class DamagedFileError(ValueError):
    """The bytes are not what was written; the message goes on from the file's name."""


def identify(kind: str, arrays: Iterable[Any], names: Iterable[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a run depends on: versions, data and labels as a hash, settings as they are.

    Parameters
    ----------
    kind : str
        What is saved, and in which format.
    arrays : iterable of arrays
        Rows and labels as the run sees them.
    names : iterable of str
        Literals or candidates, and classes: what the numbers of the run stand for.
    """
    digest = hashlib.sha256()
    for leaf in arrays:
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return {
        "format": kind,
        "soar_jax": __version__,
        "jax": version("jax"),
        "data or labels": digest.hexdigest(),
        "rules or classes": hashlib.sha256(json.dumps(list(names)).encode()).hexdigest(),
        "settings": json.loads(json.dumps(dict(settings))),
    }


class Sealed(NamedTuple):
    """What a sealed file holds.

    Attributes
    ----------
    about : dict
        What it belongs to.
    arrays : dict of arrays
    digest : str
        Of all of it: the next file of a chain names it.
    """

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]
    digest: str


def seal(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Put a description and arrays together."""
    if any(np.asarray(array).dtype.hasobject for array in arrays.values()):
        raise ValueError("Object arrays would need pickle, which is never used.")
    text = np.frombuffer(json.dumps(dict(about), sort_keys=True).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    members: dict[str, Any] = {"about": text, **arrays}
    np.savez_compressed(buffer, **members)  # NumPy 2.1 knows no allow_pickle here
    payload = buffer.getvalue()
    return _MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def digest_of(content: bytes) -> str:
    """Give the checksum that a sealed file carries."""
    return content[len(_MAGIC) : len(_MAGIC) + _DIGEST].decode("ascii", errors="replace")


def unseal(content: bytes) -> Sealed:
    """Check all of a sealed file, then read it; nothing in it is ever run."""
    start = len(_MAGIC) + _DIGEST + 1
    if not content.startswith(_MAGIC) or content[start - 1 : start] != b"\n":
        raise DamagedFileError("is damaged or no file of this kind")
    payload = content[start:]
    if hashlib.sha256(payload).hexdigest() != digest_of(content):
        raise DamagedFileError("is damaged: its checksum does not match")
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        about = json.loads(arrays.pop("about").tobytes())
    except MemoryError as error:
        raise DamagedFileError("needs more memory than there is, or was not written by soar_jax") from error
    except Exception as error:  # archives and headers made on purpose: their parsers raise what they like
        raise DamagedFileError("was not written by soar_jax") from error
    if not isinstance(about, dict):
        raise DamagedFileError("was not written by soar_jax")
    return Sealed(about, arrays, digest_of(content))


def difference(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Say in what two identities differ: settings with their values, all else by name."""
    keys = [key for key in mine if key != "settings" and theirs.get(key) != mine[key]]
    now, then = mine.get("settings", {}), theirs.get("settings", {})
    if not isinstance(then, Mapping):
        then = {}
    values = [f"{key}={then.get(key)!r}, now {now[key]!r}" for key in now if then.get(key) != now[key]]
    return "; ".join([*keys, *values]) or "settings"
