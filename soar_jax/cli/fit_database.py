"""``soar fit`` on a table that stays in its database."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from soar_jax._base import InputError, NothingFoundWarning
from soar_jax.cli.database import open_given
from soar_jax.cli.files import stage
from soar_jax.cli.summary import summary_of


def fit_in_database(args: argparse.Namespace, out: Path) -> int:
    """Fit to a table of a database, save and report."""
    from soar_jax.cli.options import make_model

    asked = {"--dataset": args.dataset, "--holdout": args.holdout, "--noise-check": args.noise_check}
    for option, value in {**asked, "--honest": args.honest}.items():
        if value:
            raise InputError(f"{option} needs rows in this process; leave it out to fit to a table of a database.")
    if args.target is None:
        raise InputError("Say which column to predict with --target.")
    with stage(args, "Opening the database"):
        table = open_given(args)
    model = make_model(args)
    how = {} if args.max_groups is None else {"max_groups": args.max_groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)  # the summary says so
        model.fit_table(table, args.target, drop=args.drop, weight=args.weight, **how)
    model.set_params(progress=False).save(out)  # the file does not tell who looked on
    queries = model.queries_
    asked = {
        "number": len(queries),
        "seconds": float(queries["seconds"].sum()),
        "lines": int(queries["lines"].sum()),
        "bytes": int(queries["bytes"].sum()),
    }
    summary = {**summary_of(model, model.training_taxonomy_), "queries": asked}
    if args.json:
        print(json.dumps({**summary, "noise_check": None, "model_file": str(out)}, ensure_ascii=False))
    else:
        from soar_jax.cli.fit_view import show_fit

        show_fit(model, summary, None, args, model.n_features_in_)
    return 0
