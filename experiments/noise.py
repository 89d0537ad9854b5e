"""What the default finds where there is nothing: tables whose labels do not depend on the columns.

Run: python -m experiments.noise [--quick]
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Sequence
from contextlib import contextmanager

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments.made_tables import noise_table
from experiments.study import Study, table
from soar_jax import NothingFoundWarning, Opinion, RulePrior, SOARClassifier, UntrustedPosteriorWarning

SETTINGS = {
    "default": {},
    # the first defaults of this package, except that the prior now counts all that was searched
    "opinions that grow with the rows": {
        "consensus": Opinion(0.95, share=0.05),
        "ambiguous": Opinion(0.5, share=0.5),
        "rule_prior": RulePrior(1, 100),
        "search": "annealing",
    },
}
COLOURS = dict(zip(SETTINGS, ("#2a7f9e", "#c8553d"), strict=True))
CELLS = list(itertools.product((200, 1000, 5000), (0.5, 0.2, 0.05)))
FIRST_SEED = 20_000  # seeds below were used to choose the defaults
NUM_TABLES = 100
NUM_FRESH = 5000
MARGIN = 0.05
MOST_ROWS_TO_SAMPLE = 1000
SAMPLED_PER_CELL = 4
DRAWS: dict = {}
QUICK_DRAWS = {"num_draws": 20, "num_warmup": 10, "num_temperatures": 4}


@contextmanager
def quiet():
    """Leave out what these tables are expected to warn about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingFoundWarning)
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)
        warnings.filterwarnings("ignore", message="Mining stopped")  # wide tables end at length 2
        yield


def number_of_columns(seed: int) -> int:
    """Between 10 and 40, by the seed; a stream of its own, apart from the table's."""
    return int(np.random.default_rng([seed, 1]).integers(10, 41))


def claimed_right(model: SOARClassifier) -> np.ndarray:
    """How often a consensus positive and a consensus negative row is said to be what its state says."""
    positive, negative = model.state_probabilities()[:2]
    return np.array([positive, 1 - negative])


def falsely_claimed(model: SOARClassifier, fresh: pd.DataFrame, base_rate: float) -> float:
    """Share of fresh rows in a consensus that claims more than the true rate and a margin."""
    states = model.predict_state(fresh)
    is_too_high = claimed_right(model) > np.array([base_rate, 1 - base_rate]) + MARGIN
    shares = np.array([(states == name).mean() for name in ("positive", "negative")])
    return float(shares[is_too_high].sum())


def fits_of(seed: int, num_rows: int, base_rate: float) -> tuple[SOARClassifier, list[dict]]:
    """Fit one table in every setting: the default's model, and the figures of each."""
    num_columns = number_of_columns(seed)
    X, y = noise_table(seed, num_rows + NUM_FRESH, base_rate, num_columns)
    rows, models = [], []
    for setting, parameters in SETTINGS.items():
        start = time.perf_counter()
        with quiet():
            model = SOARClassifier(**parameters).fit(X.iloc[:num_rows], y[:num_rows])
        models.append(model)
        rows.append(
            {
                "seed": seed,
                "num_rows": num_rows,
                "base_rate": base_rate,
                "num_columns": num_columns,
                "num_searched": model.num_frequent_patterns_,
                "setting": setting,
                "positive_rules": len(model.positive_rules_),
                "negative_rules": len(model.negative_rules_),
                "gain": model.gain_,
                "falsely_claimed": falsely_claimed(model, X.iloc[num_rows:], base_rate),
                "seconds": time.perf_counter() - start,
            }
        )
    return models[0], rows


def posterior_of(model: SOARClassifier, draws: dict) -> dict:
    """How probable two empty rule sets are."""
    with quiet():
        post = model.sample_posterior(**draws)
    is_empty = ~post.draws.included.any(axis=(2, 3))
    return {
        "no_rules": float(is_empty.mean()),
        "least_chain": float(is_empty.mean(axis=1).min()),
        "fitted_rules": len(model.rules_),
        "is_trusted": post.diagnose().is_trusted,
        "seconds": post.seconds,
    }


def summary(part: pd.DataFrame) -> dict:
    """Figures of some fits, by setting."""
    found = {"tables": int(part["seed"].nunique())}
    for setting, mine in part.groupby("setting", sort=False):
        count = mine["positive_rules"] + mine["negative_rules"]
        found[setting] = {
            "fits_with_rules": int((count > 0).sum()),
            "share_with_rules": float((count > 0).mean()),
            "mean_rules": float(count.mean()),
            "most_rules": int(count.max()),
            "falsely_claimed": float(mine["falsely_claimed"].mean()),
        }
    return found


def summary_row(label: Sequence, found: dict) -> list:
    figures = [found[setting] for setting in SETTINGS]
    return [
        *label,
        found["tables"],
        *(f"{f['share_with_rules']:.2f}" for f in figures),
        *(f"{f['mean_rules']:.2f}" for f in figures),
        *(f["falsely_claimed"] for f in figures),
    ]


def draw(cells: list[dict], total: dict):
    figure, ax = plt.subplots(figsize=(9.5, 4.4), layout="constrained")
    places = np.arange(len(cells))
    width = 0.38
    for i, setting in enumerate(SETTINGS):
        shares = [cell[setting]["share_with_rules"] for cell in cells]
        label = f"{setting}: {total[setting]['fits_with_rules']} of {total['tables']} tables"
        at = places + (i - 0.5) * width
        bars = ax.bar(at, shares, width, color=COLOURS[setting], label=label)
        ax.bar_label(
            bars,
            [f"{cell[setting]['fits_with_rules']}/{cell['tables']}" for cell in cells],
            fontsize=7.5,
            color="#444444",
            padding=2,
        )
    ax.set_xticks(places, [f"{cell['num_rows']:,} rows\nrate {cell['base_rate']:g}" for cell in cells], fontsize=9)
    ax.set_ylim(0, 1.08)
    ax.set_ylabel("share of fits with any rule")
    ax.set_title("Labels that do not depend on the columns: every rule is false", fontsize=10, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def main(argv=None) -> dict:
    study = Study("noise", __doc__, argv)
    rows, sampled, draws = [], [], QUICK_DRAWS if study.quick else DRAWS
    for i in range(3 if study.quick else NUM_TABLES):
        seed, (num_rows, base_rate) = FIRST_SEED + i, CELLS[i % len(CELLS)]
        model, found = fits_of(seed, num_rows, base_rate)
        rows += found
        counts = ", ".join(f"{r['setting']} {r['positive_rules']} + {r['negative_rules']} rules" for r in found)
        study.say(f"{num_rows} rows, rate {base_rate}, {found[0]['num_columns']} columns: {counts}")
        is_sampled = i == 0 if study.quick else i < SAMPLED_PER_CELL * len(CELLS) and num_rows <= MOST_ROWS_TO_SAMPLE
        if is_sampled:
            about = {k: found[0][k] for k in ("seed", "num_rows", "base_rate", "num_columns")}
            sampled.append(about | posterior_of(model, draws))
            study.say(f"P(no rules) {sampled[-1]['no_rules']:.3f} in {sampled[-1]['seconds']:.0f} s")
    fits = pd.DataFrame(rows)
    total = summary(fits)
    cells = [
        {"num_rows": n, "base_rate": rate, **summary(part)}
        for (n, rate), part in fits.groupby(["num_rows", "base_rate"], sort=False)
    ]
    above = sum(s["no_rules"] > 0.5 for s in sampled)
    names = list(SETTINGS)
    default = fits[fits["setting"] == names[0]]
    headers = [f"{what}, {name}" for what in ("any rule", "rules", "falsely claimed") for name in names]
    lines = [
        f"{total['tables']} tables, seeds {FIRST_SEED:,} to {fits['seed'].max():,} (seeds below were used to choose the "
        "defaults). Columns are of five kinds in turn, 10 to 40 of them by the seed; labels do not depend on them, so that "
        f"every rule is false. `{names[1]}`: `SOARClassifier(consensus=Opinion(0.95, share=0.05), ambiguous=Opinion(0.5, "
        'share=0.5), rule_prior=RulePrior(1, 100), search="annealing")`, the first defaults, except that the prior now counts '
        "all that was searched.",
        "",
        "`any rule`: share of fits with a rule. `rules`: mean number of rules. `falsely claimed`: mean share of "
        f"{NUM_FRESH:,} fresh rows that are in a consensus whose claimed rate is more than {MARGIN} above the true one (a consensus "
        "negative cannot be where the base rate is 0.05). "
        f"The largest gain of a default fit over no rules is {default['gain'].max():.1f} nats.",
        "",
        *table(
            ["rows", "base rate", "tables", *headers],
            [
                *(summary_row((f"{cell['num_rows']:,}", f"{cell['base_rate']:g}"), cell) for cell in cells),
                summary_row(("all", ""), total),
            ],
        ),
        "",
        "## Posterior",
        "",
        f"Default fit, then `sample_posterior({', '.join(f'{k}={v}' for k, v in draws.items())})`; P(no rules) is the "
        "share of draws in which both rule sets are empty, `least of a chain` the same in the chain where it is lowest. "
        f"Above one half on {above} of {len(sampled)} tables.",
        "",
        *table(
            ["seed", "rows", "base rate", "columns", "fitted rules", "P(no rules)", "least of a chain", "trusted", "s"],
            [
                [
                    s["seed"],
                    f"{s['num_rows']:,}",
                    f"{s['base_rate']:g}",
                    s["num_columns"],
                    s["fitted_rules"],
                    f"{s['no_rules']:.3f}",
                    f"{s['least_chain']:.3f}",
                    "yes" if s["is_trusted"] else "no",
                    f"{s['seconds']:.0f}",
                ]
                for s in sampled
            ],
        ),
    ]
    record = {
        "total": total,
        "cells": cells,
        "posterior": sampled,
        "posterior_above_half": above,
        "fits": rows,
    }
    figure = draw(cells, total)
    return study.save(record, "What the default finds where there is nothing", lines, figure)


if __name__ == "__main__":
    main()
