"""Tables that the commands read: one set of options, one way of reading them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from soar_jax._base import InputError

if TYPE_CHECKING:
    import pandas as pd

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Options of every command that reads a table."""
    command.add_argument(
        "--na",
        metavar="TEXT",
        action="append",
        default=[],
        help="text that means missing, beside nothing, NA and NaN (repeatable)",
    )
    command.add_argument("--delimiter", metavar="CHAR", help="what separates fields of a CSV (default: found out)")
    command.add_argument("--encoding", metavar="NAME", help="of a CSV, such as latin-1 (default: UTF-8 or UTF-16)")


def add_declaring_options(command: argparse.ArgumentParser) -> None:
    """Options of every command that fits: what columns are, where their values do not say it."""
    add = command.add_argument
    add("--text", metavar="COLUMN", action="append", default=[], help="its values are names, not numbers (repeatable)")
    add("--number", metavar="COLUMN", action="append", default=[], help="its values are numbers (repeatable)")
    add(
        "--date",
        metavar="COLUMN[=FORMAT]",
        action="append",
        default=[],
        help="its values are dates, ISO or of a format such as when=%%d/%%m/%%Y (repeatable)",
    )
    add("--strict", action="store_true", help="refuse values that cannot be read instead of treating them as missing")


def declared_kinds(args: argparse.Namespace) -> dict[str, str] | None:
    """Read --text, --number, --date and --strict as the estimators' ``kinds``."""
    given = [(name, "text") for name in getattr(args, "text", [])]
    given += [(name, "number") for name in getattr(args, "number", [])]
    for text in getattr(args, "date", []):
        name, _, form = text.partition("=")
        given.append((name, f"date {form}".strip()))
    kinds: dict[str, str] = {}
    for name, kind in given:
        if name in kinds:
            raise InputError(f"Column {name!r} is declared more than once.")
        kinds[name] = kind
    if getattr(args, "strict", False):
        kinds["*"] = "strict"
    return kinds or None


def read_given(args: argparse.Namespace, model: Any = None) -> pd.DataFrame:
    """Read the table that a command was given, as its model read the first one where there is a model."""
    from soar_jax.data.contract import Contract
    from soar_jax.data.read import read_table

    said = getattr(model, "contract_", None) if model is not None else None
    return read_table(
        args.table,
        args.na,
        contract=Contract.from_dict(said) if said else None,
        kinds=declared_kinds(args),
        delimiter=_NAMED.get(args.delimiter, args.delimiter),
        encoding=args.encoding,
    )
