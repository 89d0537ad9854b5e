"""Simulation-based calibration: are posterior ranks of the true values uniform?

Rule sets, rates and labels are drawn from the prior on a fixed table of candidates; the sampler sees the labels; the
rank of each true quantity among the draws must be uniform (Talts et al. 2018).

Run: python -m experiments.sbc [--quick]
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chisquare

from experiments.study import Study, table
from soar_jax.candidates.coverage import LOW_HALF, NEGATIVE_SHIFT, lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.sampling.plan import EXCHANGE, FLIP, HEAL, JUMP, REPLACE
from soar_jax.sampling.run import run
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.rates import draw_rates
from soar_jax.score.target import Target
from soar_jax.states import STATES, states_of

NUM_ROWS, NUM_PATTERNS = 120, (6, 5)
NUM_BINS = 10
NUM_CHAINS, DRAWS_EACH, THIN = 4, 25, 6
PLAN = ((FLIP, 20), (EXCHANGE, 4), (HEAL, 2), (JUMP, 1), (REPLACE, 1))
NOTHING = np.zeros(4, dtype=np.int64)
SPEAKS_POSITIVE = np.array([True, False, True, False])


def candidates(rng):
    """Covers of a fixed table, as booleans; they do not depend on labels."""
    covers, patterns = [], []
    for side, count in enumerate(NUM_PATTERNS):
        covers.append(rng.random((count, NUM_ROWS)) < rng.uniform(0.1, 0.5, (count, 1)))
        lengths = np.sort(rng.integers(1, 4, count))
        patterns.append(tuple(tuple(Literal(f"s{side}l{j}", "==", 1) for j in range(n)) for n in lengths))
    return covers, patterns


def pools_of(covers, patterns, layout):
    pools = []
    for cover, names in zip(covers, patterns, strict=True):
        bits = layout.pack(cover)
        positives, negatives = layout.counts(bits)
        pools.append(
            Pool(names, ((),) * len(names), positives, negatives, np.zeros(len(names)), bits, np.zeros(len(names), int))
        )
    return tuple(pools)


def one(seed, covers, patterns, hyper):
    """Draw a truth and labels from the prior, sample, and rank the truth among the draws."""
    rng = np.random.default_rng([7, seed])
    lengths = [np.array([len(p) for p in names]) for names in patterns]
    z = []
    for side in (0, 1):
        rate = rng.beta(hyper.rule_alpha[side], hyper.rule_beta[side])
        z.append(rng.random(len(lengths[side])) < rate[lengths[side] - 1])
    rho = draw_rates(rng, hyper, NOTHING, NOTHING)
    state = states_of(*(covers[side][z[side]].any(axis=0) for side in (0, 1)))
    probability = np.where(SPEAKS_POSITIVE, rho, 1 - rho)
    y = (rng.random(NUM_ROWS) < probability[state]).astype(np.int64)
    layout = lay_out(GroupedRows(np.arange(NUM_ROWS)[:, None], y, 1 - y))
    draws = run(
        Target(pools_of(covers, patterns, layout), layout, hyper),
        seed=seed,
        num_draws=DRAWS_EACH,
        num_warmup=50,
        num_chains=NUM_CHAINS,
        num_temperatures=4,
        thin=THIN,
        plan=PLAN,
    )
    included = draws.included.reshape(-1, 2, draws.num_slots)[:-1]  # 99 draws: 100 possible ranks
    members = [included[:, side, : len(lengths[side])] for side in (0, 1)]
    counts = draws.counts.reshape(-1, 4)[: len(included)]
    positives, negatives = counts & LOW_HALF, counts >> NEGATIVE_SHIFT
    rates = draw_rates(rng, hyper, positives, negatives)
    row_state = states_of(*((members[side] & covers[side][:, 0]).any(axis=1) for side in (0, 1)))
    rows = np.take_along_axis(np.where(SPEAKS_POSITIVE, rates, 1 - rates), row_state[:, None], axis=1)[:, 0]
    truth = {
        **{f"rho {name}": (rho[k], rates[:, k]) for k, name in enumerate(STATES)},
        "positive rules": (z[0].sum(), members[0].sum(axis=1)),
        "negative rules": (z[1].sum(), members[1].sum(axis=1)),
        "a row's probability": (probability[state[0]], rows),
    }
    ranks = {}
    for name, (true, drawn) in truth.items():
        # equal values: the rank is drawn evenly among the places they share
        ranks[name] = int((drawn < true).sum() + rng.integers(0, (drawn == true).sum() + 1))
    return ranks, len(included)


def main(argv=None) -> dict:
    study = Study("sbc", __doc__, argv)
    number = 20 if study.quick else 500
    covers, patterns = candidates(np.random.default_rng(0))
    layout = lay_out(GroupedRows(np.arange(NUM_ROWS)[:, None], np.ones(NUM_ROWS, int), np.zeros(NUM_ROWS, int)))
    pools = pools_of(covers, patterns, layout)
    longest = max(int(pool.length.max()) for pool in pools)
    sizes = np.stack([np.bincount(pool.length, minlength=longest + 1)[1:] for pool in pools])
    kind = np.repeat(np.arange(-1, longest)[:, None], longest + 1, axis=1)  # a kind is a length
    hyper = Hyperparameters(
        alpha=np.ones(4),
        beta=np.ones(4),
        low=np.array([0.7, 0.7, 0.3, 0.3]),
        high=np.array([1.0, 1.0, 0.7, 0.7]),
        kind=np.stack([kind, kind]),
        rule_alpha=np.full(sizes.shape, 1.0),
        rule_beta=np.full(sizes.shape, 3.0),
        searched=sizes.astype(float),
        pool_size=sizes,
    )
    all_ranks: dict[str, list[int]] = {}
    for seed in range(number):
        ranks, num_draws = one(seed, covers, patterns, hyper)
        for name, rank in ranks.items():
            all_ranks.setdefault(name, []).append(rank)
        if seed % 50 == 0:
            study.say(f"data set {seed} of {number}")
    tests, figure = {}, plt.figure(figsize=(11, 5), layout="constrained")
    axes = figure.subplots(2, 4).reshape(-1)
    for ax, (name, ranks) in zip(axes, all_ranks.items(), strict=False):
        counts = np.histogram(ranks, np.linspace(0, num_draws + 1, NUM_BINS + 1))[0]
        tests[name] = {"p_value": float(chisquare(counts).pvalue), "counts": counts}
        ax.stairs(counts, np.linspace(0, 1, NUM_BINS + 1), fill=True, color="#2a7f9e", alpha=0.7)
        ax.axhline(number / NUM_BINS, color="black", linewidth=0.8)
        ax.set_title(f"{name}\nchi-square p = {tests[name]['p_value']:.2f}", fontsize=9)
    for ax in axes[len(all_ranks) :]:
        ax.axis("off")
    lines = [
        f"{number} data sets of {NUM_ROWS} rows drawn from the prior (rates with bounds 0.3 and 0.7), {NUM_PATTERNS[0]} + "
        f"{NUM_PATTERNS[1]} candidates, all kernels of the default plan; "
        f"{num_draws} draws each ({NUM_CHAINS} chains, 4 temperatures, every {THIN}th round). The rank of the true value "
        f"among the draws, in {NUM_BINS} bins, against uniform:",
        "",
        *table(
            ["quantity", "chi-square p", "counts"], [[n, t["p_value"], t["counts"].tolist()] for n, t in tests.items()]
        ),
    ]
    return study.save({"num_data_sets": number, "tests": tests}, "Simulation-based calibration", lines, figure)


if __name__ == "__main__":
    main()
