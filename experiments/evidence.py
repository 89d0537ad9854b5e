"""How many rows should a table be worth? Candidates for the default power of the likelihood, on noisy and clean tables.

Criteria, written down before the run. A candidate is out when, on any table,
(1) states of fresh rows after three seeds of the fit are equal in less than .90 on average, or
(2) its error on fresh rows is above that at power 1 by more than .005 and by more than twice its standard error.
Among the others the one that gives the fewest rules on average is taken; disjoint halves of the rows are reported beside.

Run: python -m experiments.evidence [--quick]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from experiments.made_tables import rare_table, smooth_table, weak_rules_table
from experiments.study import Study, table
from experiments.tables import LOADERS, available
from soar_jax import SOARClassifier
from soar_jax.score.power import effective_rows

SEEDS = (0, 1, 2)
EQUAL, WORSE = 0.90, 0.005
RULES: dict[str, Callable[[float], float]] = {
    "power 1": lambda n: 1.0,
    "20,000 / (20,000 + n)": lambda n: 20_000 / (20_000 + n),
    "10,000 / (10,000 + n)": lambda n: 10_000 / (10_000 + n),
    "at most 5,000 rows": lambda n: min(1.0, 5_000 / n),
    "at most 4,000 rows": lambda n: min(1.0, 4_000 / n),
    "at most 3,000 rows": lambda n: min(1.0, 3_000 / n),
    "at most 2,000 rows": lambda n: min(1.0, 2_000 / n),
}
Split = tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]


def _cut(X: pd.DataFrame, y: np.ndarray, num_rows: int, seed: int) -> Split:
    rows = np.random.default_rng(seed).permutation(len(y))
    train, fresh = rows[:num_rows], rows[num_rows:]
    return X.iloc[train], y[train], X.iloc[fresh], y[fresh]


def _loaded(name: str, share: float, seed: int) -> Split:
    X, y = LOADERS[name]()
    return _cut(X, y, int(share * len(y)) if share < 1 else int(share), seed)


TABLES: dict[str, Callable[[], Split]] = {
    "adult, 25,000 rows": lambda: _loaded("adult", 25_000, 77),
    "adult, 5,000 rows": lambda: _loaded("adult", 5_000, 77),
    "adult, other 5,000 rows": lambda: _loaded("adult", 5_000, 1),
    "mushroom": lambda: _loaded("mushroom", 0.7, 7),
    "german_credit": lambda: _loaded("german_credit", 0.7, 7),
    "car": lambda: _loaded("car", 0.7, 7),
    "tictactoe": lambda: _loaded("tictactoe", 0.7, 7),
    "sklearn digits": lambda: _loaded("sklearn digits", 0.7, 7),
    "made: 30 weak rules, 8,000 rows": lambda: _cut(*weak_rules_table(1, 16_000), 8_000, 0),
    "made: smooth, 7,000 rows": lambda: _cut(*smooth_table(1, 14_000, 10), 7_000, 0),
    "made: 1 % positive, 200,000 rows": lambda: _cut(*rare_table(1, 300_000), 200_000, 0),
}
QUICK = ("german_credit", "car")


def _answers(model: SOARClassifier, X: pd.DataFrame, y: np.ndarray) -> dict:
    states = np.asarray(model.predict_state(X), dtype=str)
    positive = model.predict_proba(X)[:, 1]
    return {
        "states": states,
        "wrong": np.asarray(model.predict(X)) != y,
        "log_loss": float(-np.log(np.clip(np.where(y == 1, positive, 1 - positive), 1e-6, 1)).mean()),
        "rules": len(model.rules_),
    }


def _equal(found: list[dict]) -> float:
    return float(np.mean([(a["states"] == b["states"]).mean() for a, b in combinations(found, 2)]))


def at_power(power: float, split: Split, with_halves: bool) -> dict:
    """Fits with several seeds, and to both halves of the rows, at one power."""
    X, y, fresh_X, fresh_y = split
    found, seconds = [], []
    for seed in SEEDS:
        start = time.perf_counter()
        model = SOARClassifier(power=power, random_state=seed).fit(X, y)
        seconds.append(time.perf_counter() - start)
        found.append(_answers(model, fresh_X, fresh_y))
    halves = []
    for part in np.array_split(np.random.default_rng(5).permutation(len(y)), 2) if with_halves else ():
        halves.append(_answers(SOARClassifier(power=power).fit(X.iloc[part], y[part]), fresh_X, fresh_y))
    return {
        "power": power,
        "seeds_equal": _equal(found),
        "halves_equal": _equal(halves) if halves else None,
        "wrong": np.mean([one["wrong"] for one in found], axis=0),
        "error": float(np.mean([one["wrong"].mean() for one in found])),
        "log_loss": float(np.mean([one["log_loss"] for one in found])),
        "rules": float(np.mean([one["rules"] for one in found])),
        "seconds": min(seconds),
    }


def on_table(study: Study, name: str) -> list[dict]:
    """All candidates on one table; those that give the same power share its fits."""
    split = TABLES[name]()
    positives = int(split[1].sum())
    num_rows = effective_rows(positives, len(split[1]) - positives)
    by_power: dict[float, dict] = {}
    lines = []
    for candidate, rule in RULES.items():
        power = round(rule(num_rows), 4)
        if power not in by_power:
            by_power[power] = at_power(power, split, with_halves=len(split[1]) < 100_000)
            study.say(f"{name}, power {power:.3f}: error {by_power[power]['error']:.4f}")
        found, full = by_power[power], by_power[1.0]
        difference = found["wrong"] - full["wrong"]
        error = float(difference.std() / np.sqrt(len(difference)))
        is_worse = difference.mean() > max(WORSE, 2 * error)
        lines.append(
            {
                "table": name,
                "effective_rows": num_rows,
                "candidate": candidate,
                **{key: value for key, value in found.items() if key != "wrong"},
                "error_more": float(difference.mean()),
                "standard_error": error,
                "is_out": bool(found["seeds_equal"] < EQUAL or is_worse),
            }
        )
    return lines


def summary(candidate: str, lines: list[dict]) -> list:
    mine = [line for line in lines if line["candidate"] == candidate]
    halves = [line["halves_equal"] for line in mine if line["halves_equal"] is not None]
    return [
        candidate,
        ", ".join(line["table"] for line in mine if line["is_out"]) or "none",
        min(line["seeds_equal"] for line in mine),
        float(np.mean(halves)),
        max(line["error_more"] for line in mine),
        float(np.mean([line["error"] for line in mine])),
        float(np.mean([line["log_loss"] for line in mine])),
        f"{np.mean([line['rules'] for line in mine]):.1f}",
    ]


def main(argv: list[str] | None = None) -> dict:
    study = Study("evidence", __doc__, argv)
    warnings.simplefilter("ignore")
    needs = {name: name.split(",")[0] for name in TABLES if not name.startswith("made")}
    names = [name for name in TABLES if name not in needs or available((needs[name],))]
    lines = [line for name in (QUICK if study.quick else names) for line in on_table(study, name)]
    header = [
        "candidate",
        "out on",
        "seeds equal, worst",
        "halves equal",
        "error more, worst",
        "error",
        "log loss",
        "rules",
    ]
    details = ["table", "candidate", "power", "seeds equal", "halves equal", "error", "log loss", "rules", "seconds"]
    page = [
        "Three seeds of the default fit and two disjoint halves at each power; error and log loss of `predict` and "
        "`predict_proba` on fresh rows. Rows are *effective*: 4 n+ n- / n. A candidate is out on a table where the states of "
        f"fresh rows are equal between seeds in less than {EQUAL:.2f}, or where its error is above that at power 1 by more than "
        f"{WORSE} and twice its standard error.",
        "",
        *table(header, [summary(candidate, lines) for candidate in RULES]),
        "",
        *table(
            details,
            [
                [
                    line["table"],
                    line["candidate"],
                    f"{line['power']:.3f}",
                    f"{line['seeds_equal']:.3f}",
                    "" if line["halves_equal"] is None else f"{line['halves_equal']:.3f}",
                    line["error"],
                    line["log_loss"],
                    f"{line['rules']:.1f}",
                    f"{line['seconds']:.1f}",
                ]
                for line in lines
            ],
        ),
    ]  # fmt: skip
    return study.save({"lines": lines}, "How many rows a table is worth", page)


if __name__ == "__main__":
    main()
