"""Misclassified against ambiguous as the bound of consensus varies, beside classifiers with a reject option.

Run: python -m experiments.tradeoff [--quick]
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from experiments.compare import forest, soar_figures
from experiments.study import Study, table
from experiments.tables import LOADERS, available
from soar_jax import ErrorRatio, Precision, SOARClassifier
from soar_jax.posterior.metrics import risk_coverage

SETTINGS = {f"ErrorRatio({d})": ErrorRatio(d) for d in (0.7, 0.5, 0.3, 0.2, 0.1, 0.05)} | {
    f"Precision({p})": Precision(p) for p in (0.7, 0.8, 0.9, 0.95)
}
PAPER = {"adult": (0.034, 0.432, 0.159), "car": (0.006, 0.242, 0.013)}
ROWS = {"adult": 25_000, "car": 1200, "synthetic": 800}
TABLES = ("car", "synthetic", "adult", "german_credit", "tictactoe", "mushroom")


def boosted(seed: int):
    from sklearn.compose import make_column_selector, make_column_transformer

    text = make_column_selector(dtype_include=[object, "string", "category"])
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(
        make_column_transformer((codes, text), remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=seed),
    )


def main(argv=None) -> dict:
    study = Study("tradeoff", __doc__, argv)
    names = ["car"] if study.quick else available(TABLES)
    seeds = [0] if study.quick else [0, 1]
    settings = dict(list(SETTINGS.items())[:2]) if study.quick else SETTINGS
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, 4 * rows), layout="constrained", squeeze=False)
    points, lines = [], []
    for ax, name in zip(axes.ravel(), names, strict=False):
        X, y = LOADERS[name]()
        curves: dict[str, list] = {"random forest, reject option": [], "gradient boosting, reject option": []}
        for seed in seeds:
            X_fit, X_out, y_fit, y_out = train_test_split(X, y, train_size=ROWS.get(name, 0.7), random_state=seed)
            for setting, bound in settings.items():
                model = SOARClassifier(random_state=seed, consensus=bound).fit(X_fit, y_fit)
                figures = soar_figures(model, X_out, y_out)
                p = model.predict_proba(X_out)[:, 1]
                points.append(
                    {
                        "table": name,
                        "seed": seed,
                        "setting": setting,
                        **figures["SOAR"],
                        "error_of_predict": figures["SOAR predict"]["misclassified"],
                        "log_loss": float(-np.log(np.clip(np.where(np.asarray(y_out) == 1, p, 1 - p), 1e-9, 1)).mean()),
                        "rules": len(model.rules_),
                    }
                )
            for label, rival in zip(curves, (forest(seed), boosted(seed)), strict=True):
                p = rival.fit(X_fit, y_fit).predict_proba(X_out)[:, 1]
                coverage, risk = risk_coverage(np.asarray(y_out) == 1, p)
                grid = np.linspace(0, 1, 101)
                curves[label].append(np.interp(1 - grid, coverage, risk * coverage))
            study.say(f"{name}, split {seed}")
        for (label, runs), colour in zip(curves.items(), ("#777777", "#8e6bb0"), strict=True):
            ax.plot(np.linspace(0, 1, 101), np.mean(runs, axis=0), color=colour, label=label)
        mine = [p for p in points if p["table"] == name]
        averaged = []
        for setting in settings:
            here = [p for p in mine if p["setting"] == setting]
            averaged.append(
                {
                    k: float(np.mean([p[k] for p in here]))
                    for k in (
                        "misclassified",
                        "ambiguous",
                        "active",
                        "passive",
                        "error_of_predict",
                        "log_loss",
                        "rules",
                    )
                }
                | {"setting": setting}
            )
        ax.plot(
            [a["ambiguous"] for a in averaged],
            [a["misclassified"] for a in averaged],
            "o",
            color="#2a7f9e",
            label="SOAR, one point per bound",
        )
        ax.plot(
            [a["passive"] for a in averaged],
            [a["misclassified"] for a in averaged],
            "|",
            color="#2a7f9e",
            alpha=0.6,
            label="of which passive",
        )
        if name in PAPER:
            ax.plot(PAPER[name][1], PAPER[name][0], "X", color="#c8553d", markersize=9, label="paper's SOAR")
            ax.plot(0, PAPER[name][2], "x", color="#c8553d", label="paper's random forest")
        ax.set_xlabel("ambiguous or rejected, share of rows")
        ax.set_ylabel("misclassified, share of rows")
        ax.set_title(name.capitalize(), fontsize=10)
        ax.set_xlim(-0.02, 0.75)
        ax.set_ylim(bottom=-0.001)
        ax.legend(frameon=False, fontsize=8)
        at = {
            label: [float(np.interp(a["ambiguous"], np.linspace(0, 1, 101), np.mean(runs, axis=0))) for a in averaged]
            for label, runs in curves.items()
        }
        lines += [
            f"## {name.capitalize()}, {len(seeds)} splits",
            "",
            *table(
                [
                    "consensus",
                    "misclassified",
                    "ambiguous",
                    "active",
                    "passive",
                    "error of predict",
                    "log loss",
                    "rules",
                    "forest rejecting as many",
                    "boosting rejecting as many",
                ],
                [
                    [
                        a["setting"],
                        a["misclassified"],
                        a["ambiguous"],
                        a["active"],
                        a["passive"],
                        a["error_of_predict"],
                        a["log_loss"],
                        f"{a['rules']:.1f}",
                        f,
                        b,
                    ]
                    for a, f, b in zip(averaged, *at.values(), strict=True)
                ],
            ),
            "",
        ]
        if name in PAPER:
            lines += [f"Paper: {PAPER[name][0]} misclassified at {PAPER[name][1]} ambiguous.", ""]
    lines.insert(
        0,
        "A stricter bound usually leaves more rows ambiguous, but not on every table: the pair may change its way of reading.\n",
    )
    return study.save({"points": points}, "The trade-off between errors and ambiguity", lines, figure)


if __name__ == "__main__":
    main()
