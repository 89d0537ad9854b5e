"""SOAR, SOAR forced, BOA and a random forest on the same splits, in the paper's two figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from experiments.study import Study, table
from soar_jax import BOAClassifier, SOARClassifier

METHODS = ("SOAR", "SOAR forced", "SOAR predict", "BOA", "random forest")


def encoder():
    """Dummy variables for text, numbers as they are."""
    text = make_column_selector(dtype_include=[object, "string", "category"])
    return make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder="passthrough")


def forest(seed: int):
    return make_pipeline(encoder(), RandomForestClassifier(200, random_state=seed, n_jobs=2))


def soar_figures(model: SOARClassifier, X: pd.DataFrame, y: pd.Series) -> dict[str, dict[str, float]]:
    """Misclassified and ambiguous shares of the pair, of the forced rule, and of always predicting."""
    cases = model.taxonomy(X, y) / len(y)
    forced = model.predict_forced(X)
    is_open = np.array([label is None for label in forced])
    wrong = ~is_open & (forced != np.asarray(y))
    return {
        "SOAR": {
            "misclassified": cases["CFP"] + cases["CFN"],
            "ambiguous": cases[["AAP", "AAN", "PAP", "PAN"]].sum(),
            "active": cases[["AAP", "AAN"]].sum(),
            "passive": cases[["PAP", "PAN"]].sum(),
        },
        "SOAR forced": {"misclassified": wrong.mean(), "ambiguous": is_open.mean()},
        "SOAR predict": {"misclassified": float((model.predict(X) != np.asarray(y)).mean()), "ambiguous": 0.0},
    }


def one_split(
    make_soar: Callable[[int], SOARClassifier], X_fit, y_fit, X_out, y_out, seed: int, *, rivals: bool = True
):
    model = make_soar(seed).fit(X_fit, y_fit)
    figures = soar_figures(model, X_out, y_out)
    if rivals:
        for name, rival in (("BOA", BOAClassifier(random_state=seed)), ("random forest", forest(seed))):
            error = float((rival.fit(X_fit, y_fit).predict(X_out) != np.asarray(y_out)).mean())
            figures[name] = {"misclassified": error, "ambiguous": 0.0}
    rows = [{"seed": seed, "method": name, **values} for name, values in figures.items()]
    return model, rows


def over_splits(study: Study, make_soar, X, y, num_train: int, seeds: Sequence[int], *, rivals: bool = True):
    """Rows of figures for every split, and the model of the first with its split."""
    rows, first = [], None
    for seed in seeds:
        X_fit, X_out, y_fit, y_out = train_test_split(X, y, train_size=num_train, random_state=seed)
        model, found = one_split(make_soar, X_fit, y_fit, X_out, y_out, seed, rivals=rivals)
        rows += found
        first = first or (model, (X_fit, X_out, y_fit, y_out))
        study.say(
            f"split {seed}: " + ", ".join(f"{r['method']} {r['misclassified']:.4f}/{r['ambiguous']:.3f}" for r in found)
        )
    return pd.DataFrame(rows), *first


def means(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Mean and standard deviation of each figure by method."""
    grouped = rows.groupby("method", sort=False)[["misclassified", "ambiguous"]]
    mean, spread = grouped.mean(), grouped.std(ddof=1).fillna(0.0)
    return {
        name: {
            "misclassified": float(mean.loc[name, "misclassified"]),
            "misclassified_sd": float(spread.loc[name, "misclassified"]),
            "ambiguous": float(mean.loc[name, "ambiguous"]),
            "ambiguous_sd": float(spread.loc[name, "ambiguous"]),
        }
        for name in mean.index
    }


def comparison_lines(figures: dict, paper: dict[str, tuple[float, float]]) -> list[str]:
    """The comparison table with the paper's values in the next column."""

    def cell(name, what):
        return f"{figures[name][what]:.4f} ± {figures[name][what + '_sd']:.4f}"

    return table(
        ["method", "misclassified", "paper", "ambiguous", "paper"],
        [
            [
                name,
                cell(name, "misclassified"),
                f"{paper[name][0]:g}" if name in paper else "",
                cell(name, "ambiguous"),
                f"{paper[name][1]:g}" if name in paper else "",
            ]
            for name in figures
        ],
    )


def rule_lines(model) -> list[str]:
    """Both rule sets with their figures on the training rows."""
    rules = model.rules_
    return table(
        ["class", "rule", "support", "precision"],
        [[r["class"], r["rule"], r["support"], f"{r['precision']:.3f}"] for _, r in rules.iterrows()],
    )


def fired(rules, row: pd.DataFrame) -> str:
    """The rules of a set that are true of one row."""
    return "; ".join(str(rule) for rule in rules if rule.fires(row)[0]) or "none"


def ambiguous_examples(model, X, y, count: int, columns: Sequence[str] | None = None) -> list[dict]:
    """Rows of each ambiguous state with the rules that fire on them."""
    states = model.predict_state(X)
    found = []
    for state in ("active", "passive"):
        for index in np.flatnonzero(states == state)[:count]:
            row = X.iloc[[index]]
            shown = row.iloc[0] if columns is None else row.iloc[0][list(columns)]
            found.append(
                {
                    "state": state,
                    **{name: str(value) for name, value in shown.items()},
                    "label": int(np.asarray(y)[index]),
                    "positive rules": fired(model.positive_rules_, row),
                    "negative rules": fired(model.negative_rules_, row),
                }
            )
    return found


def dict_lines(rows: list[dict]) -> list[str]:
    return table(list(rows[0]), [list(row.values()) for row in rows]) if rows else ["none"]
