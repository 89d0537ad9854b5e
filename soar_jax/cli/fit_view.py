"""What ``soar fit`` prints: what you got, the rules, the states, how far the search went, what to run next."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from soar_jax.cli.answers import answers_in_words, where_text
from soar_jax.cli.database import address_of, names_database
from soar_jax.cli.model_view import rules_view, states_view, trust_text
from soar_jax.cli.options import LEAST_OF_A_CLASS, source_of, words_again
from soar_jax.cli.screen import commands, heading, label_of, paragraph, percent, plural, show
from soar_jax.cli.wording import as_options, options_of
from soar_jax.states import counts_from_taxonomy


def show_fit(model: Any, summary: dict[str, Any], check: Any, args: argparse.Namespace, num_columns: int) -> None:
    """Print the result of a fit for a person who has not seen one before."""
    import pandas as pd

    held = summary["holdout"]
    part = summary["training"] if held is None else held
    counts = counts_from_taxonomy(pd.Series(part["taxonomy"]))
    rows, is_fresh = part["rows"], held is not None
    parts = [paragraph(_about_the_table(model, summary, args, num_columns))]
    parts.append(heading("What you got"))
    if not len(model.rules_):
        parts.append(paragraph(as_options(summary["conclusion"], options_of(args))))
    else:
        parts += [paragraph(said) for said in answers_in_words(model, *counts, is_fresh)]
        parts += rules_view(model)
        parts.append(heading(f"What the rules say of {where_text(rows, is_fresh)}"))
        parts += states_view(model, *counts, is_fresh)
        parts.append(heading("How far to trust the search"))
        parts.append(paragraph(trust_text(summary["conclusion"], summary["certificate"], summary["score"])))
        if model.power_ < 1:
            parts.append(paragraph(model._power_in_words()))
    if "queries" in summary:
        parts += [heading("What left the database"), paragraph(_about_queries(summary["queries"]))]
    if check is not None:
        parts += [heading("Compared with noise"), paragraph(str(check))]
    parts.append(heading(f"Model saved to {args.out}. Next:"))
    parts.append(commands(_next_commands(args, Path(args.out), is_fresh)))
    show(*parts)


def _about_the_table(model: Any, summary: dict[str, Any], args: argparse.Namespace, num_columns: int) -> str:
    held, learned = summary["holdout"], summary["training"]
    total = learned["rows"] + (held["rows"] if held else 0)
    cases = [part["taxonomy"] for part in (learned, held) if part]
    positives = sum(case[name] for case in cases for name in ("CTP", "CFN", "AAP", "PAP"))
    text = (
        f"{source_of(args)}: {plural(total, 'row')}, {plural(num_columns, 'column')}. Positive means "
        f"{label_of(model, 0)}: {positives:,} rows, {percent(positives / total)}. "
    )
    if held:
        return text + f"Learned from {learned['rows']:,} rows; {held['rows']:,} held out to check on."
    if args.holdout is None and "queries" not in summary:
        return text + (
            f"Learned from all rows: one class has fewer than {LEAST_OF_A_CLASS}, too few to hold some out, so the "
            "figures below are those of the rows it learned from, and flatter it."
        )
    return text + "Learned from all rows: the figures below are those of the rows it learned from, and flatter it."


def _about_queries(asked: dict[str, Any]) -> str:
    return (
        f"{asked['number']} queries took {asked['seconds']:.1f} s; {asked['lines']:,} lines of counts "
        f"({asked['bytes'] / 1e6:.1f} MB) came here, and no row."
    )


def _next_commands(args: argparse.Namespace, out: Path, has_holdout: bool) -> list[tuple[str, list[str]]]:
    """List what one may want to run after a fit, with the names of its files."""
    show_again = ("print this model again", ["soar", "show", str(out)])
    if names_database(args):
        where = address_of(args)
        is_file = not (args.database or args.spark)  # Parquet alone has no database to write to
        labels = ["--out", "labels.parquet"] if is_file else ["--out-table", "labels"]
        return [
            show_again,
            ("label rows in place", ["soar", "predict", str(out), *where, *labels]),
            ("watch a new batch", ["soar", "monitor", str(out), *where]),
            ("a page to show", ["soar", "report", str(out), "--out", str(out.with_suffix(".html"))]),
        ]
    found = [
        show_again,
        ("label new rows", ["soar", "predict", str(out), "NEW.csv", "--out", "labels.csv"]),
        ("say why, row by row", ["soar", "explain", str(out), "NEW.csv"]),
    ]
    page = [*words_again(args, "report"), "--out", str(out.with_suffix(".html"))]
    found.append(("a page to show", ["soar", "report", str(out), *page]))
    sampled = str(out.with_name(f"{out.stem}-sampled.html"))
    found.append(("how sure each rule is", ["soar", "sample", *words_again(args, "sample"), "--report", sampled]))
    if has_holdout:
        again = str(out.with_stem(f"{out.stem}-all"))
        given = words_again(args, "sample", leave_out=["--holdout"])
        found.append(("learn from all rows", ["soar", "fit", *given, "--holdout", "0", "--out", again]))
    return found
