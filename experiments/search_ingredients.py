"""What each part of the search is worth: the default search, and the same with one part taken away, on many tables.

Run: python -m experiments.search_ingredients [--quick]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from experiments.posterior_convergence import training_part
from experiments.study import Study, table
from experiments.tables import available
from soar_jax import SOARClassifier
from soar_jax.search import explore, kicks, niches

SEEDS = (0, 1)
DEFAULT = "default"
Part = tuple[dict[str, Any], dict[tuple[Any, str], Any]]
VARIANTS: dict[str, Part] = {
    DEFAULT: ({}, {}),
    "one search": ({}, {(explore, "MAX_SEARCHES"): 1}),
    "one round": ({"n_rounds": 1}, {}),
    "three rounds": ({"n_rounds": 3}, {}),
    "no growth": ({"grow_to": 0}, {}),
    "one reading": ({}, {(niches, "NUM_NICHES"): 1}),
    "no crossing": ({}, {(kicks, "_SHARE_CROSSED"): 0.0}),
    "no forbidding": ({}, {(kicks, "_SHARE_FORBIDDEN"): 0.0}),
    "no thinning in kicks": ({}, {(kicks, "_SHARE_THINNED"): 0.0}),
    "kicks take out only": ({}, {(kicks, "_SHARE_WITH_NEW"): 0.0}),
}


@contextmanager
def changed(constants: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Set constants of modules for a while."""
    before = {key: getattr(*key) for key in constants}
    try:
        for (module, name), value in constants.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def fits_of(study: Study, name: str, power: float | str) -> list[dict]:
    X, y = training_part(name)
    SOARClassifier(power=power, n_rounds=1).fit(X, y)  # compiles
    lines = []
    for variant, (parameters, constants) in VARIANTS.items():
        for seed in SEEDS:
            with changed(constants):
                start = time.perf_counter()
                model = SOARClassifier(power=power, random_state=seed, **parameters).fit(X, y)
                seconds = time.perf_counter() - start
            about = {"table": name, "power": model.power_, "variant": variant, "seed": seed}
            lines.append({**about, "score": model.score_, "rules": len(model.rules_), "seconds": seconds})
    least = min(line["score"] for line in lines)
    for line in lines:
        line["gap"] = line["score"] - least
    study.say(f"{name}, power {lines[0]['power']:.3f}: best score {least:.2f}")
    return lines


def summary(variant: str, lines: list[dict], is_full: bool) -> list:
    mine = [line for line in lines if line["variant"] == variant and (line["power"] == 1) == is_full]
    usual = [line for line in lines if line["variant"] == DEFAULT and (line["power"] == 1) == is_full]
    names = list(dict.fromkeys(line["table"] for line in mine))
    gaps = {name: float(np.mean([line["gap"] for line in mine if line["table"] == name])) for name in names}
    before = {name: float(np.mean([line["gap"] for line in usual if line["table"] == name])) for name in names}
    worse = [f"{name} {gaps[name] - before[name]:+.1f}" for name in names if gaps[name] - before[name] > 0.5]
    share = np.mean([a["seconds"] / b["seconds"] for a, b in zip(mine, usual, strict=True)])
    return [variant, float(np.mean(list(gaps.values()))), ", ".join(worse) or "none", f"{share:.2f}"]


def main(argv: list[str] | None = None) -> dict:
    study = Study("search_ingredients", __doc__, argv)
    warnings.simplefilter("ignore")
    names = ["synthetic"] if study.quick else available()
    lines = [line for name in names for line in fits_of(study, name, "auto")]
    coarse = {line["table"] for line in lines if line["power"] < 1}
    lines += [line for name in names if name in coarse for line in fits_of(study, name, 1)]
    header = ["search", "gap to the best score, mean nats", "worse than the default by more than half a nat", "seconds"]
    page = [
        "Training parts of the tables as in the study of convergence; seeds 0 and 1. Seconds as a multiple of the default's."
    ]
    for is_full, title in ((True, "At power 1"), (False, "At the default power, where that is below 1")):
        if any((line["power"] == 1) == is_full for line in lines):
            page += ["", f"## {title}", "", *table(header, [summary(variant, lines, is_full) for variant in VARIANTS])]
    return study.save({"lines": lines}, "Ingredients of the search", page)


if __name__ == "__main__":
    main()
