"""Are averaged probabilities calibrated, and better than the fitted pair's? Held-out halves of three tables.

Run: python -m experiments.calibration [--quick]
"""

from __future__ import annotations

import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from experiments.study import Study, table
from soar_jax import Opinion, SOARClassifier, datasets
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.posterior.metrics import brier_score, calibration_error
from soar_jax.posterior.plots import plot_calibration, plot_risk_coverage

# label: table, settings of the fit, settings of the draws
SETTINGS = {
    "car": ("car", dict(max_patterns=150, min_support=0.02), {}),
    "car, weaker opinion": (
        "car",
        dict(max_patterns=150, min_support=0.02, ambiguous=Opinion(0.5, share=0.015)),
        {},
    ),
    "synthetic": ("synthetic", dict(max_patterns=150), {}),
    "adult": ("adult", dict(max_patterns=150), dict(num_temperatures=28, time_budget=200.0)),
}


def main(argv=None) -> dict:
    study = Study("calibration", __doc__, argv)
    names = ["synthetic"] if study.quick else list(SETTINGS)
    seeds = [0]
    rows = []
    figure, axes = plt.subplots(2, len(names), figsize=(5 * len(names), 8.6), layout="constrained", squeeze=False)
    for column, name in enumerate(names):
        source, fit, draw = SETTINGS[name]
        X, y = getattr(datasets, f"load_{source}")()
        for seed in seeds:
            X_fit, X_out, y_fit, y_out = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            model = SOARClassifier(**fit).fit(X_fit, y_fit)
            fitted = model.predict_proba(X_out)[:, 1]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UntrustedPosteriorWarning)
                post = model.sample_posterior(num_draws=100 if study.quick else 1000, **draw)
                averaged = post.predict_proba(X_out)[:, 1]
            truth = np.asarray(y_out) == 1
            rows.append(
                {
                    "table": name,
                    "seed": seed,
                    "ece_fitted": calibration_error(truth, fitted),
                    "ece_averaged": calibration_error(truth, averaged),
                    "brier_fitted": brier_score(truth, fitted),
                    "brier_averaged": brier_score(truth, averaged),
                    "error_fitted": float(((fitted > 0.5) != truth).mean()),
                    "error_averaged": float(((averaged > 0.5) != truth).mean()),
                    "is_trusted": post.diagnose().is_trusted,
                    "seconds": post.seconds,
                }
            )
            study.say(str({k: round(v, 4) if isinstance(v, float) else v for k, v in rows[-1].items()}))
            if seed == 0:
                plot_calibration(post, X_out, y_out, ax=axes[0][column])
                plot_risk_coverage(post, X_out, y_out, ax=axes[1][column])
                axes[0][column].set_title(f"{name}: {axes[0][column].get_title()}", fontsize=10)
    lines = [
        "Fitted on one half, judged on the other. Expected calibration error in ten bins of equal width. `fitted`: the "
        "MAP pair's probabilities; `averaged`: over draws. Settings: "
        + "; ".join(f"{n}: `{SETTINGS[n][1]}`, `sample_posterior({SETTINGS[n][2]})`" for n in names)
        + ".",
        "",
        "The default opinion that an ambiguous row is a coin flip is worth half of the training rows. Where ambiguous rows are no coin flips, as "
        "on Car, that opinion shows as miscalibration; a weaker one lets the rows speak.",
        "",
        *table(
            [
                "table",
                "seed",
                "ECE fitted",
                "ECE averaged",
                "Brier fitted",
                "Brier averaged",
                "error fitted",
                "error averaged",
                "draws trusted",
                "s",
            ],
            [
                [
                    r["table"],
                    r["seed"],
                    r["ece_fitted"],
                    r["ece_averaged"],
                    r["brier_fitted"],
                    r["brier_averaged"],
                    r["error_fitted"],
                    r["error_averaged"],
                    "yes" if r["is_trusted"] else "no",
                    f"{r['seconds']:.0f}",
                ]
                for r in rows
            ],
        ),
    ]
    return study.save({"rows": rows}, "Calibration of averaged probabilities", lines, figure)


if __name__ == "__main__":
    main()
