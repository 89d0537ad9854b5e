"""Columns of plain numbers are read many at a time, with the result of reading each by itself."""

import warnings

import numpy as np
import pandas as pd
import pytest

from soar_jax.data.columns import TableValues
from soar_jax.data.learn import learn_contract
from soar_jax.data.suspects import find_suspects
from soar_jax.data.table import describe_column, describe_numbers

pytestmark = pytest.mark.filterwarnings("ignore::soar_jax._base.DataWarning")


def numbers(seed):
    """Numbers of every kind: ties, missing and infinite ones, running numbers, some that tell the label."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 140))
    y = rng.random(size) < rng.uniform(0.2, 0.8)
    few = rng.integers(0, 9, size)
    kinds = [
        rng.normal(size=size), few, np.arange(size) + 3, np.where(rng.random(size) < 0.3, np.nan, few),
        np.where(y, 1, -1) * rng.random(size), rng.choice([np.inf, -np.inf, 1, 2, np.nan], size), np.full(size, 2.5),
        rng.normal(size=size).astype(np.float32), rng.integers(0, 2, size), rng.choice([0.25, np.nan], size),
    ]  # fmt: skip
    return pd.DataFrame({f"c{i}": kind for i, kind in enumerate(kinds)}), y, rng


@pytest.mark.parametrize("seed", range(30))
def test_28_10_contracts_and_suspects_are_those_of_each_column_alone(seed):
    X, y, _ = numbers(seed)
    alone = X.drop(columns="c7")
    together, contract = learn_contract(alone, {"c1": "number"}, has_names=True)
    singly, wanted = learn_contract(alone.astype("Float64"), {"c1": "number"}, has_names=True)
    assert contract == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert find_suspects(together, contract, y) == find_suspects(singly, wanted, y)


@pytest.mark.parametrize("seed", range(30))
def test_28_10_cuts_are_those_of_each_column_alone(seed):
    X, y, rng = numbers(seed)
    weights, max_bins = rng.integers(1, 4, len(X)), int(rng.integers(2, 8))
    table = TableValues(X)
    found = {column.name: column for column in describe_numbers(table, list(X), y, weights, max_bins)}
    for name, column in found.items():
        assert column == describe_column(table[name], y, weights, lambda p, n: p + n > 0, max_bins, "supervised")
    many = {name for name in X if X[name].nunique() > 2}
    assert set(found) <= many and (len(X) < 20 or set(found) == many)
