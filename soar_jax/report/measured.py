"""The pair counted on rows: states, rules, overlaps, disputes and what sets the rows of a rule apart.

Everything that a report says about rows comes from these counts; the rows themselves are left behind here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.columns import TableValues
from soar_jax.data.literals import Literal
from soar_jax.reasons.facts import RuleModel
from soar_jax.reasons.near import distinct_rows
from soar_jax.rules import firing
from soar_jax.states import counts_from_taxonomy, hits_and_misses

CHUNK_ROWS = 1 << 16


@dataclass(frozen=True)
class RuleCounts:
    """Rules on rows, each array with one entry per rule.

    Attributes
    ----------
    rows, hits : int64
        Rows covered, and those of them on the rule's side.
    free_rows, free_hits : int64, optional
        The same where no opposite rule applies.
    reach, alone : float64
        Share of the rows on its side that a rule covers, and that no other rule of its side does.
    """

    rows: IntArray
    hits: IntArray
    free_rows: IntArray | None
    free_hits: IntArray | None
    reach: FloatArray
    alone: FloatArray


@dataclass(frozen=True)
class Measured:
    """A pair counted on rows.

    Attributes
    ----------
    kind : str
        ``"given"``: rows that the author gave; ``"kept"``: figures of fresh rows that the model keeps; ``"training"``.
    num_rows : int
    num_positives : int
    state_positives, state_negatives : (4,) int64
    rules : RuleCounts
    disputes : (num_positive, num_negative) int64 and the positives among them, optional
    overlaps : (num_rules, num_rules) int64, optional
    literals : tuple of Literal
        The different conditions of the rules.
    literal_rows : (num_rules, num_literals) int64, optional
        Rows of each rule on which each condition holds.
    literal_shares : (num_literals,) float64, optional
        The same of all rows.
    patterns : mapping
        Rows and positives by the set of rules that apply, as a tuple of places.
    """

    kind: str
    num_rows: int
    num_positives: int
    state_positives: IntArray
    state_negatives: IntArray
    rules: RuleCounts
    disputes: tuple[IntArray, IntArray] | None = None
    overlaps: IntArray | None = None
    literals: tuple[Literal, ...] = ()
    literal_rows: IntArray | None = None
    literal_shares: FloatArray | None = None
    patterns: Mapping[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)

    @property
    def states(self) -> IntArray:
        """Rows of each state."""
        return self.state_positives + self.state_negatives


def measure(model: RuleModel, frame: pd.DataFrame, is_true: BoolArray) -> Measured:
    """Count the pair on a table with labels."""
    literals = tuple(dict.fromkeys(z for rule in model.rules for z in rule.conditions))
    num_rules, num_plus = len(model.rules), model.num_positive
    speaks = np.arange(num_rules) < num_plus
    overlaps = np.zeros((num_rules, num_rules))
    true_overlaps = np.zeros((num_rules, num_rules))
    literal_rows, literal_counts = np.zeros((num_rules, len(literals))), np.zeros(len(literals))
    free_rows, free_hits, alone = (np.zeros(num_rules) for _ in range(3))
    states = np.zeros((4, 2), dtype=np.int64)
    patterns: dict[tuple[int, ...], tuple[int, int]] = {}
    for start in range(0, len(frame), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        values, truth = TableValues(frame.iloc[part]), is_true[part]
        fired = firing(model.sets, values)
        holds = _holds(literals, values)
        number = fired.astype(np.float64)  # products of whole numbers below 2**53 are exact
        overlaps += number.T @ number
        true_overlaps += number[truth].T @ number[truth]
        literal_rows += number.T @ holds
        literal_counts += holds.sum(axis=0)
        plus, minus = fired[:, :num_plus], fired[:, num_plus:]
        opposed = np.where(speaks, np.asarray(minus.any(axis=1))[:, None], np.asarray(plus.any(axis=1))[:, None])
        is_hit = truth[:, None] == speaks
        free = fired & ~opposed
        free_rows += free.sum(axis=0)
        free_hits += (free & is_hit).sum(axis=0)
        many = np.where(speaks, plus.sum(axis=1)[:, None], minus.sum(axis=1)[:, None])
        alone += (fired & is_hit & (many == 1)).sum(axis=0)
        np.add.at(states, (model.states_of(fired), truth.astype(int)), 1)
        _add_patterns(patterns, fired, truth)
    rows, true_rows = np.diag(overlaps), np.diag(true_overlaps)
    hits = np.where(speaks, true_rows, rows - true_rows)
    num_true = int(np.sum(is_true))
    totals = np.maximum(np.where(speaks, num_true, len(frame) - num_true), 1)
    return Measured(
        "given",
        len(frame),
        num_true,
        states[:, 1],
        states[:, 0],
        RuleCounts(_whole(rows), _whole(hits), _whole(free_rows), _whole(free_hits), hits / totals, alone / totals),
        (_whole(overlaps[:num_plus, num_plus:]), _whole(true_overlaps[:num_plus, num_plus:])),
        _whole(overlaps),
        literals,
        _whole(literal_rows),
        literal_counts / max(len(frame), 1),
        patterns,
    )


def _whole(counts: FloatArray) -> IntArray:
    return counts.astype(np.int64)


def _holds(literals: tuple[Literal, ...], values: TableValues) -> FloatArray:
    columns = [z.holds(values[z.column]) for z in literals]
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros((len(values), 0))


def _add_patterns(patterns: dict[tuple[int, ...], tuple[int, int]], fired: BoolArray, truth: BoolArray) -> None:
    first, inverse = distinct_rows(fired)
    rows = np.bincount(inverse, minlength=len(first))
    hits = np.bincount(inverse, truth, len(first))
    for k, i in enumerate(first):
        key = tuple(int(r) for r in np.flatnonzero(fired[i]))
        before = patterns.get(key, (0, 0))
        patterns[key] = (before[0] + int(rows[k]), before[1] + int(hits[k]))


def measured_by_model(
    model: RuleModel,
    rules: pd.DataFrame,
    training: pd.Series,
    fresh_states: pd.DataFrame | None,
    disputes: tuple[IntArray, IntArray | None] | None,
) -> Measured:
    """Take the figures that a model keeps: of fresh rows where it has them, else of its training rows."""
    ordered = pd.concat([rules[rules["side"] == side] for side in ("positive", "negative")])
    kind = "training" if fresh_states is None else "kept"
    if fresh_states is None:
        positives, negatives = (np.asarray(part, dtype=np.int64) for part in counts_from_taxonomy(training))
        support, precision = ordered["support"].to_numpy(np.float64), ordered["precision"].to_numpy(np.float64)
    else:
        states = fresh_states["rows"].to_numpy(np.float64)
        hits = np.round(np.nan_to_num(fresh_states["fresh"].to_numpy(np.float64)) * states).astype(np.int64)
        positives, negatives = hits_and_misses(hits, states.astype(np.int64) - hits)  # an involution
        names = ("fresh_support", "fresh_precision")
        support, precision = (np.nan_to_num(ordered[name].to_numpy(np.float64)) for name in names)
    counts = RuleCounts(
        _whole(support),
        _whole(np.round(support * precision)),
        None,
        None,
        ordered["coverage"].to_numpy(np.float64),
        ordered["unique_coverage"].to_numpy(np.float64),
    )
    in_dispute = None if disputes is None or disputes[1] is None else (disputes[0], disputes[1])
    return Measured(
        kind, int((positives + negatives).sum()), int(positives.sum()), positives, negatives, counts, in_dispute
    )
