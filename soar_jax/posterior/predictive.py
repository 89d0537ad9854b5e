"""Posterior predictive checks by groups of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray
from soar_jax.data.columns import level_text

_MAX_LEVELS = 50
_QUARTERS = 4


def name_groups(column: pd.Series) -> pd.Series:
    """Name the group of each row: a level, a quarter of the numbers or dates, or missing.

    Missing values are a group of their own, "missing", in parentheses where a level is called that.
    """
    is_ordered = pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column)
    if is_ordered and not pd.api.types.is_bool_dtype(column) and column.nunique() > _QUARTERS:
        # by rank, so that infinities and heavy ties are as good as other numbers
        quarter = np.ceil(column.rank(method="max", pct=True) * _QUARTERS)
        ends = column.groupby(quarter).agg(["min", "max"])
        names = {key: f"{row['min']} to {row['max']}" for key, row in ends.iterrows()}
        return quarter.map(names).astype(object).where(column.notna(), "missing")
    levels = column.map(level_text, na_action="ignore").astype(object)
    nothing = "missing"
    while nothing in set(levels[column.notna()]):
        nothing = f"({nothing})"
    return levels.where(column.notna(), nothing)


def check_groups(
    frame: pd.DataFrame, labels: BoolArray, probability: FloatArray, generator: np.random.Generator
) -> pd.DataFrame:
    """Compare positives seen with positives drawn, by column and level.

    Parameters
    ----------
    labels : (num_rows,) bool
    probability : (num_draws, num_rows) float64
        P(positive) of every row in every draw of pair and rates.
    """
    drawn = (generator.random(probability.shape) < probability).astype(np.float32)
    rows = []

    def compare(column: str, level: str, mask: BoolArray) -> None:
        seen, replicas = int(labels[mask].sum()), drawn @ mask.astype(np.float32)
        above, below = (replicas >= seen).mean(), (replicas <= seen).mean()
        rows.append(
            {
                "column": column,
                "level": level,
                "rows": int(mask.sum()),
                "seen": seen,
                "expected": float(replicas.mean()),
                "q05": float(np.quantile(replicas, 0.05)),
                "q95": float(np.quantile(replicas, 0.95)),
                "p_value": float(min(1.0, 2 * min(above, below))),
            }
        )

    compare("all rows", "", np.ones(len(frame), dtype=bool))
    for name in frame.columns:
        groups = name_groups(frame[name])
        for level in groups.value_counts().index[:_MAX_LEVELS]:
            compare(str(name), str(level), (groups == level).to_numpy())
    return pd.DataFrame(rows)
