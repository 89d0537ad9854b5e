"""What the commands share: options of a fit, the table to learn from, the estimator, the file to write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soar_jax._base import InputError, number_of
from soar_jax._names import list_names, short_name
from soar_jax.cli.files import STANDARD, check_labels
from soar_jax.cli.reading import add_declaring_options, add_reading_options, declared_kinds, read_given
from soar_jax.cli.wording import MAKE_TWO

if TYPE_CHECKING:
    import pandas as pd

_NOT_OF_THE_FIT = ("--help", "--out", "--json", "--quiet", "--debug")
DATASETS = ("car", "adult", "synthetic")
HOLDOUT = 0.25
"""Share of the rows that is held out when nothing else is said: a first figure should be an honest one."""
LEAST_OF_A_CLASS = 40
"""Rows of the rarer class from which on it is."""


def add_training_options(command: argparse.ArgumentParser) -> dict[str, Any]:
    """Options of every command that fits, in groups; gives the groups, by name."""
    titles = {
        "data": "data",
        "model": "model, what a rule must show",
        "constraints": "constraints, what rules may be",
        "search": "search",
    }
    groups = {name: command.add_argument_group(title) for name, title in titles.items()}
    _add_data(groups["data"])
    add_reading_options(groups["data"])  # type: ignore[arg-type]
    add_declaring_options(groups["data"])  # type: ignore[arg-type]
    _add_model(groups["model"])
    _add_constraints(groups["constraints"])
    _add_search(groups["search"])
    return groups


def _add_data(group: Any) -> None:
    add = group.add_argument
    add("table", nargs="?", metavar="TABLE", help="CSV or Parquet file")
    add("--dataset", choices=DATASETS, help="use embedded data instead of a file")
    add("--target", metavar="COLUMN", help="the column to predict")
    add("--positive", metavar="LABEL", help="the label that counts as positive (default: the last in sorting order)")
    add("--drop", metavar="COLUMN", action="append", default=[], help="leave a column out (repeatable)")
    add(
        "--holdout",
        type=float,
        metavar="SHARE",
        help=f"keep this share of the rows out of training and report on them (default: {HOLDOUT}, or 0 where a class "
        f"has fewer than {LEAST_OF_A_CLASS} rows); 0 learns from all rows",
    )


def _add_model(group: Any) -> None:
    add = group.add_argument
    add("--method", choices=("soar", "boa"), default="soar", help="two rule sets, or one (default: soar)")
    add("--error-ratio", type=float, metavar="D", help="alone, a side errs at most D times as often as the base rate")
    add("--precision", type=float, metavar="RATE", help="alone, a side is right at least this often")
    add("--worth", type=float, metavar="SHARE", help="--precision is the paper's opinion, worth this share of the rows")
    add("--power", metavar="P", help="how much each row counts in choosing rules: auto (default), or 0 to 1")
    add("--strictness", type=float, metavar="C", help="higher asks for more evidence per rule (default: 5)")
    add("--doubt", type=float, metavar="D", help="how many times as probable no rules at all are made (default: 20)")
    add("--honest", action="store_true", help="mine and cut on one half of the rows, score on the other")


def _add_constraints(group: Any) -> None:
    add = group.add_argument
    add("--max-rules", type=int, metavar="N", help="rules per side at most")
    add("--max-columns", type=int, metavar="N", help="columns that all rules together may read at most")
    add("--max-length", type=int, metavar="N", help="most literals in a rule (default: 3 mined, 6 grown)")
    add("--forbid", metavar="WHAT", action="append", help="no rule may have this column or literal (repeatable)")
    add(
        "--forbid-pair",
        metavar=("COLUMN", "COLUMN"),
        nargs=2,
        action="append",
        help="no rule may read both columns (repeatable)",
    )
    add("--require-positive", metavar="RULE", action="append", help="'age > 30 and sex = F' must be in (repeatable)")
    add("--require-negative", metavar="RULE", action="append", help="the same for the negative class (repeatable)")
    add(
        "--direction",
        metavar="COLUMN=SIGN",
        action="append",
        help="income=+ : high values speak only for the positive class, low ones only for the negative (repeatable)",
    )


def _add_search(group: Any) -> None:
    add = group.add_argument
    add("--min-support", type=number_of, metavar="S", help="rows that a rule must cover: a share (0.05) or number (50)")
    add("--min-class-support", type=number_of, metavar="S", help="or so many of one class, for a rare one")
    add("--max-bins", type=int, metavar="N", help="most bins of a column of numbers or dates (default: 6)")
    add("--max-patterns", type=int, metavar="N", help="candidates per side kept around the pair")
    add("--search", choices=("full", "annealing"), help="all mined patterns (default), or the paper's algorithm")
    add("--grow-to", type=int, metavar="N", help="most literals of rules grown beyond mining (default: 6)")
    add("--rounds", type=int, metavar="N", help="rounds without success before the full search ends")
    add("--restarts", type=int, metavar="N", help="annealing runs side by side")
    add("--iterations", type=int, metavar="N", help="annealing steps of each run")
    add("--time-budget", type=float, metavar="SECONDS", help="keep the best pair found by then")
    add("--seed", type=int, default=0, help="same seed, same result (default: %(default)s)")


def source_of(args: argparse.Namespace) -> str:
    """Name the table in words."""
    if args.dataset is not None:
        return f"embedded data {args.dataset}"
    in_database = getattr(args, "table_name", None) or getattr(args, "parquet", None)
    if in_database:
        return short_name(in_database)
    return "standard input" if args.table == STANDARD else short_name(Path(args.table or "the table").name)


def training_table(args: argparse.Namespace) -> tuple[pd.DataFrame, pd.Series]:
    """Read the table to learn from, or the embedded data: predictors and labels."""
    if (args.table is None) == (args.dataset is None):
        raise InputError("Give either a TABLE or --dataset, not both and not neither.")
    if args.dataset is not None:
        from soar_jax.data.table import require_columns

        X, y = embedded_data(args.dataset)
        require_columns(X, args.drop, "--drop names")
        return X.drop(columns=args.drop), y
    from soar_jax.data.table import require_columns

    table = read_given(args)
    if args.target is None:
        last = f" (the last is {short_name(table.columns[-1])})" if len(table.columns) else ""
        raise InputError(f"Say which column to predict with --target; the table has {list_names(table)}{last}.")
    require_columns(table, [args.target, *args.drop], "The command names")
    y = table[args.target]
    check_labels(y)
    _check_two(y)
    return table.drop(columns=[args.target, *args.drop]), y


def _check_two(y: pd.Series) -> None:
    """Refuse labels that are not of two classes; labels are cells, shown only where two look alike."""
    from soar_jax.data.labels import alike

    number, name = y.nunique(), short_name(y.name)
    if number > 2:  # noqa: PLR2004
        is_measured = y.dtype.kind == "f" and bool((y % 1 != 0).any())
        what = "numbers, which is a matter of regression" if is_measured else "labels"
        raise InputError(
            f"The target column {name!r} has {number:,} {what}; soar tells two classes apart.{alike(y)} {MAKE_TWO}"
        )
    if number == 1:
        raise InputError(f"The target column {name!r} has the same label in every row; rules need two classes.")


def embedded_data(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Load one of the tables that come with the package: predictors and labels."""
    from soar_jax import datasets

    X, y = getattr(datasets, f"load_{name}")()
    return X, y


def check_holdout(args: argparse.Namespace) -> None:
    """Refuse a share that is none before the table is read."""
    if args.holdout is not None and not 0 <= args.holdout < 1:
        raise InputError(f"--holdout must lie in [0, 1), got {args.holdout}.")


def share_held_out(asked: float | None, y: pd.Series) -> float:
    """Hold out a quarter unless told otherwise, where every class can spare it."""
    if asked is not None:
        return asked
    counts = y.value_counts()
    return HOLDOUT if len(counts) > 1 and counts.min() >= LEAST_OF_A_CLASS else 0.0


def words_again(args: argparse.Namespace, command: str, leave_out: Collection[str] = ()) -> list[str]:
    """Write the table and the changed options of a fit again, those that another command has too."""
    fit, known = (args.parsers[name]._option_string_actions for name in ("fit", command))
    words = [] if args.table is None else [str(args.table)]
    for action in dict.fromkeys(fit.values()):
        option = action.option_strings[0]
        value = getattr(args, action.dest, action.default)
        if option not in known or option in {*_NOT_OF_THE_FIT, *leave_out} or value == action.default:
            continue
        if action.nargs == 0:
            words.append(option)
            continue
        for one in value if isinstance(action.default, list) or isinstance(value, list) else [value]:
            many = [_typed(part) for part in one] if isinstance(one, list) else [_typed(one)]
            words += [f"{option}={many[0]}"] if many[0].startswith("-") else [option, *many]
    return words


def _typed(value: Any) -> str:
    """Write a value as one would type it: 0, not 0.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def make_model(args: argparse.Namespace) -> Any:
    """Make the estimator that the options describe; what it compiles is kept for the next command."""
    from soar_jax.programs import keep_programs_of_command

    keep_programs_of_command()
    from soar_jax.estimators.boa import BOAClassifier
    from soar_jax.estimators.soar import SOARClassifier
    from soar_jax.score.priors import ErrorRatio, Opinion, Precision
    from soar_jax.score.rule_priors import SearchedRules

    given = {
        "max_length": args.max_length,
        "min_support": args.min_support,
        "min_class_support": args.min_class_support,
        "max_bins": args.max_bins,
        "max_patterns": args.max_patterns,
        "search": args.search,
        "grow_to": args.grow_to,
        "n_rounds": args.rounds,
        "n_restarts": args.restarts,
        "n_iter": args.iterations,
        "time_budget": args.time_budget,
        "positive": args.positive,
        "honest": args.honest,
        "forbid": [*(args.forbid or []), *(tuple(pair) for pair in args.forbid_pair or [])] or None,
        "require": _required(args),
        "directions": _directions(args.direction),
        "max_rules": args.max_rules,
        "max_columns": args.max_columns,
        "power": _power(args.power),
        "kinds": declared_kinds(args),
        "random_state": args.seed,
        "progress": not args.quiet and sys.stderr.isatty(),
    }
    prior = {"strictness": args.strictness, "doubt": args.doubt}
    if any(value is not None for value in prior.values()):
        given["rule_prior"] = SearchedRules(**{name: value for name, value in prior.items() if value is not None})
    if args.error_ratio is not None:
        if args.precision is not None or args.worth is not None:
            raise InputError("Give --error-ratio or --precision with --worth, not both.")
        given["consensus"] = ErrorRatio(args.error_ratio)
    elif args.worth is not None:
        if args.precision is None:
            raise InputError("--worth says how firm --precision is; give both.")
        given["consensus"] = Opinion(args.precision, share=args.worth)
    elif args.precision is not None:
        given["consensus"] = Precision(args.precision)
    kind = SOARClassifier if args.method == "soar" else BOAClassifier
    return kind(**{name: value for name, value in given.items() if value is not None})


def _power(text: str | None) -> Any:
    """Read a number, or leave the text for the estimator to judge."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def _required(args: argparse.Namespace) -> dict[str, list[str]] | None:
    """Rules that must be in, by side."""
    sides = {"positive": args.require_positive, "negative": args.require_negative}
    return {side: rules for side, rules in sides.items() if rules} or None


def _directions(given: list[str] | None) -> dict[str, str] | None:
    """Read COLUMN=+ and COLUMN=-; a name may have an equals sign in it."""
    found = {}
    for text in given or []:
        name, _, sign = text.rpartition("=")
        if not name or sign not in ("+", "-"):
            raise InputError(f"--direction wants COLUMN=+ or COLUMN=-, got {text!r}.")
        found[name] = sign
    return found or None
