"""``soar edit``: add, remove or exchange a rule of a saved model, with a reason and a price."""

from __future__ import annotations

import argparse
import json
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli.files import check_out, labelled_table, load_estimator, reading, stage
from soar_jax.cli.formats import MODEL, suffix_of
from soar_jax.cli.parsers import add_json, add_model, new_command
from soar_jax.cli.reading import add_reading_options


def add_parser(commands: Any) -> None:
    """Describe the command."""
    edit = new_command(
        commands,
        "edit",
        "add, remove or exchange a rule of a saved model, and say what it costs",
        "soar edit model.json --remove N1 --reason 'not lawful here' \\\n"
        "    --table train.csv --target outcome --out edited.json",
        'RULE is text (age > 30 and sex = F) or JSON ([["age", ">", 30], ["sex", "==", "F"]]). '
        "ID is P1, P2, ... or N1, N2, ... in the order in which the model prints its rules, or a rule's text.",
    )
    edit.usage = (
        "%(prog)s MODEL.json (--add RULE | --remove ID | --replace ID RULE)\n"
        "           --reason TEXT --table TABLE --target COLUMN --out NEW.json [options]"
    )
    data = edit.add_argument_group("data")
    add_model(data)
    add = data.add_argument
    add("--table", metavar="TABLE", required=True, help="the training table: CSV or Parquet file")
    add("--target", metavar="COLUMN", required=True, help="the column with the labels")
    add("--drop", metavar="COLUMN", action="append", default=[], help="a column that was left out of the fit")
    add_reading_options(data)  # type: ignore[arg-type]
    change = edit.add_argument_group("the change")
    what = change.add_mutually_exclusive_group(required=True)
    what.add_argument("--add", metavar="RULE", help="a rule to put in; say where by --side")
    what.add_argument("--remove", metavar="ID", help="a rule to take out")
    what.add_argument("--replace", nargs=2, metavar=("ID", "RULE"), help="a rule to take out, and one to put in")
    change.add_argument("--side", choices=("positive", "negative"), help="the rule set that --add is for")
    change.add_argument("--reason", metavar="TEXT", required=True, help="why; it is kept in the model's log")
    output = edit.add_argument_group("output")
    output.add_argument("--out", metavar="NEW.json", required=True, help="where to save the new model")
    add_json(output, "print the entry of the log as one JSON object")
    edit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Edit, save and say what it costs."""
    suffix_of(args.out, MODEL, "A model is saved")
    out = check_out(args.out, args)
    if (args.add is not None) != (args.side is not None):
        raise InputError("--side says which rule set --add is for; give both, or neither.")
    with reading(args):
        model = load_estimator(args.model)
        X, y = labelled_table(args, model, drop=args.drop)
    with stage(args, f"Weighing the change on {len(X):,} rows"):
        edited = _edited(model, args, {"reason": args.reason, "X": X, "y": y})
    edited.save(out)
    if args.json:
        print(json.dumps({**edited._edits[-1], "model_file": str(out)}, ensure_ascii=False))
    else:
        _show(model, edited, str(out))
    return 0


def _edited(model: Any, args: argparse.Namespace, how: dict[str, Any]) -> Any:
    if args.add is not None:
        return model.with_rule(_rule(args.add), args.side, **how)
    if args.remove is not None:
        return model.without_rule(args.remove, **how)
    return model.replace_rule(args.replace[0], _rule(args.replace[1]), **how)


def _show(before: Any, edited: Any, out: str) -> None:
    from soar_jax.cli import screen
    from soar_jax.cli.model_view import rules_view
    from soar_jax.cli.show_view import edits_view

    entry = edited._edits[-1]
    price, rows = entry["log_joint_change"], entry["rows_changed"]
    favour = "before" if price < 0 else "after"
    parts = [
        screen.paragraph(
            f"The change alters the log joint by {price:+.1f} nats: rows and prior together favour the model {favour} "
            f"the change. {screen.plural(rows, 'training row')} change state."
        ),
        *rules_view(edited),
        screen.heading("Changed by hand"),
        *edits_view(edited),
        screen.paragraph(str(edited.certificate_)),
        screen.heading(f"Model saved to {out}. Next:"),
        screen.commands(
            [
                ("print this model again", ["soar", "show", out]),
                ("check it on new rows", ["soar", "audit", out, "NEW.csv", "--target", "COLUMN", "--by", "COLUMN"]),
            ]
        ),
    ]
    screen.show(*parts)


def _rule(text: str) -> Any:
    """Take JSON as literals and anything else as text."""
    if not text.lstrip().startswith("["):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"The rule is not JSON: {error}") from None
