"""Wide tables: 2,000 columns x 1,000 rows, default settings, in a fresh process and once more.

Two tables with planted rules (seed 0): numbers with a rule of two columns, and columns of four levels with rules of one and
two. "Cold" is the first fit of a process, compilation included and imports not; "again" is the same fit once more.

Run: python -m experiments.benchmarks.wide [--quick]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd

from experiments.study import RESULTS, Study, table

SEED = 0
TABLES = ("numbers", "levels")


def make(kind: str, num_rows: int, num_columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(SEED)
    names = [f"c{i}" for i in range(num_columns)]
    if kind == "numbers":
        X = pd.DataFrame(rng.normal(size=(num_rows, num_columns)), columns=names)
        truth = ((X["c3"] > 0) & (X["c7"] > 0)).to_numpy()
    else:
        X = pd.DataFrame(rng.choice(list("abcd"), size=(num_rows, num_columns)), columns=names)
        truth = ((X["c3"] == "a") | (X["c7"] == "b") & (X["c11"] == "c")).to_numpy()
    return X, (truth ^ (rng.random(num_rows) < 0.05)).astype(int)


def fit_twice(kind: str, num_rows: int, num_columns: int) -> dict:
    from soar_jax import SOARClassifier

    warnings.simplefilter("ignore")
    X, y = make(kind, num_rows, num_columns)
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        model = SOARClassifier().fit(X, y)
        seconds.append(time.perf_counter() - begun)
    return {
        "table": kind,
        "cold": seconds[0],
        "again": seconds[1],
        "stages": {name: round(value, 2) for name, value in model.stage_seconds_.items()},
        "rules": [str(rule) for rule in (*model.positive_rules_, *model.negative_rules_)],
    }


def main(argv=None) -> dict:
    if argv is None and sys.argv[1:2] == ["--fit"]:
        print(json.dumps(fit_twice(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
        return {}
    study = Study("wide", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    num_rows, num_columns = (300, 60) if study.quick else (1000, 2000)
    results = []
    for kind in TABLES:
        load = os.getloadavg()[0]
        words = [sys.executable, "-m", "experiments.benchmarks.wide", "--fit", kind, str(num_rows), str(num_columns)]
        out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        results.append({**json.loads(out.splitlines()[-1]), "load": load})
        study.say(str(results[-1]))
    record = {"num_rows": num_rows, "num_columns": num_columns, "results": results}
    lines = [
        [r["table"], f"{r['cold']:.1f}", f"{r['again']:.1f}", f"{r['load']:.1f}", "; ".join(r["rules"])]
        for r in results
    ]
    text = [
        f"{num_columns:,} columns x {num_rows:,} rows.",
        "",
        *table(["table", "cold s", "again s", "load at the start", "rules found"], lines),
    ]
    return study.save(record, "Wide tables", text)


if __name__ == "__main__":
    main()
