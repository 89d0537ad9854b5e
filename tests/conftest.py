"""Shared oracles: brute force that knows nothing of packed words, pools or JAX."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, settings

from tests.oracles import log_rules, log_state

# a busy machine is no bug; experiments.mutation asks whether a test fails, not for the smallest example
PHASES = [
    phase for phase in Phase if phase not in (Phase.shrink, Phase.explain) or "SOAR_NO_SHRINKING" not in os.environ
]
settings.register_profile("soar", deadline=None, phases=PHASES)
settings.load_profile("soar")
os.environ["SOAR_PROGRAMS"] = "off"  # tests leave nothing in the user's cache
# a shell's background job ignores interrupts, and some tests send them
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def shared_data():
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data is not beside the checkout")
    return SHARED_DATA


def holds(frame, literal):
    """Truth of one plain literal on raw values, written for tests only."""
    column, op, value = literal
    values = frame[column]
    if op == "missing":
        return values.isna().to_numpy()
    if op == "<=":
        return (values <= value).to_numpy(dtype=bool)
    if op == ">":
        return (values > value).to_numpy(dtype=bool)
    same = (values == value).to_numpy(dtype=bool, na_value=False)
    return same if op == "==" else ~same & values.notna().to_numpy()


def coverage(frame, patterns):
    """(num_patterns, num_rows) truth of conjunctions of plain literals."""
    out = [np.logical_and.reduce([holds(frame, lit) for lit in literals]) for literals in patterns]
    return np.array(out, dtype=bool).reshape(len(out), len(frame))


def log_joint_of_cover(positive, negative, y, weights, sizes, priors):
    """Log joint from boolean covers; priors is an estimator's ``priors_``, sizes rules by side and kind."""
    y = np.asarray(y, dtype=bool)
    total = 0.0
    masks = {
        "positive": (positive & ~negative, True),
        "negative": (negative & ~positive, False),
        "active": (positive & negative, True),
        "passive": (~positive & ~negative, False),
    }
    for state, (mask, speaks_positive) in masks.items():
        prior = [priors["states"][state][name] for name in ("alpha", "beta", "low", "high")]
        hits = weights[mask & (y == speaks_positive)].sum()
        misses = weights[mask & (y != speaks_positive)].sum()
        total += priors["power"] * log_state(hits, misses, prior)
    for side, name in enumerate(("positive", "negative")):
        rule = priors["rules"][name]
        total += log_rules(sizes[side], *(np.array(rule[part]) for part in ("searched", "alpha", "beta"))).sum()
    has_rules = any(np.any(counts) for counts in sizes)
    return float(total) + (0.0 if has_rules else np.log(priors["doubt"]))


class Oracle:
    """The posterior of a fitted estimator, recomputed from its public tables and the raw rows."""

    def __init__(self, model, X, y, weights=None):
        self.frame = X.reset_index(drop=True)
        self.y = np.asarray(y) == model._label(0)
        self.weights = np.ones(len(X), dtype=np.int64) if weights is None else np.asarray(weights)
        self.priors = model.priors_
        pools = model.pools_
        self.pools = [pools[pools["side"] == side].reset_index(drop=True) for side in ("positive", "negative")]
        self.cover = [coverage(self.frame, pool["literals"]) for pool in self.pools]
        kinds = [self.priors["rules"][side]["kind"] for side in ("positive", "negative")]
        self.kinds = [
            np.array([names.index(kind) for kind in pool["kind"]], dtype=int)
            for names, pool in zip(kinds, self.pools, strict=True)
        ]
        self.num_kinds = len(kinds[0])
        rules = model.rules_
        self.fitted = [
            np.isin(
                np.array([str(r) for r in pool["literals"]], dtype=object),
                [str(r) for r in rules.loc[rules["side"] == side, "literals"]],
            )
            for pool, side in zip(self.pools, ("positive", "negative"), strict=True)
        ]

    def log_joint(self, included):
        covers, sizes = [], []
        for side in (0, 1):
            members = np.flatnonzero(included[side])
            covers.append(self.cover[side][members].any(axis=0))
            sizes.append(np.bincount(self.kinds[side][members], minlength=self.num_kinds))
        return log_joint_of_cover(*covers, self.y, self.weights, sizes, self.priors)

    def neighbours(self):
        """Every pair one addition, removal or exchange away from the fitted one."""
        for side in (0, 1):
            inside = np.flatnonzero(self.fitted[side])
            for i in range(len(self.fitted[side])):
                changed = [z.copy() for z in self.fitted]
                changed[side][i] ^= True
                yield changed
                if not self.fitted[side][i]:
                    for out in inside:
                        swapped = [z.copy() for z in changed]
                        swapped[side][out] = False
                        yield swapped


@pytest.fixture
def oracle():
    return Oracle


def random_table(seed, num_rows=120, num_columns=4):
    """A small table with text, numbers and missing values, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {f"c{i}": rng.choice(["a", "b", "c"][: 2 + i % 2], num_rows).astype(object) for i in range(num_columns - 1)}
    )
    frame["n"] = np.round(rng.normal(size=num_rows), 2)
    signal = (frame["c0"] == "a").to_numpy() * 1.5 + frame["n"].to_numpy() - 0.5
    y = rng.random(num_rows) < 1 / (1 + np.exp(-2 * signal))
    frame.loc[rng.random(num_rows) < 0.1, "c1"] = None
    frame.loc[rng.random(num_rows) < 0.1, "n"] = np.nan
    return frame, y


@pytest.fixture
def make_table():
    return random_table
