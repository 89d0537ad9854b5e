"""Beyond the paper: what the posterior says about rows, how stable rules are, and what the priors change (Car).

Run: python -m experiments.uncertainty [--quick]
"""

from __future__ import annotations

import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from experiments.study import Study, table
from soar_jax import Opinion, RulePrior, SOARClassifier, datasets
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.posterior.plots import plot_inclusion, plot_state_map

FIT = dict(max_patterns=150, min_support=0.02)
PRIORS = {
    "default": {},
    "consensus 0.98 worth 5 %": dict(consensus=Opinion(0.98, share=0.05)),
    "rule prior Beta(1, 400)": dict(rule_prior=RulePrior(1.0, 400.0)),
}


def coverage_match(one, other, X) -> float:
    """Mean over the rules of one pair of the best Jaccard similarity of coverage with a rule of the other."""
    best = []
    for mine, theirs in ((one.positive_rules_, other.positive_rules_), (one.negative_rules_, other.negative_rules_)):
        covers = [rule.fires(X) for rule in theirs]
        for rule in mine:
            cover = rule.fires(X)
            best.append(max(((cover & c).sum() / max((cover | c).sum(), 1) for c in covers), default=0.0))
    return float(np.mean(best))


def name_match(one, other) -> float:
    names = set(zip(other.rules_["side"], other.rules_["rule"], strict=True))
    return float(np.mean([key in names for key in zip(one.rules_["side"], one.rules_["rule"], strict=True)]))


def main(argv=None) -> dict:
    study = Study("uncertainty", __doc__, argv)
    X, y = datasets.load_car()
    X_fit, X_out, y_fit, y_out = train_test_split(X, y, train_size=1200, random_state=0)
    num_draws = 100 if study.quick else 1000

    def sampled(**changes):
        model = SOARClassifier(**FIT, **changes).fit(X_fit, y_fit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntrustedPosteriorWarning)
            return model, model.sample_posterior(num_draws)

    warnings.simplefilter("ignore", UntrustedPosteriorWarning)
    model, post = sampled()
    study.say("default sampled")
    fitted_states = model.predict_state(X_out)
    probability = post.predict_proba(X_out)[:, 1]
    wrong = (probability > 0.5) != np.asarray(y_out)
    shares = post.predict_state_proba(X_out)
    split = post.uncertainty(X_out)
    sure = shares.max(axis=1).to_numpy()
    by_sureness = []
    for low, high in ((0.0, 0.6), (0.6, 0.9), (0.9, 0.999), (0.999, 1.01)):
        mine = (sure >= low) & (sure < high)
        if mine.any():
            by_sureness.append(
                [
                    f"{low:g} to {min(high, 1):g}",
                    int(mine.sum()),
                    float(wrong[mine].mean()),
                    float(split["label_noise"][mine].mean()),
                    float(split["model_doubt"][mine].mean()),
                ]
            )
    by_state = [
        [
            state,
            int((fitted_states == state).sum()),
            float(wrong[fitted_states == state].mean()),
            float(split["label_noise"][fitted_states == state].mean()),
            float(split["model_doubt"][fitted_states == state].mean()),
        ]
        for state in ("positive", "negative", "active", "passive")
        if (fitted_states == state).any()
    ]
    generator = np.random.default_rng(0)
    names, covers = [], []
    for run in range(2 if study.quick else 10):
        index = generator.integers(0, len(X_fit), len(X_fit))
        again = SOARClassifier(**FIT, random_state=run).fit(X_fit.iloc[index], y_fit.iloc[index])
        names.append(name_match(model, again))
        covers.append(coverage_match(model, again, X_fit))
    study.say("bootstraps done")
    families = post.families
    chains = families[families["probability"] > 0.05]
    sensitivity = []
    for label, changes in list(PRIORS.items())[: 2 if study.quick else None]:
        other, drawn = (model, post) if not changes else sampled(**changes)
        states = other.predict_state(X_out)
        averaged = drawn.predict_proba(X_out)[:, 1]
        sizes = drawn.sizes["mean"]
        sensitivity.append(
            [
                label,
                float(sizes["positive rules"]),
                float(sizes["negative rules"]),
                float(np.isin(states, ["active", "passive"]).mean()),
                float((states == fitted_states).mean()),
                float(((averaged > 0.5) != np.asarray(y_out)).mean()),
                float(np.abs(averaged - probability).mean()),
                "yes" if drawn.diagnose().is_trusted else "no",
            ]
        )
        study.say(str(sensitivity[-1]))
    figure = plt.figure(figsize=(11, 8.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=[3, 2])
    plot_inclusion(post, 10, ax=top)
    plot_state_map(post, X_out, ax=bottom)
    record = {
        "by_sureness": by_sureness,
        "by_state": by_state,
        "name_match": names,
        "coverage_match": covers,
        "chain_spread": float(chains["spread"].max()),
        "sensitivity": sensitivity,
        "is_trusted": post.diagnose().is_trusted,
    }
    lines = [
        f"Car, 1,200 rows to fit, 528 to judge, 150 candidates per side. {post.diagnose()}",
        "",
        "## Rows by how sure the posterior is of their state",
        "",
        *table(
            [
                "probability of the most probable state",
                "rows",
                "error of the averaged prediction",
                "label noise (nats)",
                "model doubt (nats)",
            ],
            by_sureness,
        ),
        "",
        "## Rows by the fitted pair's state",
        "",
        *table(["state", "rows", "error", "label noise", "model doubt"], by_state),
        "",
        "## Stability of the fitted rules",
        "",
        f"Over {len(names)} bootstraps of the training rows, a fitted rule comes back by name in {np.mean(names):.2f} of cases (mean over rules and "
        f"bootstraps); by coverage, its best match has a Jaccard similarity of {np.mean(covers):.2f}. Between the four chains the inclusion of "
        f"families with probability above 0.05 differs by at most {chains['spread'].max():.3f}.",
        "",
        "## Sensitivity to the priors",
        "",
        *table(
            [
                "prior",
                "mean rules +",
                "mean rules -",
                "ambiguous (fitted)",
                "same state as default",
                "error, averaged",
                "mean change of probability",
                "trusted",
            ],
            sensitivity,
        ),
    ]
    return study.save(record, "Uncertainty", lines, figure)


if __name__ == "__main__":
    main()
