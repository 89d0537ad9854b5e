"""Do the chains converge? The default fit sampled by default settings: Car with ten seeds, many tables, and Adult.

Run: python -m experiments.posterior_convergence [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.study import Study, table
from experiments.tables import LOADERS, available
from soar_jax import BetterPairWarning, SOARClassifier, UntrustedPosteriorWarning, datasets

TITLE = "Convergence of the posterior"
NUM_SEEDS = 10
ADULT_BUDGET = 300.0


def training_part(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows to fit: 1,200 of Car, 25,000 of Adult, 70 % of the others."""
    X, y = datasets.load_synthetic() if name == "synthetic" else LOADERS[name]()
    size = {"car": 1200, "adult": 25_000}.get(name, 0.7)
    X, _, y, _ = train_test_split(X, y, train_size=size, random_state=0, stratify=y)
    return X, np.asarray(y)


def judged(study: Study, label: str, model: SOARClassifier, **settings) -> dict:
    """Sample, and keep the verdict with its figures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)
        warnings.simplefilter("ignore", BetterPairWarning)
        post = model.sample_posterior(**settings)
    verdict = post.diagnose()
    study.say(f"{label}: {post.seconds:.0f} s, {str(verdict).splitlines()[0]}")
    figures = verdict.table.dropna(subset=["r_hat"])
    return {
        "label": label,
        "rows": post.num_rows,
        "candidates": [len(pool) for pool in post.pools],
        "left_out": verdict.left_out,
        "settings": settings,
        "seconds": post.seconds,
        "draws": post.num_draws,
        "temperatures": len(post.draws.ladder),
        "barrier": float((1 - post.draws.swap_probability).sum()),
        "r_hat": float(figures["r_hat"].max()),
        "ess": float(figures[["ess_bulk", "ess_tail"]].min(axis=None)),
        "inclusion_error": verdict.inclusion_error,
        "arrivals": verdict.arrivals,
        "no_rules": verdict.no_rules,
        "log_odds": verdict.log_odds,
        "log_evidence": post.draws.log_evidence,
        "log_evidence_error": post.draws.log_evidence_error,
        "is_trusted": verdict.is_trusted,
        "problems": verdict.problems,
        "has_better_pair": post.better_pair is not None,
    }


def main(argv=None) -> dict:
    study = Study("posterior_convergence", __doc__, argv)
    quick = dict(num_draws=100, num_temperatures=6) if study.quick else {}
    car = SOARClassifier().fit(*training_part("car"))
    seeds = range(2 if study.quick else NUM_SEEDS)
    by_seed = [judged(study, f"car, seed {seed}", car, random_state=seed, **quick) for seed in seeds]
    names = ["synthetic"] if study.quick else [name for name in available() if name != "adult"]
    by_table = [judged(study, name, SOARClassifier().fit(*training_part(name)), **quick) for name in names]
    if not study.quick and "adult" in available():
        X, y = training_part("adult")
        for size in (150, 1000):
            model = SOARClassifier(max_patterns=size).fit(X, y)
            by_table.append(judged(study, f"adult, {size:,} per side", model, time_budget=ADULT_BUDGET))
    return study.save({"seeds": by_seed, "tables": by_table}, TITLE, lines_of(by_seed, by_table))


def lines_of(by_seed: list[dict], by_table: list[dict]) -> list[str]:
    header = ["run", "rows", "candidates", "left out", "s", "draws", "ladder", "barrier", "worst R-hat", "least ESS",
              "inclusion error", "arrivals", "P(no rules)", "log evidence", "verdict"]  # fmt: skip

    def row(r: dict) -> list:
        return [
            r["label"],
            f"{r['rows']:,}",
            f"{r['candidates'][0]} + {r['candidates'][1]}",
            f"{r['left_out']:.2f}",
            f"{r['seconds']:.0f}",
            f"{r['draws']:,}",
            r["temperatures"],
            f"{r['barrier']:.1f}",
            f"{r['r_hat']:.3f}",
            f"{r['ess']:.0f}",
            f"{r['inclusion_error']:.3f}",
            min(r["arrivals"]),
            f"{r['no_rules']:.3f}",
            f"{r['log_evidence']:.2f} ± {r['log_evidence_error']:.2f}",
            "trusted" if r["is_trusted"] else "refused",
        ]

    trusted = [sum(r["is_trusted"] for r in part) for part in (by_seed, by_table)]
    refused = [r for r in (*by_seed, *by_table) if not r["is_trusted"]]
    return [
        "`SOARClassifier().fit(X, y)`, then `sample_posterior()`: no arguments, so that a run ends when `diagnose()` trusts it "
        f"or after 120 seconds ({ADULT_BUDGET:.0f} for Adult). Seconds include compilation where a program is new. R-hat and "
        "ESS are the worst of all that the verdict watches; *left out*: rules per draw among mined patterns that are no "
        "candidates, estimated; *inclusion error*: largest standard error of a rule's or family's inclusion.",
        "",
        "## Car, 1,200 rows, ten seeds of the sampler",
        "",
        f"Trusted: {trusted[0]} of {len(by_seed)}. Slowest {max(r['seconds'] for r in by_seed):.0f} s.",
        "",
        *table(header, [row(r) for r in by_seed]),
        "",
        "## Tables",
        "",
        f"70 % of each table, Car 1,200 rows, Adult 25,000. Trusted: {trusted[1]} of {len(by_table)}.",
        "",
        *table(header, [row(r) for r in by_table]),
        *(["", "## Why runs were refused", ""] if refused else []),
        *(f"- {r['label']}: {'; '.join(r['problems'])}." for r in refused),
    ]


if __name__ == "__main__":
    main()
