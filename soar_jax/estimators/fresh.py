"""Figures that hold on fresh rows: precision of rules and rates of states on rows that the fit never saw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, InputError, IntArray
from soar_jax.data.columns import TableValues
from soar_jax.rules import RuleSet
from soar_jax.score.intervals import interval
from soar_jax.states import STATES, hits_and_misses


def fresh_rules(
    sets: tuple[RuleSet, RuleSet], frame: pd.DataFrame, is_positive: BoolArray, weights: IntArray
) -> pd.DataFrame:
    """Support and precision of each rule on fresh rows, with a 90 % interval: one line per rule, set after set."""
    values, lines = TableValues(frame), []
    for side, rules in enumerate(sets):
        own = is_positive if side == 0 else ~is_positive
        for rule in rules:
            fires = rule.fires(values)
            lines.append((weights[fires].sum(), weights[fires & own].sum()))
    support, hits = np.array(lines, dtype=np.int64).reshape(-1, 2).T
    low, high = interval(hits, support)
    # a rule that no fresh row meets has no fresh precision
    precision = np.where(support > 0, hits / np.maximum(support, 1), np.nan)
    low, high = np.where(support > 0, low, np.nan), np.where(support > 0, high, np.nan)
    return pd.DataFrame({"fresh_support": support, "fresh_precision": precision, "fresh_low": low, "fresh_high": high})


def fresh_states(claimed: FloatArray, states: IntArray, is_positive: BoolArray, weights: IntArray) -> pd.DataFrame:
    """Rate of what each state speaks for: claimed by the model, and on fresh rows with a 90 % interval."""
    positives = np.bincount(states, weights * is_positive, 4).astype(np.int64)
    negatives = np.bincount(states, weights * ~is_positive, 4).astype(np.int64)
    hits, misses = hits_and_misses(positives, negatives)
    rows = hits + misses
    low, high = interval(hits, rows)
    has_rows = rows > 0
    return pd.DataFrame(
        {
            "rows": rows,
            "share": rows / max(rows.sum(), 1),
            "claimed": claimed,
            "fresh": np.where(has_rows, hits / np.maximum(rows, 1), np.nan),
            "fresh_low": np.where(has_rows, low, np.nan),
            "fresh_high": np.where(has_rows, high, np.nan),
        },
        index=list(STATES),
    )


def split_rows(is_positive: BoolArray, share: float, generator: np.random.Generator) -> BoolArray:
    """Pick a share of the rows of each class at random: (num_rows,) bool."""
    picked = np.zeros(len(is_positive), dtype=bool)
    for label in (True, False):
        mine = np.flatnonzero(is_positive == label)
        count = round(share * len(mine))
        if not 0 < count < len(mine):
            name = "positive" if label else "negative"
            raise InputError(
                f"There are {len(mine)} {name} rows: too few to set {share:.0%} of them aside; use all rows to fit."
            )
        picked[generator.permutation(mine)[:count]] = True
    return picked
