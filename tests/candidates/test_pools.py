import numpy as np
import pandas as pd
import pytest
from scipy.stats import entropy

from soar_jax import SOARClassifier
from soar_jax.candidates.pools import impurity


@pytest.mark.parametrize("screen", ["entropy", "gini"])
def test_impurity_equals_the_definition(screen):
    rng = np.random.default_rng(0)
    num_p, num_n = 37, 63
    p, n = rng.integers(0, num_p + 1, 50), rng.integers(0, num_n + 1, 50)
    p[:3], n[:3] = [0, 37, 37], [0, 0, 63]  # empty, pure and full patterns
    got = impurity(p, n, num_p, num_n, screen)
    for i in range(50):
        expected = 0.0
        for a, b in ((p[i], n[i]), (num_p - p[i], num_n - n[i])):
            if a + b:
                share = np.array([a, b]) / (a + b)
                within = entropy(share) if screen == "entropy" else 1 - (share**2).sum()
                expected += (a + b) / 100 * within
        assert got[i] == pytest.approx(expected, abs=1e-12)


def fitted(X, y, **parameters):
    return SOARClassifier(n_rounds=1, max_length=3, **parameters).fit(X, y)


def test_directed_pools_beat_the_base_rate_and_shared_pools_are_equal(make_table):
    X, y = make_table(1)
    directed, shared = fitted(X, y).pools_, fitted(X, y, pools="shared", search="annealing").pools_
    positive = directed["side"] == "positive"
    assert (directed.loc[positive, "precision"] > y.mean()).all()
    assert (directed.loc[~positive, "precision"] > 1 - y.mean()).all()
    sides = [shared.loc[shared["side"] == s, "rule"].tolist() for s in ("positive", "negative")]
    assert sides[0] == sides[1]


def test_pools_are_ranked_and_limited(make_table):
    X, y = make_table(2)
    pools = fitted(X, y, max_patterns=7).pools_
    for _, pool in pools.groupby("side"):
        assert len(pool) == 7
        assert pool["impurity"].is_monotonic_increasing


def test_equal_coverage_is_merged_to_the_shortest_with_aliases():
    rng = np.random.default_rng(0)
    a = rng.choice(["u", "v", "w"], 200)
    X = pd.DataFrame(
        {
            "a": a,
            "copy": pd.Series(a).map({"u": 1, "v": 2, "w": 3}).astype(str),
            "b": rng.choice(["p", "q"], 200),
        }
    )
    y = (a == "u") ^ (rng.random(200) < 0.1)
    pools = fitted(X, y).pools_
    positive = pools[pools["side"] == "positive"].set_index("rule")
    assert "copy = 1" in positive.loc["a = u", "aliases"]
    assert "a = u and copy = 1" in positive.loc["a = u", "aliases"]
    assert not positive.index.str.contains("copy").any()
    covers = [tuple(row) for row in [*map(tuple, _covers(X, pools))]]
    assert len(set(covers)) == len(covers)


def _covers(X, pools):
    from tests.conftest import coverage

    for side, pool in pools.groupby("side"):
        for row in coverage(X, pool["literals"]):
            yield (side, *row.tolist())
