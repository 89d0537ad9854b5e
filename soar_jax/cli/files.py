"""Files that the commands read and write: saved models, tables with labels, results."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soar_jax._base import InputError
from soar_jax._files import check_target, write_bytes_atomically
from soar_jax._names import short_name
from soar_jax._progress import Stage
from soar_jax.cli.formats import suffix_of
from soar_jax.cli.reading import read_given

if TYPE_CHECKING:
    import pandas as pd

STANDARD = "-"
"""The name of standard input and output."""


def stage(args: argparse.Namespace, text: str) -> Stage:
    """Say what is being done, on a terminal and unless told to be quiet."""
    return Stage(text, not getattr(args, "quiet", False) and sys.stderr.isatty())


def reading(args: argparse.Namespace) -> Stage:
    """Say that model and table are being read."""
    name = "standard input" if args.table == STANDARD else short_name(Path(args.table or "the table").name)
    return stage(args, f"Reading {name}")


# -- results out ----------------------------------------------------------------------------------


def check_out(path: str, args: argparse.Namespace | None = None) -> Path:
    """Find out before the work, not after it, that a file cannot be written or would cost an input of the command."""
    check_target(path)
    for name in ("table", "model"):
        given = getattr(args, name, None)
        if isinstance(given, str) and _is_same_file(path, given):
            raise InputError(f"{path} is read by this command ({short_name(given)}); name another file to write.")
    return Path(path)


def _is_same_file(out: str, given: str) -> bool:
    try:
        read = os.fstat(0) if given == STANDARD else os.stat(given)
        return os.path.samestat(os.stat(out), read)
    except (OSError, ValueError):
        return False


def out_suffix(args: argparse.Namespace, known: Sequence[str], what: str) -> str | None:
    """Check ``--out`` and say which suffix it has; None where the result goes to a stream."""
    if args.out is None or args.out == STANDARD:
        return None
    if check_target(args.out) is None:
        return None
    suffix = suffix_of(args.out, known, what)
    check_out(args.out, args)
    return suffix


def write_result(result: str | bytes, out: str | None, what: str) -> None:
    """Write a result to its file, and say so, or to standard output."""
    if out and out != STANDARD:
        write_bytes_atomically(out, result.encode() if isinstance(result, str) else result)
        print(f"{what} written to {out}", file=sys.stderr)
    elif isinstance(result, str):
        sys.stdout.write(result)
    else:
        sys.stdout.buffer.write(result)


def save_model(model: Any, path: Path) -> None:
    """Save a fitted model; the file does not tell who looked on."""
    is_shown = model.progress
    model.set_params(progress=False).save(path)
    model.set_params(progress=is_shown)


# -- models and tables in -------------------------------------------------------------------------


def load_model(path: str) -> Any:
    """Read a saved estimator or committee."""
    if not Path(path).is_file():
        raise InputError(f"There is no model file {path}.")
    from soar_jax.estimators.load import load

    try:
        return load(path)
    except RecursionError:
        raise InputError(f"{path} is not a soar-jax model file: it is nested too deeply.") from None


def load_estimator(path: str) -> Any:
    """Read a saved estimator; a committee has no rules of its own to name."""
    model = load_model(path)
    if not hasattr(model, "positive_rules_"):
        raise InputError(f"{path} holds a committee, not one pair of rule sets; give a model saved by soar fit.")
    return model


def row_of(table: pd.DataFrame, row: int) -> pd.DataFrame:
    """Choose one row of a table, counted from 0."""
    if not len(table):
        raise InputError("The table has no row.")
    if not 0 <= row < len(table):
        raise InputError(f"--row must lie from 0 to {len(table) - 1}, got {row}.")
    return table.iloc[[row]]


def labelled_table(args: argparse.Namespace, model: Any, drop: list[str] | None = None) -> tuple[pd.DataFrame, Any]:
    """Read rows and their labels, spelt as the model spells them: a file may say 1, 1.0 or "1"."""
    from soar_jax.data.columns import level_text
    from soar_jax.data.table import require_columns

    target, table = args.target, read_given(args, model)
    require_columns(table, [target, *(drop or [])], "The command names")
    y = table[target]
    check_labels(y)
    spelt = {level_text(label): label for label in model.classes_}
    labels = [level_text(value) for value in y]
    unknown = set(labels) - set(spelt)
    if unknown:
        known = " and ".join(short_name(label) for label in spelt)
        raise InputError(
            f"The target column {short_name(target)!r} has {_plural(len(unknown), 'label')} that the model does not "
            f"know: it knows {known}. Name the column of these labels with --target, or drop or rename the other rows."
        )
    import numpy as np

    return table.drop(columns=[target, *(drop or [])]), np.array([spelt[label] for label in labels])


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def check_labels(y: pd.Series) -> None:
    """Refuse labels that are missing, and a table without rows."""
    if not len(y):
        raise InputError("The table has the names of its columns and no rows.")
    num_missing = int(y.isna().sum())
    if num_missing:
        raise InputError(
            f"The target column {short_name(y.name)!r} is missing in {num_missing} of {len(y)} rows; drop those rows."
        )
