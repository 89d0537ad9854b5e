"""Do the chains converge? Car and Adult with the default sampler, and what each ingredient is worth.

Run: python -m experiments.posterior_convergence [--quick]
"""

from __future__ import annotations

import time
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from experiments.study import Study, table
from soar_jax import SOARClassifier, datasets, mcmc
from soar_jax.diagnosis import UntrustedPosteriorWarning, figures_of
from soar_jax.posterior import Posterior
from soar_jax.problem import make_problem
from soar_jax.relatives import find_kinship
from soar_jax.sampling import fitted_pair

NAMED = (
    "log joint",
    "positive rules",
    "negative rules",
    "share positive",
    "share negative",
    "share active",
    "share passive",
)
INGREDIENTS = {
    "flips only, no ladder": (mcmc.Plan(600, 0, 0, 0), 1),
    "flips and ladder of 20": (mcmc.Plan(400, 0, 0, 0), 20),
    "+ exchanges": (mcmc.Plan(200, 100, 0, 0), 20),
    "+ flip-and-heal": (mcmc.Plan(200, 0, 8, 0), 20),
    "informed flips and ladder": (mcmc.Plan(0, 0, 0, 16), 20),
    "default": (mcmc.Plan(), 20),
    "default, ladder of 32": (mcmc.Plan(), 32),
}


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
    evidence, error = post.log_evidence
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


def history(model: SOARClassifier, plan: mcmc.Plan, num_temperatures: int, seconds: float) -> dict:
    """R-hat of the second half of the draws so far, against time; compilation is not counted."""
    pools, layout = model._candidates.pools, model._candidates.layout
    problem = make_problem(pools, layout, model._hyper, single=False)
    kinship = find_kinship(pools, layout, problem.bits.shape[2])
    shared = dict(num_temperatures=num_temperatures, annealed=fitted_pair(model, problem.bits.shape[2]), plan=plan)
    mcmc.run(problem, model._hyper, kinship, seed=9, num_draws=25, num_warmup=25, **shared)
    clock, start = [], time.perf_counter()

    def note(report) -> None:
        if report.phase == "sampling":
            clock.append(time.perf_counter() - start)

    draws = mcmc.run(
        problem,
        model._hyper,
        kinship,
        seed=1,
        num_draws=1_000_000,
        num_warmup=200,
        time_budget=seconds,
        progress=note,
        **shared,
    )
    post = Posterior(model, draws, seconds=seconds, thin=1, power=1.0)
    series = {name: values for name, values in post.functionals().items() if name in NAMED}
    points = []
    for blocks in np.unique(np.geomspace(4, len(clock), 12).astype(int)) if len(clock) >= 4 else []:
        end = blocks * 25
        figures = figures_of({name: values[:, end // 2 : end] for name, values in series.items()})
        points.append(
            {"seconds": clock[blocks - 1], "r_hat": figures["r_hat"].max(), "ess_bulk": figures["ess_bulk"].min()}
        )
    return {"num_draws": post.num_draws, "round_trips": draws.round_trips.tolist(), "points": points}


def main(argv=None) -> dict:
    study = Study("posterior_convergence", __doc__, argv)
    quick = study.quick
    draws = dict(num_draws=100, num_temperatures=6) if quick else {}
    car = fit("car", 150)
    full = fit("car", 60 if quick else 5000)
    shared = fit("car", 60 if quick else 5000, "shared")
    runs = [judged(study, "Car, best 150 a side, defaults", car, **draws)]
    long = dict(num_draws=100, num_temperatures=6) if quick else dict(num_draws=4000, num_temperatures=28)
    runs.append(judged(study, "Car, full directed pools", full, **long))
    runs.append(judged(study, "Car, full shared pools", shared, **long))
    if not quick:
        adult = fit("adult", 150)
        settings = dict(num_draws=1500, num_temperatures=32, time_budget=240.0)
        runs.append(judged(study, "Adult, best 150 a side", adult, **settings))
        runs.append(judged(study, "Adult, best 150 a side, power 0.1", adult, power=0.1, **settings))
    seconds = 2.0 if quick else 25.0
    names = list(INGREDIENTS)[:2] if quick else list(INGREDIENTS)
    pools = {"best 150 a side": car} if quick else {"best 150 a side": car, "full directed pools": full}
    curves = {}
    for title, model in pools.items():
        for name in names:
            plan, num_temperatures = INGREDIENTS[name]
            curves[f"{title}: {name}"] = history(model, plan, num_temperatures, seconds)
            study.say(f"{title}: {name}: {curves[f'{title}: {name}']['points'][-1:]}")
    figure, axes = plt.subplots(1, len(pools), figsize=(6.2 * len(pools), 4.4), layout="constrained", squeeze=False)
    for ax, title in zip(axes[0], pools, strict=True):
        for name in names:
            points = curves[f"{title}: {name}"]["points"]
            ax.plot([p["seconds"] for p in points], [p["r_hat"] - 1 for p in points], marker=".", label=name)
        ax.axhline(0.01, color="black", linewidth=0.8, linestyle=":")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("seconds of sampling, without compilation")
        ax.set_ylabel("worst R-hat - 1")
        ax.set_title(f"Car, {title}", fontsize=10)
    axes[0][0].legend(frameon=False, fontsize=8)
    lines = [
        "Four independent groups; every second one starts from the fitted pair, the others from the prior. R-hat is "
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
                    f"{r['log_evidence']:.1f} ± {r['log_evidence_error']:.2f}",
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
    lines += [
        "## Ingredients",
        "",
        f"R-hat of the later half of the draws after {seconds:.0f} s of sampling (200 draws of warm-up), each plan alone "
        "in one process:",
        "",
        *table(
            ["pool and plan", "draws", "worst R-hat", "least bulk ESS", "round trips"],
            [
                [
                    name,
                    c["num_draws"],
                    f"{c['points'][-1]['r_hat']:.3f}" if c["points"] else "too few draws",
                    f"{c['points'][-1]['ess_bulk']:.0f}" if c["points"] else "",
                    min(c["round_trips"]),
                ]
                for name, c in curves.items()
            ],
        ),
    ]
    return study.save({"runs": runs, "curves": curves}, "Convergence of the posterior", lines, figure)


if __name__ == "__main__":
    main()
