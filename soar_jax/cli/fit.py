"""``soar fit``: learn rule sets from a table and save them."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from soar_jax._base import DataWarning, InputError, NothingFoundWarning
from soar_jax.cli.database import add_fit_options, names_database
from soar_jax.cli.files import check_out, save_model, stage
from soar_jax.cli.fit_database import fit_in_database
from soar_jax.cli.formats import MODEL, suffix_of
from soar_jax.cli.interrupts import Interrupts
from soar_jax.cli.options import (
    add_training_options,
    check_holdout,
    make_model,
    share_held_out,
    source_of,
    training_table,
)
from soar_jax.cli.parsers import add_json, new_command
from soar_jax.cli.summary import summary_of

EXAMPLE = """\
soar fit --dataset car --out car.json
soar fit patients.csv --target outcome --positive sick --out model.json"""


def add_parser(commands: Any) -> None:
    """Describe the command."""
    fit = new_command(
        commands,
        "fit",
        "learn rule sets from a table and save them as JSON",
        EXAMPLE,
        "It prints the rules, how many rows get an answer and how often that is right on rows held out, and what to "
        "run next.",
    )
    add_training_options(fit)
    add_fit_options(fit)
    output = fit.add_argument_group("output")
    output.add_argument("--out", metavar="FILE.json", default="model.json", help="where to save (default: %(default)s)")
    output.add_argument(
        "--noise-check",
        type=int,
        nargs="?",
        const=20,
        metavar="N",
        help="also fit N times to permuted labels and compare (default: 20)",
    )
    add_json(output)
    fit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fit, save and report."""
    check_holdout(args)
    if args.noise_check is not None and args.noise_check < 1:
        raise InputError(f"--noise-check must be at least 1, got {args.noise_check}.")
    suffix_of(args.out, MODEL, "A model is saved")
    out = check_out(args.out, args)
    with Interrupts() as interrupts:
        if names_database(args):
            code = fit_in_database(args, out)
        else:
            code = _fit(args, out, interrupts)
    if interrupts.came:  # the search returned its best pair so far
        sys.stdout.flush()
        raise KeyboardInterrupt(
            f"while learning; the best rules so far are in {out}, soar show prints them. The same command starts anew."
        )
    return code


def _fit(args: argparse.Namespace, out: Path, interrupts: Interrupts) -> int:
    with stage(args, f"Reading {source_of(args)}"):
        X, y = training_table(args)
    with stage(args, f"Learning rules from {len(X):,} rows"):
        model = make_model(args)
        model.set_params(holdout=share_held_out(args.holdout, y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingFoundWarning)  # the summary says so
            _warn_unless(lambda: interrupts.came)  # of a search that was stopped: the last line says so
            model.fit(X, y)
    interrupts.is_keeping = True
    if interrupts.came:
        model.certificate_ = replace(model.certificate_, was_interrupted=True)
    save_model(model, out)
    interrupts.is_keeping = interrupts.came
    check = None
    if args.noise_check is not None and not interrupts.came:
        with stage(args, "Fitting to permuted labels"):
            check = model.noise_check(X, y, args.noise_check, random_state=args.seed)
    summary = _summary(model, X, y)
    if args.json:
        noise = None if check is None else check.to_dict()
        print(json.dumps({**summary, "noise_check": noise, "model_file": str(out)}, ensure_ascii=False))
    else:
        from soar_jax.cli.fit_view import show_fit

        show_fit(model, summary, check, args, X.shape[1])
    return 0


def _warn_unless(is_silent: Callable[[], bool]) -> None:
    """Show warnings as before, but for those that come when there is something better to say."""
    shown = warnings.showwarning

    def show(*message: Any, **how: Any) -> None:
        if not is_silent():
            shown(*message, **how)

    warnings.showwarning = show


def _summary(model: Any, X: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    is_held = np.zeros(len(X), dtype=bool)
    is_held[model.held_out_] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # said at the fit
        training, held = (model.taxonomy(X[which], y[which]) if which.any() else None for which in (~is_held, is_held))
    return summary_of(model, training, held)
