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


def weak_rules_table(
    seed: int, num_rows: int = 8000, num_columns: int = 25, num_rules: int = 30
) -> tuple[pd.DataFrame, np.ndarray]:
    """Categorical columns, and many conjunctions that each shift the log odds a little."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 7, num_columns)
    cells = np.stack([generator.choice(n, num_rows, p=generator.dirichlet(np.full(n, 4.0))) for n in sizes], axis=1)
    log_odds = np.zeros(num_rows)
    for i in range(num_rules):
        columns = generator.choice(num_columns, generator.integers(1, 4), replace=False)
        covered = np.all([cells[:, c] == generator.integers(sizes[c]) for c in columns], axis=0)
        log_odds += (1 if i % 2 else -1) * generator.uniform(0.6, 1.8) * covered
    y = generator.random(num_rows) < 1 / (1 + np.exp(-log_odds))
    return pd.DataFrame({f"c{i}": np.array(list("abcdef"))[cells[:, i]] for i in range(num_columns)}), y.astype(int)


def smooth_table(seed: int, num_rows: int = 7000, num_columns: int = 20) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers whose labels follow a smooth score and much noise: no rule is true."""
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(num_columns, num_columns)) * 0.4 + np.eye(num_columns)
    values = generator.normal(size=(num_rows, num_columns)) @ mixing
    weights = generator.normal(size=num_columns) * 0.35
    score = values @ weights + 0.3 * np.abs(values[:, 0]) - 0.3 * values[:, 1] * (values[:, 2] > 0)
    y = generator.random(num_rows) < 1 / (1 + np.exp(-(score - np.median(score))))
    return pd.DataFrame(values.round(3), columns=[f"x{i}" for i in range(num_columns)]), y.astype(int)


RARE_RULES = (("c1 = b", "c4 = a"), ("c2 = c", "c7 = b"), ("c0 = a", "c9 = c"))
"""Conjunctions of `rare_table` in which positives are many."""


def rare_table(seed: int, num_rows: int = 200_000, num_columns: int = 12) -> tuple[pd.DataFrame, np.ndarray]:
    """One per cent of positives, most of them in three narrow conjunctions."""
    generator = np.random.default_rng(seed)
    cells = generator.choice(4, (num_rows, num_columns), p=(0.55, 0.25, 0.12, 0.08))
    X = pd.DataFrame({f"c{i}": np.array(list("dbac"))[cells[:, i]] for i in range(num_columns)})
    covered = np.zeros(num_rows, dtype=bool)
    for rule in RARE_RULES:
        covered |= np.all([X[text.split(" = ")[0]] == text.split(" = ")[1] for text in rule], axis=0)
    y = generator.random(num_rows) < np.where(covered, 0.7 * 0.01 / covered.mean(), 0.003 / (1 - covered.mean()))
    return X, y.astype(int)


def two_readings_table(seed: int, num_readings: int = 2, num_rows: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that tell the label equally well and independently of each other, each with a dozen near-copies.

    With one rule per side only one of the columns can be read. A pair that reads one of them for the positive and
    another for the negative class is worth far less, so that nothing leads from one reading to the other step by step.
    """
    generator = np.random.default_rng(seed)
    y = np.repeat([0, 1], num_rows // 2)
    columns = {}
    for reading in "uv"[:num_readings]:
        wrong = np.concatenate([generator.permutation(num_rows // 2) < 0.15 * num_rows // 2 for _ in range(2)])
        column = y ^ wrong
        columns[reading] = column
        for copy in range(12):
            flipped = generator.permutation(num_rows) < 0.03 * num_rows
            columns[f"{reading}{copy}"] = column ^ flipped
    return pd.DataFrame({name: np.where(values, "yes", "no") for name, values in columns.items()}), y
