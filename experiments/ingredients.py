"""What each ingredient of the sampler is worth: R-hat against time, where rules are many and where near-copies are.

Run: python -m experiments.ingredients [--quick], on idle cores
"""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.posterior_convergence import training_part
from experiments.study import Study, table
from experiments.tables import available
from soar_jax import SOARClassifier
from soar_jax.posterior.diagnosis import figures_of
from soar_jax.posterior.posterior import Posterior
from soar_jax.sampling.plan import DEFAULT_PLAN, EXCHANGE, FLIP, HEAL, INFORMED, JUMP, REPLACE, Plan
from soar_jax.sampling.run import run

INGREDIENTS = {
    "flips only, no ladder": (((FLIP, 600),), 1),
    "flips and ladder of 20": (((FLIP, 400),), 20),
    "+ exchanges and flip-and-heal": (((FLIP, 200), (EXCHANGE, 20), (HEAL, 8)), 20),
    "+ jumps": (((FLIP, 200), (EXCHANGE, 20), (HEAL, 8), (JUMP, 4)), 20),
    "+ replacements": (((FLIP, 200), (EXCHANGE, 20), (HEAL, 8), (REPLACE, 3)), 20),
    "default, both": (DEFAULT_PLAN, 20),
    "default, no ladder": (DEFAULT_PLAN, 1),
    "default, ladder of 12": (DEFAULT_PLAN, 12),
    "informed flips and ladder": (((INFORMED, 16),), 20),
}
TABLES = {"Car, 1,200 rows": "car", "German credit, 700 rows": "german_credit"}


def history(model: SOARClassifier, plan: Plan, num_temperatures: int, seconds: float) -> dict:
    """R-hat of the second half of the draws so far, against time; compilation is not counted."""
    fitted = model.fitted_pair_
    shared = dict(num_temperatures=num_temperatures, starts=fitted.included[None], plan=plan)
    run(fitted.target, seed=9, num_draws=25, num_warmup=25, **shared)
    clock, start = [], time.perf_counter()

    def note(report) -> None:
        if report.phase == "sampling":
            clock.append(time.perf_counter() - start)

    draws = run(
        fitted.target,
        seed=1,
        num_draws=1_000_000,
        num_warmup=200,
        time_budget=seconds,
        progress=note,
        **shared,
    )
    post = Posterior(fitted, draws, seconds=seconds, thin=1)
    series = post.functionals
    points = []
    for blocks in np.unique(np.geomspace(4, len(clock), 12).astype(int)) if len(clock) >= 4 else []:
        end = blocks * 25
        figures = figures_of({name: values[:, end // 2 : end] for name, values in series.items()})
        points.append(
            {"seconds": clock[blocks - 1], "r_hat": figures["r_hat"].max(), "ess_bulk": figures["ess_bulk"].min()}
        )
    return {"num_draws": post.num_draws, "arrivals": draws.arrivals.tolist(), "points": points}


def main(argv=None) -> dict:
    study = Study("ingredients", __doc__, argv)
    seconds = 2.0 if study.quick else 25.0
    names = list(INGREDIENTS)[:2] if study.quick else list(INGREDIENTS)
    tables = {"Car, 1,200 rows": "car"} if study.quick else {t: n for t, n in TABLES.items() if n in available()}
    pools = {title: SOARClassifier().fit(*training_part(name)) for title, name in tables.items()}
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
        ax.set_title(f"{title}, default fit", fontsize=10)
    axes[0][0].legend(frameon=False, fontsize=8)
    lines = [
        f"R-hat of the later half of the draws after {seconds:.0f} s of sampling (200 draws of warm-up), worst over all that the verdict "
        "watches; four chains, default fits. One run each: differences of a factor of two are noise.",
        "",
        *table(
            ["pool and plan", "draws", "worst R-hat", "least bulk ESS", "arrivals"],
            [
                [
                    name,
                    c["num_draws"],
                    f"{c['points'][-1]['r_hat']:.3f}" if c["points"] else "too few draws",
                    f"{c['points'][-1]['ess_bulk']:.0f}" if c["points"] else "",
                    min(c["arrivals"]),
                ]
                for name, c in curves.items()
            ],
        ),
    ]
    return study.save({"curves": curves}, "Ingredients of the sampler", lines, figure)


if __name__ == "__main__":
    main()
