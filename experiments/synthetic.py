"""The paper's synthetic data: the 32 combinations, the comparison table, and recovery as rows grow.

Run: python -m experiments.synthetic [--quick]
"""

from __future__ import annotations

import itertools

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.compare import comparison_lines, means, one_split, rule_lines
from experiments.study import Study, table
from soar_jax import SOARClassifier, datasets

PAPER = {"SOAR": (0.0, 0.25), "SOAR forced": (0.005, 0.07), "BOA": (0.05, 0.0), "random forest": (0.05, 0.0)}
PAIR = {"positive": "(1,0)", "negative": "(0,1)", "active": "(1,1)", "passive": "(0,0)"}
# five binary columns: patterns of up to four literals cost nothing and describe single combinations nearly exactly
SETTING = dict(max_length=4)
COLUMNS = ["x1", "x2", "x3", "x4", "x5"]


def combinations() -> pd.DataFrame:
    return pd.DataFrame(list(itertools.product((0, 1), repeat=5)), columns=COLUMNS)


def true_states(cells: pd.DataFrame) -> np.ndarray:
    """States by the true rules, from the package's own statement of them."""
    fires = [
        np.any([np.logical_and.reduce([cells[c] == v for c, v in rule]) for rule in rules], axis=0)
        for rules in (datasets.SYNTHETIC_POSITIVE_RULES, datasets.SYNTHETIC_NEGATIVE_RULES)
    ]
    return np.select(
        [fires[0] & ~fires[1], fires[1] & ~fires[0], fires[0]], ["positive", "negative", "active"], "passive"
    )


def main(argv=None) -> dict:
    study = Study("synthetic", __doc__, argv)
    cells = combinations()
    truth = true_states(cells)
    pure = np.isin(truth, ["positive", "negative"])
    num_draws = 2 if study.quick else 20
    rows, right, first, passive = [], [], None, []
    for seed in range(num_draws):
        X, y = datasets.load_synthetic(seed=seed)
        X_fit, X_out, y_fit, y_out = train_test_split(X, y, train_size=800, random_state=seed)
        model, found = one_split(lambda s: SOARClassifier(random_state=s, **SETTING), X_fit, y_fit, X_out, y_out, seed)
        rows += found
        passive.append(float((true_states(X_out) == "passive").mean()))
        right.append(int((model.predict_state(cells) == truth)[pure].sum()))
        first = first or model
        study.say(f"data set {seed}: {right[-1]} of {pure.sum()} pure combinations right")
    figures = means(pd.DataFrame(rows))
    sizes = [200, 1000] if study.quick else [200, 500, 1000, 2000, 5000, 20_000, 100_000]
    growth = []
    for size in sizes:
        agree = []
        for seed in range(2 if study.quick else 10):
            X, y = datasets.load_synthetic(seed=1000 + seed, num_rows=size)
            states = SOARClassifier(random_state=seed, **SETTING).fit(X, y).predict_state(cells)
            agree.append((states == truth, (states == truth)[pure]))
        growth.append(
            {
                "rows": size,
                "all_32_right": float(np.mean([a.all() for a, _ in agree])),
                "all_26_right": float(np.mean([p.all() for _, p in agree])),
                "share_of_32": float(np.mean([a.mean() for a, _ in agree])),
            }
        )
        study.say(str(growth[-1]))
    predicted = first.predict_state(cells)
    listing = [
        [*map(int, cell), PAIR[t], PAIR[p] + ("" if t == p else "*")]
        for cell, t, p in zip(cells.to_numpy(), truth, predicted, strict=True)
    ]
    record = {
        "num_data_sets": num_draws,
        "figures": figures,
        "true_passive_share": float(np.mean(passive)),
        "pure_combinations_right": right,
        "data_sets_with_all_pure_right": int(sum(n == pure.sum() for n in right)),
        "growth": growth,
        "truth": truth.tolist(),
        "prediction": predicted.tolist(),
    }
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    ax.plot(sizes, [g["all_26_right"] for g in growth], "o-", color="#2a7f9e", label="all 26 pure combinations right")
    ax.plot(sizes, [g["all_32_right"] for g in growth], "s-", color="#c8553d", label="all 32 right")
    ax.set_xscale("log")
    ax.set_ylim(-0.03, 1.05)
    ax.set_xlabel("rows")
    ax.set_ylabel("share of data sets")
    ax.legend(frameon=False)
    lines = [
        f"{num_draws} draws of 1,000 rows, 800 to fit and 200 to judge, `max_length=4`, else defaults. Mean ± standard deviation.",
        "",
        *comparison_lines(figures, PAPER),
        "",
        f"True passive share of the rows judged: {record['true_passive_share']:.4f}. All {pure.sum()} pure combinations "
        f"right in {record['data_sets_with_all_pure_right']} of {num_draws} data sets.",
        "",
        "Rows that fire both true rule sets are negative with probability 0.95, so that the learned pair has no reason to "
        "call them ambiguous: where it does not, they count against recovery of all 32 below and stand with a star.",
        "",
        "## True and learned rules (first data set)",
        "",
        f"Truth, positive: {datasets.SYNTHETIC_POSITIVE_RULES}; negative: {datasets.SYNTHETIC_NEGATIVE_RULES}.",
        "",
        *rule_lines(first),
        "",
        "## The 32 combinations (first data set)",
        "",
        *table([*COLUMNS, "truth", "prediction"], listing),
        "",
        "## As rows grow",
        "",
        *table(
            ["rows", "all 32 right", "all 26 pure right", "mean share of 32"],
            [[g["rows"], g["all_32_right"], g["all_26_right"], g["share_of_32"]] for g in growth],
        ),
    ]
    return study.save(record, "Synthetic data", lines, figure)


if __name__ == "__main__":
    main()
