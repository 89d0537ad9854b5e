"""The log joint on the host against formulas that share no code with it, on random counts, priors and weights."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soar_jax.candidates.coverage import lay_out
from soar_jax.data.table import GroupedRows
from soar_jax.score.host import host_log_joint
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.states import state_masks
from tests.oracles import log_rules, log_state
from tests.problems import priors_by_length

counts = st.lists(st.integers(0, 400), min_size=4, max_size=4).map(np.array)
seeds = st.integers(0, 2**32 - 1)


def random_priors(rng, bounded):
    searched = rng.integers(1, 200, (2, 3))
    hyper = priors_by_length(*rng.uniform(0.2, 20, (2, 4)), *rng.uniform(0.3, 10, (2, 2, 3)), searched)
    if bounded:
        alpha, beta = rng.integers(1, 5, (2, 4)).astype(float)
        low = rng.uniform(0, 0.8, 4) * rng.integers(0, 2, 4)
        high = np.where(rng.integers(0, 2, 4), 1.0, low + rng.uniform(0.1, 1, 4) * (1 - low))
        hyper = hyper._replace(alpha=alpha, beta=beta, low=low, high=high)
    return hyper, rng.integers(0, np.minimum(searched, 12) + 1)


def written_out(positives, negatives, sizes, hyper):
    """The log joint state by state and side by side, from the words of eqs. (3) to (5)."""
    total = 0.0
    for state, is_about_positives in enumerate((True, False, True, False)):
        prior = hyper.alpha[state], hyper.beta[state], hyper.low[state], hyper.high[state]
        mine, others = (positives, negatives) if is_about_positives else (negatives, positives)
        total += float(log_state(mine[state], others[state], prior))
    for side in (0, 1):
        for kind in range(sizes.shape[1]):
            prior = hyper.searched[side, kind], hyper.rule_alpha[side, kind], hyper.rule_beta[side, kind]
            total += float(log_rules(sizes[side, kind], *prior))
    return total


@settings(max_examples=200)
@given(counts, counts, seeds, st.booleans())
def test_the_log_joint_is_the_formula_written_out(positives, negatives, seed, bounded):
    hyper, sizes = random_priors(np.random.default_rng(seed), bounded)
    expected = written_out(positives, negatives, sizes, hyper)
    assert host_log_joint(positives, negatives, sizes, hyper) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=60)
@given(seeds)
def test_rows_of_some_weight_are_as_many_rows_in_the_log_joint(seed):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 40))
    positives, negatives = rng.integers(0, 6, (2, num_rows))
    covers = rng.random((2, num_rows)) < 0.5
    hyper, sizes = random_priors(rng, bounded=False)

    def log_joint(positives, negatives, covers):
        layout = lay_out(GroupedRows(np.arange(len(positives))[:, None], positives, negatives))
        packed = layout.pack(covers)
        return host_log_joint(*layout.counts(state_masks(*packed, layout.everything())), sizes, hyper)

    each = np.repeat(np.arange(num_rows), positives + negatives)
    is_positive = np.concatenate([np.arange(p + n) < p for p, n in zip(positives, negatives, strict=True)])
    order = rng.permutation(len(each))
    apart = log_joint(is_positive[order].astype(int), (~is_positive)[order].astype(int), covers[:, each[order]])
    assert log_joint(positives, negatives, covers) == apart


def expanded(a, b, low, high):
    """Log of the integral of p^(a - 1) (1 - p)^(b - 1) for whole a and b, term by term, with 80 digits."""
    with mpmath.workdps(80):
        ends = mpmath.mpf(low), mpmath.mpf(high)
        if a > b:  # expand the smaller power
            a, b, ends = b, a, (1 - ends[1], 1 - ends[0])
        terms = [
            (-1) ** k * mpmath.binomial(a - 1, k) * ((1 - ends[0]) ** (b + k) - (1 - ends[1]) ** (b + k)) / (b + k)
            for k in range(a)
        ]
        return float(mpmath.log(mpmath.fsum(terms)))


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        (3, 900, 0.9, 1.0),  # the mean lies far from the bounds: shares of the whole underflow
        (900, 3, 0.0, 0.1),
        (40, 7000, 0.5, 0.75),
        (7000, 40, 0.05, 0.06),
        (3, 4, 0.0, 1.0),
        (12, 3, 0.8, 0.95),
        (12, 3, 0.1, 0.95),
        (1, 1, 0.25, 0.5),
        (150, 150, 0.99, 1.0),
        (200, 90, 0.0, 0.03),
        (2, 400, 0.5, 0.999),
        (60, 900, 0.6, 1.0),
    ],
)
def test_integrals_between_bounds_keep_their_digits_where_shares_underflow(a, b, low, high):
    found = float(log_beta_between(np.array(float(a)), np.array(float(b)), np.array(low), np.array(high)))
    assert found == pytest.approx(expanded(a, b, low, high), rel=1e-13, abs=1e-10)


@pytest.mark.parametrize(("a", "b", "low", "high"), [(3, 2, 0.3, 0.3 + 1e-9), (2, 2, 0.5 - 1e-7, 0.5 + 1e-7)])
def test_integrals_between_bounds_next_to_each_other_keep_what_the_bounds_themselves_keep(a, b, low, high):
    found = float(log_beta_between(np.array(float(a)), np.array(float(b)), np.array(low), np.array(high)))
    assert found == pytest.approx(expanded(a, b, low, high), abs=1e-6)
