"""Does every seed end at the same score? Fits that differ in their seed only, beside the best pair that anything found.

Run: python -m experiments.seeds [--quick] [--seeds 20] [--rival-seeds 2] [--tables car adult=5 ...]
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd

from experiments.options import study_with_options
from experiments.study import Study, table
from experiments.tables import LOADERS, available
from soar_jax import SOARClassifier

TABLES = {
    "car": ("car", None),
    "german_credit": ("german_credit", None),
    "adult, 5,000 rows": ("adult", 5000),
    "adult": ("adult", None),
}
SHORT = {"adult5000": "adult, 5,000 rows"}
DEFAULT = "default"
RIVALS = {
    "annealing": {"search": "annealing", "max_patterns": 100_000, "n_restarts": 16, "n_iter": 2000},
    "long": {"n_rounds": 150},
}
SAME = 0.01
OPTIONS = {
    "--seeds": {"type": int, "default": 20, "help": "fits of each table with the default search"},
    "--rival-seeds": {"type": int, "default": 2, "help": "fits with each longer search; 0 for none"},
    "--tables": {
        "nargs": "+",
        "metavar": "TABLE[=SEEDS]",
        "help": "some of car, german_credit, adult5000, adult, each with its own number of seeds if given",
    },
}


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    source, num_rows = TABLES[name]
    X, y = LOADERS[source]()
    if num_rows is None:
        return X, y
    chosen = np.random.default_rng(0).choice(len(X), num_rows, replace=False)
    return X.iloc[chosen].reset_index(drop=True), y[chosen]


def wanted(chosen: list[str] | None, num_seeds: int) -> dict[str, int]:
    """Tables to fit, and how many seeds of each."""
    names = chosen or [name for name, (source, _) in TABLES.items() if available((source,))]
    found = {}
    for text in names:
        name, _, own = text.partition("=")
        name = SHORT.get(name, name)
        if name not in TABLES:
            raise SystemExit(f"There is no table {name!r}; there are {', '.join([*TABLES, *SHORT])}.")
        found[name] = int(own) if own else num_seeds
    return found


def one_fit(X: pd.DataFrame, y: np.ndarray, search: str, seed: int) -> tuple[dict, np.ndarray]:
    """Figures of one fit, and the state of every training row."""
    start = time.perf_counter()
    model = SOARClassifier(random_state=seed, **RIVALS.get(search, {})).fit(X, y)
    seconds = time.perf_counter() - start
    figures = {
        "search": search,
        "seed": seed,
        "gain": round(float(model.gain_), 6),
        "seconds": seconds,
        "positive_rules": len(model.positive_rules_),
        "negative_rules": len(model.negative_rules_),
        "certificate": str(getattr(model, "certificate_", "")),
        "stage_seconds": dict(model.stage_seconds_),
    }
    return figures, np.asarray(model.predict_state(X), dtype=str)


def fits_of(study: Study, name: str, num_seeds: int, num_rival_seeds: int) -> dict:
    """All fits of one table, each with its gap to the best known and its agreement with the best pair."""
    X, y = load(name)
    first, _ = one_fit(X, y, DEFAULT, 0)
    study.say(f"{name}: first fit, with compilation, {first['seconds']:.1f} s")
    plan = [(DEFAULT, seed) for seed in range(num_seeds)]
    plan += [(search, seed) for search in RIVALS for seed in range(num_rival_seeds)]
    fits, states = [], []
    for search, seed in plan:
        found, mine = one_fit(X, y, search, seed)
        fits.append(found)
        states.append(mine)
        study.say(f"{name}, {search}, seed {seed}: gain {found['gain']:.4f} in {found['seconds']:.1f} s")
    best = int(np.argmax([found["gain"] for found in fits]))
    for found, mine in zip(fits, states, strict=True):
        found["gap"] = fits[best]["gain"] - found["gain"]
        found["agreement"] = float((mine == states[best]).mean())
    return {
        "table": name,
        "rows": len(X),
        "first_seconds": first["seconds"],
        "is_repeated": first["gain"] == fits[0]["gain"],
        "best": {key: fits[best][key] for key in ("search", "seed", "gain", "certificate")},
        "summary": summary([found for found in fits if found["search"] == DEFAULT]),
        "fits": fits,
    }


def summary(fits: list[dict]) -> dict:
    """Figures over the seeds of one search."""
    gaps, seconds = ([found[key] for found in fits] for key in ("gap", "seconds"))
    return {
        "seeds": len(fits),
        "same": sum(gap <= SAME for gap in gaps),
        "worst_gap": max(gaps),
        "median_gap": float(np.median(gaps)),
        "seconds_median": float(np.median(seconds)),
        "seconds_max": max(seconds),
        "lowest_agreement": min(found["agreement"] for found in fits),
        "rules_least": min(found["positive_rules"] + found["negative_rules"] for found in fits),
        "rules_most": max(found["positive_rules"] + found["negative_rules"] for found in fits),
    }


def summary_row(result: dict) -> list:
    s = result["summary"]
    return [
        result["table"],
        f"{result['rows']:,}",
        f"{result['best']['gain']:.4f} ({result['best']['search']})",
        f"{s['same']} of {s['seeds']}",
        s["worst_gap"],
        s["median_gap"],
        s["lowest_agreement"],
        f"{s['rules_least']} to {s['rules_most']}",
        f"{s['seconds_median']:.2f} / {s['seconds_max']:.2f}",
        f"{result['first_seconds']:.1f}",
    ]


def rival_row(result: dict, search: str, fits: list[dict]) -> list:
    s = summary(fits)
    gaps = [s["worst_gap"], min(found["gap"] for found in fits)]
    return [result["table"], search, s["seeds"], *gaps, s["lowest_agreement"], f"{s['seconds_median']:.1f}"]


def rival_rows(result: dict) -> list[list]:
    """One line for each longer search that was run."""
    fits = {search: [found for found in result["fits"] if found["search"] == search] for search in RIVALS}
    return [rival_row(result, search, mine) for search, mine in fits.items() if mine]


def page(results: list[dict]) -> list[str]:
    lines = [
        "Each table is fitted whole, with seeds from 0; the 5,000 rows of Adult are drawn with seed 0. *Best known*: the largest "
        f"gain in nats over the empty pair that any fit of this page reached. *Same*: seeds within {SAME} nat of it. "
        "*Agreement*: share of training rows in the same state as under the best known pair, least over seeds. Seconds are "
        "warm (median / most); the first fit, with compilation, is beside them.",
        "",
        *table(
            ["table", "rows", "best known", "same", "worst gap", "median gap", "agreement", "rules", "seconds", "first fit"],
            [summary_row(result) for result in results],
        ),
    ]  # fmt: skip
    rivals = [row for result in results for row in rival_rows(result)]
    if rivals:
        header = ["table", "search", "seeds", "worst gap", "least gap", "agreement", "seconds"]
        settings = "; ".join(
            f"*{search}*: " + ", ".join(f"`{name}={value!r}`" for name, value in parameters.items())
            for search, parameters in RIVALS.items()
        )
        lines += ["", "## Longer searches", "", f"{settings}.", "", *table(header, rivals)]
    lines += ["", "## What the best known fit says of itself", ""]
    lines += [f"- {result['table']}: {result['best']['certificate'] or 'nothing'}" for result in results]
    changed = [result["table"] for result in results if not result["is_repeated"]]
    return lines + ([f"\nNot the same gain from the same seed twice: {', '.join(changed)}."] if changed else [])


def main(argv=None) -> dict:
    study, options = study_with_options("seeds", __doc__, argv, OPTIONS)
    warnings.filterwarnings("ignore", message="Mining stopped")
    if study.quick:
        plan, num_rival_seeds = wanted(options.tables or ["car"], 3), 0
    else:
        plan, num_rival_seeds = wanted(options.tables, options.seeds), options.rival_seeds
    results: list[dict] = []
    record: dict = {}
    for name, num_seeds in plan.items():
        results.append(fits_of(study, name, num_seeds, num_rival_seeds))
        record = study.save({"tables": results}, "Does every seed end at the same score?", page(results))
    return record


if __name__ == "__main__":
    main()
