"""Which rules read a column, or stand in for it: how strongly a rule's firing goes with the groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chndtr, chndtrinc, ndtri

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.control.figures import PRIOR
from soar_jax.rules import RuleSet, rule_ids
from soar_jax.states import STATES

_FAR = 1e4


def explained(rates: FloatArray, shares: FloatArray) -> FloatArray:
    """Share of the variance of firing that the groups explain, Cramer's V squared: (...,).

    Parameters
    ----------
    rates : (..., num_groups) float64
        How often the rule fires in each group.
    shares : (..., num_groups) float64
        Share of the rows in each group.
    """
    mean = (rates * shares).sum(axis=-1, keepdims=True)
    between = (shares * (rates - mean) ** 2).sum(axis=-1)
    whole = (mean * (1 - mean))[..., 0]
    return np.where(whole > 0, between / np.where(whole > 0, whole, 1.0), 0.0)


def variance_along(rates: FloatArray, rows: IntArray) -> FloatArray:
    """Estimate the variance of Cramer's V in the direction of what was seen, by the delta method: (num_rules,).

    V is the length of the vector of standardised differences between groups; each of its components has about this
    variance, 1 / n where firing and group have nothing to do with each other.
    """
    total = max(int(rows.sum()), 1)
    shares = rows / total
    squared = explained(rates, shares)[:, None]
    mean = (rates * shares).sum(axis=1, keepdims=True)
    whole = mean * (1 - mean)
    # derivatives of V squared by each group's rate and share
    by_rate = shares * (2 * (rates - mean) - squared * (1 - 2 * mean)) / whole
    by_share = ((rates - mean) ** 2 - squared * (1 - 2 * mean) * rates) / whole
    of_rates = (by_rate**2 * rates * (1 - rates) / np.maximum(rows, 1)).sum(axis=1)
    of_shares = ((shares * by_share**2).sum(axis=1) - (shares * by_share).sum(axis=1) ** 2) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (of_rates + of_shares) / (4 * squared[:, 0])
    # without any difference the delta method has nothing to say
    return np.where(squared[:, 0] > 1 / total, along, 1 / total)


def association(hits: IntArray, rows: IntArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cramer's V between firing and group with its interval: (num_rules,) each.

    V squared is what groups explain of the variance of firing. By chance alone k groups of n rows in all explain
    (k - 1) / n of it, which is taken off the estimate. The interval is that of a noncentral chi-square with k - 1
    degrees of freedom: all V with which so much, or so little, would be seen with a chance of at least (1 - level) / 2.
    It begins at 0 where there may be no association at all.

    Parameters
    ----------
    hits : (num_rules, num_groups) int64
        Rows of each group on which the rule fires.
    rows : (num_groups,) int64
    """
    total = max(int(rows.sum()), 1)
    squared = explained(hits / np.maximum(rows, 1), rows / total)
    value = np.sqrt(np.maximum(0.0, squared - (len(rows) - 1) / total))
    if len(rows) < 2:  # noqa: PLR2004
        return value, np.zeros(len(hits)), np.zeros(len(hits))
    variance = variance_along((hits + PRIOR) / (rows + 2 * PRIOR), rows)
    seen, freedom = squared / variance, float(len(rows) - 1)
    low, high = (
        np.sqrt(np.clip(noncentrality(seen, freedom, chance) * variance, 0, 1))
        for chance in ((1 + level) / 2, (1 - level) / 2)
    )
    return value, np.minimum(low, value), np.maximum(high, value)


def noncentrality(seen: FloatArray, freedom: float, chance: float) -> FloatArray:
    """Find the noncentrality with which a chi-square is at most what was seen with this chance; 0 where none is."""
    far = seen > _FAR
    near = np.where(far, 1.0, seen)
    exists = chndtr(near, freedom, 0.0) > chance
    found = np.where(exists, chndtrinc(near, freedom, np.full_like(near, chance)), 0.0)
    # far out a noncentral chi-square is the square of a normal number around the root of its noncentrality
    root = np.sqrt(np.maximum(seen - (freedom - 1), 0.0)) - ndtri(chance)
    return np.where(far, np.maximum(root, 0.0) ** 2, np.nan_to_num(found))


def proxy_table(
    sets: Sequence[RuleSet],
    fires: BoolArray,
    group: IntArray,
    weights: IntArray,
    names: list[str],
    column: str | None,
    level: float,
) -> pd.DataFrame:
    """List the rules with their association with the groups, those that read the column first, then the strongest.

    Parameters
    ----------
    fires : (num_rows, num_rules) bool
        From `soar_jax.rules.firing`.
    column : str, optional
        Name of the column that the groups come from.
    """
    rows = np.bincount(group, weights, len(names)).astype(np.int64)
    hits = np.array([np.bincount(group, weights * fired, len(names)) for fired in fires.T], dtype=np.int64)
    hits = hits.reshape(fires.shape[1], len(names))
    value, low, high = association(hits, rows, level)
    inside, outside = hits / np.maximum(rows, 1), (hits.sum(axis=1)[:, None] - hits) / np.maximum(rows.sum() - rows, 1)
    gap = inside - outside
    widest = np.argmax(np.abs(gap), axis=1) if len(names) else np.zeros(len(hits), dtype=np.int64)
    rules = [(side, rule) for side, mine in enumerate(sets) for rule in mine]
    table = pd.DataFrame(
        {
            "id": list(rule_ids(sets)),
            "side": [STATES[side] for side, _ in rules],
            "rule": [str(rule) for _, rule in rules],
            "reads_column": np.array([column in rule.columns for _, rule in rules], dtype=bool),
            "fires": hits.sum(axis=1) / max(int(rows.sum()), 1),
            "association": value,
            "low": low,
            "high": high,
            "group": [names[k] for k in widest],
            "gap": gap[np.arange(len(hits)), widest],
        }
    )
    return table.sort_values(["reads_column", "association"], ascending=False, kind="stable", ignore_index=True)
