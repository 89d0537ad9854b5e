"""``soar fit``: learn rule sets from a table and save them."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from textwrap import fill
from typing import Any

from soar_jax._base import InputError, NothingFoundWarning
from soar_jax.cli.files import check_out
from soar_jax.cli.options import add_training_options, make_model, training_table


def add_parser(commands: Any) -> None:
    """Describe the command."""
    fit = commands.add_parser("fit", help="learn rule sets from a table and save them as JSON")
    add_training_options(fit)
    fit.add_argument("--out", metavar="MODEL.json", default="model.json", help="where to save (default: %(default)s)")
    fit.add_argument(
        "--holdout",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="keep this share of the rows out of training and report on them",
    )
    fit.add_argument(
        "--noise-check",
        type=int,
        nargs="?",
        const=20,
        metavar="N",
        help="also fit N times to permuted labels and compare (default: 20)",
    )
    fit.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fit, save and report."""
    if not 0 <= args.holdout < 1:
        raise InputError(f"--holdout must lie in [0, 1), got {args.holdout}.")
    if args.noise_check is not None and args.noise_check < 1:
        raise InputError(f"--noise-check must be at least 1, got {args.noise_check}.")
    out = check_out(args.out)
    X, y = training_table(args)
    model = make_model(args)
    model.set_params(holdout=args.holdout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)  # the summary says so
        model.fit(X, y)
    model.save(out)
    summary = _summary(model, X, y)
    check = None if args.noise_check is None else model.noise_check(X, y, args.noise_check, random_state=args.seed)
    if args.json:
        noise = None if check is None else check.to_dict()
        print(json.dumps({**summary, "noise_check": noise, "model_file": str(out)}, ensure_ascii=False))
    else:
        _print_summary(model, summary, check, out)
    return 0


def _summary(model: Any, X: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    is_held = np.zeros(len(X), dtype=bool)
    is_held[model.held_out_] = True

    def report(which: Any) -> dict[str, Any]:
        table, labels = X[which], y[which]
        cases = {name: int(count) for name, count in model.taxonomy(table, labels).items()}
        rows = len(labels)
        ambiguous = sum(cases[name] for name in ("AAP", "AAN", "PAP", "PAN"))
        return {
            "rows": rows,
            "taxonomy": cases,
            "misclassified": (cases["CFP"] + cases["CFN"]) / rows,
            "ambiguous": ambiguous / rows,
            "error_of_predict": float(np.mean(model.predict(table) != np.asarray(labels))),
        }

    return {
        "classes": [str(c) for c in model.classes_],
        "positive_class": str(model._label(0)),
        "positive_rules": [str(rule) for rule in model.positive_rules_],
        "negative_rules": [str(rule) for rule in model.negative_rules_],
        "score": model.score_,
        "gain": model.gain_,
        "conclusion": model.conclude(),
        "is_local_optimum": model.is_local_optimum_,
        "certificate": str(model.certificate_),
        "training": report(~is_held),
        "holdout": report(is_held) if is_held.any() else None,
    }


def _print_summary(model: Any, summary: dict[str, Any], check: Any, out: Path) -> None:
    print(model.describe())
    print(f"\n{summary['conclusion']}\nscore {summary['score']:.3f}")
    print(fill(summary["certificate"], 79))
    for name, title in (("training", "training rows"), ("holdout", "rows held out")):
        part = summary[name]
        if part is None:
            continue
        print(f"\n{part['rows']:,} {title}: taxonomy")
        print("  " + "  ".join(f"{case} {count}" for case, count in part["taxonomy"].items()))
        print(
            f"  misclassified {part['misclassified']:.4f}, ambiguous {part['ambiguous']:.4f}, "
            f"error when every row gets a label {part['error_of_predict']:.4f}"
        )
    if hasattr(model, "fresh_states_"):
        print("\nstates on the rows held out: claimed and seen rate of what each speaks for, 90 % interval")
        for name, row in model.fresh_states_.iterrows():
            seen = (
                f"{row['fresh']:.3f} ({row['fresh_low']:.3f} to {row['fresh_high']:.3f})" if row["rows"] else "no row"
            )
            print(f"  {name:8s} {int(row['rows']):6,} rows  claimed {row['claimed']:.3f}  seen {seen}")
    if check is not None:
        print(f"\nnoise check: {check}")
    print(f"\nmodel saved to {out}")
