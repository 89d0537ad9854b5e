"""Annealing steps per second on Car and Adult: 1 to 1,024 restarts of soar_jax against the same algorithm in NumPy.

Runs of default settings (500 steps, half of them random; dense NumPy the first 100) from two empty rule sets. Each rate is
all steps over all seconds of the seeds 0, 1 and 2, after a first run that compiles and is timed apart. Rivals and one
restart use one core, more restarts both. The rivals are `experiments/benchmarks/rivals.py`: dense as published, packed,
and packed with soar_jax's memory of best flips.

Run: python -m experiments.benchmarks.steps [--quick]
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.benchmarks.common import best_of, seconds_of
from experiments.benchmarks.rivals import DenseRival, PackedRival, RememberingRival
from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier, datasets
from soar_jax._base import in_float64
from soar_jax._progress import Clock
from soar_jax.score.counting import count_all
from soar_jax.search import anneal
from soar_jax.search.anneal_step import unpack

TABLES = {"adult": 25_000, "car": 1_200}
RESTARTS = (1, 4, 32, 100, 1024)
SEEDS = (0, 1, 2)
RIVALS = {  # and how many steps
    "packed NumPy": (PackedRival, 500),
    "packed NumPy that remembers": (RememberingRival, 500),
    "dense NumPy": (DenseRival, 100),
}
DEFAULTS = SOARClassifier()


def anneal_all(target, num_restarts, seed=0):
    """Seconds of whole annealing runs, in batches and threads as in a fit, and the share of steps that read the pool."""
    programs = anneal.on_one_device(target.problem, target.numbered_pool)
    schedule = anneal.Schedule(
        np.int32(DEFAULTS.n_iter),
        np.float64(DEFAULTS.temperature),
        np.float64(DEFAULTS.random_share),
        np.bool_(DEFAULTS.row_choice == "best"),
    )
    batches = anneal.batch_restarts(num_restarts, target.problem.bits.shape[1], programs.num_threads)
    restarts = anneal.Restarts(programs, batches, num_restarts)

    def work(batch):
        for block in range(DEFAULTS.n_iter // anneal.BLOCK):
            restarts.advance(batch, block, seed, schedule, Clock(None))

    start = time.perf_counter()
    with ThreadPoolExecutor(programs.num_threads) as executor:
        list(executor.map(work, range(len(batches))))
    seconds = time.perf_counter() - start
    looked_up = sum(int(unpack(info.packed)["looked_up"].sum()) for infos in restarts.infos for info in infos)
    return seconds, looked_up / (num_restarts * DEFAULTS.n_iter)


@in_float64
def pass_seconds(problem) -> float:
    """Seconds of one bare pass, in a loop on the device: calling from Python would cost as much."""
    masks = np.random.default_rng(0).integers(0, 2**63, (200, 2, problem.bits.shape[1]), dtype=np.uint64)
    compiled = jax.jit(lambda problem, masks: jax.lax.map(lambda m: count_all(problem, jnp.int32(0), m).sum(), masks))
    seconds_of(lambda: compiled(problem, masks))
    return best_of(lambda: compiled(problem, masks)) / len(masks)


def race(name: str, restarts_list, say) -> dict:
    X, y = getattr(datasets, f"load_{name}")()
    model = SOARClassifier(n_iter=100, n_restarts=1).fit(X.head(TABLES[name]), y.head(TABLES[name]))
    target = model.fitted_pair_.target
    ours = []
    for restarts in restarts_list:
        jax.clear_caches()
        with jax.enable_x64(True):
            first, _ = anneal_all(target, restarts)
            repeats = 5 if restarts <= 4 else 1  # few restarts take milliseconds
            runs = [anneal_all(target, restarts, seed) for seed in SEEDS for _ in range(repeats)]
        seconds = sum(run[0] for run in runs) / len(runs)
        ours.append(
            {
                "restarts": restarts,
                "seconds": seconds,
                "steps_a_second": restarts * DEFAULTS.n_iter / seconds,
                "compile_s": first - runs[0][0],
                "share_of_steps_that_read_the_pool": sum(run[1] for run in runs) / len(runs),
            }
        )
        say(f"{name} {ours[-1]}")
    rivals = {}
    for label, (kind, count) in RIVALS.items():
        racers = [kind(model, seed) for seed in SEEDS]

        def run(racers=racers, count=count):
            for racer in racers:
                for _ in range(count):
                    racer.step(DEFAULTS.temperature, DEFAULTS.random_share)

        rivals[label] = len(SEEDS) * count / seconds_of(run)
        say(f"{name} {label} {rivals[label]:.1f}")
    return {
        "rows": TABLES[name],
        "patterns": [len(pool) for pool in target.pools],
        "ours": ours,
        "rivals": rivals,
        "passes_a_second": 1 / pass_seconds(target.problem),
    }


def page(name: str, found: dict) -> list[str]:
    packed, remembers, dense = (found["rivals"][label] for label in RIVALS)
    one = found["ours"][0]["seconds"]

    def times(rate: float) -> list[str]:
        return [f"{rate / packed:.1f} x", f"{rate / remembers:.1f} x", f"{rate / dense:,.0f} x"]

    rows = [
        [
            f"soar_jax, {r['restarts']:,} restart{'s' * (r['restarts'] > 1)}",
            f"{r['steps_a_second']:,.0f}",
            *times(r["steps_a_second"]),
            f"{r['seconds']:.3f}",
            f"{r['seconds'] / one:.1f} x",
            f"{r['share_of_steps_that_read_the_pool']:.0%}",
            f"{r['compile_s']:.1f}",
        ]
        for r in found["ours"]
    ]
    bare = found["passes_a_second"]
    blank = [""] * 4
    rows.append(["bare all-neighbours pass", f"{bare:,.0f}", *times(bare), *blank])
    rows += [[label, f"{rate:,.0f}", *times(rate), *blank] for label, rate in found["rivals"].items()]
    header = [
        "",
        "steps per second",
        "x packed",
        "x remembering",
        "x dense",
        "seconds",
        "x one restart",
        "read the pool",
        "compiled in s",
    ]
    title = (
        f"## {name.capitalize()}, {found['rows']:,} rows, {found['patterns'][0]:,} + {found['patterns'][1]:,} patterns"
    )
    return [title, "", *table(header, rows), ""]


def main(argv=None) -> dict:
    study = Study("steps", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    names = ["car"] if study.quick else list(TABLES)
    found = {name: race(name, RESTARTS[:3] if study.quick else RESTARTS, study.say) for name in names}
    figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    for name, race_found in found.items():
        mine = race_found["ours"]
        (line,) = ax.loglog(
            [r["restarts"] for r in mine], [r["steps_a_second"] for r in mine], "o-", label=f"{name}, soar_jax"
        )
        for label, style in zip(RIVALS, ("--", "-.", ":"), strict=True):
            ax.axhline(
                race_found["rivals"][label],
                color=line.get_color(),
                linestyle=style,
                linewidth=1,
                label=f"{name}, {label}",
            )
    ax.set_xlabel("restarts side by side")
    ax.set_ylabel("annealing steps per second, all restarts")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    lines = [line for name in found for line in page(name, found[name])]
    return study.save(found, "Annealing steps", lines, figure)


if __name__ == "__main__":
    main()
