"""What it costs to price all mined patterns against a few pairs, from a thousand patterns to a million.

10,000 rows of random binary columns; every pattern of up to three literals is mined. One pass gives, for eight pairs, what
each pattern would be worth if it were added. Every size runs in a process of its own, so that peak memory is its own. The
rival counts the same sixteen masks in NumPy from bits that lie ready in memory, and computes no score.

Run: python -m experiments.benchmarks.pricing [--quick]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import warnings

from experiments.study import RESULTS, Study, table

NUM_ROWS = 10_000
COLUMNS = (10, 20, 43, 92)
MOST_FOR_NUMPY = 200_000


def make(num_columns: int):
    """Random columns, and labels that depend on the first three."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(num_columns)
    X = rng.integers(0, 2, (NUM_ROWS, num_columns))
    y = (X[:, 0] & X[:, 1] | X[:, 2] & X[:, 3]) ^ (rng.random(NUM_ROWS) < 0.1)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(num_columns)]).astype("category"), y


def median_seconds(call, repeats: int = 5) -> float:
    """Median of several calls, after one that compiles or warms up."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def numpy_seconds(catalogue, queries) -> float:
    """Count the rows within each query's masks for all patterns of a side, in NumPy."""
    bits = catalogue.mined.pack(catalogue.item_bits, catalogue.listed[0])
    masks = [mask for query in queries for mask in (query.free, query.shared)]

    def count():
        for mask in masks:
            for start in range(0, len(bits), 1024):
                catalogue.layout.counts(bits[start : start + 1024] & mask)

    # both sides are priced; the other side costs as much per pattern
    return median_seconds(count, 1) * sum(map(len, catalogue.listed)) / len(catalogue.listed[0])


def measure(num_columns: int) -> dict:
    """Time and memory of one size, in this process."""
    import numpy as np

    from experiments.benchmarks.common import peak_megabytes
    from soar_jax import SOARClassifier
    from soar_jax._progress import Clock
    from soar_jax.candidates.build import CandidateOptions, build_candidates
    from soar_jax.candidates.pools import empty_pool
    from soar_jax.score.priors import ErrorRatio, from_bounds, resolve
    from soar_jax.score.rule_priors import SearchedRules
    from soar_jax.search.explore import Explorer

    imported = peak_megabytes()
    X, y = make(num_columns)
    model = SOARClassifier()
    options = CandidateOptions(**{name: getattr(model, name) for name in CandidateOptions.__dataclass_fields__})
    start = time.perf_counter()
    candidates = build_candidates(X, y.astype(bool), np.ones(NUM_ROWS, np.int64), options, single=False)
    mining = time.perf_counter() - start
    catalogue = candidates.source
    none = empty_pool(catalogue.layout.num_words)
    states = from_bounds(ErrorRatio(), ErrorRatio(), y.mean())
    hyper = resolve(states, SearchedRules(), candidates.searched, (none, none))
    explorer = Explorer(catalogue, hyper, single=False, seed=0, clock=Clock(None), mesh=None)
    rng = np.random.default_rng(0)
    included = (rng.random(explorer.nothing.shape) < 0.02) & (explorer.working.kind > 0)
    queries = [explorer.working.query(included, side) for side in (0, 1) for _ in range(8)]
    pass_seconds = median_seconds(lambda: explorer.pages.best(queries, 16, explorer.executor))
    found = {
        "mined patterns": len(catalogue.mined.items),
        "listed": sum(map(len, catalogue.listed)),
        "mining and listing, s": mining,
        "one pass, s": pass_seconds,
        "numpy, s": numpy_seconds(catalogue, queries[:8]) if len(catalogue.mined.items) <= MOST_FOR_NUMPY else None,
        "peak MB of the pass, above imports": peak_megabytes() - imported,
    }
    explorer.executor.shutdown()
    return found


def measure_fit(num_columns: int) -> dict:
    """Time and memory of a whole fit, in this process."""
    from experiments.benchmarks.common import peak_megabytes
    from soar_jax import SOARClassifier

    X, y = make(num_columns)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SOARClassifier().fit(X, y)
    return {
        "whole fit, s": time.perf_counter() - start,
        "rules": len(model.rules_),
        "certificate": str(model.certificate_),
        "peak MB of the fit": peak_megabytes(),
    }


def main(argv=None) -> dict:
    if argv is None and sys.argv[1:2] == ["--part"]:
        json.dump({"pass": measure, "fit": measure_fit}[sys.argv[2]](int(sys.argv[3])), sys.stdout)
        return {}
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    study = Study("pricing", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    found = []
    for num_columns in COLUMNS[:2] if study.quick else COLUMNS:
        found.append({})
        for part in ("pass", "fit"):
            command = [sys.executable, "-m", "experiments.benchmarks.pricing", "--part", part, str(num_columns)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[-1] |= json.loads(done.stdout)
        study.say(f"{num_columns} columns: {found[-1]}")
    header = [
        "mined patterns",
        "mining",
        "one pass, 8 pairs",
        "NumPy, counts only",
        "whole fit, cold",
        "peak memory of the fit",
    ]
    rows = [
        [
            f"{line['mined patterns']:,}",
            f"{line['mining and listing, s']:.2f} s",
            f"{1000 * line['one pass, s']:.1f} ms",
            "" if line["numpy, s"] is None else f"{1000 * line['numpy, s']:.0f} ms",
            f"{line['whole fit, s']:.1f} s",
            f"{line['peak MB of the fit']:,.0f} MB",
        ]
        for line in found
    ]
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    sizes = [line["mined patterns"] for line in found]
    ax.loglog(sizes, [line["one pass, s"] for line in found], "o-", label="one pass, 8 pairs")
    ax.loglog(sizes, [line["mining and listing, s"] for line in found], "s--", label="mining")
    with_numpy = [line for line in found if line["numpy, s"] is not None]
    ax.loglog(
        [line["mined patterns"] for line in with_numpy],
        [line["numpy, s"] for line in with_numpy],
        "^:",
        label="NumPy, counts only",
    )
    ax.set_xlabel("mined patterns, 10,000 rows")
    ax.set_ylabel("seconds")
    ax.legend(frameon=False)
    return study.save({"results": found}, "Pricing all mined patterns", table(header, rows), figure)


if __name__ == "__main__":
    main()
