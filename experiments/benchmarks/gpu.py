"""What an A100 would be asked to do: kernels and host waits per program, compiled without a device.

XLA compiles for a description of the GPU; nothing runs, and nothing here is a timing. A loop whose length is only known on
the device waits for the host once per turn. Needs the CUDA plugin of jax's version: pip install jax-cuda12-plugin
jax-cuda12-pjrt.

Run: JAX_PLATFORMS=cpu python -m experiments.benchmarks.gpu [--quick]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.study import RESULTS, Study, table
from soar_jax import SOARClassifier, datasets
from soar_jax._base import in_float64
from soar_jax.score.target import Target

A100 = """
platform_name: "CUDA"
device_description_str: "NVIDIA A100-SXM4-80GB"
gpu_device_info {
  cuda_compute_capability { major: 8 minor: 0 }
  core_count: 108  fpus_per_core: 64  threads_per_warp: 32
  threads_per_block_limit: 1024  threads_per_core_limit: 2048
  shared_memory_per_block: 49152  shared_memory_per_block_optin: 166912  shared_memory_per_core: 167936
  registers_per_core_limit: 65536  registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535  block_dim_limit_z: 65535
  memory_bandwidth: 2039000000000  l2_cache_size: 41943040  clock_rate_ghz: 1.41  device_memory_size: 85100000000
}
"""
NUM_RESTARTS = 64
NUM_STARTS = 16
SECONDS_PER_LAUNCH = 4e-6
BANDWIDTH = 2.039e12
NOT_LAUNCHED = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "conditional", "call"}


@dataclass
class Cost:
    """What one computation launches.

    Attributes
    ----------
    kernels : int
        Launches outside of loops.
    loops : list of (Cost, turns)
        Loops within, and how often each turns; None where only the device knows.
    """

    kernels: int = 0
    loops: list[tuple[Cost, int | None]] = field(default_factory=list)

    def describe(self) -> str:
        """Write launches, and loops in brackets."""
        parts = [f"{'?' if turns is None else turns} x ({cost.describe()})" for cost, turns in self.loops]
        return " + ".join([str(self.kernels), *parts])

    @property
    def launches(self) -> int:
        """All launches, those of loops counted turn by turn; of a loop of unknown length one turn."""
        return self.kernels + sum((1 if turns is None else turns) * cost.launches for cost, turns in self.loops)

    @property
    def unknown_loops(self) -> int:
        """Loops, at any depth, that wait for the host in every turn."""
        return sum((turns is None) + cost.unknown_loops for cost, turns in self.loops)


def cost_of(text: str) -> Cost:
    """Read launches and loops from a scheduled module."""
    bodies: dict[str, list[str]] = {}
    name, entry = "", ""
    for line in text.splitlines():
        head = re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line)
        if head:
            name = head[2]
            bodies[name] = []
            entry = name if head[1] else entry
        elif name and " = " in line:
            bodies[name].append(line)

    def cost(of: str) -> Cost:
        found = Cost()
        for line in bodies.get(of, []):
            operation = re.search(r"[ )}]([a-z][\w\-]*)\(", line.partition(" = ")[2])
            if operation is None:
                continue
            if operation[1] == "while":
                body = re.search(r"body=%?([\w.\-]+)", line)
                turns = re.search(r'known_trip_count"?:\{"?n"?:"?(\d+)', line)
                found.loops.append((cost(body[1]) if body else Cost(), int(turns[1]) if turns else None))
            elif operation[1] == "call" and (called := re.search(r"to_apply=%?([\w.\-]+)", line)):
                inner = cost(called[1])
                found.kernels += inner.kernels
                found.loops += inner.loops
            elif operation[1] == "conditional":
                for branch in re.findall(r"%([\w.\-]+)", line.partition("branch_computations={")[2].partition("}")[0]):
                    inner = cost(branch)
                    found.kernels += inner.kernels
                    found.loops += inner.loops
            elif operation[1] not in NOT_LAUNCHED:
                found.kernels += 1
        return found

    return cost(entry)


def sharding() -> Any:
    """One A100 that is not there."""
    from jax.experimental import topologies

    found = topologies.get_topology_desc(platform="cuda", topology_name="", target_config=A100, topology="1x1x1")
    mesh = topologies.make_mesh(found, (1,), ("device",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def compiled(program: Callable[..., Any], arguments: Any, place: Any) -> str:
    """Compile for the device, and give the scheduled module."""
    shapes = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(
            np.shape(leaf), getattr(leaf, "dtype", np.asarray(leaf).dtype), sharding=place
        ),
        arguments,
    )
    return jax.jit(program).lower(*shapes).compile().as_text()


@in_float64
def programs(target: Target, included: np.ndarray) -> dict[str, tuple[Callable[..., Any], tuple]]:
    """What search and sampling compile, for some candidates and a pair of them."""
    from soar_jax.sampling.plan import DEFAULT_PLAN
    from soar_jax.sampling.sampler import Sampler
    from soar_jax.sampling.temper import Replicas, one_round
    from soar_jax.score.counting import count_all
    from soar_jax.score.flips import numbered_kinds
    from soar_jax.score.pair import best_flip, pair_from
    from soar_jax.score.pricing import PAGE_SLOTS, QUERIES_AT_ONCE, Query, price_page
    from soar_jax.search import anneal_step
    from soar_jax.search.descent import descend_block
    from soar_jax.search.descent_batch import descend_all

    problem, num_words = target.problem, target.problem.bits.shape[1]
    pair = pair_from(problem, included)
    pairs = jax.tree.map(lambda leaf: jnp.stack([leaf] * NUM_STARTS), pair)
    kinds = np.stack([np.asarray(problem.kind)] * NUM_STARTS)
    masks = np.zeros((QUERIES_AT_ONCE, num_words), np.uint64)
    queries = Query(
        np.zeros(QUERIES_AT_ONCE, np.int32),
        masks,
        masks,
        np.zeros((QUERIES_AT_ONCE, 4), np.int64),
        np.zeros((QUERIES_AT_ONCE, problem.prior.shape[1])),
    )
    page = np.zeros((num_words, PAGE_SLOTS), np.uint64), np.zeros(PAGE_SLOTS, np.int32)
    sampler = Sampler(
        target,
        seed=0,
        num_chains=4,
        num_temperatures=20,
        starts=None,
        plan=DEFAULT_PLAN,
        dispersed=True,
    )
    replicas = Replicas(*jax.tree.map(jnp.asarray, tuple(sampler.replicas)))

    def one(setup: Any, replicas: Replicas, key_data: jax.Array) -> Any:
        return one_round(jax.random.wrap_key_data(key_data), replicas, setup, DEFAULT_PLAN)

    settings = anneal_step.Settings(np.float64(1), np.float64(0.5), np.ones(NUM_RESTARTS, bool), np.array(False))
    restarts = anneal_step.start(problem, NUM_RESTARTS), settings, np.zeros((NUM_RESTARTS, 4))
    return {
        "read the pool once": (count_all, (problem, np.int32(0), masks[:2])),
        "best of all neighbours": (best_flip, (problem, pair, np.int32(0), np.array(False))),
        f"one annealing step, {NUM_RESTARTS} restarts": (anneal_step.step, (problem, target.numbered_pool, *restarts)),
        "descend from one pair": (descend_block, (problem, target.numbered_pool, pair)),
        f"descend from {NUM_STARTS} pairs together": (
            descend_all,
            (problem, target.numbered_pool, kinds, numbered_kinds(problem, kinds), pairs, np.bool_(True)),
        ),
        "price a page for eight pairs": (
            lambda *given: price_page(*given, best_case=False),
            (problem, *page, queries),
        ),
        "one sampling round, 4 chains x 20": (one, (sampler.setup, replicas, jax.random.key_data(sampler.rng_keys))),
    }


def main(argv=None) -> dict:
    study = Study("gpu", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    X, y = datasets.load_adult()
    rows = 2000 if study.quick else 25_000
    model = SOARClassifier(n_rounds=1).fit(X.iloc[:rows], y.iloc[:rows])
    fitted, place = model.fitted_pair_, sharding()
    found = {}
    for name, (program, arguments) in programs(fitted.target, fitted.included).items():
        cost = in_float64(lambda program=program, arguments=arguments: cost_of(compiled(program, arguments, place)))()
        found[name] = {
            "launches": cost.describe(),
            "kernels": cost.kernels,
            "total": cost.launches,
            "unknown_loops": cost.unknown_loops,
        }
        study.say(f"{name}: {cost.describe()}")
    num_words, num_slots = fitted.target.problem.bits.shape[1:]
    lines = [
        "Compiled for the description of an A100 (80 GB) by jax's topologies, without a device: **counts, not timings; nothing of "
        f"soar_jax was ever run on a GPU here**. Adult, {rows:,} rows, {num_words} words, {num_slots} slots per side. Launches "
        "are kernels, library calls and copies; a loop is written `turns x (launches per turn)`, with `?` where only the device "
        "knows how many, and then every turn waits for the host.",
        "",
        f"**Cost model.** Small kernels cost their launch: {SECONDS_PER_LAUNCH * 1e6:.0f} microseconds each is assumed, not measured; a wait "
        "for the host costs several times that. *Estimate* is launches times that figure, with one turn of each loop of unknown "
        "length, and leaves out the work itself (a read of the pool moves "
        f"{fitted.target.problem.bits.nbytes / 2e6:.1f} MB, {fitted.target.problem.bits.nbytes / 2 / BANDWIDTH * 1e6:.0f} microseconds at the "
        "description's bandwidth).",
        "",
        *table(
            ["program", "launches", "in all", "loops that wait for the host", "estimate, ms"],
            [
                [
                    name,
                    f"`{f['launches']}`",
                    f"{f['total']:,}",
                    f["unknown_loops"],
                    f"{f['total'] * SECONDS_PER_LAUNCH * 1e3:.2f}",
                ]
                for name, f in found.items()
            ],
        ),
    ]
    return study.save({"programs": found}, "What an A100 would be asked to do", lines)


if __name__ == "__main__":
    main()
