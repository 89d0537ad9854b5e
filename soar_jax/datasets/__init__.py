"""The three data sets of the paper, shipped with the package.

Each loader returns ``(X, y)``: a data frame of predictors and a series of 0/1 labels.
"""

from __future__ import annotations

from importlib import resources

import numpy as np
import pandas as pd

__all__ = ["SYNTHETIC_NEGATIVE_RULES", "SYNTHETIC_POSITIVE_RULES", "load_adult", "load_car", "load_synthetic"]

# Section 4.1 of the paper: each rule is a conjunction of (predictor, value).
SYNTHETIC_POSITIVE_RULES = (
    (("x1", 0), ("x2", 1)),
    (("x1", 1), ("x2", 1), ("x3", 0)),
    (("x2", 0), ("x3", 0), ("x5", 1)),
)
SYNTHETIC_NEGATIVE_RULES = (
    (("x1", 1), ("x3", 1)),
    (("x1", 0), ("x2", 0), ("x4", 0)),
    (("x1", 1), ("x2", 0), ("x3", 0)),
)
_PROBABILITY_POSITIVE = {"positive": 1.0, "negative": 0.0, "active": 0.05, "passive": 0.5}


def _read(name: str, text_columns: bool) -> pd.DataFrame:
    with resources.as_file(resources.files(__name__) / name) as path:
        return pd.read_csv(path, dtype=str if text_columns else None, keep_default_na=False, na_values=["?"])


def load_car() -> tuple[pd.DataFrame, pd.Series]:
    """UCI Car Evaluation: 1,728 cars, six categorical predictors.

    Returns
    -------
    X : DataFrame
        ``buyingPrice``, ``maintainPrice``, ``doors``, ``persons``, ``lugBoot``, ``safety``, all text.
    y : Series
        1 when the car was judged acceptable, good or very good (518 rows), 0 when not acceptable.
    """
    table = _read("car.csv.xz", text_columns=True)
    y = (table.pop("class") != "unacc").astype(np.int64).rename("acceptable")
    return table, y


def load_adult() -> tuple[pd.DataFrame, pd.Series]:
    """UCI Adult (census income): 32,561 people, eight categorical and six numeric predictors.

    Returns
    -------
    X : DataFrame
        UCI's ``?`` is a missing value here.
    y : Series
        1 when the person earns more than 50,000 dollars a year (7,841 rows).
    """
    table = _read("adult.csv.xz", text_columns=False)
    y = (table.pop("income") == ">50K").astype(np.int64).rename("income_above_50k")
    return table, y


def _fires(x: pd.DataFrame, rules: tuple[tuple[tuple[str, int], ...], ...]) -> np.ndarray:
    fired = np.zeros(len(x), dtype=bool)
    for rule in rules:
        fired |= np.logical_and.reduce([x[column].to_numpy() == value for column, value in rule])
    return fired


def load_synthetic(seed: int = 0, num_rows: int = 1000) -> tuple[pd.DataFrame, pd.Series]:
    """Draw the paper's synthetic data: five fair binary predictors, labels by two true rule sets.

    A row that fires only the positive (negative) rules is positive (negative); one that fires both is
    positive with probability 0.05, one that fires neither with probability 0.5.

    Parameters
    ----------
    seed : int
        Seed of the draw.
    num_rows : int
        Number of rows; the paper uses 1,000.

    Returns
    -------
    X : DataFrame
        ``x1`` to ``x5``. ``X.attrs["true_state"]`` holds each row's true state by the rules:
        ``"positive"``, ``"negative"``, ``"active"`` (both) or ``"passive"`` (neither).
    y : Series
        The final 0/1 class.

    Notes
    -----
    By the stated rules x = (0,0,0,0,1) fires both rule sets although the paper's table of the 32
    combinations prints (1,0); the rules are followed here.
    """
    generator = np.random.default_rng(seed)
    x = pd.DataFrame(generator.integers(0, 2, (num_rows, 5)), columns=["x1", "x2", "x3", "x4", "x5"])
    positive, negative = _fires(x, SYNTHETIC_POSITIVE_RULES), _fires(x, SYNTHETIC_NEGATIVE_RULES)
    state = np.select(
        [positive & ~negative, negative & ~positive, positive & negative],
        ["positive", "negative", "active"],
        "passive",
    )
    probability = pd.Series(state).map(_PROBABILITY_POSITIVE).to_numpy()
    y = pd.Series((generator.random(num_rows) < probability).astype(np.int64), name="label")
    x.attrs["true_state"] = state.tolist()
    return x, y
