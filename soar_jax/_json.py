"""JSON files that are trusted with nothing: read within limits, checked against a schema in full, and sealed.

The checker knows the part of JSON Schema (draft 2020-12) that this package's schemas use; a keyword that it does not
know is an error in the schema, not a check that is passed over.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from soar_jax._base import InputError
from soar_jax._names import short_name

MAX_BYTES = 64 << 20
MAX_DEPTH = 64
SEAL = "checksum"
_LARGEST = 1 << 63
_SILENT = ("$schema", "$defs", "title", "description")


class Damaged(Exception):
    """Some content is not what its schema says; the message says where."""


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """Read a file of UTF-8 text that is not too large."""
    source = os.fspath(path)
    if Path(path).stat().st_size > MAX_BYTES:
        raise InputError(f"{source} is larger than {MAX_BYTES >> 20} MB, which no {what} is.")
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{source} is not a soar-jax {what}: it is no UTF-8 text.") from None


def read_json(text: str, source: str, what: str) -> Any:
    """Parse JSON: no repeated keys, no NaN, no numbers beyond float64, not too large and not too deep."""
    if len(text) > MAX_BYTES:
        raise InputError(f"{source} is larger than {MAX_BYTES >> 20} MB, which no {what} is.")

    def refuse(constant: str) -> float:
        raise InputError(f"The {what} is damaged: {constant} is not JSON.")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            raise InputError(f"The {what} is damaged: a key stands twice in one object.")
        return found

    try:
        content = json.loads(text, parse_constant=refuse, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise InputError(f"{source} is not a soar-jax {what}: {error}") from None
    except RecursionError:
        raise InputError(f"The {what} is damaged: it is nested more than {MAX_DEPTH} levels deep.") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The {what} is damaged: a number is too long.") from None
    _check_depth(content, what)
    return content


def _check_depth(content: Any, what: str) -> None:
    level = [content]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return
    raise InputError(f"The {what} is damaged: it is nested more than {MAX_DEPTH} levels deep.")


# -- seals --------------------------------------------------------------------------------------


def checksum(content: Mapping[str, Any]) -> str:
    """Hash what a file says, however it is laid out: SHA-256 of its content without the checksum itself."""
    said = {name: _whole(value) for name, value in content.items() if name != SEAL}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """Add the checksum."""
    return {**content, SEAL: checksum(content)}


def _whole(value: Any) -> Any:
    """Spell 1.0 as 1, as other programs that write JSON do."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list | tuple) else value


# -- schemas ------------------------------------------------------------------------------------


def check_schema(content: Any, schema: Mapping[str, Any]) -> None:
    """Raise `Damaged` unless the content is what the schema says."""
    _check(content, schema, schema, "")


def _check(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], path: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Damaged(f"{path or 'it'} is not a finite number")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise Damaged(f"{path or 'it'} is too large")
    for keyword, wanted in schema.items():
        if keyword == "$ref":
            _check(value, root["$defs"][wanted.removeprefix("#/$defs/")], root, path)
        elif keyword in _NESTED:
            _NESTED[keyword](value, wanted, schema, root, path)
        elif keyword in _PLAIN:
            holds, says = _PLAIN[keyword]
            if not holds(value, wanted):
                raise Damaged(f"{path or 'it'} {says} {_words(wanted)}")
        elif keyword not in _SILENT:
            raise ValueError(f"the schema has the keyword {keyword!r}, which is not known here")


def _words(wanted: Any) -> str:
    return " or ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_type(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_has_type(value, one) for one in wanted)
    if wanted == "number":
        return _is_number(value)
    if wanted == "integer":
        return _is_number(value) and float(value).is_integer()
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, types[wanted])


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _distinct(value: Any, wanted: bool) -> bool:
    texts = [json.dumps(_whole(one), sort_keys=True) for one in value] if isinstance(value, list) else []
    return not wanted or len(set(texts)) == len(texts)


_PLAIN: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "type": (_has_type, "must be of type"),
    "const": (_same, "must be"),
    "enum": (lambda value, wanted: any(_same(value, one) for one in wanted), "must be one of"),
    "minItems": (lambda value, wanted: not isinstance(value, list) or len(value) >= wanted, "is shorter than"),
    "maxItems": (lambda value, wanted: not isinstance(value, list) or len(value) <= wanted, "is longer than"),
    "uniqueItems": (_distinct, "must have no entry twice:"),
    "minimum": (lambda value, wanted: not _is_number(value) or value >= wanted, "is less than"),
    "maximum": (lambda value, wanted: not _is_number(value) or value <= wanted, "is more than"),
    "exclusiveMinimum": (lambda value, wanted: not _is_number(value) or value > wanted, "must be more than"),
    "pattern": (lambda value, wanted: not isinstance(value, str) or re.search(wanted, value) is not None, "must match"),
}


def _required(value: Any, wanted: list[str], schema: Any, root: Any, path: str) -> None:
    for name in wanted if isinstance(value, dict) else ():
        if name not in value:
            raise Damaged(f"{_at(path, name)} is not there")


def _properties(value: Any, wanted: Mapping[str, Any], schema: Any, root: Any, path: str) -> None:
    for name, one in wanted.items() if isinstance(value, dict) else ():
        if name in value:
            _check(value[name], one, root, _at(path, name))


def _additional(value: Any, wanted: Any, schema: Mapping[str, Any], root: Any, path: str) -> None:
    for name in value if isinstance(value, dict) else ():
        if name in schema.get("properties", {}):
            continue
        if wanted is False:
            raise Damaged(f"{path or 'it'} has a field that is not known")
        if wanted is not True:
            _check(value[name], wanted, root, _at(path, name))


def _items(value: Any, wanted: Mapping[str, Any], schema: Mapping[str, Any], root: Any, path: str) -> None:
    start = len(schema.get("prefixItems", ()))
    for i, one in enumerate(value if isinstance(value, list) else ()):
        if i >= start:
            _check(one, wanted, root, f"{path}[{i}]")


def _prefix(value: Any, wanted: list[Mapping[str, Any]], schema: Any, root: Any, path: str) -> None:
    for i, (one, said) in enumerate(zip(value, wanted, strict=False) if isinstance(value, list) else ()):
        _check(one, said, root, f"{path}[{i}]")


def _one_of(value: Any, wanted: list[Mapping[str, Any]], schema: Any, root: Any, path: str) -> None:
    def fits(one: Mapping[str, Any]) -> bool:
        try:
            _check(value, one, root, path)
        except Damaged:
            return False
        return True

    if sum(fits(one) for one in wanted) != 1:
        raise Damaged(f"{path or 'it'} has none of the forms that it may have")


_NESTED: dict[str, Callable[[Any, Any, Any, Any, str], None]] = {
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "prefixItems": _prefix,
    "oneOf": _one_of,
}


def _at(path: str, name: str) -> str:
    return f"{path}.{short_name(name)}" if path else short_name(name)
