"""The inner loops: the all-neighbours pass against NumPy, flips a second of many chains, and growth with rows and patterns.

Random covers, one weight a row. Each time is the best of several; compilation is timed apart.

Run: python -m experiments.benchmarks.kernels [--quick]
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

from experiments.study import RESULTS, Study, table
from soar_jax import kernels
from soar_jax._base import in_float64
from soar_jax.coverage import lay_out
from soar_jax.flips import init
from soar_jax.items import Literal
from soar_jax.pair import count_all, pair_from, score_flips
from soar_jax.pools import Pool
from soar_jax.priors import Hyperparameters
from soar_jax.problem import make_problem, pool_sizes
from soar_jax.relatives import Kinship
from soar_jax.table import GroupedRows


def random_problem(num_rows: int, num_patterns: int, seed: int = 0):
    """Random covers with two candidates pools of ``num_patterns`` each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, num_rows)
    layout = lay_out(GroupedRows(np.arange(num_rows)[:, None], y, 1 - y))
    pools = []
    for _ in range(2):
        bits = rng.integers(0, 2**63, (num_patterns, layout.num_words), dtype=np.uint64)
        bits &= rng.integers(0, 2**63, bits.shape, dtype=np.uint64) & layout.pack(np.ones((1, num_rows), dtype=bool))
        positives, negatives = layout.counts(bits)
        names = tuple((Literal(f"x{i}", "==", 1),) for i in range(num_patterns))
        pools.append(Pool(names, ((),) * num_patterns, positives, negatives, np.zeros(num_patterns), bits))
    sizes = pool_sizes(tuple(pools))
    ones = np.ones(4)
    hyper = Hyperparameters(ones, ones, np.ones(sizes.shape), np.full(sizes.shape, 100.0), sizes)
    return make_problem(tuple(pools), layout, hyper, single=False), hyper


def best_of(function, repeats: int = 7) -> float:
    """Least seconds of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - start)
    return min(times)


@in_float64
def one_pass(num_rows: int, num_patterns: int, *, rival: bool) -> dict:
    """Four counts of every pattern of one side: ours, with scoring, and NumPy's."""
    problem, _ = random_problem(num_rows, num_patterns)
    rng = np.random.default_rng(1)
    masks = rng.integers(0, 2**63, (2, problem.bits.shape[1]), dtype=np.uint64)
    counts = jax.jit(count_all)
    scores = jax.jit(lambda problem, pair, side: score_flips(problem, pair, side, jnp.array(False)))
    pair = pair_from(problem, np.zeros((2, problem.bits.shape[2]), bool))
    side = jnp.int32(0)
    start = time.perf_counter()
    jax.block_until_ready(counts(problem, side, masks))
    first = time.perf_counter() - start
    jax.block_until_ready(scores(problem, pair, side))
    repeats = 15
    result = {
        "rows": num_rows,
        "patterns": num_patterns,
        "pass_ms": 1e3 * best_of(lambda: counts(problem, side, masks), repeats),
        "pass_and_scores_ms": 1e3 * best_of(lambda: scores(problem, pair, side), repeats),
        "compile_s": first,
    }
    if rival:
        bits = np.ascontiguousarray(np.asarray(problem.bits)[0].T)
        four = rng.integers(0, 2**63, (4, bits.shape[1]), dtype=np.uint64)
        result["numpy_ms"] = 1e3 * best_of(
            lambda: [np.bitwise_count(bits & mask).sum(axis=1) for mask in four], repeats
        )
    return result


@in_float64
def flips(num_rows: int, num_patterns: int, num_chains: int, num_steps: int) -> dict:
    """Metropolis flips a second: chains side by side in one program, one program in each of two threads."""
    problem, hyper = random_problem(num_rows, num_patterns)
    nobody = np.zeros(0, dtype=np.int64)
    moves = kernels.make_moves(problem, hyper, Kinship(nobody, np.zeros((0, 0)), np.zeros((0, 0), bool)))
    weights = kernels.Weights(*map(jnp.asarray, kernels.make_weights(problem, np.asarray(moves.edges))))
    empty = init(problem, pair_from(problem, np.zeros((2, problem.bits.shape[2]), bool)))
    half = max(1, num_chains // 2)
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf[None], half, axis=0), empty)
    step = jax.vmap(kernels.flip_step, (0, 0, 0, None, None, None))

    @jax.jit
    def run(key, states):
        uniforms = jax.random.uniform(key, (num_steps, half, 2), jnp.float64)
        choices = kernels.choose("flip", weights, uniforms[..., 0])

        def advance(states, drawn):
            return step(*drawn, states, problem, moves, jnp.float64(0.2))[0], None

        return jax.lax.scan(advance, states, (choices, uniforms[..., 1:]))[0]

    start = time.perf_counter()
    states = jax.block_until_ready(run(jax.random.key(0), states))
    first = time.perf_counter() - start

    @in_float64
    def work(seed):
        return jax.block_until_ready(run(jax.random.key(seed), states))

    with ThreadPoolExecutor(2) as executor:
        seconds = best_of(lambda: list(executor.map(work, (1, 2))), 3)
    rate = 2 * half * num_steps / seconds
    return {"rows": num_rows, "chains": 2 * half, "flips_a_second": rate, "compile_s": max(0.0, first - seconds)}


def exponent(sizes, times) -> float:
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def main(argv=None) -> dict:
    study = Study("kernels", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    headline = one_pass(25_000, 2000, rival=True)
    study.say(f"pass: {headline}")
    by_rows = [
        one_pass(n, 1000, rival=False)
        for n in ([2000, 20_000] if study.quick else [10_000, 31_600, 100_000, 316_000, 1_000_000])
    ]
    by_patterns = [
        one_pass(25_000, p, rival=False) for p in ([100, 1000] if study.quick else [100, 316, 1000, 3160, 10_000])
    ]
    study.say("growth done")
    chains = [8, 64] if study.quick else [2, 16, 64, 256, 1024]
    many = [flips(1200, 200, n, 200) for n in chains]
    large = [flips(25_000, 200, n, 50) for n in ([16] if study.quick else [16, 64])]
    for result in many + large:
        study.say(str(result))
    slopes = {
        "rows": exponent([r["rows"] for r in by_rows], [r["pass_ms"] for r in by_rows]),
        "patterns": exponent([r["patterns"] for r in by_patterns], [r["pass_ms"] for r in by_patterns]),
    }
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for ax, rows, name in ((axes[0], by_rows, "rows"), (axes[1], by_patterns, "patterns")):
        ax.loglog([r[name] for r in rows], [r["pass_ms"] for r in rows], "o-", label="four counts")
        ax.loglog([r[name] for r in rows], [r["pass_and_scores_ms"] for r in rows], "s--", label="and scores")
        ax.set_xlabel(name)
        ax.set_ylabel("ms a pass")
        ax.set_title(f"exponent {slopes[name]:.2f}", fontsize=10)
        ax.legend(frameon=False)
    axes[2].loglog([r["chains"] for r in many], [r["flips_a_second"] for r in many], "o-")
    axes[2].set_xlabel("chains")
    axes[2].set_ylabel("flips a second, 1,200 rows")
    lines = [
        f"All-neighbours pass, 2,000 patterns x 25,000 rows, four counts: {headline['pass_ms']:.2f} ms, with all scores "
        f"{headline['pass_and_scores_ms']:.2f} ms; NumPy `np.bitwise_count(bits & mask).sum` over four masks "
        f"{headline['numpy_ms']:.2f} ms: **{headline['numpy_ms'] / headline['pass_ms']:.1f} x**.",
        "",
        "## Growth of the pass",
        "",
        *table(
            ["rows", "patterns", "pass ms", "with scores ms", "compilation s"],
            [
                [
                    r["rows"],
                    r["patterns"],
                    f"{r['pass_ms']:.3f}",
                    f"{r['pass_and_scores_ms']:.3f}",
                    f"{r['compile_s']:.1f}",
                ]
                for r in by_rows + by_patterns
            ],
        ),
        "",
        f"Fitted exponents of the pass: {slopes['rows']:.2f} in rows, {slopes['patterns']:.2f} in patterns.",
        "",
        "## Flips a second, all chains together",
        "",
        *table(
            ["rows", "chains", "flips a second", "compilation s"],
            [[r["rows"], r["chains"], f"{r['flips_a_second']:,.0f}", f"{r['compile_s']:.1f}"] for r in many + large],
        ),
    ]
    record = {
        "pass": headline,
        "by_rows": by_rows,
        "by_patterns": by_patterns,
        "exponents": slopes,
        "flips": many + large,
    }
    return study.save(record, "Inner loops", lines, figure)


if __name__ == "__main__":
    main()
