"""Is the average calibrated, and better than the fitted pair? Held-out halves, beside a forest and EBM.

Run: python -m experiments.calibration [--quick]
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from experiments.rivals import LEARNERS, installed
from experiments.study import Study, table
from experiments.tables import LOADERS, MAIN, available
from soar_jax import BetterPairWarning, Posterior, SOARClassifier, UntrustedPosteriorWarning
from soar_jax.posterior.metrics import brier_score, calibration_error
from soar_jax.posterior.plots import plot_calibration, plot_risk_coverage
from soar_jax.score.rates import positive_rates
from soar_jax.states import STATES

SEED = 0


TINY = 1e-3


def figures(truth: np.ndarray, probability: np.ndarray) -> dict[str, float]:
    chance = np.clip(np.where(truth, probability, 1 - probability), TINY, 1.0)
    return {
        "ece": calibration_error(truth, probability),
        "brier": brier_score(truth, probability),
        "log_loss": float(-np.log(chance).mean()),
        "error": float(((probability > 0.5) != truth).mean()),
    }


def within_bounds(post: Posterior) -> Posterior:
    """The same draws, with the rates claimed of ambiguous rows kept within their bounds."""
    target = post.fitted.target
    cut = replace(target, hyper=target.hyper._replace(claimed=None))
    return Posterior(replace(post.fitted, target=cut), post.draws, seconds=post.seconds, thin=post.thin)


def pair_within_bounds(model: SOARClassifier, X) -> np.ndarray:
    """The pair's probabilities, likewise."""
    rates = positive_rates(model.fitted_pair_.target.hyper._replace(claimed=None), *model.fitted_pair_.state_counts)
    states = np.array([STATES.index(state) for state in model.predict_state(X)])
    return rates[states]


def main(argv=None) -> dict:
    study = Study("calibration", __doc__, argv)
    names = ["synthetic"] if study.quick else [name for name in MAIN if name in available()]
    rivals, packages = installed({name: LEARNERS[name] for name in ("random forest", "explainable boosting")})
    rows = []
    figure, axes = plt.subplots(2, len(names), figsize=(4.2 * len(names), 8.2), layout="constrained", squeeze=False)
    for column, name in enumerate(names):
        X, y = LOADERS[name]()
        X, X_out, y, y_out = train_test_split(X, y, test_size=0.5, random_state=SEED, stratify=y)
        model = SOARClassifier().fit(X, y)
        truth = np.asarray(y_out) == 1
        with warnings.catch_warnings():
            for kind in (UntrustedPosteriorWarning, BetterPairWarning):
                warnings.simplefilter("ignore", kind)
            post = model.sample_posterior(**(dict(num_draws=100, num_temperatures=6) if study.quick else {}))
            committee, bounded = post.committee(), within_bounds(post).committee()
            plot_calibration(post, X_out, y_out, ax=axes[0][column])
            plot_risk_coverage(post, X_out, y_out, ax=axes[1][column])
        axes[0][column].set_title(f"{name}\n{axes[0][column].get_title()}", fontsize=10)
        found = {
            "pair": figures(truth, model.predict_proba(X_out)[:, 1]),
            "pair, within bounds": figures(truth, pair_within_bounds(model, X_out)),
            "averaged": figures(truth, committee.predict_proba(X_out)[:, 1]),
            "averaged, within bounds": figures(truth, bounded.predict_proba(X_out)[:, 1]),
            **{label: figures(truth, rival.answer(X, y, X_out, SEED).probability) for label, rival in rivals.items()},
        }
        verdict = post.diagnose()
        rows.append({"table": name, "rows": len(X), "is_trusted": verdict.is_trusted, "figures": found})
        study.say(f"{name}: " + ", ".join(f"{k} ECE {f['ece']:.4f} error {f['error']:.4f}" for k, f in found.items()))
    models = list(rows[0]["figures"])
    means = {
        m: {k: float(np.mean([r["figures"][m][k] for r in rows])) for k in ("ece", "brier", "log_loss", "error")}
        for m in models
    }
    lines = [
        "Fitted on one half of each table, judged on the other; all settings are defaults. *Pair*: the fitted pair; *averaged*: "
        "`sample_posterior().committee()`, at most 500 pairs; *within bounds*: the same pairs, with the rates claimed of ambiguous "
        "rows kept within the bounds of their states, as the model has them. Expected calibration error (ECE) in ten bins of equal width."
        f" {' '.join(packages)}",
        "",
        *(
            line
            for title, key in (
                ("Calibration error", "ece"),
                ("Error", "error"),
                ("Brier score", "brier"),
                ("Log loss", "log_loss"),
            )
            for line in (
                f"## {title}",
                "",
                *table(
                    ["table", "rows", *models, "draws trusted"],
                    [
                        *(
                            [
                                r["table"],
                                f"{r['rows']:,}",
                                *(r["figures"][m][key] for m in models),
                                "yes" if r["is_trusted"] else "no",
                            ]
                            for r in rows
                        ),
                        ["mean", "", *(means[m][key] for m in models), ""],
                    ],
                ),
                "",
            )
        ),
    ]
    return study.save({"rows": rows, "means": means}, "Calibration and error of the average", lines, figure)


if __name__ == "__main__":
    main()
