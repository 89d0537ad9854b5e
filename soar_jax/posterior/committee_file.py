"""Committees in files: versioned JSON that is checked in full before anything is made of it."""

from __future__ import annotations

import json
import math
import os
import warnings
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from soar_jax._base import EditedModelWarning, InputError
from soar_jax._json import SEAL, Damaged, check_schema, checksum, read_json, read_text
from soar_jax._names import short_name
from soar_jax.data.check_contract import check_contract, check_literals, demand, orders_in

FORMAT = "soar-jax committee"
FORMAT_VERSION = 1
_NEAR = 1e-6


@cache
def committee_schema() -> dict[str, Any]:
    """Give the JSON Schema of a committee's file."""
    schema: dict[str, Any] = json.loads(
        files("soar_jax.posterior").joinpath("committee.schema.json").read_text("utf-8")
    )
    return schema


def is_committee(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it holds a committee; it may still be damaged."""
    with Path(path).open("rb") as file:
        return FORMAT.encode() in file.read(200)


def committee_content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read and check a committee's file."""
    source = os.fspath(path)
    content = read_json(read_text(path, "committee"), source, "committee")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{source} is not a soar-jax committee.")
    version = content.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise InputError(
            f"The committee has format version {short_name(version, 20)}, this package reads up to {FORMAT_VERSION}; "
            f"install soar-jax {short_name(content.get('soar_jax_version', '(newer)'), 20)}."
        )
    try:
        check_schema(content, committee_schema())
        _check_meaning(content)
    except Damaged as error:
        raise InputError(
            f"The committee's file is damaged, or was changed by hand and is wrong now: {error}."
        ) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"The committee's file is damaged: {type(error).__name__}.") from None
    if content[SEAL] != checksum(content):
        warnings.warn(
            f"{source} was changed since it was saved; its content is of the right form, but nobody vouches for it.",
            EditedModelWarning,
            stacklevel=4,
        )
    return content


def _check_meaning(content: dict[str, Any]) -> None:
    names = content["columns"]
    demand(len({type(label) for label in content["classes"]}) == 1, "classes are of two types")
    kinds: dict[str, str] = {}
    orders: dict[str, list[Any]] = {}
    if content["contract"] is not None:
        kinds, orders = check_contract(content["contract"], names), orders_in(content["contract"])
    for side, rules in enumerate(content["rules"]):
        for i, literals in enumerate(rules):
            check_literals(literals, names, kinds, f"rules[{side}][{i}]", orders)
    for i, pair in enumerate(content["pairs"]):
        for side, members in enumerate(pair["rules"]):
            most = len(content["rules"][side])
            demand(all(member < most for member in members), f"pairs[{i}] has a rule that there is not")
    total = math.fsum(pair["weight"] for pair in content["pairs"])
    demand(abs(total - 1) < _NEAR, "the weights of the pairs do not sum to 1")
