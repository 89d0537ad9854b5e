"""``soar export``: write a saved model in another language."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli.files import check_out, load_estimator, write_result

FORMATS = ("sql", "python", "pmml", "json")


def add_parser(commands: Any) -> None:
    """Describe the command."""
    export = commands.add_parser("export", help="write a saved model as SQL, Python source, PMML or JSON")
    export.add_argument("model", metavar="MODEL.json")
    export.add_argument("--format", choices=FORMATS, required=True)
    export.add_argument("--dialect", metavar="NAME", help="of SQL: duckdb, sqlite, postgres or spark")
    export.add_argument("--table", metavar="NAME", help="the table that the SELECT reads")
    export.add_argument("--key", metavar="COLUMN", help="column of the table that comes first and orders the rows")
    export.add_argument("--view", metavar="NAME", help="write a CREATE VIEW of this name")
    export.add_argument(
        "--type",
        metavar="COLUMN=TYPE",
        action="append",
        default=[],
        help="how the table stores a column: text, integer, double, real, boolean, date or timestamp (repeatable)",
    )
    export.add_argument("--out", metavar="FILE", help="write here instead of to standard output")
    export.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the model."""
    _check_options(args)
    types = dict(_type(text) for text in args.type)
    if args.out:
        check_out(args.out)
    model = load_estimator(args.model)
    if args.format == "sql":
        text = model.to_sql(args.dialect, args.table, args.key, args.view, types) + "\n"
    elif args.format == "pmml":
        text = model.to_pmml(types)
    else:
        text = model.to_python() if args.format == "python" else model.to_json()
    write_result(text, args.out, "model")
    return 0


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
