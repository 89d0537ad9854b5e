"""Metropolis flips per second of 2 to 1,024 chains, at 1,200 and 25,000 rows.

Random covers, 200 patterns a side. Half of the chains run side by side in one program, the other half in a second thread.
Each rate is the best of three runs; compilation is timed apart.

Run: python -m experiments.benchmarks.flips [--quick]
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.benchmarks.common import best_of, peak_megabytes, random_target, seconds_of
from experiments.study import RESULTS, Study, table
from soar_jax._base import in_float64
from soar_jax.sampling.kernel import Context, draw_index
from soar_jax.sampling.kernels.flip import FLIP
from soar_jax.score.flips import state_of
from soar_jax.score.pair import empty_pair


@in_float64
def flips(num_rows: int, num_patterns: int, num_chains: int, num_steps: int) -> dict:
    """Flips per second of all chains together."""
    target = random_target(num_rows, num_patterns)
    context = Context(target.problem, target.numbered_pool)
    weights = jnp.asarray(FLIP.weigh(target.problem, (), None))
    empty = state_of(target.problem, empty_pair(target.problem))
    half = num_chains // 2
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], half, axis=0), empty)
    step = jax.vmap(FLIP.step, (0, 0, 0, None, None, None))

    @jax.jit
    def run(key, states, context, weights):
        uniforms = jax.random.uniform(key, (num_steps, half, 2), jnp.float64)
        choices = draw_index(weights, uniforms[..., 0])

        def advance(states, drawn):
            return step(*drawn, states, context, (), jnp.float64(0.2))[0], None

        return jax.lax.scan(advance, states, (choices, uniforms[..., 1:]))[0]

    first = seconds_of(lambda: run(jax.random.key(0), states, context, weights))

    @in_float64
    def work(seed):
        return jax.block_until_ready(run(jax.random.key(seed), states, context, weights))

    with ThreadPoolExecutor(2) as executor:
        seconds = best_of(lambda: list(executor.map(work, (1, 2))), 3)
    return {
        "rows": num_rows,
        "chains": 2 * half,
        "flips_a_second": 2 * half * num_steps / seconds,
        "compile_s": max(0.0, first - seconds),
        "peak_megabytes": peak_megabytes(),
    }


def main(argv=None) -> dict:
    study = Study("flips", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    chains = [8, 64] if study.quick else [2, 4, 16, 64, 256, 1024]
    results = []
    for rows in (1200, 25_000):
        for n in chains:
            steps = int(np.clip(4e8 // (rows * n), 20, 2000)) // (10 if study.quick else 1)
            results.append(flips(rows, 200, n, max(10, steps)))
            study.say(str(results[-1]))
    figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for rows, wanted in ((1200, 500_000), (25_000, 40_000)):
        mine = [r for r in results if r["rows"] == rows]
        (line,) = ax.loglog(
            [r["chains"] for r in mine], [r["flips_a_second"] for r in mine], "o-", label=f"{rows:,} rows"
        )
        ax.axhline(wanted, color=line.get_color(), linestyle=":", linewidth=1)
    ax.set_xlabel("chains")
    ax.set_ylabel("flips per second, all chains")
    ax.legend(frameon=False)
    lines = [
        *table(
            ["rows", "chains", "flips per second", "compilation s", "peak MB of the process so far"],
            [
                [
                    f"{r['rows']:,}",
                    f"{r['chains']:,}",
                    f"{r['flips_a_second']:,.0f}",
                    f"{r['compile_s']:.1f}",
                    f"{r['peak_megabytes']:.0f}",
                ]
                for r in results
            ],
        ),
        "",
        "Dotted: the aims, 500,000 a second at 1,200 rows and 40,000 at 25,000, for 64 or more chains.",
    ]
    return study.save({"flips": results}, "Flips per second", lines, figure)


if __name__ == "__main__":
    main()
