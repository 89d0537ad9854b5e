"""``soar predict``: apply a saved model to a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from soar_jax._base import InputError
from soar_jax._files import write_text_atomically
from soar_jax.cli.options import check_out


def add_parser(commands: Any) -> None:
    """Describe the command."""
    predict = commands.add_parser("predict", help="apply a saved model to a table")
    predict.add_argument("model", metavar="MODEL.json")
    predict.add_argument("table", metavar="TABLE", help="CSV or Parquet file; only the rules' columns are needed")
    predict.add_argument("--out", metavar="FILE.csv", help="write here instead of to standard output")
    predict.add_argument("--na", metavar="TEXT", action="append", default=[], help="text that means missing")
    predict.add_argument("--json", action="store_true", help="one JSON object per row instead of CSV")
    predict.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write label, probability and state of every row."""
    from soar_jax.data.read import read_table
    from soar_jax.estimators.load import load

    if not Path(args.model).is_file():
        raise InputError(f"There is no model file {args.model}.")
    if args.out:
        check_out(args.out)
    model = load(args.model)
    result = model.predict_table(read_table(args.table, args.na))
    if args.json:
        text = result.to_json(orient="records", lines=True, force_ascii=False)
        text = text if text.endswith("\n") else text + "\n"
    else:
        text = result.to_csv(index=False)
    if args.out:
        write_text_atomically(args.out, text)
        print(f"{len(result):,} predictions written to {args.out}", file=sys.stderr)
    else:
        sys.stdout.write(text)
    return 0
