"""Which rules read a column, or stand in for it: how strongly a rule's firing goes with the groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.control.figures import PRIOR, quantiles
from soar_jax.rules import RuleSet, rule_ids
from soar_jax.states import STATES


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


def association(
    hits: IntArray, rows: IntArray, generator: np.random.Generator, *, level: float, num_draws: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cramer's V between firing and group with its interval: (num_rules,) each.

    V squared is what groups explain of the variance of firing. By chance alone k groups of n rows in all explain
    (k - 1) / n of it: that is taken off the estimate, and twice that off the draws, which have the chance of the rows
    and their own.

    Parameters
    ----------
    hits : (num_rules, num_groups) int64
        Rows of each group on which the rule fires.
    rows : (num_groups,) int64
    """
    by_chance = (len(rows) - 1) / max(int(rows.sum()), 1)
    value = explained(hits / np.maximum(rows, 1), rows / max(int(rows.sum()), 1))
    rates = generator.beta(hits + PRIOR, rows - hits + PRIOR, (num_draws, *hits.shape))
    shares = generator.dirichlet(rows + PRIOR, num_draws)[:, None]
    drawn = explained(rates, shares)
    low, high = quantiles(drawn, drawn, level)
    return tuple(
        np.sqrt(np.clip(squared - times * by_chance, 0, 1))  # type: ignore[return-value]
        for squared, times in ((value, 1), (low, 2), (high, 2))
    )


def proxy_table(
    sets: Sequence[RuleSet],
    fires: BoolArray,
    group: IntArray,
    weights: IntArray,
    names: list[str],
    column: str | None,
    generator: np.random.Generator,
    *,
    level: float,
    num_draws: int,
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
    value, low, high = association(hits, rows, generator, level=level, num_draws=num_draws)
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
