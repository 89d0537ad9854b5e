"""``soar export``: write a saved model in another language."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax._base import InputError
from soar_jax._names import short_name
from soar_jax.cli.files import load_estimator, out_suffix, stage, write_result
from soar_jax.cli.formats import suffix_of
from soar_jax.cli.parsers import add_model, new_command

FORMATS = ("sql", "python", "pmml", "json")
SUFFIXES = {"sql": (".sql",), "python": (".py",), "pmml": (".pmml", ".xml"), "json": (".json",)}


def add_parser(commands: Any) -> None:
    """Describe the command."""
    export = new_command(
        commands,
        "export",
        "write a saved model as SQL, Python source, PMML or JSON",
        "soar export model.json --dialect duckdb --table patients --out score.sql\n"
        "soar export model.json --out score.py",
    )
    add_model(export.add_argument_group("data"))
    form = export.add_argument_group("form")
    form.add_argument("--format", choices=FORMATS, help="default: as the suffix of --out says")
    form.add_argument("--dialect", metavar="NAME", help="of SQL: duckdb, sqlite, postgres or spark")
    form.add_argument("--table", metavar="NAME", help="the table that the SELECT reads")
    form.add_argument("--key", metavar="COLUMN", help="column of the table that comes first and orders the rows")
    form.add_argument("--view", metavar="NAME", help="write a CREATE VIEW of this name")
    form.add_argument(
        "--type",
        metavar="COLUMN=TYPE",
        action="append",
        default=[],
        help="how the table stores a column: text, integer, double, real, boolean, date or timestamp (repeatable)",
    )
    output = export.add_argument_group("output")
    output.add_argument(
        "--out", metavar="FILE", help="write to a .sql, .py, .pmml, .xml or .json file (default: standard output)"
    )
    export.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the model."""
    args.format = args.format or _format_of(args.out)
    _check_options(args)
    types = dict(_type(text) for text in args.type)
    # --table names a table of a database here, no file that is read
    reads = argparse.Namespace(out=args.out, model=args.model)
    out_suffix(reads, SUFFIXES[args.format], f"A model in the format {args.format} is written")
    with stage(args, f"Reading {short_name(args.model)}"):
        model = load_estimator(args.model)
    if args.format == "sql":
        text = model.to_sql(args.dialect, args.table, args.key, args.view, types) + "\n"
    elif args.format == "pmml":
        text = model.to_pmml(types)
    else:
        text = model.to_python() if args.format == "python" else model.to_json()
    write_result(text, args.out, "model")
    return 0


def _format_of(out: str | None) -> str:
    """Take the format from the suffix."""
    if out is None:
        raise InputError(f"Say which --format to write ({', '.join(FORMATS)}), or name a file by --out.")
    suffix = suffix_of(out, [one for suffixes in SUFFIXES.values() for one in suffixes], "A model is exported")
    return next(name for name, suffixes in SUFFIXES.items() if suffix in suffixes)


def _check_options(args: argparse.Namespace) -> None:
    given = [name for name in ("dialect", "table", "key", "view") if getattr(args, name) is not None]
    if args.format == "sql" and not (args.dialect and args.table):
        raise InputError("--format sql needs --dialect and --table.")
    if args.format != "sql" and given:
        raise InputError(f"--{given[0]} belongs to --format sql.")
    if args.type and args.format not in ("sql", "pmml"):
        raise InputError("--type belongs to --format sql or pmml.")


def _type(text: str) -> tuple[str, str]:
    column, sign, kind = text.rpartition("=")
    if not sign:
        raise InputError(f"--type must be COLUMN=TYPE, got {text!r}.")
    return column, kind
