"""``soar contrast``: say what would change the outcome of one row."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli import screen
from soar_jax.cli.files import load_estimator, reading, row_of, stage
from soar_jax.cli.parsers import add_json, add_model, add_table, new_command
from soar_jax.cli.reading import add_reading_options, read_given


def add_parser(commands: Any) -> None:
    """Describe the command."""
    contrast = new_command(
        commands,
        "contrast",
        "find the smallest changes of a row that lead to another outcome",
        "soar contrast model.json new.csv --row 0 --fixed age",
    )
    data = contrast.add_argument_group("data")
    add_model(data)
    add_table(data)
    data.add_argument("--row", type=int, required=True, metavar="N", help="which row, counted from 0")
    add_reading_options(data)  # type: ignore[arg-type]
    wanted = contrast.add_argument_group("constraints, what may change")
    wanted.add_argument("--to", metavar="CLASS", help="the class wanted (default: the one not predicted)")
    wanted.add_argument("--fixed", metavar="COLUMN", action="append", default=[], help="cannot change (repeatable)")
    wanted.add_argument(
        "--direction",
        metavar="COLUMN=+",
        action="append",
        default=[],
        help="may only grow (COLUMN=+) or only fall (COLUMN=-) (repeatable)",
    )
    wanted.add_argument("--max-changes", type=int, metavar="N", help="most columns to change")
    add_json(contrast.add_argument_group("output"))
    contrast.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the smallest changes."""
    with reading(args):
        model = load_estimator(args.model)
        table = read_given(args, model)
    row = row_of(table, args.row)
    directions = {}
    for text in args.direction:
        name, sign, direction = text.rpartition("=")
        if not sign:
            raise InputError(f"--direction must be COLUMN=+ or COLUMN=-, got {text!r}.")
        directions[name] = direction
    with stage(args, "Looking for the smallest changes"):
        found = model.contrast(row, to=args.to, fixed=args.fixed, max_changes=args.max_changes, directions=directions)
    print(found.to_json() if args.json else screen.fold(str(found), screen.width_of_output()))
    return 0
