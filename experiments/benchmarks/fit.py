"""Where the time of a whole default fit goes: cold process, warm refit, peak memory.

Every figure comes from processes of their own; the median of several. "Whole process" is from its start to its end.

Run: python -m experiments.benchmarks.fit [--quick]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

from experiments.study import RESULTS, Study, table

TABLES = {"adult": 25_000, "car": 1_200}
STAGES = {
    "imports": ["imports"],
    "literals, mining, screening": ["items", "mining", "screening"],
    "compiling, and the first descent": ["beginning"],
    "searching all patterns": ["searching"],
    "candidates around the pair": ["gathering"],
}


def cold(dataset: str) -> dict:
    """Stages of the first fit in this process."""
    seconds = {}
    start = time.perf_counter()
    import sklearn.base  # noqa: F401

    from experiments.benchmarks.common import peak_megabytes
    from soar_jax import SOARClassifier, datasets

    seconds["imports"] = time.perf_counter() - start
    imported = peak_megabytes()
    X, y = getattr(datasets, f"load_{dataset}")()
    X, y = X.head(TABLES[dataset]), y.head(TABLES[dataset])

    begin = time.perf_counter()
    model = SOARClassifier().fit(X, y)
    seconds["whole fit"] = time.perf_counter() - begin
    seconds |= model.stage_seconds_
    peak = peak_megabytes()
    begin = time.perf_counter()
    SOARClassifier(random_state=1).fit(X, y)
    seconds["warm refit"] = time.perf_counter() - begin
    return {"seconds": seconds, "peak_megabytes_above_imports": peak - imported}


def plain_fit(dataset: str) -> None:
    """What a user's script does."""
    from soar_jax import SOARClassifier, datasets

    X, y = getattr(datasets, f"load_{dataset}")()
    SOARClassifier().fit(X.head(TABLES[dataset]), y.head(TABLES[dataset]))


def call(part: str, dataset: str) -> tuple[str, float]:
    """Run one part in a process of its own: what it printed, and its seconds from start to end."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "experiments.benchmarks.fit", "--part", part, dataset]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout, time.perf_counter() - start


def main(argv=None) -> dict:
    if argv is None and sys.argv[1:2] == ["--part"]:
        part, dataset = sys.argv[2:]
        if part == "cold":
            json.dump(cold(dataset), sys.stdout)
        else:
            plain_fit(dataset)
        return {}
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    study = Study("fit", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    repeats = 1 if study.quick else 5
    found = {}
    for dataset in ["car"] if study.quick else list(TABLES):
        runs = [json.loads(call("cold", dataset)[0]) for _ in range(repeats)]
        names = runs[0]["seconds"]
        found[dataset] = {
            "seconds": {name: statistics.median(run["seconds"][name] for run in runs) for name in names},
            "cold fit with imports": sorted(run["seconds"]["imports"] + run["seconds"]["whole fit"] for run in runs),
            "whole process": sorted(call("plain", dataset)[1] for _ in range(repeats)),
            "peak_megabytes_above_imports": max(run["peak_megabytes_above_imports"] for run in runs),
        }
        study.say(f"{dataset} {found[dataset]}")
    header = ["", *(f"{name.capitalize()}, {TABLES[name]:,} rows" for name in found)]

    def spread(name: str, key: str) -> str:
        values = found[name][key]
        return f"**{statistics.median(values):.2f} s** ({values[0]:.2f} to {values[-1]:.2f})"

    rows = [
        [label, *(f"{sum(found[n]['seconds'][part] for part in parts):.2f} s" for n in found)]
        for label, parts in STAGES.items()
    ]
    rows += [
        ["cold fit with imports", *(spread(n, "cold fit with imports") for n in found)],
        ["whole process, from start to end", *(spread(n, "whole process") for n in found)],
        ["refit of like shape, warm", *(f"{found[n]['seconds']['warm refit']:.2f} s" for n in found)],
        ["peak memory above the imports", *(f"{found[n]['peak_megabytes_above_imports']:.0f} MB" for n in found)],
    ]
    figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
    for place, name in enumerate(found):
        left = 0.0
        for color, (label, parts) in enumerate(STAGES.items()):
            width = sum(found[name]["seconds"][part] for part in parts)
            ax.barh(place, width, left=left, color=f"C{color}", label=label if place == 0 else None)
            left += width
    ax.set_yticks(range(len(found)), list(found))
    ax.set_xlabel("seconds, cold process")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    lines = [f"Median of {repeats} processes, with the spread.", "", *table(header, rows)]
    return study.save(found, "Whole fits", lines, figure)


if __name__ == "__main__":
    main()
