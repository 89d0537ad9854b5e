"""Many raw rows through grouping: Adult's rows drawn again and again, up to ten million; seconds and memory of a fit.

Each size is fitted in a process of its own.

Run: python -m experiments.benchmarks.rows [--quick]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from experiments.study import RESULTS, Study, table

SIZES = (100_000, 1_000_000, 10_000_000)


def fit(num_rows: int) -> dict:
    import numpy as np

    from soar_jax import SOARClassifier, datasets

    X, y = datasets.load_adult()
    index = np.random.default_rng(0).integers(0, len(X), num_rows)
    for name in X.columns:
        if X[name].dtype == object or str(X[name].dtype) in ("str", "string"):
            X[name] = X[name].astype("category")
    X, y = X.take(index).reset_index(drop=True), y.to_numpy()[index]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    model = SOARClassifier().fit(X, y)
    return {
        "rows": num_rows,
        "distinct_rows": int(model._candidates.layout.num_words * 64),
        "seconds": time.perf_counter() - start,
        "table_mb": before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rules": len(model.rules_),
        "score": model.score_,
        "stages": {name: round(seconds, 2) for name, seconds in model.stage_seconds_.items()},
    }


def main(argv=None) -> dict:
    if argv is None and len(sys.argv) == 3 and sys.argv[1] == "--rows":
        print(json.dumps(fit(int(sys.argv[2]))))
        return {}
    study = Study("rows", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    results = []
    for size in SIZES[:1] if study.quick else SIZES:
        command = [sys.executable, "-m", "experiments.benchmarks.rows", "--rows", str(size)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        failed = {"rows": size, "failure": (run.stderr.strip().splitlines() or ["killed"])[-1]}
        results.append(json.loads(run.stdout.strip().splitlines()[-1]) if run.returncode == 0 else failed)
        study.say(str(results[-1]))
    lines = [
        "Adult's 32,561 rows drawn with replacement, defaults, cold process; peak memory holds imports and the table itself.",
        "",
        *table(
            ["raw rows", "bits a pattern", "seconds", "table MB", "peak MB", "rules", "stages, s"],
            [
                [f"{r['rows']:,}", r["failure"], "", "", "", "", ""]
                if "failure" in r
                else [
                    f"{r['rows']:,}",
                    f"{r['distinct_rows']:,}",
                    f"{r['seconds']:.1f}",
                    f"{r['table_mb']:.0f}",
                    f"{r['peak_mb']:.0f}",
                    r["rules"],
                    r["stages"],
                ]
                for r in results
            ],
        ),
    ]
    return study.save({"results": results}, "Many rows", lines)


if __name__ == "__main__":
    main()
