"""``soar model check``: say whether model files are sound."""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

from soar_jax._base import EditedModelWarning, InputError
from soar_jax.cli.errors import DONE, WRONG_INPUT
from soar_jax.cli.files import load_model
from soar_jax.cli.parsers import Parser, add_json, add_shared, new_command


def add_parser(commands: Any) -> None:
    """Describe the command."""
    about = "A file that is sound loads, everything in it fits together, and it is as it was saved."
    example = "soar model check model.json"
    model = new_command(commands, "model", "say whether model files are sound: soar model check", example, about)
    inner = model.add_subparsers(dest="what", required=True, metavar="check", parser_class=Parser)
    check = new_command(inner, "check", "say whether model files are sound", example, about)
    check.add_argument_group("data").add_argument("models", metavar="MODEL.json", nargs="+", help="files to check")
    add_json(check.add_argument_group("output"), "print one JSON object per file instead of text")
    add_shared(check)
    model.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Load each file, and say what came of it."""
    is_sound = True
    for path in args.models:
        problem, about = _look(path)
        is_sound &= problem is None
        if args.json:
            print(json.dumps({"model_file": path, "is_sound": problem is None, "problem": problem, "about": about}))
        else:
            print(f"{path}: sound. {about}" if problem is None else f"{path}: NOT sound. {problem}")
    return DONE if is_sound else WRONG_INPUT


def _look(path: str) -> tuple[str | None, str]:
    """Say what is wrong, if anything, and what the file holds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", EditedModelWarning)
            model = load_model(path)
    except (InputError, OSError, EditedModelWarning) as error:
        return " ".join(str(error).split()), ""
    if not hasattr(model, "positive_rules_"):
        return None, f"A committee of {len(model.weights):,} pairs of rule sets."
    sizes = len(model.positive_rules_), len(model.negative_rules_)
    edits = f", changed by hand {len(model._edits)} times" if model._edits else ""
    return None, f"A {type(model).__name__} with {sizes[0]} + {sizes[1]} rules{edits}."
