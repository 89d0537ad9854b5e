"""``soar explain``: say why each row of a table gets its label."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli import formats, screen
from soar_jax.cli.files import load_estimator, out_suffix, reading, row_of, stage, write_result
from soar_jax.cli.parsers import WIDTH, add_json, add_model, add_table, new_command
from soar_jax.cli.reading import add_reading_options, read_given

SUFFIXES = (*formats.TABLE, ".txt")
SHOWN_ROWS = 10


def add_parser(commands: Any) -> None:
    """Describe the command."""
    explain = new_command(
        commands,
        "explain",
        "say which rules fired for each row of a table, and which nearly did",
        "soar explain model.json new.csv\nsoar explain model.json new.csv --out reasons.csv",
        f"On a terminal it prints sentences of the first {SHOWN_ROWS} rows, elsewhere a CSV of all.",
    )
    data = explain.add_argument_group("data")
    add_model(data)
    add_table(data)
    data.add_argument("--row", type=int, metavar="N", help="this row alone, counted from 0")
    add_reading_options(data)  # type: ignore[arg-type]
    output = explain.add_argument_group("output")
    output.add_argument("--max-reasons", type=int, metavar="N", help="show the N strongest reasons per row at most")
    output.add_argument(
        "--out", metavar="FILE", help=f"write here, as its suffix says ({', '.join(SUFFIXES)}); default: see "
        "above"
    )  # fmt: skip
    form = output.add_mutually_exclusive_group()
    add_json(form, "one JSON object with rules and rows, instead of CSV")
    form.add_argument("--sentences", action="store_true", help="sentences of all rows instead of CSV")
    explain.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the reasons of every row."""
    suffix = out_suffix(args, SUFFIXES, "Reasons are written")
    is_shown = suffix is None and not (args.json or args.sentences or args.out) and sys.stdout.isatty()
    if suffix is None:
        suffix = ".json" if args.json else ".txt" if args.sentences or is_shown else ".csv"
    formats.agree_on_json(suffix, args.json)
    if args.sentences and suffix != ".txt":
        raise InputError(f"--sentences asks for text, but --out ends in {suffix}; leave one of them out.")
    with reading(args):
        model = load_estimator(args.model)
        table = read_given(args, model)
    if args.row is not None:
        table = row_of(table, args.row)
    num_rows = len(table)
    table = table.iloc[:SHOWN_ROWS] if is_shown else table
    with stage(args, f"Explaining {len(table):,} rows"):
        reasons = model.explain(table, args.max_reasons)
        result = _content(reasons, suffix, screen.width_of_output() if is_shown else WIDTH)
    if is_shown and num_rows > SHOWN_ROWS:
        result = f"{result!s}{screen.fold(_about_the_others(num_rows), screen.width_of_output())}\n"
    write_result(result, args.out, f"reasons of {len(reasons):,} rows")
    return 0


def _about_the_others(num_rows: int) -> str:
    return (
        f"and {num_rows - SHOWN_ROWS:,} rows more: --sentences prints them all, --row N one of them, --out reasons.csv "
        "writes a table."
    )


def _content(reasons: Any, suffix: str, width: int) -> str | bytes:
    if suffix == ".json":
        return str(reasons.to_json(indent=1)) + "\n"
    if suffix == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in json.loads(reasons.to_json())["rows"])
    if suffix == ".txt":
        return "".join(screen.fold(str(reason), width) + "\n" for reason in reasons)
    frame = reasons.to_frame()
    return formats.csv_text(frame) if suffix == ".csv" else formats.table_bytes(frame, suffix)
