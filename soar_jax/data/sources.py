"""The bytes of a table: from a file or standard input, unpacked, and as text."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from soar_jax._base import InputError

STDIN = "-"
DELIMITERS = (",", ";", "\t", "|")
_LINES_TO_LOOK_AT = 50
_UNPACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"BZh": bz2.decompress,
}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def name_of(path: str | os.PathLike[str]) -> str:
    """Name a source for a message."""
    return "Standard input" if os.fspath(path) == STDIN else os.fspath(path)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file, or standard input for ``-``, and unpack gzip, xz, bzip2 and zip."""
    if os.fspath(path) == STDIN:
        data = sys.stdin.buffer.read()
    else:
        file = Path(path)
        if not file.exists() or file.is_dir():
            raise InputError(f"There is no file {path}.")
        data = file.read_bytes()
    try:
        for magic, unpack in _UNPACK.items():
            if data.startswith(magic):
                return unpack(data)
        if data.startswith(b"PK\x03\x04"):
            return _unzip(data, name_of(path))
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError):
        raise InputError(f"{name_of(path)} is a damaged archive.") from None
    return data


def _unzip(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [one for one in archive.infolist() if not one.is_dir()]
        if len(files) != 1:
            raise InputError(
                f"{name} holds {len(files)} files, not one table; a spreadsheet must be saved as CSV first."
            )
        return archive.read(files[0])


def decode(data: bytes, name: str, encoding: str | None = None) -> str:
    """Turn bytes into text: UTF-8, or UTF-16 with its mark, or what was said."""
    if encoding is None:
        encoding = next((known for bom, known in _BOMS.items() if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except LookupError:
        raise InputError(f"There is no encoding {encoding!r}; examples are utf-8, latin-1 and cp1252.") from None
    except UnicodeError:
        if b"\x00" in data[:1000]:
            raise InputError(f"{name} is no text of a table; if it is UTF-16, say so: --encoding utf-16.") from None
        raise InputError(
            f"{name} is not {encoding.upper()} text. Save it as UTF-8, or say what it is: --encoding latin-1 for files "
            "of Western Windows and older systems."
        ) from None
    if "\x00" in text:
        raise InputError(f"{name} is no text of a table; if it is UTF-16, say so: --encoding utf-16.")
    return text


def find_delimiter(text: str) -> str:
    """Find what separates fields: what cuts the first lines into equally many, and into most."""
    start = "".join(io.StringIO(text).readlines()[:_LINES_TO_LOOK_AT]) if len(text) < 1 << 16 else text[: 1 << 16]
    best, most = ",", 1
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(io.StringIO(start), delimiter=delimiter) if row][:_LINES_TO_LOOK_AT]
        except csv.Error:
            continue
        widths = {len(row) for row in (rows[:-1] if len(rows) > 2 else rows)}  # noqa: PLR2004  # the last may be cut off
        if len(widths) == 1 and len(rows[0]) > most:
            best, most = delimiter, len(rows[0])
    return best
