"""``soar edit``: add, remove or exchange a rule of a saved model, with a reason and a price."""

from __future__ import annotations

import argparse
import json
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli.files import check_out, labelled_table, load_estimator


def add_parser(commands: Any) -> None:
    """Describe the command."""
    edit = commands.add_parser(
        "edit",
        help="add, remove or exchange a rule of a saved model, and say what it costs",
        description='RULE is text (age > 30 and sex = F) or JSON ([["age", ">", 30], ["sex", "==", "F"]]). '
        "RULE_ID is P1, P2, ... or N1, N2, ... in the order in which the model prints its rules, or a rule's text.",
    )
    add = edit.add_argument
    add("model", metavar="MODEL.json")
    what = edit.add_mutually_exclusive_group(required=True)
    what.add_argument("--add", metavar="RULE", help="a rule to put in; say where by --side")
    what.add_argument("--remove", metavar="RULE_ID", help="a rule to take out")
    what.add_argument("--replace", nargs=2, metavar=("RULE_ID", "RULE"), help="a rule to take out, and one to put in")
    add("--side", choices=("positive", "negative"), help="the rule set that --add is for")
    add("--reason", metavar="TEXT", required=True, help="why; it is kept in the model's log")
    add("--table", metavar="TABLE", required=True, help="the training table: CSV or Parquet file")
    add("--target", metavar="COLUMN", required=True, help="the column with the labels")
    add("--drop", metavar="COLUMN", action="append", default=[], help="a column that was left out of the fit")
    add("--na", metavar="TEXT", action="append", default=[], help="text that means missing")
    add("--out", metavar="NEW.json", required=True, help="where to save the new model")
    add("--json", action="store_true", help="print the entry of the log as one JSON object")
    edit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Edit, save and say what it costs."""
    out = check_out(args.out)
    if (args.add is not None) != (args.side is not None):
        raise InputError("--side says which rule set --add is for; give both, or neither.")
    model = load_estimator(args.model)
    X, y = labelled_table(args.table, args.target, args.na, model, drop=args.drop)
    how = {"reason": args.reason, "X": X, "y": y}
    if args.add is not None:
        edited = model.with_rule(_rule(args.add), args.side, **how)
    elif args.remove is not None:
        edited = model.without_rule(args.remove, **how)
    else:
        edited = model.replace_rule(args.replace[0], _rule(args.replace[1]), **how)
    edited.save(out)
    if args.json:
        print(json.dumps({**edited._edits[-1], "model_file": str(out)}, ensure_ascii=False))
    else:
        print(f"{edited.describe()}\n\n{edited.edits_}\n\n{edited.certificate_}\nmodel saved to {out}")
    return 0


def _rule(text: str) -> Any:
    """Take JSON as literals and anything else as text."""
    if not text.lstrip().startswith("["):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"The rule is not JSON: {error}") from None
