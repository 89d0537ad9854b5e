"""``soar contrast``: say what would change the outcome of one row."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli.files import load_estimator


def add_parser(commands: Any) -> None:
    """Describe the command."""
    contrast = commands.add_parser("contrast", help="find the smallest changes of a row that lead to another outcome")
    contrast.add_argument("model", metavar="MODEL.json")
    contrast.add_argument("table", metavar="TABLE", help="CSV or Parquet file; only the rules' columns are needed")
    contrast.add_argument("--row", type=int, required=True, metavar="N", help="which row, counted from 0")
    contrast.add_argument("--to", metavar="CLASS", help="the class wanted (default: the one not predicted)")
    contrast.add_argument("--fixed", metavar="COLUMN", action="append", default=[], help="cannot change (repeatable)")
    contrast.add_argument(
        "--direction",
        metavar="COLUMN=+",
        action="append",
        default=[],
        help="may only grow (COLUMN=+) or only fall (COLUMN=-) (repeatable)",
    )
    contrast.add_argument("--max-changes", type=int, metavar="N", help="most columns to change")
    contrast.add_argument("--na", metavar="TEXT", action="append", default=[], help="text that means missing")
    contrast.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    contrast.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the smallest changes."""
    from soar_jax.data.read import read_table

    model = load_estimator(args.model)
    table = read_table(args.table, args.na)
    if not 0 <= args.row < len(table):
        raise InputError(f"--row must lie from 0 to {len(table) - 1}, got {args.row}.")
    directions = {}
    for text in args.direction:
        name, sign, direction = text.rpartition("=")
        if not sign:
            raise InputError(f"--direction must be COLUMN=+ or COLUMN=-, got {text!r}.")
        directions[name] = direction
    found = model.contrast(
        table.iloc[[args.row]], to=args.to, fixed=args.fixed, max_changes=args.max_changes, directions=directions
    )
    print(found.to_json() if args.json else found)
    return 0
