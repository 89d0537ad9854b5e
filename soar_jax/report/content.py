"""What a report says, as plain data: the page and the model card are two ways of printing it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from soar_jax._base import Plain
from soar_jax.report.numbers import Share


@dataclass(frozen=True)
class Basis:
    """The rows that figures are measured on: how many, which, and what to call them."""

    kind: str
    rows: int
    sentence: str
    noun: str
    is_fresh: bool | None


@dataclass(frozen=True)
class StateEntry:
    """A state: in words, how many rows are in it, how many of them are positive, and what the model says.

    ``of_hundred`` is its part of a hundred, ``dots`` the same as dots: positive, negative, and not known which.
    """

    name: str
    say: str
    short: str
    why: str
    technical: str
    rows: int | None
    share: float
    of_hundred: str
    dots: tuple[int, int, int]
    positive: Share
    right: Share | None
    chance: float


@dataclass(frozen=True)
class Difference:
    """A condition that is more or less common among the rows of a rule than among all."""

    phrase: str
    here: float
    everyone: float


@dataclass(frozen=True)
class Overlap:
    """Rows that a rule shares with another one."""

    id: str
    rows: int
    share: float


@dataclass(frozen=True)
class RuleEntry:
    """A rule: in words, as stored, and its figures; ``opposed`` is where an opposite rule applies too.

    ``note`` says why it is kept, where the figures alone would make one wonder.
    """

    id: str
    is_positive: bool
    phrases: tuple[str, ...]
    stored: str
    columns: tuple[str, ...]
    right: Share
    unopposed: Share | None
    opposed: Share | None
    reach: float | None
    alone: float | None
    inclusion: float | None
    differences: tuple[Difference, ...]
    overlaps: tuple[Overlap, ...]
    more_overlaps: int
    note: str = ""


@dataclass(frozen=True)
class Dispute:
    """Rows on which a rule of either side applies; ``ahead`` names the one that the outcome goes with."""

    positive: str
    negative: str
    rows: int | None
    share: Share
    ahead: str | None


@dataclass(frozen=True)
class Point:
    """A point of a chart, with the range of its height."""

    label: str
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class ExampleRow:
    """A row of the tested table, shown because the author asked for it."""

    state: int
    facts: tuple[tuple[str, str], ...]
    fired: tuple[str, ...]
    near: tuple[tuple[str, str], ...]
    truth: str
    is_wrong: bool
    values: dict[str, Plain | None]


@dataclass(frozen=True)
class AuditLine:
    """A figure of each group, and the gap of the first to the second where there are two."""

    figure: str
    shares: tuple[Share, ...]
    gap: str | None


@dataclass(frozen=True)
class AuditEntry:
    """What the model does to groups of rows."""

    by: str
    label: str
    lead: str
    groups: tuple[tuple[str, int | None], ...]
    left_out: tuple[str, ...]
    lines: tuple[AuditLine, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """Rules that cover nearly the same rows, and how often any of them is in."""

    is_positive: bool
    rule: str
    members: int
    probability: float
    error: float


@dataclass(frozen=True)
class Sampled:
    """What the posterior says: whether it can be used, how sure it is of the rules, and if it met better ones."""

    is_trusted: bool
    verdict: str
    problems: tuple[str, ...]
    advice: tuple[str, ...]
    draws: str
    credible: str
    families: tuple[Family, ...]
    better: str
    lead: str


@dataclass(frozen=True)
class Edit:
    """A change made by hand."""

    when: str
    what: str
    reason: str
    price: str


@dataclass(frozen=True)
class Limit:
    """A reason not to trust the page."""

    title: str
    text: str


@dataclass(frozen=True)
class Fact:
    """How the pair was made: a term and what there is to say about it."""

    term: str
    text: str
    is_code: bool = False


@dataclass(frozen=True, repr=False)
class Content:
    """A whole report.

    ``verdict`` is a sequence of (text, whether it is stressed). ``engine`` is what the page computes cases with.
    """

    title: str
    kicker: str
    question: str
    verdict: tuple[tuple[str, bool], ...]
    under: str
    yes: str
    no: str
    unit: str
    one: str
    is_single: bool
    basis: Basis
    base_rate: Share
    answered: str
    unanswered: str
    right: Share
    states: tuple[StateEntry, ...]
    rules: tuple[RuleEntry, ...]
    disputes: tuple[Dispute, ...]
    dispute_lead: str
    num_disputed: int | None
    calibration: tuple[Point, ...]
    calibration_note: str
    cost: tuple[Point, ...]
    cost_note: str
    examples: tuple[ExampleRow, ...]
    audits: tuple[AuditEntry, ...]
    sampled: Sampled | None
    edits: tuple[Edit, ...]
    limits: tuple[Limit, ...]
    contact: str
    facts: tuple[Fact, ...]
    engine: dict[str, Any]

    def __str__(self) -> str:
        """Say the verdict, and what it rests on."""
        return f"{''.join(text for text, _ in self.verdict)} {self.under}"

    def __repr__(self) -> str:
        """Show what a reader wants at the prompt, not the whole report."""
        return f"Report: {self}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)
