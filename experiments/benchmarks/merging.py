"""What merged rows and looked-up tails save on Adult: annealing steps, descents and sampling rounds, in one run.

25,000 rows. *Raw*: rows as grouped by their cells; *merged*: rows that no candidate tells apart are one. *Integrated*: far
tails of the bounded likelihood by quadrature at every flip; *looked up*: from surfaces made once. All four give the same
numbers but for rounding. Annealing and descents among 1,000 candidates per side, sampling among 150 and 1,000, two chains of
twelve temperatures on one thread. Compilation is not counted; each figure is the best of three runs.

Run: python -m experiments.benchmarks.merging [--quick]
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from experiments.benchmarks.common import best_of
from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier, datasets
from soar_jax._base import in_float64
from soar_jax.sampling.plan import DEFAULT_PLAN
from soar_jax.sampling.sampler import Sampler
from soar_jax.sampling.temper import BLOCK, Replicas, run_block
from soar_jax.score.flips import number_pool
from soar_jax.score.pair import pair_from
from soar_jax.score.target import Target
from soar_jax.search import anneal
from soar_jax.search.anneal_step import BLOCK as STEPS
from soar_jax.search.anneal_step import Schedule, start
from soar_jax.search.descent import descend_block

NUM_RESTARTS = 8
VARIANTS = {
    "raw, integrated": (False, False),
    "merged, integrated": (True, False),
    "raw, looked up": (False, True),
    "merged, looked up": (True, True),
}


def variant(target: Target, is_merged: bool, is_looked_up: bool) -> Target:
    """The same target with rows or tails as they were."""
    found = replace(target)
    if not is_merged:
        found.__dict__["merged"] = (target.pools, target.layout)
    if not is_looked_up:
        found.__dict__["problem"] = in_float64(lambda: found.problem._replace(surfaces=jnp.zeros(0)))()
    return found


@in_float64
def anneal_rate(target: Target) -> float:
    """Annealing steps per second of all restarts."""
    problem, pool = target.problem, number_pool(target.problem)
    schedule = Schedule(np.int32(STEPS), np.float64(3.0), np.float64(0.5), np.array(False))
    uniforms = np.random.default_rng(0).random((STEPS, NUM_RESTARTS, 4))

    def once():
        state = jax.device_put(start(problem, NUM_RESTARTS), may_alias=False)
        return anneal._run_block(problem, pool, np.ones(NUM_RESTARTS, bool), state, uniforms, np.int32(0), schedule)

    once()
    return STEPS * NUM_RESTARTS / best_of(once, 3)


@in_float64
def descent_seconds(target: Target) -> float:
    """Seconds of a bounded descent, with exchanges, from two empty rule sets."""
    problem, pool = target.problem, number_pool(target.problem)
    empty = pair_from(problem, np.zeros((2, problem.num_slots), bool))
    once = jax.jit(descend_block)
    jax.block_until_ready(once(problem, pool, empty))
    return best_of(lambda: once(problem, pool, empty), 3)


@in_float64
def rounds_per_second(target: Target, included: np.ndarray) -> float:
    """Sampling rounds per second of two chains of twelve temperatures."""
    sampler = Sampler(
        target,
        seed=0,
        num_chains=2,
        num_temperatures=12,
        starts=included[None],
        plan=DEFAULT_PLAN,
        dispersed=True,
    )

    def once():
        replicas = Replicas(*jax.tree.map(jnp.array, tuple(sampler.replicas)))
        return run_block(sampler.setup, replicas, sampler.rng_keys, jnp.int32(1), plan=DEFAULT_PLAN)

    jax.block_until_ready(once())
    return BLOCK / best_of(once, 3)


def main(argv=None) -> dict:
    study = Study("merging", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    X, y = datasets.load_adult()
    rows = 3000 if study.quick else 25_000
    fits = {
        size: SOARClassifier(max_patterns=size, n_rounds=2).fit(X.iloc[:rows], y.iloc[:rows]).fitted_pair_
        for size in (1000, 150)
    }
    found = {}
    for name, flags in VARIANTS.items():
        large, small = (variant(fit.target, *flags) for fit in fits.values())
        found[name] = {
            "words": [int(target.problem.bits.shape[1]) for target in (small, large)],
            "anneal_steps_per_second": anneal_rate(large),
            "descent_seconds": descent_seconds(large),
            "rounds_per_second_150": rounds_per_second(small, fits[150].included),
            "rounds_per_second_1000": rounds_per_second(large, fits[1000].included),
        }
        study.say(f"{name}: {found[name]}")
    first = found["raw, integrated"]
    body = []
    for name, f in found.items():
        cells = [name, " and ".join(str(n) for n in f["words"])]
        for key, digits in (
            ("anneal_steps_per_second", 0),
            ("rounds_per_second_150", 1),
            ("rounds_per_second_1000", 1),
        ):
            cells.append(f"{f[key]:,.{digits}f} ({f[key] / first[key]:.2f} x)")
        cells.insert(3, f"{f['descent_seconds']:.3f} ({first['descent_seconds'] / f['descent_seconds']:.2f} x)")
        body.append(cells)
    lines = [
        __doc__.partition("\n\n")[2].partition("\n\nRun:")[0].replace("\n", " "),
        "",
        *table(
            ["", "words, 150 and 1,000", "annealing steps per second, 8 restarts", "seconds of a descent", "rounds per second, 150", "rounds per second, 1,000"],
            body,
        ),
    ]  # fmt: skip
    return study.save({"variants": found, "rows": rows}, "Merged rows and looked-up tails", lines)


if __name__ == "__main__":
    main()
