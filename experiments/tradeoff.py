"""Misclassified against ambiguous as the consensus prior varies, beside classifiers with a reject option.

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
from soar_jax import Opinion, SOARClassifier, datasets
from soar_jax.posterior.metrics import risk_coverage

OPINIONS = [
    (0.80, 0.02),
    (0.90, 0.02),
    (0.90, 0.05),
    (0.95, 0.05),
    (0.95, 0.2),
    (0.96, 1.0),
    (0.97, 1.0),
    (0.98, 2.0),
    (0.99, 5.0),
]
PAPER = {"adult": (0.034, 0.432, 0.159), "car": (0.006, 0.242, 0.013)}
ROWS = {"adult": 25_000, "car": 1200}


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
    names = ["car"] if study.quick else ["car", "adult"]
    seeds = [0] if study.quick else [0, 1]
    opinions = OPINIONS[:2] if study.quick else OPINIONS
    figure, axes = plt.subplots(1, len(names), figsize=(6.4 * len(names), 4.6), layout="constrained", squeeze=False)
    points, lines = [], []
    for ax, name in zip(axes[0], names, strict=True):
        X, y = getattr(datasets, f"load_{name}")()
        curves: dict[str, list] = {"random forest, reject option": [], "gradient boosting, reject option": []}
        for seed in seeds:
            X_fit, X_out, y_fit, y_out = train_test_split(X, y, train_size=ROWS[name], random_state=seed)
            for rate, share in opinions:
                opinion = dict(consensus=Opinion(rate, share=share), ambiguous=Opinion(0.5, share=max(0.5, 2 * share)))
                model = SOARClassifier(random_state=seed, **opinion).fit(X_fit, y_fit)
                figures = soar_figures(model, X_out, y_out)
                points.append(
                    {
                        "table": name,
                        "seed": seed,
                        "rate": rate,
                        "share": share,
                        **figures["SOAR"],
                        "error_of_predict": figures["SOAR predict"]["misclassified"],
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
        for rate, share in opinions:
            here = [p for p in mine if (p["rate"], p["share"]) == (rate, share)]
            averaged.append(
                {
                    k: float(np.mean([p[k] for p in here]))
                    for k in ("misclassified", "ambiguous", "active", "passive", "error_of_predict", "rules")
                }
                | {"rate": rate, "share": share}
            )
        ax.plot(
            [a["ambiguous"] for a in averaged],
            [a["misclassified"] for a in averaged],
            "o",
            color="#2a7f9e",
            label="SOAR, one point an opinion",
        )
        ax.plot(
            [a["passive"] for a in averaged],
            [a["misclassified"] for a in averaged],
            "|",
            color="#2a7f9e",
            alpha=0.6,
            label="of which passive",
        )
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
                    "consensus rate",
                    "worth (share of rows)",
                    "misclassified",
                    "ambiguous",
                    "active",
                    "passive",
                    "error of predict",
                    "rules",
                    "forest rejecting as many",
                    "boosting rejecting as many",
                ],
                [
                    [
                        a["rate"],
                        a["share"],
                        a["misclassified"],
                        a["ambiguous"],
                        a["active"],
                        a["passive"],
                        a["error_of_predict"],
                        f"{a['rules']:.1f}",
                        f,
                        b,
                    ]
                    for a, f, b in zip(averaged, *at.values(), strict=True)
                ],
            ),
            "",
            f"Paper: {PAPER[name][0]} misclassified at {PAPER[name][1]} ambiguous.",
            "",
        ]
    return study.save({"points": points}, "The trade-off between errors and ambiguity", lines, figure)


if __name__ == "__main__":
    main()
