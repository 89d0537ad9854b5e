"""How the defaults were chosen: one change at a time, over tables of many kinds, against a random forest.

Run: python -m experiments.defaults_study [--quick]
Writes experiments/results/defaults_study.json and .md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from experiments.tables import LOADERS, MAIN, available, forest_ready
from soar_jax import Opinion, RulePrior, SOARClassifier, datasets

RESULTS = Path(__file__).parent / "results"
SEEDS = (0, 1)
SETTINGS = {
    "default": {},
    "consensus 0.9 worth 2 %": {"consensus": Opinion(0.9, share=0.02)},
    "consensus 0.97 worth 5 %": {"consensus": Opinion(0.97, share=0.05)},
    "ambiguous worth 25 %": {"ambiguous": Opinion(0.5, share=0.25)},
    "support 0.05": {"min_support": 0.05},
    "support 0.02": {"min_support": 0.02},
    "quantile cuts": {"cuts": "quantile"},
    "rule prior Beta(1, 300)": {"rule_prior": RulePrior(1, 300)},
    "gini": {"screen": "gini"},
    "shared pools": {"pools": "shared"},
}


def load(name: str, seed: int):
    if name == "synthetic":
        X, y = datasets.load_synthetic(seed)
        return X, y.to_numpy()
    return LOADERS[name]()


def forest_error(name: str, seed: int) -> float:
    X, y = load(name, seed)
    X, X_test, y, y_test = train_test_split(forest_ready(X), y, test_size=0.3, random_state=seed, stratify=y)
    forest = RandomForestClassifier(300, random_state=seed, n_jobs=2).fit(X, y)
    return float((forest.predict(X_test) != y_test).mean())


def soar_figures(name: str, seed: int, parameters: dict) -> dict[str, float]:
    X, y = load(name, seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    start = time.perf_counter()
    model = SOARClassifier(random_state=seed, **parameters).fit(X, y)
    seconds = time.perf_counter() - start
    cases = model.taxonomy(X_test, y_test) / len(y_test)
    return {
        "error": float((model.predict(X_test) != y_test).mean()),
        "misclassified": float(cases["CFP"] + cases["CFN"]),
        "active": float(cases["AAP"] + cases["AAN"]),
        "passive": float(cases["PAP"] + cases["PAN"]),
        "positive_rules": len(model.positive_rules_),
        "negative_rules": len(model.negative_rules_),
        "median_length": float(model.rules_["length"].median()),
        "seconds": seconds,
    }


def run(settings: dict, names: list[str], seeds: tuple[int, ...]) -> tuple[pd.DataFrame, dict[str, float]]:
    forest = {name: float(np.mean([forest_error(name, seed) for seed in seeds])) for name in names}
    rows = []
    for label, parameters in settings.items():
        for name in names:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Mining stopped")  # wide tables end at length 2
                figures = pd.DataFrame([soar_figures(name, seed, parameters) for seed in seeds]).mean()
            rows.append({"setting": label, "table": name, **figures.to_dict(), "forest_error": forest[name]})
        part = pd.DataFrame(rows)
        gap = (part["error"] - part["forest_error"])[part["setting"] == label].mean()
        print(f"{label:28s} mean gap to the forest {gap:+.4f}", flush=True)
    return pd.DataFrame(rows), forest


def markdown(table: pd.DataFrame, command: str, seeds: tuple[int, ...]) -> str:
    table = table.assign(gap=table["error"] - table["forest_error"], ambiguous=table["active"] + table["passive"])
    names = [name for name in MAIN if name in set(table["table"])]
    default = table[table["setting"] == "default"].set_index("table")
    versions = ", ".join(f"{name} {version(name)}" for name in ("soar-jax", "jax", "scikit-learn"))
    head = f"`{command}`, 70/30 stratified splits, seeds {list(seeds)}, {versions}."
    lines = [
        "# Choosing the defaults",
        "",
        head,
        "",
        "## Defaults, table by table",
        "",
    ]
    lines += ["| table | error | forest | gap | misclassified | active | passive | rules + | rules - | median length |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    for name, r in default.iterrows():
        lines.append(
            f"| {name} | {r['error']:.4f} | {r['forest_error']:.4f} | {r['gap']:+.4f} | {r['misclassified']:.4f} | "
            f"{r['active']:.3f} | {r['passive']:.3f} | {r['positive_rules']:.1f} | {r['negative_rules']:.1f} | "
            f"{r['median_length']:.1f} |"
        )
    lines += [
        "",
        f"Mean gap over {', '.join(names)}: **{default.loc[names, 'gap'].mean():+.4f}**; "
        f"over all tables {default['gap'].mean():+.4f}.",
        "",
        "## One change at a time, means over tables",
        "",
    ]
    lines += [
        "| setting | gap, main tables | gap, all | misclassified | ambiguous | most rules a side |",
        "|---|---|---|---|---|---|",
    ]
    for label, part in table.groupby("setting", sort=False):
        main = part[part["table"].isin(names)]
        most = max(part["positive_rules"].max(), part["negative_rules"].max())
        lines.append(
            f"| {label} | {main['gap'].mean():+.4f} | {part['gap'].mean():+.4f} | {part['misclassified'].mean():.4f} | "
            f"{part['ambiguous'].mean():.3f} | {most:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="defaults only, three small tables, one seed")
    args = parser.parse_args()
    seeds = (0,) if args.quick else SEEDS
    names = ["synthetic", "car", "sklearn iris"] if args.quick else available()
    settings = {"default": {}} if args.quick else SETTINGS
    table, _ = run(settings, names, seeds)
    command = "python -m experiments.defaults_study" + (" --quick" if args.quick else "")
    text = markdown(table, command, seeds)
    if args.quick:
        print(text)
        return
    RESULTS.mkdir(exist_ok=True)
    record = {"command": command, "seeds": list(seeds), "rows": table.round(6).to_dict(orient="records")}
    (RESULTS / "defaults_study.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "defaults_study.md").write_text(text)


if __name__ == "__main__":
    main()
