"""Whole default fits of a thousand to ten million raw rows: seconds and memory, with rows that repeat and rows that do not.

"Repeating" draws Adult's rows again and again: equal rows are grouped and carry weights. "Distinct" has 24 columns of five
even levels, where no two rows are equal and grouping cannot help. Each fit is a process of its own, and cold.

Run: python -m experiments.benchmarks.rows [--quick]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from experiments.study import RESULTS, Study, table

SIZES = {
    "repeating": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "distinct": (1_000, 10_000, 100_000, 1_000_000, 3_000_000),
}


def repeating(num_rows: int):
    import numpy as np

    from soar_jax import datasets

    X, y = datasets.load_adult()
    index = np.random.default_rng(0).integers(0, len(X), num_rows)
    for name in X.columns:
        if str(X[name].dtype) in ("object", "str", "string"):
            X[name] = X[name].astype("category")
    return X.take(index).reset_index(drop=True), y.to_numpy()[index]


def distinct(num_rows: int):
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    levels = rng.integers(0, 5, (num_rows, 24), dtype=np.int8)
    chance = 0.1 + 0.7 * ((levels[:, 0] == 1) & (levels[:, 1] < 3) | (levels[:, 2] == 4) & (levels[:, 3] == 0))
    columns = {f"x{j}": pd.Categorical.from_codes(levels[:, j], list("abcde")) for j in range(levels.shape[1])}
    return pd.DataFrame(columns), (rng.random(num_rows) < chance).astype(int)


def fit(kind: str, num_rows: int) -> dict:
    from experiments.benchmarks.common import peak_megabytes
    from soar_jax import SOARClassifier

    X, y = {"repeating": repeating, "distinct": distinct}[kind](num_rows)
    before = peak_megabytes()
    start = time.perf_counter()
    model = SOARClassifier().fit(X, y)
    seconds = time.perf_counter() - start
    target = model.fitted_pair_.target
    return {
        "kind": kind,
        "rows": num_rows,
        "bits_a_pattern": int(target.layout.num_words * 64),
        "patterns": [len(pool) for pool in target.pools],
        "seconds": seconds,
        "table_mb": before,
        "peak_mb": peak_megabytes(),
        "rules": len(model.rules_),
        "score": model.score_,
        "stages": {name: round(seconds, 2) for name, seconds in model.stage_seconds_.items()},
    }


def main(argv=None) -> dict:
    if argv is None and sys.argv[1:2] == ["--fit"]:
        print(json.dumps(fit(sys.argv[2], int(sys.argv[3]))))
        return {}
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    study = Study("rows", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    results = []
    for kind, sizes in SIZES.items():
        for size in sizes[:2] if study.quick else sizes:
            command = [sys.executable, "-m", "experiments.benchmarks.rows", "--fit", kind, str(size)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            failed = {"kind": kind, "rows": size, "failure": (run.stderr.strip().splitlines() or ["killed"])[-1]}
            results.append(json.loads(run.stdout.strip().splitlines()[-1]) if run.returncode == 0 else failed)
            study.say(str(results[-1]))
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for kind in SIZES:
        # where mining had to stop early the fit had less to do, and is no point of the same line
        mine = [r for r in results if r["kind"] == kind and min(r.get("patterns", [0])) >= 1000]
        for ax, key in zip(axes, ("seconds", "peak_mb"), strict=True):
            ax.loglog([r["rows"] for r in mine], [r[key] for r in mine], "o-", label=kind)
    axes[0].set_ylabel("seconds of a cold fit, after the imports")
    axes[1].set_ylabel("peak MB of the process")
    for ax in axes:
        ax.set_xlabel("raw rows")
        ax.legend(frameon=False)
    header = ["rows", "raw rows", "bits a pattern", "candidates", "seconds", "of it reading and cutting columns"]
    lines = [
        "Text columns are pandas categories; peak memory holds imports and the table itself. Fewer candidates than 1,000 a side: "
        "counting longer patterns of so many distinct rows would have taken too long, of which the fit warns.",
        "",
        *table(
            [*header, "MB before the fit", "peak MB", "rules"],
            [
                [r["kind"], f"{r['rows']:,}", r["failure"], "", "", "", "", "", ""]
                if "failure" in r
                else [
                    r["kind"],
                    f"{r['rows']:,}",
                    f"{r['bits_a_pattern']:,}",
                    " + ".join(f"{n:,}" for n in r["patterns"]),
                    f"{r['seconds']:.1f}",
                    f"{r['stages']['items']:.1f}",
                    f"{r['table_mb']:.0f}",
                    f"{r['peak_mb']:.0f}",
                    r["rules"],
                ]
                for r in results
            ],
        ),
    ]
    return study.save({"results": results}, "Many rows", lines, figure)


if __name__ == "__main__":
    main()
