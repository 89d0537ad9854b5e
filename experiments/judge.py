"""Figures of a fitted pair on rows held out: errors, claims, and a random forest that rejects as many rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from experiments.tables import forest_ready
from soar_jax import SOARClassifier

TINY = 1e-9


def forest_probability(X: pd.DataFrame, y: np.ndarray, X_out: pd.DataFrame, seed: int) -> np.ndarray:
    """P(positive) of the rows held out by a random forest."""
    both = forest_ready(pd.concat([X, X_out]))
    forest = RandomForestClassifier(300, random_state=seed, n_jobs=2).fit(both.iloc[: len(X)], y)
    return forest.predict_proba(both.iloc[len(X) :])[:, 1]


def rejecting_error(probability: np.ndarray, y: np.ndarray, num_kept: int) -> float:
    """Wrong among the ``num_kept`` surest rows, as a share of all rows."""
    surest = np.argsort(-np.abs(probability - 0.5), kind="stable")[:num_kept]
    return float(((probability > 0.5) != y)[surest].sum() / len(y))


def claim_gap(states: np.ndarray, probability: np.ndarray, y: np.ndarray) -> float:
    """Mean gap between the claimed and the fresh rate of the two consensus states, weighted by their rows."""
    gaps, rows = [], []
    for state, label in (("positive", 1), ("negative", 0)):
        mine = states == state
        if mine.any():
            claimed = probability[mine] if label else 1 - probability[mine]
            gaps.append(abs(claimed.mean() - (y[mine] == label).mean()))
            rows.append(mine.sum())
    return float(np.average(gaps, weights=rows)) if rows else 0.0


def figures(model: SOARClassifier, X: pd.DataFrame, y: np.ndarray, forest: np.ndarray) -> dict[str, float]:
    """All figures of one split; ``forest`` is P(positive) by the forest on the same rows."""
    states, p = model.predict_state(X), model.predict_proba(X)[:, 1]
    decided = np.isin(states, ["positive", "negative"])
    right = np.where(states == "positive", y == 1, y == 0)
    log_loss = lambda q: float(-np.log(np.clip(np.where(y == 1, q, 1 - q), TINY, 1)).mean())
    return {
        "error": float((model.predict(X) != y).mean()),
        "forest_error": float(((forest > 0.5) != y).mean()),
        "log_loss": log_loss(p),
        "forest_log_loss": log_loss(np.clip(forest, 1e-3, 1 - 1e-3)),
        "misclassified": float((decided & ~right).mean()),
        "rejecting_forest": rejecting_error(forest, y, int(decided.sum())),
        "ambiguous": float(1 - decided.mean()),
        "claim_gap": claim_gap(states, p, y),
        "positive_rules": len(model.positive_rules_),
        "negative_rules": len(model.negative_rules_),
    }
