"""``soar report``: a page or a model card that people can read who do not run Python."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli import screen
from soar_jax.cli.files import labelled_table, load_estimator, out_suffix, reading, stage
from soar_jax.cli.formats import REPORT
from soar_jax.cli.options import DATASETS, embedded_data
from soar_jax.cli.parsers import add_json, add_model, new_command
from soar_jax.cli.reading import add_reading_options


def add_parser(commands: Any) -> None:
    """Describe the command."""
    report = new_command(
        commands,
        "report",
        "write a page, or a model card, about a saved model",
        "soar report model.json fresh.csv --target outcome --fresh --out report.html",
        "The page is one file that needs no network; no row of the table is in it unless asked for.",
    )
    data = report.add_argument_group("data")
    add_model(data)
    data.add_argument("table", metavar="TABLE", nargs="?", help="rows to test on: best rows that the fit never saw")
    data.add_argument("--dataset", choices=DATASETS, help="test on embedded data instead of a file")
    data.add_argument("--target", metavar="COLUMN", help="the column of TABLE with the labels")
    data.add_argument("--fresh", action="store_true", help="say that the rules never saw these rows")
    add_reading_options(data)  # type: ignore[arg-type]
    content = report.add_argument_group("content")
    add = content.add_argument
    add("--words", metavar="FILE.yaml", help="labels, units and levels in the readers' words")
    add("--question", metavar="TEXT", help="what the model answers")
    add("--contact", metavar="TEXT", help="whom to ask")
    add("--note", metavar="TEXT", action="append", default=[], help="what readers must know first (repeatable)")
    add("--sensitive", metavar="COLUMN", action="append", default=[], help="compare groups by it (repeatable)")
    add("--examples", type=int, default=0, metavar="N", help="show N rows of TABLE (default: none)")
    output = report.add_argument_group("output")
    output.add_argument(
        "--out", metavar="FILE", default="report.html", help="a .html page or a .md card (default: %(default)s)"
    )
    add_json(output, "print what the report says as one JSON object")
    report.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the report and say its verdict."""
    if out_suffix(args, REPORT, "A report is written") is None:
        raise InputError("A report is written to a file that ends in .html or .md; name one with --out.")
    X = y = None
    has_rows = args.table is not None or args.dataset is not None
    if args.table is not None and args.dataset is not None:
        raise InputError("Give either a TABLE or --dataset, not both.")
    if args.table is not None and args.target is None:
        raise InputError("Say which column of the table has the labels with --target.")
    if not has_rows and (args.examples or args.sensitive or args.fresh):
        raise InputError("--examples, --sensitive and --fresh speak of rows: give a TABLE with --target, or --dataset.")
    with reading(args) if args.table is not None else stage(args, "Reading the model"):
        model = load_estimator(args.model)
        if args.dataset is not None:
            X, y = embedded_data(args.dataset)
        elif args.table is not None:
            import pandas as pd

            X, labels = labelled_table(args, model)
            y = pd.Series(labels, name=args.target)
    with stage(args, "Writing the report"):
        content = model.report(
            args.out,
            X,
            y,
            fresh=True if args.fresh else None,
            examples=args.examples,
            sensitive=args.sensitive or None,
            question=args.question,
            notes=args.note,
            contact=args.contact,
            words=args.words,
        )
    if args.json:
        print(json.dumps(content.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        print(screen.fold("".join(text for text, _ in content.verdict), screen.width_of_output()))
    print(f"report written to {args.out}", file=sys.stderr)
    return 0
