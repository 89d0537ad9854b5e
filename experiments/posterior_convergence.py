"""Do the chains converge? Car and Adult with the default sampler, honestly judged.

Run: python -m experiments.posterior_convergence [--quick]
"""

from __future__ import annotations

import warnings

from sklearn.model_selection import train_test_split

from experiments.study import Study, table
from soar_jax import SOARClassifier, datasets
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.posterior.posterior import Posterior

TITLE = "Convergence of the posterior"
NAMED = (
    "log joint",
    "positive rules",
    "negative rules",
    "share positive",
    "share negative",
    "share active",
    "share passive",
)


def fit(name: str, max_patterns: int, pools: str = "directed") -> SOARClassifier:
    load, rows = (datasets.load_car, 1200) if name == "car" else (datasets.load_adult, 25_000)
    X, y = load()
    X, _, y, _ = train_test_split(X, y, train_size=rows, random_state=0)
    support = 0.02 if name == "car" else 0.03
    return SOARClassifier(max_patterns=max_patterns, min_support=support, max_length=3, pools=pools).fit(X, y)


def worst(post: Posterior) -> dict[str, float]:
    """Worst figures over the functionals the project promises to watch."""
    figures = post.diagnose().table.loc[list(NAMED)].dropna()
    return {
        "r_hat": float(figures["r_hat"].max()),
        "ess_bulk": float(figures["ess_bulk"].min()),
        "ess_tail": float(figures["ess_tail"].min()),
        "r_hat_all": float(post.diagnose().table["r_hat"].max()),
        "family_spread": post.diagnose().family_spread,
    }


def judged(study: Study, label: str, model: SOARClassifier, **settings) -> dict:
    study.say(f"{label}: sampling")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)
        post = model.sample_posterior(**settings)
    verdict = post.diagnose()
    study.say(f"{label}: {post.seconds:.0f} s, {str(verdict).splitlines()[0]}")
    evidence, error = post.draws.log_evidence, post.draws.log_evidence_error
    return {
        "label": label,
        "candidates": [len(pool) for pool in post.pools],
        "settings": settings,
        "seconds": post.seconds,
        **worst(post),
        "round_trips": verdict.round_trips,
        "log_evidence": evidence,
        "log_evidence_error": error,
        "is_trusted": verdict.is_trusted,
        "verdict": str(verdict),
    }


def main(argv=None) -> dict:
    study = Study("posterior_convergence", __doc__, argv)
    quick = study.quick
    draws = dict(num_draws=100, num_temperatures=6) if quick else {}
    car = fit("car", 150)
    full = fit("car", 60 if quick else 5000)
    shared = fit("car", 60 if quick else 5000, "shared")
    runs = [judged(study, "Car, best 150 per side, defaults", car, **draws)]
    long = dict(num_draws=100, num_temperatures=6) if quick else dict(num_draws=4000, num_temperatures=28)
    runs.append(judged(study, "Car, full directed pools", full, **long))
    runs.append(judged(study, "Car, full shared pools", shared, **long))
    if not quick:
        adult = fit("adult", 150)
        settings = dict(num_draws=1500, num_temperatures=32, time_budget=240.0)
        runs.append(judged(study, "Adult, best 150 per side", adult, **settings))
        runs.append(judged(study, "Adult, best 150 per side, power 0.1", adult, power=0.1, **settings))
    return study.save({"runs": runs}, TITLE, lines_of(runs))


def lines_of(runs: list[dict]) -> list[str]:
    lines = [
        "Four independent chains; every second one starts from the fitted pair, the others from the prior. R-hat is "
        "rank-normalised and split; worst over log joint, both sizes and the four state shares (in brackets: over all "
        "that `diagnose()` watches). Seconds include compilation.",
        "",
        *table(
            [
                "run",
                "candidates",
                "s",
                "worst R-hat",
                "least bulk ESS",
                "family spread",
                "round trips",
                "log evidence",
                "verdict",
            ],
            [
                [
                    r["label"],
                    f"{r['candidates'][0]} + {r['candidates'][1]}",
                    f"{r['seconds']:.0f}",
                    f"{r['r_hat']:.3f} ({r['r_hat_all']:.3f})",
                    f"{r['ess_bulk']:.0f}",
                    f"{r['family_spread']:.2f}",
                    min(r["round_trips"]),
                    "" if "power" in r["settings"] else f"{r['log_evidence']:.1f} ± {r['log_evidence_error']:.2f}",
                    "trusted" if r["is_trusted"] else "refused",
                ]
                for r in runs
            ],
        ),
        "",
        "What `diagnose()` says of each:",
        "",
    ]
    for r in runs:
        lines += [f"**{r['label']}** (`{r['settings']}`)", "", "```", r["verdict"], "```", ""]
    return lines


if __name__ == "__main__":
    main()
