"""What the benchmarks share: random targets, clocks and the slope of a growth."""

from __future__ import annotations

import resource
import time

import jax
import numpy as np

from soar_jax.candidates.coverage import lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.candidates.searched import count_searched
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.score.priors import Bound, Opinion, from_bounds, from_opinions, resolve
from soar_jax.score.rule_priors import RulePrior
from soar_jax.score.target import Target


def random_target(num_rows: int, num_patterns: int, seed: int = 0, bound: Bound | None = None) -> Target:
    """Random covers of distinct rows, two pools of ``num_patterns`` candidates each; rates bounded or flat."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, num_rows)
    layout = lay_out(GroupedRows(np.arange(num_rows)[:, None], y, 1 - y))
    pools = []
    for _ in range(2):
        bits = rng.integers(0, 2**63, (num_patterns, layout.num_words), dtype=np.uint64)
        bits &= rng.integers(0, 2**63, bits.shape, dtype=np.uint64) & layout.pack(np.ones((1, num_rows), dtype=bool))
        positives, negatives = layout.counts(bits)
        names = tuple((Literal(f"x{i}", "==", 1),) for i in range(num_patterns))
        pools.append(
            Pool(
                names,
                ((),) * num_patterns,
                positives,
                negatives,
                np.zeros(num_patterns),
                bits,
                np.zeros(num_patterns, int),
            )
        )
    flat = from_opinions(Opinion(0.5, rows=2), Opinion(0.5, rows=2), num_rows)
    states = flat if bound is None else from_bounds(bound, bound, y.mean())
    nothing = np.zeros(num_patterns, int)
    searched = count_searched(nothing + 1, nothing, np.ones(num_patterns), 1)
    hyper = resolve(states, RulePrior(1, 100), searched, tuple(pools))
    return Target(tuple(pools), layout, hyper)


def seconds_of(function) -> float:
    """Seconds of one call, waiting for the device."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - start


def best_of(function, repeats: int = 7) -> float:
    """Least seconds of several calls."""
    return min(seconds_of(function) for _ in range(repeats))


def exponent(sizes, times) -> float:
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def peak_megabytes() -> float:
    """Most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
