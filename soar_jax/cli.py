"""The command line: ``soar fit``, ``soar predict``, ``soar sample`` and ``soar experiment``.

Exit codes: 0 done, 2 wrong use or bad input, 1 anything unforeseen, 130 interrupted before a result.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from ._base import InputError

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("car", "adult", "synthetic")
_PARQUET = (".parquet", ".pq")
_MISSING_WORDS = ("", "NA", "NaN", "nan")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def build_parser() -> argparse.ArgumentParser:
    """Describe the commands; imports nothing heavy, so that ``--help`` answers at once."""
    parser = argparse.ArgumentParser(
        prog="soar", description="Learn two sets of if-then rules, one for each class, and predict with them."
    )
    parser.add_argument("--version", action="version", version=f"soar-jax {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    fit = commands.add_parser("fit", help="learn rule sets from a table and save them as JSON")
    _add_training_options(fit)
    fit.add_argument("--out", metavar="MODEL.json", default="model.json", help="where to save (default: %(default)s)")
    fit.add_argument(
        "--holdout",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="keep this share of the rows out of training and report on them",
    )
    fit.set_defaults(run=_fit)

    sample = commands.add_parser("sample", help="fit, then sample the posterior and judge the chains")
    _add_training_options(sample)
    sample.add_argument("--out", metavar="FILE.json", help="write verdict and frequencies here")
    sample.add_argument("--draws", type=int, default=1000, metavar="N", help="draws of each chain (default: 1000)")
    sample.add_argument("--warmup", type=int, metavar="N", help="draws left out before (default: half as many)")
    sample.add_argument("--chains", type=int, default=4, metavar="N", help="independent chains (default: 4)")
    sample.add_argument("--temperatures", type=int, default=20, metavar="N", help="length of the ladder (default: 20)")
    sample.add_argument("--thin", type=int, default=1, metavar="N", help="rounds to a draw (default: 1)")
    sample.add_argument("--power", type=float, default=1.0, help="raise the likelihood to this power (default: 1)")
    sample.add_argument("--sampling-budget", type=float, metavar="SECONDS", help="keep the draws made by then")
    sample.add_argument("--save-to", metavar="FOLDER", help="save blocks here; a killed run goes on from them")
    sample.set_defaults(run=_sample)

    predict = commands.add_parser("predict", help="apply a saved model to a table")
    predict.add_argument("model", metavar="MODEL.json")
    predict.add_argument("table", metavar="TABLE", help="CSV or Parquet file; only the rules' columns are needed")
    predict.add_argument("--out", metavar="FILE.csv", help="write here instead of to standard output")
    predict.add_argument("--na", metavar="TEXT", action="append", default=[], help="text that means missing")
    predict.add_argument("--json", action="store_true", help="one JSON object a row instead of CSV")
    predict.set_defaults(run=_predict)

    experiment = commands.add_parser("experiment", help="rerun a study of the experiments folder, from a checkout")
    experiment.add_argument("name", metavar="NAME", nargs="?", help="which one; leave out for a list")
    experiment.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="its options, such as --quick")
    experiment.set_defaults(run=_experiment)
    return parser


def _add_training_options(command: argparse.ArgumentParser) -> None:
    """Options of every command that fits."""
    add = command.add_argument
    add("table", nargs="?", metavar="TABLE", help="CSV or Parquet file")
    add("--dataset", choices=DATASETS, help="use embedded data instead of a file")
    add("--target", metavar="COLUMN", help="the column to predict")
    add("--positive", metavar="LABEL", help="the label that counts as positive")
    add("--method", choices=("soar", "boa"), default="soar", help="two rule sets, or one (default: soar)")
    add("--drop", metavar="COLUMN", action="append", default=[], help="leave a column out (repeatable)")
    add(
        "--na",
        metavar="TEXT",
        action="append",
        default=[],
        help="text that means missing, beside nothing, NA and NaN (repeatable)",
    )
    add("--max-length", type=int, metavar="N", help="most literals in a rule (default: 3)")
    add("--min-support", type=_number, metavar="S", help="share (0.05) or number (50) of rows")
    add("--max-patterns", type=int, metavar="N", help="candidates a side")
    add("--precision", type=float, metavar="RATE", help="how often a consensus should be right")
    add("--worth", type=float, metavar="SHARE", help="worth of that opinion as a share of the rows")
    add("--restarts", type=int, metavar="N", help="annealing runs side by side")
    add("--iterations", type=int, metavar="N", help="annealing steps of each run")
    add("--time-budget", type=float, metavar="SECONDS", help="keep the best pair found by then")
    add("--seed", type=int, default=0, help="same seed, same result (default: %(default)s)")
    add("--quiet", action="store_true", help="no progress bar")
    add("--json", action="store_true", help="print one JSON object instead of text")


def _number(text: str) -> float | int:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _read_table(path: str, missing: list[str]) -> pd.DataFrame:
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path}.")
    if file.suffix.lower() in _PARQUET:
        try:
            table = pd.read_parquet(file)
        except ImportError:
            raise InputError("Reading Parquet needs pyarrow: pip install 'soar-jax[parquet]'.") from None
        numbers = [_number(text) for text in missing if text.lstrip("+-").replace(".", "", 1).isdigit()]
        return table.mask(table.isin([*missing, *numbers]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                file, index_col=False, keep_default_na=False, na_values=[*_MISSING_WORDS, *missing], low_memory=False
            )
    except pd.errors.ParserWarning:
        raise InputError(f"{path} has rows with more fields than its header names.") from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}") from None
    return _read_dates(table)


def _read_dates(table: pd.DataFrame) -> pd.DataFrame:
    """Turn text columns that hold nothing but ISO dates into dates."""
    import pandas as pd

    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name]) or pd.api.types.is_bool_dtype(table[name]):
            continue
        present = table[name].dropna()
        if len(present) and _ISO_DATE.match(str(present.iloc[0])):
            dates = pd.to_datetime(table[name], format="ISO8601", errors="coerce", utc=True)
            if dates.notna().sum() == len(present):
                table[name] = dates
    return table


def _training_table(args: argparse.Namespace) -> tuple[pd.DataFrame, pd.Series]:
    if (args.table is None) == (args.dataset is None):
        raise InputError("Give either a TABLE or --dataset, not both and not neither.")
    if args.dataset is not None:
        from . import datasets
        from .table import require_columns

        X, y = getattr(datasets, f"load_{args.dataset}")()
        require_columns(X, args.drop, "--drop names")
        return X.drop(columns=args.drop), y
    from .table import require_columns

    table = _read_table(args.table, args.na)
    if args.target is None:
        raise InputError(f"Say which column to predict with --target; the table has {', '.join(map(str, table))}.")
    require_columns(table, [args.target, *args.drop], "The command names")
    y = table[args.target]
    if y.isna().any():
        raise InputError(
            f"The target column {args.target!r} is missing in {int(y.isna().sum())} of {len(y)} rows; drop those rows."
        )
    return table.drop(columns=[args.target, *args.drop]), y


def _make_model(args: argparse.Namespace) -> Any:
    from .estimators import DEFAULT_CONSENSUS, BOAClassifier, SOARClassifier
    from .priors import Opinion

    given = {
        "max_length": args.max_length,
        "min_support": args.min_support,
        "max_patterns": args.max_patterns,
        "n_restarts": args.restarts,
        "n_iter": args.iterations,
        "time_budget": args.time_budget,
        "positive": args.positive,
        "random_state": args.seed,
        "progress": not args.quiet and sys.stderr.isatty(),
    }
    if args.precision is not None or args.worth is not None:
        given["consensus"] = Opinion(
            DEFAULT_CONSENSUS.rate if args.precision is None else args.precision,
            share=DEFAULT_CONSENSUS.share if args.worth is None else args.worth,
        )
    kind = SOARClassifier if args.method == "soar" else BOAClassifier
    return kind(**{name: value for name, value in given.items() if value is not None})


def _check_out(path: str) -> Path:
    """Find out before the work, not after it, that a file cannot be written."""
    out = Path(path)
    if out.is_dir():
        raise InputError(f"{path} is a folder; name a file.")
    if not out.parent.is_dir():
        raise InputError(f"There is no folder {out.parent} to save {out.name} in.")
    return out


def _fit(args: argparse.Namespace) -> int:
    if not 0 <= args.holdout < 1:
        raise InputError(f"--holdout must lie in [0, 1), got {args.holdout}.")
    out = _check_out(args.out)
    X, y = _training_table(args)
    model = _make_model(args)
    held_X, held_y = None, None
    if args.holdout:
        from sklearn.model_selection import train_test_split

        try:
            X, held_X, y, held_y = train_test_split(X, y, test_size=args.holdout, random_state=args.seed)
        except ValueError as error:
            raise InputError(f"The table cannot be split: {error}") from None
    model.fit(X, y)
    model.save(out)
    summary = _summary(model, X, y, held_X, held_y)
    if args.json:
        print(json.dumps({**summary, "model_file": str(out)}, ensure_ascii=False))
    else:
        _print_summary(model, summary, out)
    return 0


def _summary(model: Any, X: Any, y: Any, held_X: Any, held_y: Any) -> dict[str, Any]:
    import numpy as np

    def report(table: Any, labels: Any) -> dict[str, Any]:
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
        "is_local_optimum": model.is_local_optimum_,
        "training": report(X, y),
        "holdout": None if held_X is None else report(held_X, held_y),
    }


def _print_summary(model: Any, summary: dict[str, Any], out: Path) -> None:
    certificate = (
        "no added, removed or exchanged rule improves it" if summary["is_local_optimum"] else "search cut short"
    )
    print(model.describe())
    print(f"\nscore {summary['score']:.3f} ({certificate})")
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
    print(f"\nmodel saved to {out}")


def _predict(args: argparse.Namespace) -> int:
    import pandas as pd

    from .model_file import load_model, write_text_atomically

    if not Path(args.model).is_file():
        raise InputError(f"There is no model file {args.model}.")
    if args.out:
        _check_out(args.out)
    model = load_model(args.model)
    table = _read_table(args.table, args.na)
    result = pd.DataFrame(
        {
            "prediction": model.predict(table),
            "probability": model.predict_proba(table)[:, model._positive_index],
            "state": model.predict_state(table),
        }
    )
    if args.json:
        text = result.to_json(orient="records", lines=True, force_ascii=False)
        text = text if text.endswith("\n") else text + "\n"
    else:
        text = result.to_csv(index=False)
    if args.out:
        write_text_atomically(args.out, text)
        print(f"{len(result):,} predictions written to {args.out}", file=sys.stderr)
    else:
        sys.stdout.write(text)
    return 0


def _sample(args: argparse.Namespace) -> int:
    from .diagnosis import UntrustedPosteriorWarning
    from .model_file import write_text_atomically

    if args.out:
        _check_out(args.out)
    X, y = _training_table(args)
    model = _make_model(args).fit(X, y)
    # the verdict is printed above every frequency, so that the warnings would only repeat it
    warnings.simplefilter("ignore", UntrustedPosteriorWarning)
    post = model.sample_posterior(
        args.draws,
        args.chains,
        num_warmup=args.warmup,
        num_temperatures=args.temperatures,
        thin=args.thin,
        power=args.power,
        random_state=args.seed,
        time_budget=args.sampling_budget,
        progress=model.progress,
        save_to=args.save_to,
    )
    verdict = post.diagnose()
    inclusion, families = post.inclusion, post.families()
    summary = {
        "verdict": verdict.to_dict(),
        "chains": post.num_chains,
        "draws": post.num_draws,
        "power": post.power,
        "log_evidence": [value if math.isfinite(value) else None for value in post.log_evidence],
        "inclusion": json.loads(inclusion.to_json(orient="records")),
        "families": json.loads(families.to_json(orient="records")),
        "rates": json.loads(post.rates().to_json(orient="index")),
    }
    text = json.dumps(summary, ensure_ascii=False, default=str, allow_nan=False)
    if args.out:
        write_text_atomically(args.out, text + "\n")
    if args.json:
        print(text)
        return 0
    print(f"{post.num_chains} chains of {post.num_draws} draws in {post.seconds:.0f} s\n\n{verdict}\n")
    for side in dict.fromkeys(inclusion["side"]):
        label = inclusion.loc[inclusion["side"] == side, "class"].iloc[0]
        print(f"rules for {label} by posterior inclusion probability:")
        for row in inclusion[inclusion["side"] == side].head(12).itertuples():
            error = "always" if row.status == "always" else f"± {row.monte_carlo_error:.3f}"
            print(f"  {row.probability:.3f} {error:>8}  {row.rule}")
        print()
    if args.out:
        print(f"verdict and frequencies written to {args.out}")
    return 0


def _experiment(args: argparse.Namespace) -> int:
    from importlib import import_module
    from importlib.util import find_spec

    sys.path.insert(0, "")
    spec = find_spec("experiments")
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    if not any((folder / "study.py").is_file() for folder in folders):
        raise InputError("There is no experiments folder here: run this in a checkout of soar_jax.")
    names = sorted(
        ".".join(file.relative_to(folder).with_suffix("").parts)
        for folder in folders
        for file in [*folder.glob("*.py"), *folder.glob("benchmarks/*.py")]
        if "def main(argv" in file.read_text(encoding="utf-8")
    )
    if args.name is None:
        print("\n".join(names))
        return 0
    if args.name not in names:
        raise InputError(f"There is no experiment {args.name!r}; there are {', '.join(names)}.")
    import_module(f"experiments.{args.name}").main(args.rest)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run a command; errors a user can mend print one line and give exit code 2."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.run(args))
    except (ValueError, OSError) as error:  # InputError, and what scikit-learn or pyarrow say of bad input
        print(f"soar: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = getattr(args, "save_to", None)
        what = f"finished blocks are in {kept}" if kept else "nothing saved"
        print(f"soar: interrupted, {what}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
