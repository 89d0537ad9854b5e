"""Where the time of a whole fit goes, and annealing steps a second against two NumPy rivals.

Run: python -m experiments.benchmarks.fit [--dataset adult|car] [--rows N]
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
RESTARTS = (1, 4, 32, 100)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cold(dataset: str, rows: int) -> dict[str, float]:
    """Stages of the first fit in this process."""
    from importlib.metadata import version

    seconds = {}
    start = time.perf_counter()
    import jax
    import sklearn.base  # noqa: F401

    from soar_jax import anneal, datasets, descent
    from soar_jax.estimators import SOARClassifier

    seconds["imports"] = time.perf_counter() - start
    imported = peak_megabytes()
    X, y = getattr(datasets, f"load_{dataset}")()
    X, y = X.head(rows), y.head(rows)

    compile_seconds = {"annealing": 0.0, "descent": 0.0}

    def watch(function, name):
        """Count the first call's compilation apart; ahead-of-time, so that it is not mixed with running."""
        state = {}

        def call(*args):
            if "compiled" not in state:
                begin = time.perf_counter()
                state["compiled"] = function.lower(*args).compile()
                compile_seconds[name] += time.perf_counter() - begin
            return state["compiled"](*args)

        return call

    plain = anneal._run_block, descent._descend
    anneal._run_block, descent._descend = watch(plain[0], "annealing"), watch(plain[1], "descent")
    reports = []
    run = anneal.run

    def timed_run(*args, **kwargs):
        begin = time.perf_counter()
        result = run(*args, **{**kwargs, "progress": lambda r: reports.append((r.phase, time.perf_counter()))})
        annealed = max(t for phase, t in reports if phase == "annealing")
        seconds["compile annealing"] = compile_seconds["annealing"]
        seconds["compile descent, beside"] = compile_seconds["descent"]
        seconds["annealing"] = annealed - begin - compile_seconds["annealing"]
        seconds["descents"] = time.perf_counter() - annealed
        return result

    anneal.run = timed_run
    begin = time.perf_counter()
    model = SOARClassifier().fit(X, y)
    seconds["whole fit"] = time.perf_counter() - begin
    anneal.run, (anneal._run_block, descent._descend) = run, plain
    seconds |= model.stage_seconds_
    seconds["total with imports"] = seconds["imports"] + seconds["whole fit"]
    SOARClassifier(random_state=1).fit(X, y)
    begin = time.perf_counter()
    SOARClassifier(random_state=2).fit(X, y)
    seconds["warm refit"] = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "peak_megabytes_above_imports": peak_megabytes() - imported,
        "rows": len(X),
        "patterns": [len(p) for p in model._candidates.pools],
        "words": model._candidates.layout.num_words,
        "versions": {name: version(name) for name in ("jax", "numpy", "scikit-learn", "soar-jax")},
        "backend": jax.default_backend(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }


def rates(dataset: str, rows: int) -> dict[str, float]:
    """Annealing steps a second: ours by number of restarts, and the rivals, in one process."""
    from concurrent.futures import ThreadPoolExecutor

    import jax
    import jax.numpy as jnp

    from experiments.benchmarks.rivals import DenseRival, PackedRival
    from soar_jax import SOARClassifier, anneal, datasets
    from soar_jax._base import in_float64
    from soar_jax.problem import make_problem

    X, y = getattr(datasets, f"load_{dataset}")()
    model = SOARClassifier(n_iter=100, n_restarts=1).fit(X.head(rows), y.head(rows))
    problem = make_problem(model._candidates.pools, model._candidates.layout, model._hyper, single=False)
    found = {}
    with jax.enable_x64(True):
        schedule = anneal.Schedule(jnp.int32(10**6), jnp.float64(3), jnp.float64(0.3), jnp.asarray(False))
        for restarts in RESTARTS:
            states = [anneal._init(problem) for _ in range(restarts)]

            @in_float64
            def advance(restart, block, states=states):
                draws = anneal._draw(0, restart, block)
                states[restart], _ = anneal._run_block(problem, states[restart], draws, jnp.int32(block), schedule)
                jax.block_until_ready(states[restart].log_joint)

            blocks = 12 if restarts < 8 else 4
            with ThreadPoolExecutor(2) as executor:
                for block in range(blocks):
                    list(executor.map(advance, range(restarts), [block] * restarts))
                    if block == 1:  # compiled and away from the empty pair
                        begin = time.perf_counter()
            rate = (blocks - 2) * anneal.BLOCK * restarts / (time.perf_counter() - begin)
            found[f"soar_jax, {restarts} restarts"] = rate
    for name, rival, steps in (("packed NumPy", PackedRival(model), 300), ("dense NumPy", DenseRival(model), 12)):
        for _ in range(steps // 6):
            rival.step()
        begin = time.perf_counter()
        for _ in range(steps):
            rival.step()
        found[name] = steps / (time.perf_counter() - begin)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="adult", choices=("adult", "car"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--part", choices=("cold", "rates"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    rows = args.rows or {"adult": 25_000, "car": 1_200}[args.dataset]
    if args.part:
        json.dump({"cold": cold, "rates": rates}[args.part](args.dataset, rows), sys.stdout)
        return
    result = {"command": f"python -m experiments.benchmarks.fit --dataset {args.dataset} --rows {rows}"}
    for part in ("cold", "rates"):  # each in a process of its own: cold means cold
        command = [sys.executable, "-m", "experiments.benchmarks.fit", "--part", part]
        done = subprocess.run(
            [*command, "--dataset", args.dataset, "--rows", str(rows)], check=True, stdout=subprocess.PIPE
        )
        result[part] = json.loads(done.stdout)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"fit_{args.dataset}.json").write_text(json.dumps(result, indent=1) + "\n")
    cold_part, rate_part = result["cold"], result["rates"]
    print(f"{args.dataset}, {rows} rows, patterns {cold_part['patterns']}, {cold_part['words']} words\n")
    for name, value in cold_part["seconds"].items():
        print(f"  {name:24s} {value:8.3f} s")
    print(f"  peak memory above imports {cold_part['peak_megabytes_above_imports']:.0f} MB\n")
    packed, dense = rate_part["packed NumPy"], rate_part["dense NumPy"]
    for name, value in rate_part.items():
        print(f"  {name:24s} {value:10.1f} steps/s   {value / packed:7.1f} x packed   {value / dense:8.1f} x dense")


if __name__ == "__main__":
    main()
