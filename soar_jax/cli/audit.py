"""``soar audit``: what a saved model does to groups of rows."""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli import formats
from soar_jax.cli.files import labelled_table, load_estimator, out_suffix, reading, stage, write_result
from soar_jax.cli.parsers import add_json, add_model, new_command
from soar_jax.cli.reading import add_reading_options


def add_parser(commands: Any) -> None:
    """Describe the command."""
    audit = new_command(
        commands,
        "audit",
        "compare what a saved model does to groups of rows",
        "soar audit model.json fresh.csv --target outcome --by sex",
        "Of the table that soar fit was given, the rows that it held out are audited, and no others.",
    )
    data = audit.add_argument_group("data")
    add_model(data)
    data.add_argument("table", metavar="TABLE", help="CSV or Parquet file; best rows that the fit never saw")
    data.add_argument("--target", metavar="COLUMN", required=True, help="the column with the labels")
    data.add_argument("--by", metavar="COLUMN", required=True, help="the column with the groups; no rule need read it")
    add_reading_options(data)  # type: ignore[arg-type]
    figures = audit.add_argument_group("figures")
    add = figures.add_argument
    add("--reference", metavar="GROUP", help="compare the others with this group (default: each with all other rows)")
    add("--level", type=float, default=0.9, metavar="L", help="level of the intervals (default: %(default)s)")
    add("--seed", type=int, default=0, help="same seed, same result (default: %(default)s)")
    output = audit.add_argument_group("output")
    output.add_argument("--out", metavar="FILE", help="write to a .txt or .json file (default: standard output)")
    add_json(output)
    audit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Audit and print."""
    suffix = out_suffix(args, formats.TEXT_OR_JSON, "An audit is written")
    if suffix is not None:
        formats.agree_on_json(suffix, args.json)
    if args.by == args.target:
        raise InputError(f"--by and --target both name {args.by!r}; the groups must come from another column.")
    with reading(args):
        model = load_estimator(args.model)
        X, y = labelled_table(args, model)
    with stage(args, f"Auditing {len(X):,} rows"):
        audit = model.audit(X, y, args.by, args.level, reference=args.reference, random_state=args.seed)
    if args.json or suffix == ".json":
        text = audit.to_json() + "\n"
    else:
        from soar_jax.cli import screen
        from soar_jax.cli.audit_view import audit_view

        text = screen.text(*audit_view(audit, model._label(0), is_single=model._single), is_plain=suffix is not None)
    write_result(text, args.out, "audit")
    return 0
