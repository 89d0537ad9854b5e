"""Tables of every type, in DuckDB and in memory, for the tests of this folder."""

import datetime as dt
from functools import cache

import ibis
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from soar_jax.candidates.build import CandidateOptions, build_from
from soar_jax.candidates.constraints import NO_CONSTRAINTS
from soar_jax.candidates.sources import FrameSource
from soar_jax.database.engine import Engine
from soar_jax.database.source import TableSource
from soar_jax.database.target import count_labels

OPTIONS = CandidateOptions(
    max_length=2, min_support=0.05, min_class_support=None, max_patterns=100, screen="entropy", pools="directed",
    miner="packed", max_bins=4, cuts="supervised", negations=True, missing_literals=True, search="full", grow_to=None,
)  # fmt: skip
HOSTILE_NAMES = [
    "plain", 'quote " and \' and `', "semi; DROP TABLE rows; --", "Straße 名前 🐍", "SELECT", "x", "soar_label",
    "%s :name ? {0} $1", "back\\slash", "line\nbreak", "low", "positives", "soar_key_0",
]  # fmt: skip
TEXTS = [
    "a",
    "b",
    "2",
    "2.0",
    "2.00",
    "True",
    "true",
    "",
    " a",
    "naïve",
    "名前",
    "it's",
    '"',
    "\\",
    "${x}",
    "NULL",
    "nan",
]
VALUES = {
    "text": TEXTS,
    "integer": [0, 1, 2, 3, 7, -5, 2**53 + 1],
    "float": [0.0, -0.0, 0.1, 0.30000000000000004, 2.5, -1e300, float("inf"), float("-inf"), float("nan")],
    "real": [np.float32(0.1), np.float32(2.5), np.float32(-3), np.float32(1e20)],
    "boolean": [True, False],
    "date": [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1969, 12, 31), dt.date(2021, 6, 30)],
    "timestamp": [dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(2020, 1, 1, 12), dt.datetime(1950, 3, 4, 5, 6, 7)],
}  # fmt: skip
SQL = {
    "text": "VARCHAR", "integer": "BIGINT", "float": "DOUBLE", "real": "FLOAT", "boolean": "BOOLEAN", "date": "DATE",
    "timestamp": "TIMESTAMP",
}  # fmt: skip


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@cache
def shared_connection():
    """One DuckDB in memory for a whole run."""
    return ibis.duckdb.connect(threads=1)


def duckdb_table(columns, rows, con=None, name="rows"):
    """Make a table of declared types; ``columns`` is a list of (name, kind)."""
    con = con or shared_connection()
    declared = ", ".join(f"{quoted(column)} {SQL[kind]}" for column, kind in columns)
    con.raw_sql(f"CREATE OR REPLACE TABLE {quoted(name)} ({declared})")
    if rows:
        line = f"({', '.join('?' * len(columns))})"
        values = [value.item() if isinstance(value, np.generic) else value for row in rows for value in row]
        con.con.execute(f"INSERT INTO {quoted(name)} VALUES {', '.join([line] * len(rows))}", values)
    return con.table(name)


def frame_table(frame, con=None, name="rows"):
    """Put a data frame into DuckDB."""
    con = con or shared_connection()
    con.con.register("frame_to_copy", frame)
    con.raw_sql(f"CREATE OR REPLACE TABLE {quoted(name)} AS SELECT * FROM frame_to_copy")
    return con.table(name)


@st.composite
def small_tables(draw, kinds=tuple(VALUES)):
    """Columns, and rows with missing values; the first column is the label."""
    names = draw(st.lists(st.sampled_from(HOSTILE_NAMES), min_size=1, max_size=4, unique=True))
    columns = [(name, draw(st.sampled_from(kinds))) for name in names]
    cells = [st.one_of(st.none(), st.sampled_from(VALUES[kind])) for _, kind in columns]
    rows = draw(st.lists(st.tuples(st.booleans(), *cells), min_size=8, max_size=40))
    return [("label", "boolean"), *columns], [(True, *rows[0][1:]), (False, *rows[1][1:]), *rows[2:]]


def source_of(table, target="label", positive_index=1, max_groups=100_000):
    engine = Engine(table)
    labels = count_labels(engine, target, None)
    names = [name for name in table.columns if name != target]
    return TableSource(engine, names, target, labels, positive_index, None, (1, 1), max_groups)


def frame_source(table, target="label"):
    frame = table.to_pandas()
    y = frame[target].to_numpy().astype(bool)
    return FrameSource(frame.drop(columns=target), y, np.ones(len(frame), dtype=np.int64))


def built(source, options=OPTIONS, constraints=NO_CONSTRAINTS):
    """Columns, and every mined pattern with its counts; literals are equal where they say the same."""
    made, items = build_from(source, options, constraints, single=False)
    mined = made.source.mined
    patterns = {
        tuple(items.literals[i] for i in row if i >= 0): (int(p), int(n))
        for row, p, n in zip(mined.items, mined.positives, mined.negatives, strict=True)
    }
    return made.columns, patterns, made.searched


def planted(num_rows, seed=0):
    """A frame with two planted rules, text, numbers, dates, booleans and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "größe": np.round(rng.normal(170, 10, num_rows), 1),
            "farbe": rng.choice(["rot", "grün", "blau"], num_rows),
            "seit": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, num_rows), unit="D"),
            "aktiv": rng.random(num_rows) < 0.5,
            "kinder": rng.integers(0, 5, num_rows),
        }
    )
    chance = np.where((frame["größe"] > 175) & (frame["farbe"] == "rot"), 0.95, 0.1)
    chance = np.where(frame["aktiv"] & (frame["kinder"] > 2), 0.9, chance)
    frame.loc[rng.random(num_rows) < 0.1, "größe"] = np.nan
    frame.loc[rng.random(num_rows) < 0.1, "farbe"] = None
    frame["label"] = rng.random(num_rows) < chance
    return frame
