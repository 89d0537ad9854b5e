"""One table of a database, and every query that is run on it: named, timed, and with errors a user can act on.

Nothing but aggregates is fetched: each query gives a line per group, level or bin, never a line per row.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from soar_jax._base import InputError
from soar_jax._progress import Stage

if TYPE_CHECKING:
    import pandas as pd

_INTERRUPTS = ("RuntimeError: Query interrupted", "OperationalError: interrupted")
_CAUSES = (
    (("no space left", "disk full", "file too large", "max_temp_directory_size"), "its disk is full"),
    (("out of memory", "outofmemory", "heap space"), "it ran out of memory; give it more, or fewer columns"),
    (("permission denied", "access denied", "not authorized", "insufficient privilege"), "permission was denied"),
    (("read-only", "read only", "readonly"), "it may only be read here; open it for writing"),
    (("interrupted", "connection refused", "connection reset", "network", "closed", "shut down"), "it went away"),
    (("could not set lock", "conflicting lock"), "another process has it open; close that one"),
    (("dependentobjects",), "something else is built on it, for example a view; write to another name"),
)  # fmt: skip


class Query(NamedTuple):
    """A query that was run: what for, how long it took, how many lines and bytes it brought here."""

    what: str
    seconds: float
    lines: int
    bytes: int


def explain_failure(error: Exception, what: str) -> InputError | KeyboardInterrupt:
    """Say in one sentence why the database could not do something; no text of its own, which may hold cells.

    DuckDB and SQLite answer an interrupt from the keyboard with an error of their own: it is an interrupt again.
    """
    if f"{type(error).__name__}: {error}" in _INTERRUPTS or type(error).__name__ == "InterruptException":
        return KeyboardInterrupt()
    told = " ".join(f"{type(error).__name__} {error}".lower().split())
    for marks, cause in _CAUSES:
        if any(mark in told for mark in marks):
            return InputError(f"The database could not {what}: {cause}.")
    name = type(error).__name__
    return InputError(f"The database could not {what} ({name}); its own words are in the error's cause (--debug).")


class Engine:
    """A table expression of Ibis, with a record of the queries run on it.

    Attributes
    ----------
    table : ibis.Table
    log : list of Query
    """

    def __init__(self, table: Any, *, progress: bool = False) -> None:
        self.table = table
        self.log: list[Query] = []
        self._progress = progress

    @property
    def name(self) -> str:
        """Name of the backend, as Ibis has it: ``"duckdb"``, ``"pyspark"``, ``"postgres"``."""
        return str(self.table.get_backend().name)

    def fetch(self, what: str, aggregate: Any) -> pd.DataFrame:
        """Run an aggregating query and fetch its lines.

        ``what`` completes both "running: ..." and "The database could not ...".
        """
        started = time.perf_counter()
        try:
            with Stage(f"database: {what}", self._progress), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Ibis, about pandas and DuckDB
                frame = aggregate.execute()
        except Exception as error:
            raise explain_failure(error, what) from error
        size = int(frame.memory_usage(index=False, deep=True).sum())
        self.log.append(Query(what, time.perf_counter() - started, len(frame), size))
        return frame

    def tell(self, text: str) -> None:
        """Leave a line on the screen where progress is shown."""
        if self._progress:
            sys.stderr.write(f"{text}\n")
