"""Is a reading trusted alone when another one is as good? Tables with two readings that no single step connects, and their twins.

Run: python -m experiments.two_readings [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np

from experiments.made_tables import two_readings_table
from experiments.study import Study, table
from soar_jax import SOARClassifier

NUM_TABLES = 20
LEAST_SHARE = 0.25
"""Of the draws that each of two readings must have, which are equally probable by construction."""
SETTINGS = {"max_rules": 1, "max_length": 1, "max_patterns": 10}
"""Ten candidates per side: the surroundings of one reading are its own near-copies."""


def one_run(seed: int, num_readings: int) -> dict:
    """Fit, sample by default, and count how many draws are of each reading."""
    X, y = two_readings_table(seed, num_readings)
    model = SOARClassifier(random_state=seed, **SETTINGS).fit(X, y)
    post = model.sample_posterior(random_state=seed)
    shares = dict.fromkeys("uv"[:num_readings], 0.0)
    for line in post.inclusion.itertuples():
        if line.side == "positive":
            shares[line.rule[0]] += line.probability
    verdict = post.diagnose()
    return {
        "seed": seed,
        "readings": num_readings,
        "is_trusted": verdict.is_trusted,
        "least_share": min(shares.values()),
        "seconds": post.seconds,
        "problems": verdict.problems,
    }


def main(argv: list[str] | None = None) -> dict:
    study = Study("two_readings", __doc__, argv)
    warnings.simplefilter("ignore")
    runs = []
    for num_readings in (2, 1):
        for seed in range(2 if study.quick else NUM_TABLES):
            runs.append(one_run(seed, num_readings))
            study.say(f"{num_readings} readings, seed {seed}: {runs[-1]}")
    two, one = ([run for run in runs if run["readings"] == k] for k in (2, 1))
    trusted = [run for run in two if run["is_trusted"]]
    alone = sum(run["least_share"] < LEAST_SHARE for run in trusted)
    page = [
        "Tables of 600 rows: a column with a dozen near-copies tells the label, and in the first line a second one tells it "
        "equally well and independently, with a dozen near-copies of its own. One rule per side, ten candidates per side.",
        "",
        *table(
            ["readings", "runs", "trusted", "trusted with one reading alone", "least share of a reading", "seconds, median"],
            [
                [2, len(two), len(trusted), alone, min((run["least_share"] for run in trusted), default=float("nan")),
                 f"{np.median([run['seconds'] for run in two]):.1f}"],
                [1, len(one), sum(run["is_trusted"] for run in one), "", "", f"{np.median([run['seconds'] for run in one]):.1f}"],
            ],
        ),
    ]  # fmt: skip
    return study.save({"runs": runs}, "Two readings, and one", page)


if __name__ == "__main__":
    main()
