"""The tables that studies run on: embedded, scikit-learn's own, and those beside the checkout when present."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from soar_jax import datasets

SHARED_TABLES = Path(__file__).resolve().parents[2] / "shared" / "data" / "tables"


def _shared(name: str, positive: str) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(SHARED_TABLES / f"{name}.csv", na_values=["?"])
    y = (table.pop("class").astype(str) == positive).to_numpy().astype(int)
    return table.drop(columns=["id"], errors="ignore"), y


def _sklearn(name: str, positive: Callable[[np.ndarray], np.ndarray]) -> tuple[pd.DataFrame, np.ndarray]:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    return bunch.data, positive(bunch.target.to_numpy()).astype(int)


def _embedded(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = getattr(datasets, f"load_{name}")()
    return X, y.to_numpy()


MAIN = ("car", "adult", "synthetic", "tictactoe", "mushroom", "german_credit", "breast_cancer_wisconsin")

LOADERS: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    "car": lambda: _embedded("car"),
    "adult": lambda: _embedded("adult"),
    "synthetic": lambda: _embedded("synthetic"),
    "tictactoe": lambda: _shared("tictactoe", "positive"),
    "mushroom": lambda: _shared("mushroom", "p"),
    "german_credit": lambda: _shared("german_credit", "2"),
    "breast_cancer_wisconsin": lambda: _shared("breast_cancer_wisconsin", "4"),
    "sklearn breast_cancer": lambda: _sklearn("breast_cancer", lambda t: t == 0),
    "sklearn wine": lambda: _sklearn("wine", lambda t: t == 1),
    "sklearn iris": lambda: _sklearn("iris", lambda t: t == 1),
    "sklearn diabetes": lambda: _sklearn("diabetes", lambda t: t > np.median(t)),
    "sklearn digits": lambda: _sklearn("digits", lambda t: t >= 5),
}


def available(names: tuple[str, ...] | None = None) -> list[str]:
    """Tables that can be loaded here; those beside the checkout only when that folder is there."""
    wanted = names or tuple(LOADERS)
    needs_shared = {"tictactoe", "mushroom", "german_credit", "breast_cancer_wisconsin"}
    return [name for name in wanted if name not in needs_shared or SHARED_TABLES.is_dir()]


def forest_ready(X: pd.DataFrame) -> pd.DataFrame:
    """One-hot text columns and keep numbers, with a value of its own for missing: what a forest needs."""
    numbers = X.select_dtypes("number")
    text = X.drop(columns=numbers.columns).astype(object)
    dummies = pd.get_dummies(text.fillna("(missing)")) if text.shape[1] else pd.DataFrame(index=X.index)
    ready = pd.concat([numbers.fillna(numbers.min() - 1), dummies], axis=1)
    return ready.set_axis([f"f{i}" for i in range(ready.shape[1])], axis=1)
