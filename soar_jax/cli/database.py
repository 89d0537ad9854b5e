"""Tables in databases, for every command that reads one: which table, and what ``soar fit`` and ``soar predict`` do."""

from __future__ import annotations

import argparse
import glob
import os
import sys
from typing import Any

from soar_jax._base import InputError
from soar_jax.cli.files import check_out, stage
from soar_jax.cli.formats import suffix_of


def add_database_options(command: argparse.ArgumentParser) -> Any:
    """Add options that name a table in a database; gives their group."""
    group = command.add_argument_group(
        "tables that stay in their database", "instead of TABLE; needs pip install 'soar-jax[database]'"
    )
    group.add_argument("--database", metavar="ADDRESS", help="duckdb:///file.db, or another address of Ibis")
    group.add_argument("--spark", metavar="MASTER", help="a Spark cluster: local[2], spark://host:7077, yarn")
    group.add_argument("--table", metavar="NAME", dest="table_name", help="the table's name")
    group.add_argument("--parquet", metavar="FILES", help="Parquet files as one table, for example 'data/*.parquet'")
    return group


def names_database(args: argparse.Namespace) -> bool:
    """Say whether the options name a table in a database; files and databases do not go together."""
    given = any((args.database, args.spark, args.table_name, args.parquet))
    if given and getattr(args, "table", None) is not None:
        raise InputError("Give either a TABLE file or a table of a database, not both.")
    if given and getattr(args, "na", None):
        raise InputError("--na is for text files; a database has NULL.")
    if not given and getattr(args, "weight", None) is not None:
        raise InputError("--weight is for a table of a database.")
    return given


def open_given(args: argparse.Namespace, *, writes: bool = False) -> Any:
    """Open the table that the options name."""
    from soar_jax.database.connect import open_table

    return open_table(
        database=args.database, table=args.table_name, parquet=args.parquet, spark=args.spark, writes=writes
    )


def address_of(args: argparse.Namespace) -> list[str]:
    """Give the options that name the table, to be typed again; no password is shown."""
    from soar_jax.database.addresses import address_without_password

    database = address_without_password(args.database) if args.database else None
    given = (("--database", database), ("--spark", args.spark), ("--parquet", args.parquet))
    return [word for option, value in (*given, ("--table", args.table_name)) if value for word in (option, value)]


def add_fit_options(command: argparse.ArgumentParser) -> None:
    """Add what ``soar fit`` takes for a table in a database."""
    group = add_database_options(command)
    group.add_argument("--weight", metavar="COLUMN", help="count each row as often as this whole number says")
    group.add_argument("--max-groups", type=int, metavar="N", help="groups of rows up to which no sample is mined")


def add_predict_options(group: Any) -> None:
    """Add what ``soar predict`` takes for a table in a database."""
    group.add_argument("--out-table", metavar="NAME", help="in a database: write the predictions to this new table")
    group.add_argument("--overwrite", action="store_true", help="replace the table of --out-table")
    group.add_argument("--keep", metavar="COLUMN", action="append", help="in a database: carry along (repeatable)")


def _check_not_read(out: str, args: argparse.Namespace) -> None:
    """Refuse to write to a file that the pattern of ``--parquet`` reads, or to the database itself."""
    if not os.path.exists(out):
        return
    read = glob.glob(args.parquet, recursive=True) if args.parquet else []
    read += [part for part in (args.database or "").partition("?")[0].split("://")[-1:] if part]
    if any(_is_same(path, out) for given in read for path in (given, given.lstrip("/"))):
        raise InputError(f"{out} is read by this command; name another file to write.")


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def predict_in_database(args: argparse.Namespace) -> int:
    """Write label, probability, state and fired rules of every row to a table or a file, by the engine."""
    from soar_jax.cli.files import load_estimator
    from soar_jax.database.write import TableExists, write_parquet, write_table

    if (args.out_table is None) == (args.out is None) or args.json:
        raise InputError("Say where the database shall write: --out-table NAME, or --out FILE.parquet of DuckDB.")
    if args.out:
        suffix_of(args.out, (".parquet",), "A database writes predictions")
        check_out(args.out, args)
        _check_not_read(args.out, args)
    if args.out and args.spark:
        raise InputError("--out is for DuckDB; with --spark give --out-table.")
    if args.out_table is not None and not args.out_table.strip():
        raise InputError("--out-table needs a name.")
    if args.out_table and args.parquet and not (args.database or args.spark):
        raise InputError("--out-table needs a database to write to; with --parquet alone give --out FILE.parquet.")
    with stage(args, "Predicting in the database"):
        model = load_estimator(args.model)
        result = model.predict_table(open_given(args, writes=args.out_table is not None), args.keep)
        if args.out_table:
            try:
                write_table(result, args.out_table, overwrite=args.overwrite)
            except TableExists as error:
                raise InputError(
                    f"The database has a table {args.out_table!r} already; give another name, or add --overwrite."
                ) from error
        else:
            write_parquet(result, args.out)
    print(f"predictions written to {args.out_table or args.out}", file=sys.stderr)
    return 0
