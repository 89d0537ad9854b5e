"""Pairs of opposite rules that both fire on some rows: a map of where the two sides clash."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray
from soar_jax.candidates.pools import Pool
from soar_jax.reasons.facts import RuleModel
from soar_jax.rules import Rule, firing
from soar_jax.score.intervals import interval
from soar_jax.score.target import FittedPair

Counts = tuple[IntArray, IntArray | None]
"""Rows on which each pair of opposite rules fires, and the positives among them: (num_positive, num_negative) each."""


def counts_on(model: RuleModel, frame: pd.DataFrame, is_positive: BoolArray | None) -> Counts:
    """Count the rows of a table; without labels only how many."""
    fired = firing(model.sets, frame)
    plus, minus = fired[:, : model.num_positive], fired[:, model.num_positive :]

    def shared(rows: BoolArray) -> IntArray:
        # whole numbers up to 2**53 are exact in float64, and the product is far faster than one of integers
        return (plus[rows].T.astype(np.float64) @ minus[rows].astype(np.float64)).astype(np.int64)

    everything = shared(np.ones(len(frame), dtype=bool))
    return everything, None if is_positive is None else shared(is_positive)


def places_in_pool(rules: Sequence[Rule], pool: Pool) -> list[int | None]:
    """Find rules among the candidates of a side; None for a rule that is none of them."""
    place = {pattern: i for i, pattern in enumerate(pool.patterns)}
    return [place.get(rule.conditions) for rule in rules]


def counts_of_training(model: RuleModel, fitted: FittedPair) -> Counts:
    """Count the training rows, from the packed coverage of the candidates."""
    pools, layout = fitted.target.pools, fitted.target.layout
    places = [places_in_pool(rules.rules, pool) for rules, pool in zip(model.sets, pools, strict=True)]
    if any(place is None for side in places for place in side):
        raise InputError("Some rules are no candidates of the fit, so that their rows are not kept; give X and y.")
    positives = np.zeros([len(side) for side in places], dtype=np.int64)
    negatives = positives.copy()
    theirs = pools[1].bits[[i for i in places[1] if i is not None]]
    for row, place in enumerate(places[0]):
        positives[row], negatives[row] = layout.counts(theirs & pools[0].bits[place])
    return positives + negatives, positives


def conflict_table(
    model: RuleModel, counts: Counts, probability: Callable[[int, int], tuple[float, float]] | None = None
) -> pd.DataFrame:
    """List the pairs that clash, those with most rows first; see ``conflicts``.

    ``probability`` gives, for a positive and a negative rule by place, how probable the conflict is, and that of
    look-alikes.
    """
    rows, positives = counts
    pairs = np.argwhere(rows > 0)
    pairs = pairs[np.argsort(-rows[tuple(pairs.T)], kind="stable")]
    plus, minus = ([model.facts[offset + i] for i in pairs[:, k]] for k, offset in enumerate((0, model.num_positive)))
    in_dispute = rows[tuple(pairs.T)]
    table = pd.DataFrame(
        {
            "positive_id": [fact.id for fact in plus],
            "negative_id": [fact.id for fact in minus],
            "positive_rule": [str(fact.rule) for fact in plus],
            "negative_rule": [str(fact.rule) for fact in minus],
            "rows": in_dispute,
        }
    )
    if positives is not None:
        hits = positives[tuple(pairs.T)]
        low, high = interval(hits, in_dispute)
        table = table.assign(
            positives=hits,
            negatives=in_dispute - hits,
            positive_share=hits / in_dispute,
            low=low,
            high=high,
        )
    if probability is not None:
        found = np.array([probability(int(i), int(j)) for i, j in pairs], dtype=np.float64).reshape(-1, 2)
        table = table.assign(probability=found[:, 0], family_probability=found[:, 1])
    return table
