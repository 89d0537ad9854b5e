"""Annealing steps a second on Car and Adult: 1 to 1,024 restarts of soar_jax against the same algorithm in NumPy.

Whole runs from two empty rule sets, default settings (500 steps, half of them random); the best of several runs. The
rivals are `experiments/benchmarks/rivals.py`: dense as published, and packed. They look every best flip up anew;
soar_jax remembers those of the last two pairs. Compilation is timed apart.

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
from experiments.benchmarks.rivals import DenseRival, PackedRival
from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier, anneal, datasets
from soar_jax._base import in_float64
from soar_jax.anneal_step import unpack
from soar_jax.pair import count_all
from soar_jax.problem import make_problem

TABLES = {"adult": 25_000, "car": 1_200}
RESTARTS = (1, 4, 32, 100, 1024)
RIVAL_RUNS = 3
DENSE_STEPS = 100
DEFAULTS = SOARClassifier()


def anneal_all(problem, num_restarts, seed=0):
    """Seconds of whole annealing runs, in groups and threads as in a fit, and the share of steps that read the pool."""
    programs = anneal.on_one_device(problem)
    schedule = anneal.Schedule(
        np.int32(DEFAULTS.n_iter),
        np.float64(DEFAULTS.temperature),
        np.float64(DEFAULTS.random_share),
        np.bool_(DEFAULTS.row_choice == "best"),
    )
    groups = anneal.group_restarts(num_restarts, problem.bits.shape[1], programs.num_threads)
    restarts = anneal.Restarts(programs, groups, num_restarts)

    def work(group):
        for block in range(DEFAULTS.n_iter // anneal.BLOCK):
            restarts.advance(group, block, seed, schedule)

    start = time.perf_counter()
    with ThreadPoolExecutor(programs.num_threads) as executor:
        list(executor.map(work, range(len(groups))))
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
    problem = make_problem(model._candidates.pools, model._candidates.layout, model._hyper, single=False)
    ours = []
    for restarts in restarts_list:
        with jax.enable_x64(True):
            first, share = anneal_all(problem, restarts)
            best = min(anneal_all(problem, restarts)[0] for _ in range(7 if restarts <= 4 else 3))
        ours.append(
            {
                "restarts": restarts,
                "seconds": best,
                "steps_a_second": restarts * DEFAULTS.n_iter / best,
                "compile_s": max(0.0, first - best),
                "share_of_steps_that_read_the_pool": share,
            }
        )
        say(f"{name} {ours[-1]}")
    rivals = {}
    for label, kind, count in (
        ("packed NumPy", PackedRival, DEFAULTS.n_iter),
        ("dense NumPy", DenseRival, DENSE_STEPS),
    ):
        racers = [kind(model, seed) for seed in range(RIVAL_RUNS)]

        def run(racers=racers, count=count):
            for racer in racers:
                for _ in range(count):
                    racer.step(DEFAULTS.temperature, DEFAULTS.random_share)

        rivals[label] = RIVAL_RUNS * count / seconds_of(run)  # moves differ much in cost: all runs together
        say(f"{name} {label} {rivals[label]:.1f}")
    return {
        "rows": TABLES[name],
        "patterns": [len(pool) for pool in model._candidates.pools],
        "ours": ours,
        "rivals": rivals,
        "passes_a_second": 1 / pass_seconds(problem),
    }


def page(name: str, found: dict) -> list[str]:
    packed, dense = found["rivals"]["packed NumPy"], found["rivals"]["dense NumPy"]
    one = found["ours"][0]["seconds"]
    rows = [
        [
            f"soar_jax, {r['restarts']:,} restart{'s' * (r['restarts'] > 1)}",
            f"{r['steps_a_second']:,.0f}",
            f"{r['steps_a_second'] / packed:.1f} x",
            f"{r['steps_a_second'] / dense:,.0f} x",
            f"{r['seconds']:.3f}",
            f"{r['seconds'] / one:.1f} x",
            f"{r['share_of_steps_that_read_the_pool']:.0%}",
            f"{r['compile_s']:.1f}",
        ]
        for r in found["ours"]
    ]
    bare = found["passes_a_second"]
    rows.append(
        ["bare all-neighbours pass", f"{bare:,.0f}", f"{bare / packed:.1f} x", f"{bare / dense:,.0f} x"] + [""] * 4
    )
    rows += [
        [label, f"{rate:,.0f}", f"{rate / packed:.1f} x", f"{rate / dense:,.0f} x"] + [""] * 4
        for label, rate in found["rivals"].items()
    ]
    header = [
        "",
        "steps a second",
        "packed",
        "dense",
        "seconds",
        "one restart",
        "steps that read the pool",
        "compilation s",
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
        for label, style in (("packed NumPy", "--"), ("dense NumPy", ":")):
            ax.axhline(
                race_found["rivals"][label],
                color=line.get_color(),
                linestyle=style,
                linewidth=1,
                label=f"{name}, {label}",
            )
    ax.set_xlabel("restarts side by side")
    ax.set_ylabel("annealing steps a second, all restarts")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    lines = [line for name in found for line in page(name, found[name])]
    return study.save(found, "Annealing steps", lines, figure)


if __name__ == "__main__":
    main()
