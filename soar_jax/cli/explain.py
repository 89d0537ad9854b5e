"""``soar explain``: say why each row of a table gets its label."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax.cli.files import check_out, load_estimator, write_result


def add_parser(commands: Any) -> None:
    """Describe the command."""
    explain = commands.add_parser("explain", help="say which rules fired for each row of a table, and which nearly did")
    explain.add_argument("model", metavar="MODEL.json")
    explain.add_argument("table", metavar="TABLE", help="CSV or Parquet file; only the rules' columns are needed")
    explain.add_argument("--out", metavar="FILE", help="write here instead of to standard output")
    explain.add_argument("--max-reasons", type=int, metavar="N", help="show the N strongest reasons per row at most")
    explain.add_argument("--na", metavar="TEXT", action="append", default=[], help="text that means missing")
    form = explain.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object with rules and rows, instead of CSV")
    form.add_argument("--text", action="store_true", help="sentences instead of CSV")
    explain.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the reasons of every row."""
    from soar_jax.data.read import read_table

    if args.out:
        check_out(args.out)
    model = load_estimator(args.model)
    reasons = model.explain(read_table(args.table, args.na), args.max_reasons)
    if args.json:
        text = reasons.to_json(indent=1) + "\n"
    elif args.text:
        text = "\n".join(map(str, reasons)) + "\n"
    else:
        text = reasons.to_frame().to_csv(index=False)
    write_result(text, args.out, f"reasons of {len(reasons):,} rows")
    return 0
