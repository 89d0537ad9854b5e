"""Reasons of 1,000 to 1,000,000 rows of Adult: seconds of ``explain(X).to_frame()`` on one core, and of ``contrast``.

The rules are those of a default fit; rows are drawn from Adult again and again. Beside it "no two rows alike": the same
with noise on the numbers, so that no text of a near miss can be shared. Each figure is the median of five runs, warm.

Run: python -m experiments.benchmarks.explain [--quick]
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np

from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier, datasets

SIZES = (1_000, 10_000, 100_000, 1_000_000)
AIM = (100_000, 3.0)
NUM_CONTRASTS = 300


def seconds_of(function, repeats: int = 5) -> float:
    """Median seconds of several calls, after one that warms up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def with_noise(X):
    """Make every number of the table its own."""
    rng = np.random.default_rng(1)
    numbers = X.select_dtypes("number").columns
    return X.assign(**{name: X[name] + rng.uniform(-0.4, 0.4, len(X)) for name in numbers})


def main(argv=None) -> dict:
    study = Study("explain", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    X, y = datasets.load_adult()
    head = slice(2_000 if study.quick else None)
    model = SOARClassifier(**(dict(n_rounds=1, max_length=2, grow_to=0) if study.quick else {})).fit(X[head], y[head])
    study.say(f"{len(model.positive_rules_)} + {len(model.negative_rules_)} rules")
    results = []
    for size in SIZES[:2] if study.quick else SIZES:
        rows = X.take(np.random.default_rng(0).integers(0, len(X), size)).reset_index(drop=True)
        frames = {"drawn from Adult": rows} | ({"no two rows alike": with_noise(rows)} if size <= AIM[0] else {})
        for kind, frame in frames.items():
            repeats = 5 if size <= AIM[0] else 1
            results.append(
                {
                    "rows": size,
                    "kind": kind,
                    "frame_s": seconds_of(lambda frame=frame: model.explain(frame).to_frame(), repeats),
                    "predict_s": seconds_of(lambda frame=frame: model.predict_table(frame), repeats),
                }
            )
            study.say(str(results[-1]))
    times, changes, none = [], [], 0
    for i in np.random.default_rng(0).choice(len(X), NUM_CONTRASTS // (10 if study.quick else 1), replace=False):
        row = X.iloc[[i]]
        start = time.perf_counter()
        found = model.contrast(row)
        times.append(time.perf_counter() - start)
        changes.append(found.num_changes)
        none += not len(found) and not found.is_there
    contrast = {
        "rows": len(times),
        "median_ms": 1000 * statistics.median(times),
        "worst_ms": 1000 * max(times),
        "changes": {int(k): int(n) for k, n in zip(*np.unique(changes, return_counts=True), strict=True)},
        "without_any": none,
    }
    study.say(str(contrast))
    aim = [r["frame_s"] for r in results if r["rows"] == AIM[0] and r["kind"] == "drawn from Adult"]
    lines = [
        f"One core; {len(model.positive_rules_)} + {len(model.negative_rules_)} rules of a default fit to Adult. The aim: "
        f"{AIM[0]:,} rows within {AIM[1]:.0f} s" + (f"; measured {aim[0]:.2f} s." if aim else "."),
        "",
        *table(
            ["rows", "kind", "explain(X).to_frame()", "predict_table(X)"],
            [[f"{r['rows']:,}", r["kind"], f"{r['frame_s']:.2f} s", f"{r['predict_s']:.2f} s"] for r in results],
        ),
        "",
        f"`contrast` of {contrast['rows']} rows to the class not predicted: median {contrast['median_ms']:.0f} ms, worst "
        f"{contrast['worst_ms']:.0f} ms; columns to change: "
        + ", ".join(f"{k} in {n} rows" for k, n in contrast["changes"].items())
        + ".",
    ]
    record = {
        "rules": [len(model.positive_rules_), len(model.negative_rules_)],
        "results": results,
        "contrast": contrast,
    }
    return study.save(record, "Reasons", lines)


if __name__ == "__main__":
    main()
