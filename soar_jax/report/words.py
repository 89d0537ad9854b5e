"""The author's words: what columns, levels and outcomes are called on the page. All of them are optional.

They come as a dictionary or from a YAML file; `SCHEMA` says what it may hold. Names are checked against the model, so
that a misspelt column is refused and not silently left as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soar_jax._base import InputError
from soar_jax.data.columns import level_text
from soar_jax.data.spelling import suggest

SCHEMA: dict[str, str] = {
    "question": "what the model answers, as a question",
    "data": "where the rows come from, in a few words",
    "rows": "what the rows are, in the plural: people, patients, loans",
    "row": "the same in the singular: person, patient, loan",
    "outcome": "a dictionary: yes and no, what the positive and the other class mean",
    "columns": "a dictionary from column to its words; see COLUMN_SCHEMA",
    "fixed": "columns that nobody can change, such as age: no change of them is proposed",
    "notes": "one text or several, for the list of when not to trust the page",
    "contact": "whom to ask",
}
COLUMN_SCHEMA: dict[str, str] = {
    "label": "name of the column in sentences",
    "unit": "unit of its numbers: $, years, mmHg",
    "levels": "a dictionary from level, or from code of an ordered column, to its words",
    "above": "phrase for greater values, with {} for the cut: older than {}",
    "at_most": "phrase for the others: {} or younger",
    "is": "phrase for one level, with {} for it: works as {}",
    "is_not": "phrase for any other level",
    "missing": "phrase for a value that is not there: never measured",
}
_PHRASES = ("above", "at_most", "is", "is_not", "missing")


@dataclass(frozen=True)
class ColumnWords:
    """Words of one column; empty where the author gave none."""

    label: str = ""
    unit: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    phrases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Words:
    """Words of a report; see `SCHEMA`."""

    question: str = ""
    data: str = ""
    rows: str = "rows"
    row: str = "row"
    yes: str = ""
    no: str = ""
    columns: Mapping[str, ColumnWords] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contact: str = ""

    def of(self, column: str) -> ColumnWords:
        """Words of a column."""
        return self.columns.get(column, ColumnWords())

    def label(self, column: str) -> str:
        """Name of a column."""
        return self.of(column).label or column


def read_words(given: Any, columns: Sequence[str]) -> Words:
    """Read the author's words from a dictionary, or from a YAML file, and check the names in them.

    Parameters
    ----------
    given : mapping, path or None
    columns : sequence of str
        Columns that the model knows.
    """
    if given is None:
        return Words()
    source = "words"
    if isinstance(given, str | os.PathLike):
        source = os.fspath(given)
        given = _load(Path(given))
    if not isinstance(given, Mapping):
        raise InputError(f"{source} must be a dictionary, or a YAML file that holds one; got {type(given).__name__}.")
    _check_keys(given, SCHEMA, source)
    outcome = _mapping(given.get("outcome"), f"outcome in {source}")
    _check_keys(outcome, {"yes": "", "no": ""}, f"outcome in {source}")
    by_column = _mapping(given.get("columns"), f"columns in {source}")
    for name in by_column:
        _check_column(str(name), columns, f"columns in {source}")
    fixed = _texts(given.get("fixed"))
    for name in fixed:
        _check_column(name, columns, f"fixed in {source}")
    plural = _text(given.get("rows")) or "rows"
    singular = _text(given.get("row")) or _singular(plural)
    return Words(
        question=_text(given.get("question")),
        data=_text(given.get("data")),
        rows=plural,
        row=singular,
        yes=_text(outcome.get("yes")),
        no=_text(outcome.get("no")),
        columns={str(name): _column_words(mine, f"{name!r} in {source}") for name, mine in by_column.items()},
        fixed=fixed,
        notes=_texts(given.get("notes")),
        contact=_text(given.get("contact")),
    )


def _load(path: Path) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML in which yes, no, on, off and dates are what they look like: words."""

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0].rpartition(":")[2] not in ("bool", "timestamp")]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    if not path.is_file():
        raise InputError(f"There is no file {path} to read words from.")
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader)  # a SafeLoader: it makes plain data only
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" near line {where.line + 1}" if where is not None else ""
        raise InputError(
            f"{path} is not a YAML file{line}; write for instance 'question: Will the loan be paid?'."
        ) from None


def _column_words(given: Any, source: str) -> ColumnWords:
    if isinstance(given, str):  # a label alone
        return ColumnWords(given)
    given = _mapping(given, source)
    _check_keys(given, COLUMN_SCHEMA, source)
    levels = {level_text(key): str(text) for key, text in _mapping(given.get("levels"), f"levels of {source}").items()}
    phrases = {name: _text(given[name]) for name in _PHRASES if given.get(name) is not None}
    for name in ("above", "at_most"):
        if name in phrases and "{}" not in phrases[name]:
            raise InputError(f"{name} of {source} must have {{}} where the cut point goes, as in 'older than {{}}'.")
    return ColumnWords(_text(given.get("label")), _text(given.get("unit")), levels, phrases)


def _check_keys(given: Mapping[Any, Any], known: Mapping[str, str], source: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(f"{source} has no place for {str(key)!r}. {suggest(str(key), known)}")


def _check_column(name: str, columns: Sequence[str], source: str) -> None:
    if name not in columns:
        raise InputError(f"{source} names {name!r}, which is no column of the model. {suggest(name, columns)}")


def _mapping(given: Any, source: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{source} must be a dictionary, got {type(given).__name__}.")
    return given


def _text(given: Any) -> str:
    return "" if given is None else " ".join(str(given).split())


def _texts(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (_text(given),) if isinstance(given, str) else tuple(_text(one) for one in given)


def _singular(plural: str) -> str:
    """Guess the singular of a regular word; `row` says it where this is wrong."""
    if plural == "people":
        return "person"
    return plural[:-1] if plural.endswith("s") else plural
