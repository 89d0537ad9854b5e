"""``soar predict``: apply a saved model to a table."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax.cli.files import check_out, load_model, write_result


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

    if args.out:
        check_out(args.out)
    model = load_model(args.model)
    result = model.predict_table(read_table(args.table, args.na))
    if args.json:
        text = result.to_json(orient="records", lines=True, force_ascii=False)
        text = text if text.endswith("\n") else text + "\n"
    else:
        text = result.to_csv(index=False)
    write_result(text, args.out, f"{len(result):,} predictions")
    return 0
