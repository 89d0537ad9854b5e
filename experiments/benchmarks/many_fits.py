"""Many fits and samplings of random shapes in one process: memory maps and resident memory must stay flat.

Every table has its own number of rows, columns and levels, so that nearly every fit compiles programs of its own. Linux
allows a process 65,530 memory maps; before programs were bounded, each fit of a new shape took some 200 of them for ever
and each sampling some 1,400.

Run: python -m experiments.benchmarks.many_fits [--quick] [--fits N] [--samplings N]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier
from soar_jax.score.compiled import num_kept

SEED = 0
MAX_MAPS = 65_530


def random_table(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    num_rows, num_columns = int(rng.integers(60, 3_000)), int(rng.integers(3, 9))
    X = pd.DataFrame({f"x{i}": rng.integers(0, rng.integers(2, 5), num_rows).astype(str) for i in range(num_columns)})
    y = ((X["x0"] == "1") & (X["x1"] == "0") | (rng.random(num_rows) < 0.1)).to_numpy().astype(int)
    return X, y


def num_maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def resident_megabytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def main(argv=None) -> dict:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--fits", type=int)
    parser.add_argument("--samplings", type=int)
    sizes, rest = parser.parse_known_args(argv)
    study = Study("many_fits", __doc__, rest, RESULTS.parent / "benchmarks" / "results")
    num_fits = sizes.fits or (20 if study.quick else 1_000)
    num_samplings = sizes.samplings or (2 if study.quick else 200)
    study.command += f" --fits {num_fits} --samplings {num_samplings}"
    rng = np.random.default_rng(SEED)
    every = num_fits // num_samplings
    lines, started, sampled, failures = [], time.perf_counter(), 0, 0
    for number in range(1, num_fits + 1):
        X, y = random_table(rng)
        max_patterns = int(rng.integers(40, 400))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SOARClassifier(n_rounds=1, max_length=2, max_patterns=max_patterns).fit(X, y)
            failures += not model.is_local_optimum_
            if number % every == 0 and sampled < num_samplings:
                model.sample_posterior(25, num_chains=2, num_warmup=0, num_temperatures=2)
                sampled += 1
        if number % max(1, num_fits // 40) == 0:
            seconds = time.perf_counter() - started
            lines.append([number, sampled, num_maps(), resident_megabytes(), num_kept(), round(seconds)])
            study.say(str(lines[-1]))
    half = [line for line in lines if line[0] > num_fits // 2]
    record = {
        "num_fits": num_fits,
        "num_samplings": sampled,
        "uncertified": failures,
        "most_maps": max(line[2] for line in lines),
        "maps_at_half": half[0][2],
        "maps_at_end": lines[-1][2],
        "megabytes_at_half": half[0][3],
        "megabytes_at_end": lines[-1][3],
        "lines": lines,
    }
    head = ["fits", "samplings", "memory maps", "resident MB", "programs kept", "seconds"]
    text = [
        f"{num_fits} fits and {sampled} samplings of random shapes (seed {SEED}) ran through; at most "
        f"{record['most_maps']:,} memory maps of {MAX_MAPS:,}.",
        "",
        *table(head, lines),
    ]
    return study.save(record, "Many fits in one process", text)


if __name__ == "__main__":
    main()
