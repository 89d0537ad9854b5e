"""Saved runs and checkpoints: sealed files with any bytes, or with a right checksum over wrong content.

Whatever the bytes are, `unseal` gives what was sealed or raises `DamagedFileError`; a folder of such files is refused by
`InputError`, or its bad files are passed over with a warning.

Run: python -m experiments.fuzz.saved_runs --seconds 120
"""

from __future__ import annotations

import hashlib
import sys

from experiments.fuzz.common import Target, main, scratch_folder

IDENTITY = {"format": "search 1", "settings": {"seed": 0}}


def make_target() -> Target:
    import numpy as np

    from soar_jax import InputError
    from soar_jax import _sealed as sealed_files
    from soar_jax._sealed import DamagedFileError, Sealed, seal, unseal
    from soar_jax.sampling.saved_run import SavedRun, _blocks_of
    from soar_jax.search.checkpoint import Checkpoint

    magic = sealed_files._MAGIC
    good = seal({"identity": IDENTITY, "n": 1}, {"x": np.arange(5), "num_new": np.array(0)})
    payload = good[len(magic) + 65 :]

    def with_checksum(content: bytes) -> bytes:
        return magic + hashlib.sha256(content).hexdigest().encode() + b"\n" + content

    def content_of(raw: bytes) -> bytes:
        kind, rest = raw[0] % 4, raw[1:]
        if kind == 0:
            return rest
        if kind == 1:
            return with_checksum(rest)
        changed = bytearray(payload)
        for place, value in zip(rest[::3], rest[2::3], strict=False):  # scattered bytes of a good archive
            changed[(place * 7 + value) % len(changed)] ^= value
        return with_checksum(bytes(changed)) if kind == 2 else good[: len(magic) + 65] + bytes(changed)

    def target(raw: bytes) -> None:
        if not raw:
            return
        content = content_of(raw)
        try:
            found = unseal(content)
        except DamagedFileError:
            found = None
        if found is not None:
            assert isinstance(found, Sealed) and all(array.dtype != object for array in found.arrays.values())
            try:
                _blocks_of(found)
            except DamagedFileError:
                pass
        with scratch_folder() as folder:
            (folder / "search-0.soar").write_bytes(content)
            (folder / "search-0.before.soar").write_bytes(good)
            try:
                state = Checkpoint(folder / "search-0", IDENTITY, 1.0).load()
                assert state is not None and state.about["identity"] == IDENTITY
            except InputError as error:
                assert "\n" not in str(error)
            (folder / "run").mkdir()
            (folder / "run" / "run.json").write_bytes(raw[1:])
            (folder / "run" / "blocks-00000.soar").write_bytes(content)
            try:
                SavedRun(folder / "run", IDENTITY)
            except InputError as error:
                assert "\n" not in str(error)

    return target


if __name__ == "__main__":
    sys.exit(main("saved_runs", make_target))
