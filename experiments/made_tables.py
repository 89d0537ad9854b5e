"""Tables made for studies: noise, and rules planted in noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


def mixed_columns(generator: np.random.Generator, num_rows: int, num_columns: int) -> pd.DataFrame:
    """Columns of five kinds in turn: normal, skewed, counts, categories of 2 to 6 levels, yes or no."""
    makers = (
        lambda: generator.normal(size=num_rows).round(3),
        lambda: np.exp(generator.normal(size=num_rows)).round(2),
        lambda: generator.poisson(generator.uniform(1, 6), num_rows),
        lambda: generator.choice(list("abcdef")[: generator.integers(2, 7)], num_rows),
        lambda: generator.random(num_rows) < generator.uniform(0.1, 0.9),
    )
    return pd.DataFrame({f"c{i}": makers[i % len(makers)]() for i in range(num_columns)})


def noise_table(seed: int, num_rows: int, base_rate: float, num_columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Labels that do not depend on the columns."""
    generator = np.random.default_rng(seed)
    X = mixed_columns(generator, num_rows, num_columns)
    y = np.zeros(num_rows, dtype=int)
    y[: max(10, round(base_rate * num_rows))] = 1
    return X, generator.permutation(y)


@dataclass(frozen=True)
class Planted:
    """A table with rules planted in it: training rows, fresh rows, and which rows each true rule covers."""

    X: pd.DataFrame
    y: np.ndarray
    fresh_X: pd.DataFrame
    fresh_y: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


def _random_rule(generator: np.random.Generator, X: pd.DataFrame, low: float, high: float) -> np.ndarray:
    """Rows of a random conjunction of one to three conditions that covers a share of the rows between two bounds."""
    for _ in range(2000):
        covered = np.ones(len(X), dtype=bool)
        for name in generator.choice(X.columns, generator.integers(1, 4), replace=False):
            values = X[name]
            if pd.api.types.is_bool_dtype(values):
                covered &= (values == generator.choice([True, False])).to_numpy()
            elif pd.api.types.is_numeric_dtype(values):
                cut = values.quantile(generator.uniform(0.2, 0.8))
                covered &= ((values <= cut) if generator.random() < 0.5 else (values > cut)).to_numpy()
            else:
                covered &= (values == generator.choice(values.unique())).to_numpy()
        if low <= covered.mean() <= high:
            return covered
    raise RuntimeError("no rule of the wanted width was found")


def planted_table(
    seed: int, num_rows: int, num_columns: int, rules_per_side: int, precision: float, base_rate: float = 0.4
) -> Planted:
    """Rows of true rules have their label with the given probability, clashing rows one half, others the base rate."""
    generator = np.random.default_rng(seed)
    num_fresh = 5000
    X = mixed_columns(generator, num_rows + num_fresh, num_columns)
    sides = []
    for _ in range(2):
        rules = [_random_rule(generator, X, 0.05, 0.20) for _ in range(rules_per_side)]
        sides.append(np.array(rules))
    plus, minus = (rules.any(axis=0) for rules in sides)
    rate = np.select([plus & ~minus, minus & ~plus, plus & minus], [precision, 1 - precision, 0.5], base_rate)
    y = (generator.random(len(X)) < rate).astype(int)
    train, fresh = slice(0, num_rows), slice(num_rows, None)
    return Planted(X.iloc[train], y[train], X.iloc[fresh], y[fresh], sides[0][:, fresh], sides[1][:, fresh])
