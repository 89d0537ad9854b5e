"""``soar predict``: apply a saved model to a table."""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

from soar_jax._base import InputError, UnreadableValuesWarning
from soar_jax.cli import formats
from soar_jax.cli.database import add_database_options, add_predict_options, names_database, predict_in_database
from soar_jax.cli.files import load_model, out_suffix, reading, stage, write_result
from soar_jax.cli.parsers import add_json, add_table, new_command
from soar_jax.cli.reading import add_reading_options, read_given


def add_parser(commands: Any) -> None:
    """Describe the command."""
    predict = new_command(
        commands,
        "predict",
        "apply a saved model to a table",
        "soar predict model.json new.csv --out labels.csv\nsoar predict model.json new.csv --out labels.parquet",
        "Each row gets its label, the probability of the positive class, and its state: positive or negative (one rule "
        "set fires), active (both fire), passive (none does).",
    )
    data = predict.add_argument_group("data")
    data.add_argument("model", metavar="MODEL.json", help="a model of soar fit, or a committee of soar sample")
    add_table(data, nargs="?")
    add_reading_options(data)  # type: ignore[arg-type]
    add_database_options(predict)
    output = predict.add_argument_group("output")
    output.add_argument(
        "--out", metavar="FILE", help=f"write here, as its suffix says ({', '.join(formats.TABLE)}); default: CSV to "
        "standard output"
    )  # fmt: skip
    add_predict_options(output)
    add_json(output, "one JSON object per row instead of CSV")
    predict.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write label, probability and state of every row."""
    if names_database(args):
        return predict_in_database(args)
    if args.table is None:
        raise InputError("Give a TABLE, or name a table of a database.")
    suffix = out_suffix(args, formats.TABLE, "Predictions are written")
    if suffix is not None:
        formats.agree_on_json(suffix, args.json)
    with reading(args):
        model = load_model(args.model)
        table = read_given(args, model)
    with stage(args, f"Predicting {len(table):,} rows"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadableValuesWarning)  # counted below
        result = model.predict_table(table)
    differs = model.check(table).sentence()
    if differs:
        print(differs, file=sys.stderr)
    if suffix is None:
        suffix = ".jsonl" if args.json else ".csv"
    content = formats.table_bytes(result, suffix)
    write_result(content if args.out else content.decode(), args.out, f"{len(result):,} predictions")
    return 0
