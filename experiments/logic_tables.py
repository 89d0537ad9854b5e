"""Tables whose labels are a formula of some of their 0/1 columns, without noise: random DNFs and multiplexers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

NUM_FRESH = 5000
SHARE = (0.2, 0.8)
Term = list[tuple[int, int]]


@dataclass(frozen=True)
class LogicTable:
    """Training and fresh rows, and the terms whose disjunction is the label."""

    name: str
    kind: str
    X: pd.DataFrame
    y: np.ndarray
    fresh_X: pd.DataFrame
    fresh_y: np.ndarray
    terms: tuple[str, ...]

    def about(self) -> dict:
        return {
            "table": self.name,
            "rows": len(self.X),
            "columns": self.X.shape[1],
            "positive": float(self.y.mean()),
            "terms": list(self.terms),
        }


def satisfies(bits: np.ndarray, terms: list[Term]) -> np.ndarray:
    """Rows for which some term is true."""
    return np.any([np.all([bits[:, column] == value for column, value in term], axis=0) for term in terms], axis=0)


def _table(name: str, kind: str, bits: np.ndarray, terms: list[Term], num_rows: int) -> LogicTable:
    X = pd.DataFrame(bits, columns=[f"x{i}" for i in range(bits.shape[1])])
    y = satisfies(bits, terms).astype(int)
    text = tuple(" and ".join(f"x{column} = {value}" for column, value in sorted(term)) for term in terms)
    fresh_X = X.iloc[num_rows:].reset_index(drop=True)
    return LogicTable(name, kind, X.iloc[:num_rows], y[:num_rows], fresh_X, y[num_rows:], text)


def random_dnf(
    seed: int, rows: tuple[int, ...] = (1000, 2000, 3000, 5000), columns: tuple[int, int] = (30, 60)
) -> LogicTable:
    """5 to 12 terms of 2 to 5 literals, drawn again until a fifth to four fifths of the rows are positive."""
    generator = np.random.default_rng(seed)
    num_rows, num_columns = int(generator.choice(rows)), int(generator.integers(columns[0], columns[1] + 1))
    num_terms = int(generator.integers(5, 13))
    bits = generator.integers(0, 2, (num_rows + NUM_FRESH, num_columns))
    for _ in range(1000):
        terms: list[Term] = []
        for _ in range(num_terms):
            chosen = generator.choice(num_columns, generator.integers(2, 6), replace=False)
            terms.append([(int(column), int(generator.integers(0, 2))) for column in chosen])
        share = satisfies(bits, terms)[:num_rows].mean()
        if SHARE[0] <= share <= SHARE[1]:
            return _table(f"DNF {seed}", "DNF", bits, terms, num_rows)
    raise RuntimeError("no formula with the wanted share of positives was found")


def multiplexer(seed: int, num_address: int, num_noise: int, num_rows: int) -> LogicTable:
    """The label is the data bit that the address bits point at; noise columns are mixed in."""
    generator = np.random.default_rng(seed)
    num_data = 2**num_address
    num_columns = num_address + num_data + num_noise
    bits = generator.integers(0, 2, (num_rows + NUM_FRESH, num_columns))
    places = [int(place) for place in generator.permutation(num_columns)]
    address, data = places[:num_address], places[num_address : num_address + num_data]
    terms = [
        [*((column, which >> k & 1) for k, column in enumerate(address)), (data[which], 1)] for which in range(num_data)
    ]
    return _table(f"{num_address + num_data}-bit multiplexer + {num_noise}", "multiplexer", bits, terms, num_rows)
