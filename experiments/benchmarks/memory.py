"""Memory of one process that samples for ten minutes: it must not grow beyond the draws that it keeps.

Car, all rows, default pools. A thread reads the resident memory every two seconds; the slope is that of a straight line
through the second half of the drawing, when everything is compiled; the verdict after the last draw is shown apart.

Run: python -m experiments.benchmarks.memory [--quick]
"""

from __future__ import annotations

import threading
import time

import numpy as np

from experiments.benchmarks.many_fits import resident_megabytes
from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier, datasets

SECONDS = 600


def main(argv=None) -> dict:
    study = Study("memory", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    seconds = 20 if study.quick else SECONDS
    X, y = datasets.load_car()
    model = SOARClassifier().fit(X, y)
    readings: list[tuple[float, int]] = []
    ended = threading.Event()
    started = time.perf_counter()

    def watch() -> None:
        while not ended.wait(2):
            readings.append((time.perf_counter() - started, resident_megabytes()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        post = model.sample_posterior(10**9, num_warmup=200, thin=4, time_budget=seconds)
    finally:
        ended.set()
        watcher.join()
    taken = time.perf_counter() - started
    at, megabytes = np.array(readings).T
    half = (at > seconds / 2) & (at <= seconds)
    slope = float(np.polyfit(at[half] / 60, megabytes[half], 1)[0])
    draws = post.draws
    kept = sum(part.nbytes for part in (draws.packed, draws.log_likelihood)) / 2**20
    record = {
        "seconds": taken,
        "num_draws": int(np.prod(draws.log_likelihood.shape[:2])),
        "megabytes_of_draws": kept,
        "megabytes_at_half": float(megabytes[half][0]),
        "megabytes_at_end": float(megabytes[half][-1]),
        "megabytes_at_most": float(megabytes.max()),
        "megabytes_per_minute": slope,
        "readings": [[round(t, 1), int(m)] for t, m in zip(at, megabytes, strict=True)],
    }
    text = [
        f"{taken:.0f} s of sampling, {record['num_draws']:,} draws kept ({kept:.1f} MB). Slope of the second half: {slope:+.2f} MB per "
        f"minute. At most {record['megabytes_at_most']:.0f} MB, the verdict at the end included.",
        "",
        *table(
            ["second", "resident MB"],
            [[round(t), int(m)] for t, m in list(zip(at, megabytes, strict=True))[:: max(1, len(at) // 12)]],
        ),
    ]
    return study.save(record, "Memory of a long sampling", text)


if __name__ == "__main__":
    main()
