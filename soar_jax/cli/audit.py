"""``soar audit``: what a saved model does to groups of rows."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli.files import check_out, labelled_table, load_estimator, write_result


def add_parser(commands: Any) -> None:
    """Describe the command."""
    audit = commands.add_parser("audit", help="compare what a saved model does to groups of rows")
    add = audit.add_argument
    add("model", metavar="MODEL.json")
    add("table", metavar="TABLE", help="CSV or Parquet file; best rows that the fit never saw")
    add("--target", metavar="COLUMN", required=True, help="the column with the labels")
    add("--by", metavar="COLUMN", required=True, help="the column with the groups; the rules need not read it")
    add("--reference", metavar="GROUP", help="compare the others with this group (default: each with all other rows)")
    add("--level", type=float, default=0.9, help="level of the intervals (default: %(default)s)")
    add("--na", metavar="TEXT", action="append", default=[], help="text that means missing")
    add("--seed", type=int, default=0, help="same seed, same result (default: %(default)s)")
    add("--out", metavar="FILE", help="write here instead of to standard output")
    add("--json", action="store_true", help="one JSON object instead of text")
    audit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit and print."""
    if args.out:
        check_out(args.out)
    if args.by == args.target:
        raise InputError(f"--by and --target both name {args.by!r}; the groups must come from another column.")
    model = load_estimator(args.model)
    X, y = labelled_table(args.table, args.target, args.na, model)
    audit = model.audit(X, y, args.by, args.level, reference=args.reference, random_state=args.seed)
    text = (audit.to_json() if args.json else str(audit)) + "\n"
    write_result(text, args.out, "audit")
    return 0
