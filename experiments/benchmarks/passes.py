"""The all-neighbours pass: layouts against each other and against NumPy, and its growth with rows and patterns.

Random covers of distinct rows. A pass counts, for every pattern of one side, positives and negatives within two masks: four
counts. Each time is the best of several runs of a loop of passes on the device; compilation is timed apart.

Run: python -m experiments.benchmarks.passes [--quick]
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.benchmarks.common import best_of, exponent, random_target, seconds_of
from experiments.study import RESULTS, Study, table
from soar_jax import ErrorRatio
from soar_jax._base import in_float64
from soar_jax.candidates.coverage import NEGATIVE_SHIFT
from soar_jax.score.counting import count_all
from soar_jax.score.pair import best_flip, pair_from

popcount = jax.lax.population_count


def ours(problem, masks):
    return count_all(problem, jnp.int32(0), masks)


def pattern_by_pattern(problem, masks):
    """uint64, one pattern after the other, rows contiguous."""

    def one(row):
        return (popcount(row[None] & masks).astype(jnp.int64) << problem.shift.astype(jnp.int64)).sum(axis=1)

    return jax.lax.map(one, problem.bits[0].T)


def broadcast_64(problem, masks):
    """uint64, all patterns and words in one expression."""
    hits = popcount(problem.bits[0].T[:, None] & masks[None]).astype(jnp.int64)
    return (hits << problem.shift.astype(jnp.int64)).sum(axis=2)


def broadcast_32(problem, masks):
    """uint32, all patterns and words in one expression."""
    rows = jax.lax.bitcast_convert_type(problem.bits[0].T, jnp.uint32).reshape(problem.bits.shape[2], -1)
    narrow = jax.lax.bitcast_convert_type(masks, jnp.uint32).reshape(2, -1)
    shift = jnp.repeat(problem.shift.astype(jnp.int64), 2)
    return (popcount(rows[:, None] & narrow[None]).astype(jnp.int64) << shift).sum(axis=2)


def words_by_four(problem, masks):
    """As ours, four words at a time (shifts once a word)."""
    num_words, num_patterns = problem.bits.shape[1:]

    def add(i, total):
        i = i.astype(jnp.int32)
        rows = jax.lax.dynamic_slice(problem.bits, (jnp.int32(0), 4 * i, jnp.int32(0)), (1, 4, num_patterns))[0]
        part = jax.lax.dynamic_slice(masks, (jnp.int32(0), 4 * i), (2, 4))
        shift = jax.lax.dynamic_slice(problem.shift, (4 * i,), (4,))
        for word in range(4):
            total = total + (popcount(rows[word][None] & part[:, word, None]) << shift[word]).astype(jnp.int64)
        return total

    return jax.lax.fori_loop(0, num_words // 4, add, jnp.zeros((2, num_patterns), jnp.int64))


LAYOUTS = {
    "word by word, counts beside (ours)": ours,
    "four words at a time": words_by_four,
    "pattern by pattern": pattern_by_pattern,
    "one expression, uint64": broadcast_64,
    "one expression, uint32": broadcast_32,
}


@in_float64
def loop_of(function, problem, masks):
    """Seconds of one pass inside a loop on the device, and of compiling the loop."""
    compiled = jax.jit(lambda problem, masks: jax.lax.map(lambda m: function(problem, m).sum(), masks))
    first = seconds_of(lambda: compiled(problem, masks))
    best = best_of(lambda: compiled(problem, masks), 15)
    return best / len(masks), first - best


@in_float64
def layouts(num_rows: int, num_patterns: int, names, num_masks: int) -> list[dict]:
    problem = random_target(num_rows, num_patterns).problem
    rng = np.random.default_rng(1)
    masks = rng.integers(0, 2**63, (num_masks, 2, problem.bits.shape[1]), dtype=np.uint64)
    expected = np.asarray(ours(problem, jnp.asarray(masks[0]))).sum()
    found = []
    for name in names:
        assert int(np.asarray(LAYOUTS[name](problem, jnp.asarray(masks[0]))).sum()) == expected, name
        seconds, compilation = loop_of(LAYOUTS[name], problem, masks)
        found.append({"layout": name, "ms": 1e3 * seconds, "compile_s": compilation})
    bits = np.ascontiguousarray(np.asarray(problem.bits)[0].T)
    four = rng.integers(0, 2**63, (4, bits.shape[1]), dtype=np.uint64)
    seconds = best_of(lambda: [np.bitwise_count(bits & mask).sum(axis=1) for mask in four], 15)
    found.append({"layout": "NumPy, bitwise_count(bits & mask).sum over four masks", "ms": 1e3 * seconds})
    # rows lie sorted by class: two masks give the same four counts
    edge = int(np.searchsorted(np.asarray(problem.shift), NEGATIVE_SHIFT))

    def by_class():
        for mask in four[:2]:
            hits = np.bitwise_count(bits & mask)
            hits[:, :edge].sum(axis=1), hits[:, edge:].sum(axis=1)

    found.append({"layout": "NumPy, two masks, the classes summed apart", "ms": 1e3 * best_of(by_class, 15)})
    return found


@in_float64
def growth(num_rows: int, num_patterns: int) -> dict:
    """Milliseconds of a pass, and of finding the best neighbour, for rates without and with bounds."""
    problem = random_target(num_rows, num_patterns).problem
    bounded = random_target(num_rows, num_patterns, bound=ErrorRatio(0.5)).problem
    num_masks = int(np.clip(4e8 // (num_rows * num_patterns / 64), 3, 400))
    masks = np.random.default_rng(1).integers(0, 2**63, (num_masks, 2, problem.bits.shape[1]), dtype=np.uint64)
    seconds, compilation = loop_of(ours, problem, masks)
    pair = pair_from(problem, np.zeros((2, problem.num_slots), bool))

    def scored(problem, mask):  # the planes differ each time, so that no pass can be moved out of the loop
        planes = pair.planes.at[:, 0].set(mask).at[1, 0].set(jnp.uint64(0))
        state = pair._replace(planes=planes)
        return best_flip(problem, state, jnp.int32(1), jnp.array(False))[1]

    with_scores, _ = loop_of(scored, problem, masks)
    with_bounds, _ = loop_of(scored, bounded, masks)
    return {
        "rows": num_rows,
        "patterns": num_patterns,
        "pass_ms": 1e3 * seconds,
        "pass_and_scores_ms": 1e3 * with_scores,
        "pass_and_bounds_ms": 1e3 * with_bounds,
        "compile_s": compilation,
    }


def main(argv=None) -> dict:
    study = Study("passes", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    names = list(LAYOUTS)[:2] if study.quick else list(LAYOUTS)
    headline = layouts(*((2_000, 200) if study.quick else (25_000, 2_000)), names, 4 if study.quick else 20)
    for row in headline:
        study.say(str(row))
    sizes = [2000, 20_000] if study.quick else [1_000, 3_160, 10_000, 31_600, 100_000, 316_000, 1_000_000]
    by_rows = [growth(n, 1000) for n in sizes]
    study.say("rows done")
    by_patterns = [growth(25_000, p) for p in ([100, 1000] if study.quick else [100, 316, 1000, 3160, 10_000])]
    parts = {"rows": by_rows, "rows from 10,000 on": by_rows[-5:], "patterns": by_patterns}
    slopes = {
        part: {
            key: exponent([r[part.split()[0]] for r in rows], [r[f"{key}_ms"] for r in rows])
            for key in ("pass", "pass_and_scores")
        }
        for part, rows in parts.items()
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for ax, rows, name in ((axes[0], by_rows, "rows"), (axes[1], by_patterns, "patterns")):
        ax.loglog([r[name] for r in rows], [r["pass_ms"] for r in rows], "o-", label="four counts")
        ax.loglog([r[name] for r in rows], [r["pass_and_scores_ms"] for r in rows], "s--", label="and every score")
        ax.set_xlabel(f"{name} ({'1,000 patterns' if name == 'rows' else '25,000 rows'})")
        ax.set_ylabel("ms a pass")
        ax.set_title(f"grows with {name} to the power {slopes[name]['pass_and_scores']:.2f}", fontsize=10)
        ax.legend(frameon=False)
    first, rival, sorted_rival = headline[0]["ms"], headline[-2]["ms"], headline[-1]["ms"]
    lines = [
        f"2,000 patterns x 25,000 rows, four counts: **{first:.2f} ms, {rival / first:.1f} times as fast as NumPy** with "
        f"four masks, {sorted_rival / first:.1f} times with two masks over rows sorted by class, as ours are.",
        "",
        *table(
            ["layout", "ms", "against ours", "compilation s"],
            [
                [r["layout"], f"{r['ms']:.2f}", f"{r['ms'] / first:.1f} x", f"{r.get('compile_s', 0.0):.1f}"]
                for r in headline
            ],
        ),
        "",
        "## Growth",
        "",
        *table(
            ["rows", "patterns", "pass ms", "with every score ms", "rates with bounds ms", "compilation s"],
            [
                [
                    f"{r['rows']:,}",
                    f"{r['patterns']:,}",
                    f"{r['pass_ms']:.3f}",
                    f"{r['pass_and_scores_ms']:.3f}",
                    f"{r['pass_and_bounds_ms']:.3f}",
                    f"{r['compile_s']:.1f}",
                ]
                for r in by_rows + by_patterns
            ],
        ),
        "",
        "Fitted exponents, bare pass / with every score: "
        + "; ".join(f"{name} {s['pass']:.2f} / {s['pass_and_scores']:.2f}" for name, s in slopes.items())
        + ". From 100,000 rows on the bits no longer fit in the cache.",
    ]
    record = {"layouts": headline, "by_rows": by_rows, "by_patterns": by_patterns, "exponents": slopes}
    return study.save(record, "The all-neighbours pass", lines, figure)


if __name__ == "__main__":
    main()
