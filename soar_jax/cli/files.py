"""Files that the commands read and write: saved models, tables with labels, results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soar_jax._base import InputError
from soar_jax._files import write_text_atomically

if TYPE_CHECKING:
    import pandas as pd


def check_out(path: str) -> Path:
    """Find out before the work, not after it, that a file cannot be written."""
    out = Path(path)
    if out.is_dir():
        raise InputError(f"{path} is a folder; name a file.")
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent} to save {out.name} in.")
    return out


def load_model(path: str) -> Any:
    """Read a saved estimator or committee."""
    from soar_jax.estimators.load import load

    if not Path(path).is_file():
        raise InputError(f"There is no model file {path}.")
    return load(path)


def load_estimator(path: str) -> Any:
    """Read a saved estimator; a committee has no rules of its own to name."""
    model = load_model(path)
    if not hasattr(model, "positive_rules_"):
        raise InputError(f"{path} holds a committee, not one pair of rule sets; give a model saved by soar fit.")
    return model


def write_result(text: str, out: str | None, what: str) -> None:
    """Write a result to its file, and say so, or to standard output."""
    if out:
        write_text_atomically(out, text)
        print(f"{what} written to {out}", file=sys.stderr)
    else:
        sys.stdout.write(text)


def labelled_table(
    path: str, target: str, missing: list[str], model: Any, drop: list[str] | None = None
) -> tuple[pd.DataFrame, Any]:
    """Read rows and their labels, spelt as the model spells them: a file may say 1, 1.0 or "1"."""
    from soar_jax.data.columns import level_text
    from soar_jax.data.read import read_table
    from soar_jax.data.table import require_columns

    table = read_table(path, missing)
    require_columns(table, [target, *(drop or [])], "The command names")
    y = table[target]
    if y.isna().any():
        raise InputError(
            f"The target column {target!r} is missing in {int(y.isna().sum())} of {len(y)} rows; drop those rows."
        )
    spelt = {level_text(label): label for label in model.classes_}
    labels = [level_text(value) for value in y]
    unknown = sorted(set(labels) - set(spelt))
    if unknown:
        raise InputError(f"The target column {target!r} has {len(unknown)} labels that the model does not know.")
    import numpy as np

    return table.drop(columns=[target, *(drop or [])]), np.array([spelt[label] for label in labels])
