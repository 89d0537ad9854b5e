"""Is the verdict right? Posteriors small enough to list, one of them with two equal modes, sampled many times.

A run is *good* when every inclusion probability is within 0.1 of the listed one. `diagnose()` should trust good runs only.

Run: python -m experiments.verdict [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from experiments.study import Study, table
from soar_jax import SOARClassifier
from soar_jax._base import MAX_RULES
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.tables import prior_table
from soar_jax.states import hits_and_misses

TOLERANCE = 0.1
NUM_RUNS, NUM_OTHER_RUNS = 50, 12
"""Runs of the default, and of every other setting."""
SETTINGS = {
    "default": {},
    "default ladder, 200 draws": {"num_draws": 200, "num_warmup": 100},
    "default ladder, 50 draws": {"num_draws": 50, "num_warmup": 25},
    "two chains, 200 draws": {"num_draws": 200, "num_warmup": 100, "num_chains": 2},
    "no tempering, 200 draws": {"num_draws": 200, "num_warmup": 100, "num_temperatures": 1},
    "no tempering, 16 chains, 100 draws": {"num_draws": 100, "num_warmup": 50, "num_temperatures": 1, "num_chains": 16},
}


def two_readings(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Positive rows lie in the four corners of two columns: {a = 0, a = 1} covers them, and so does {b = 0, b = 1}."""
    rng = np.random.default_rng([11, seed])
    per_corner = int(rng.integers(32, 48))  # of like shape, so that little is compiled
    a = np.repeat([0, 0, 1, 1], per_corner)
    b = np.repeat([0, 1, 0, 1], per_corner)
    rest = np.full(2 * per_corner, 2)
    frame = pd.DataFrame({"a": np.concatenate([a, rest]), "b": np.concatenate([b, rest])}).astype(str)
    return frame, (np.arange(len(frame)) < len(a)).astype(int)


def random_rules(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Six columns of three levels, a label that follows two of them with noise."""
    rng = np.random.default_rng([12, seed])
    n = 190
    frame = pd.DataFrame({f"c{j}": rng.integers(0, 3, n) for j in range(6)}).astype(str)
    chance = np.where((frame.c0 == "1") | (frame.c1 == frame.c2), rng.uniform(0.65, 0.95), rng.uniform(0.05, 0.25))
    return frame, (rng.random(n) < chance).astype(int)


PROBLEMS = {
    "two equal readings": (two_readings, {"max_length": 1}),
    "random rules": (random_rules, {"max_length": 2, "max_patterns": 7}),
}


def listed_inclusion(fitted) -> np.ndarray:
    """Inclusion probability of every candidate, by listing all pairs: positive pool, then negative."""
    target = fitted.target
    layout, hyper = target.layout, target.hyper
    prior = prior_table(hyper, MAX_RULES)
    members, covers, log_prior = [], [], []
    for side, pool in enumerate(target.pools):
        z = (np.arange(2 ** len(pool))[:, None] >> np.arange(len(pool))) & 1 == 1
        kinds = hyper.kinds_of(side, pool.length, pool.num_cuts)
        sizes = np.stack([z[:, kinds == k].sum(axis=1) for k in range(prior.shape[1])], axis=1)
        log_prior.append(np.take_along_axis(prior[side][None], sizes[..., None], axis=2)[..., 0].sum(axis=1))
        covers.append(np.stack([np.bitwise_or.reduce(pool.bits[row], axis=0, initial=0) for row in z]))
        members.append(z)
    everything = layout.everything()
    values = np.empty((len(members[0]), len(members[1])))
    for i, plus in enumerate(covers[0]):
        minus = covers[1]
        states = np.stack([plus & ~minus, minus & ~plus, plus & minus, everything & ~(plus | minus)], axis=1)
        counts = [part.reshape(-1, 4) for part in layout.counts(states.reshape(-1, states.shape[-1]))]
        hits, misses = hits_and_misses(*counts)
        likelihood = log_beta_between(hits + hyper.alpha, misses + hyper.beta, hyper.low, hyper.high)
        values[i] = likelihood.sum(axis=1) + log_prior[0][i] + log_prior[1]
    weight = np.exp(values - logsumexp(values))
    return np.concatenate([weight.sum(axis=1 - side) @ members[side] for side in (0, 1)])


def one_run(problem: str, setting: str, seed: int) -> dict:
    make, parameters = PROBLEMS[problem]
    model = SOARClassifier(random_state=seed, grow_to=0, **parameters).fit(*make(seed))
    truth = listed_inclusion(model.fitted_pair_)
    posterior = model.sample_posterior(random_state=seed, **SETTINGS[setting])
    draws, sizes = posterior.draws, [len(pool) for pool in model.fitted_pair_.target.pools]
    found = np.concatenate([draws.included[:, :, side, :n].mean(axis=(0, 1)) for side, n in enumerate(sizes)])
    error = float(np.abs(found - truth).max())
    return {
        "problem": problem,
        "setting": setting,
        "seed": seed,
        "pairs": 2 ** sum(sizes),
        "error": error,
        "is_good": error <= TOLERANCE,
        "is_trusted": bool(posterior.diagnose().is_trusted),
    }


def main(argv=None) -> dict:
    warnings.simplefilter("ignore")
    study = Study("verdict", __doc__, argv)
    runs = []
    for problem in PROBLEMS:
        for setting in SETTINGS:
            num_runs = 1 if study.quick else NUM_RUNS if setting == "default" else NUM_OTHER_RUNS
            found = [one_run(problem, setting, seed) for seed in range(num_runs)]
            runs += found
            wrong = sum(run["is_trusted"] and not run["is_good"] for run in found)
            study.say(f"{problem}, {setting}: trusted {sum(r['is_trusted'] for r in found)}, of these wrong {wrong}")
    frame = pd.DataFrame(runs)
    rows = []
    for (problem, setting), part in frame.groupby(["problem", "setting"], sort=False):
        cells = [(part.is_trusted == t) & (part.is_good == g) for t, g in ((1, 1), (1, 0), (0, 1), (0, 0))]
        rows.append([problem, setting, *(int(cell.sum()) for cell in cells), float(part.error.max())])
    trusted = frame[frame.is_trusted]
    lines = [
        f"{NUM_RUNS} runs of the default and {NUM_OTHER_RUNS} of every other setting, seeds from 0, each on a table of its own whose posterior was listed (up to "
        f"{frame['pairs'].max():,} pairs). A run is good when every inclusion probability is within {TOLERANCE} of the listed one. "
        f"Of {len(trusted)} trusted runs {int((~trusted.is_good).sum())} are not good.",
        "",
        *table(
            ["posterior", "run", "trusted, good", "trusted, not good", "refused, good", "refused, not good", "largest error"],
            rows,
        ),
    ]  # fmt: skip
    summary = {
        "trusted": len(trusted),
        "trusted_wrong": int((~trusted.is_good).sum()),
        "refused_good": int((frame.is_good & ~frame.is_trusted).sum()),
        "default_trusted": int(frame[frame.setting == "default"].is_trusted.sum()),
        "default_runs": int((frame.setting == "default").sum()),
        "runs": runs,
    }
    return study.save(summary, "Is the verdict right?", lines)


if __name__ == "__main__":
    main()
