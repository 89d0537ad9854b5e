"""``soar monitor``: does a new batch look like the training rows? Exit code 3 where it does not."""

from __future__ import annotations

import argparse
import json
from typing import Any

from soar_jax._base import InputError
from soar_jax._files import write_bytes_atomically
from soar_jax.cli.database import add_database_options, names_database, open_given
from soar_jax.cli.files import check_out, load_estimator
from soar_jax.cli.formats import suffix_of
from soar_jax.cli.parsers import add_json, add_model, add_table, new_command
from soar_jax.cli.reading import add_reading_options, read_given


def add_parser(commands: Any) -> None:
    """Describe the command."""
    monitor = new_command(
        commands,
        "monitor",
        "compare new rows with those that a model learned from",
        "soar monitor model.json new.csv\nsoar monitor model.json --database duckdb:///claims.db --table january",
        "Needs no labels: shares of the states and of the rows on which each rule fires, beside what the training rows "
        "lead one to expect. The exit code is 3 where one lies outside.",
    )
    data = monitor.add_argument_group("data")
    add_model(data)
    add_table(data, nargs="?")
    add_reading_options(data)  # type: ignore[arg-type]
    add_database_options(monitor)
    output = monitor.add_argument_group("output")
    output.add_argument(
        "--level", type=float, default=0.99, help="how sure all intervals together are (default: %(default)s)"
    )
    output.add_argument("--plot", metavar="FILE.png", help="also draw a picture")
    add_json(output)
    monitor.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print expected and seen shares."""
    if args.plot:
        suffix_of(args.plot, (".png", ".svg", ".pdf"), "A picture is drawn")
        check_out(args.plot, args)
    model = load_estimator(args.model)
    in_database = names_database(args)
    if not in_database and args.table is None:
        raise InputError("Give a TABLE, or name a table of a database.")
    found = model.monitor(open_given(args) if in_database else read_given(args), args.level)
    if args.json:
        print(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        _show(found)
    if args.plot:
        write_bytes_atomically(args.plot, _picture(found, suffix_of(args.plot, (".png", ".svg", ".pdf"), "")))
    return int(found.exit_code)


def _show(found: Any) -> None:
    """Print the verdict and a table that fits the terminal."""
    from soar_jax.cli.screen import heading, show, table

    rows = [
        (
            str(name),
            str(row["what"]),
            f"{row['seen']:.4f}",
            f"{row['expected']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            "outside" if row["is_outside"] else "",
        )
        for name, row in found.table.iterrows()
    ]
    titles = (("", "left"), ("rows on which it fires, or whose state it is", "wrap"), ("seen", "right"))
    show(
        heading(found.verdict()),
        table([*titles, ("expected", "right"), ("interval", "left"), ("", "left")], rows),
    )


def _picture(found: Any, suffix: str) -> bytes:
    import io

    import matplotlib

    matplotlib.use("Agg")
    stream = io.BytesIO()
    found.plot().figure.savefig(stream, format=suffix[1:], bbox_inches="tight", dpi=150)
    return stream.getvalue()
