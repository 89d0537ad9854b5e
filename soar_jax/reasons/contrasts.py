"""Changes of a row as value objects that print, and that can be applied to the row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from soar_jax import __version__
from soar_jax._base import Plain
from soar_jax.data.columns import plain_value
from soar_jax.data.literals import Literal
from soar_jax.data.spelling import format_value
from soar_jax.reasons.wording import html_table

FORMAT = "soar-jax contrasts"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Change:
    """A change of one column.

    Attributes
    ----------
    column : str
    before : str, int, float, bool or None
        The value that the row has; None when it is missing.
    condition : str
        What the new value must meet; every value that meets it serves.
    example : str, int, float or bool
        One such value, the nearest where the column has an order.
    alternatives : tuple of tuples of Literal
        The condition as data: one of these conjunctions must hold; one without literals leaves the value free.
    """

    column: str
    before: Plain | None
    condition: str
    example: Plain
    alternatives: tuple[tuple[Literal, ...], ...]

    def __str__(self) -> str:
        """Say the condition, an example, and what the row has."""
        before = "missing" if self.before is None else format_value(self.before)
        says_all = [[z.op for z in one] for one in self.alternatives] == [["=="]]
        example = "" if says_all else f", for instance {format_value(self.example)}"
        return f"{self.condition}{example} (now {before})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "column": self.column,
            "before": self.before,
            "condition": self.condition,
            "example": self.example,
            "alternatives": [[[z.column, z.op, z.value] for z in one] for one in self.alternatives],
        }


@dataclass(frozen=True)
class Contrast:
    """Changes that, made together, lead to consensus.

    Attributes
    ----------
    changes : tuple of Change
        One per column.
    rules : tuple of str
        Ids of the rules that fire on the row with the examples.
    probability : float, optional
        Share of the posterior draws in which the row with the examples is in the wanted state.
    """

    changes: tuple[Change, ...]
    rules: tuple[str, ...]
    probability: float | None = None

    def __str__(self) -> str:
        """Say the changes."""
        said = "; ".join(map(str, self.changes))
        if self.rules:
            said += f". Then {' '.join(self.rules)} fire{'s' if len(self.rules) == 1 else ''}"
        return said + ("" if self.probability is None else f"; it works in {100 * self.probability:.0f} % of the draws")

    def with_probability(self, probability: float) -> Contrast:
        """Add what the posterior says."""
        return replace(self, probability=probability)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = {"changes": [c.to_dict() for c in self.changes], "rules": list(self.rules)}
        return plain if self.probability is None else {**plain, "probability": self.probability}


def rows_with(row: pd.DataFrame, contrasts: Sequence[Contrast]) -> pd.DataFrame:
    """Put the examples of each contrast into a table of one row: one line per contrast."""
    rows = row.take([0] * len(contrasts)).reset_index(drop=True)
    examples = [{change.column: change.example for change in contrast.changes} for contrast in contrasts]
    for name in dict.fromkeys(column for mine in examples for column in mine):
        zone = getattr(row[name].dtype, "tz", None)
        is_date = pd.api.types.is_datetime64_any_dtype(row[name].dtype)
        values = rows[name].tolist()
        for i, mine in enumerate(examples):
            if name in mine:
                values[i] = _moment(mine[name], zone) if is_date else mine[name]
        rows[name] = pd.Series(values, dtype=object).infer_objects()
    return rows


def _moment(text: Plain, zone: Any) -> Any:
    """Read an ISO moment as rules do, in UTC, for a column of dates."""
    stamp = pd.Timestamp(text)
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone)


@dataclass(frozen=True)
class Contrasts(Sequence[Contrast]):
    """The smallest changes of a row that lead to consensus for a class; made by ``contrast``.

    A sequence of `Contrast`, all with the same number of changed columns, the most promising first.

    Attributes
    ----------
    row : DataFrame
        The row as it is.
    label : object
        The class that is wanted.
    state : str
        The row's state as it is.
    goal : str
        The state that is wanted.
    contrasts : tuple of Contrast
    num_more : int
        How many smallest changes there are beside those listed.
    is_complete : bool
        Whether the search came to its end; else there may be smaller changes, or more.
    why : str
        When there is none: why.
    note : str, optional
        What a reader of the probabilities must know: that the draws cannot be trusted, or why there are none.
    """

    row: pd.DataFrame
    label: Any
    state: str
    goal: str
    contrasts: tuple[Contrast, ...]
    num_more: int
    is_complete: bool
    why: str
    note: str | None = None

    def __len__(self) -> int:
        """Return the number of contrasts listed."""
        return len(self.contrasts)

    def __getitem__(self, index: Any) -> Any:
        """Return a contrast, or a tuple of them for a slice."""
        return self.contrasts[index]

    @property
    def is_there(self) -> bool:
        """Whether the row is in the wanted state as it is."""
        return self.state == self.goal

    @property
    def num_changes(self) -> int:
        """How many columns each contrast changes."""
        return len(self.contrasts[0].changes) if self.contrasts else 0

    def rows(self) -> pd.DataFrame:
        """Give the row with the examples of each contrast put in, one line per contrast."""
        return rows_with(self.row, self.contrasts)

    def lines(self) -> list[str]:
        """Sentences, the first of which says how many changes it takes."""
        if self.is_there:
            return [f"Nothing has to change: the row is {self.state}, which speaks for {self.label}, as it is."]
        if not self.contrasts:
            return [f"No change leads from {self.state} to {self.goal}, which speaks for {self.label}. {self.why}"]
        many = "one change" if self.num_changes == 1 else f"{self.num_changes} changes made together"
        lines = [f"From {self.state} to {self.goal}, which speaks for {self.label}, by {many}:"]
        lines += [f"{i + 1}. {contrast}." for i, contrast in enumerate(self.contrasts)]
        lines += [f"... and {self.num_more:,} more."] if self.num_more else []
        lines += [] if self.is_complete else ["The search was stopped: there may be smaller changes, or more."]
        return lines + ([] if self.note is None else [self.note])

    def __str__(self) -> str:
        """Say what has to change."""
        first, *others = self.lines()
        return "\n".join([first, *(f"  {line}" for line in others)])

    def __repr__(self) -> str:
        """Show the sentences."""
        return str(self)

    def _repr_html_(self) -> str:
        lines = self.lines()
        return html_table(["what would change it"], [[line] for line in lines[1:]], lines[0])

    def to_frame(self) -> pd.DataFrame:
        """One line per contrast: the changed columns, the conditions, the examples, the rules that then fire."""
        table = {
            "columns": [tuple(change.column for change in c.changes) for c in self],
            "conditions": [tuple(change.condition for change in c.changes) for c in self],
            "examples": [tuple(change.example for change in c.changes) for c in self],
            "rules": [" ".join(c.rules) for c in self],
        }
        if any(c.probability is not None for c in self):
            table["probability"] = [c.probability for c in self]
        return pd.DataFrame(table)

    def to_json(self, indent: int | None = None) -> str:
        """JSON text: format and version, where from and where to, and the contrasts."""
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "soar_jax_version": __version__,
            "label": plain_value(self.label),
            "state": self.state,
            "goal": self.goal,
            "contrasts": [contrast.to_dict() for contrast in self],
            "num_more": self.num_more,
            "is_complete": self.is_complete,
            "why": self.why,
            "note": self.note,
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)
