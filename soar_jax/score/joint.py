r"""The log joint of a pair of rule sets and the labels (eq. 4 to 6 of the paper).

========================  =============================================================
paper                     here
========================  =============================================================
CTP, CFP, ..., PAN        ``counts`` (4,), packed: positives + (negatives << 32) by state
rho_C+, rho_C-, ...       integrated out; Beta(``alpha[s]``, ``beta[s]``) by state s, cut off at ``low``, ``high``
p_l                       integrated out; Beta(``rule_alpha[side, k]``, ``rule_beta``) by kind k
n_l                       ``sizes`` (2, num_kinds): rules of each side and kind
Score                     -(``power`` * ``log_likelihood`` + ``log_prior``)
========================  =============================================================

Eq. (5) prints the last factor with alpha_A- and beta_A- exchanged against the definition of rho_A-
in eq. (3). Here PAN goes with alpha and PAP with beta, as the definition demands.

Counts are integers, scores float64. The functions take and give JAX arrays and run under jit; call
them inside `soar_jax._base.in_float64`. `soar_jax.score.host` has the same written with SciPy.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import IntArray
from soar_jax.candidates.coverage import LOW_HALF, NEGATIVE_SHIFT
from soar_jax.score.bounded import join_above, join_between, log_mass, log_mass_above
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.problem import Problem
from soar_jax.score.tails import FEW, log_far_tail
from soar_jax.states import hits_and_misses

_SHIFT = 8
_NO_BOUND = 1e-15
_ROUNDING = 1e-12
_HALF_LOG_TWO_PI = 0.9189385332046727


def _correction(y: jax.Array) -> jax.Array:
    """Stirling series of log Gamma(y) beyond its leading terms; below 1e-12 off for y >= 8."""
    inverse = 1.0 / y
    square = inverse * inverse
    tail = 1 / 1680 - square * (1 / 1188 - square * (691 / 360360))
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * tail)))


def _rising(x: jax.Array) -> jax.Array:
    """Return x (x + 1) ... (x + 7), which carries log Gamma(x + 8) back to log Gamma(x)."""
    return x * (x + 7.0) * ((x + 1.0) * (x + 6.0)) * ((x + 2.0) * (x + 5.0)) * ((x + 3.0) * (x + 4.0))


def log_beta(a: jax.Array, b: jax.Array) -> jax.Array:
    """Compute log B(a, b) in float64, written for vectorised CPU loops.

    Stirling's series at a + 8, b + 8 and a + b + 8, with the large terms cancelled by hand: what
    remains grows like n H(a/n), not like n log n, so differences keep their digits for large n.
    Four logarithms instead of three calls of log-gamma, and unlike a table it needs no memory and no
    shape that depends on the number of rows.
    """
    total = a + b
    y_a, y_b, y_total = a + _SHIFT, b + _SHIFT, total + _SHIFT
    small, y_small, y_large = jnp.minimum(a, b), jnp.minimum(y_a, y_b), jnp.maximum(y_a, y_b)
    # log(y_large / y_total) = log(1 - small / y_total), by Kahan's formula: near 1 a plain ratio has
    # lost the digits that y_large then magnifies
    part = small / y_total
    rest = 1.0 - part
    log_rest = jnp.where(rest == 1.0, -part, jnp.log(rest) * part / jnp.where(rest == 1.0, 1.0, 1.0 - rest))
    leading = (y_small - 0.5) * jnp.log(y_small / y_total) + (y_large - 0.5) * log_rest
    # the exponents of y_total: (y_a - 1/2) + (y_b - 1/2) - (y_total - 1/2) = 15/2
    leading = leading + 7.5 * jnp.log(y_total) - _SHIFT + _HALF_LOG_TWO_PI
    correction = _correction(y_a) + _correction(y_b) - _correction(y_total)
    return leading + correction + jnp.log(_rising(total) / (_rising(a) * _rising(b)))


def split_counts(counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Unpack (positives, negatives) as float64."""
    positives = (counts & LOW_HALF).astype(jnp.float64)
    negatives = (counts >> NEGATIVE_SHIFT).astype(jnp.float64)
    return positives, negatives


def _by_label(counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Unpack (positives, negatives) as whole numbers."""
    return (counts & LOW_HALF).astype(jnp.int32), (counts >> NEGATIVE_SHIFT).astype(jnp.int32)


def _look_up(problem: Problem, state: jax.Array, positives: jax.Array, negatives: jax.Array) -> jax.Array:
    """Find one state's log likelihood in the table."""
    _, rows, columns = problem.states.shape
    place = (state * rows + positives) * columns + negatives
    return problem.states.reshape(-1).at[place].get(mode="promise_in_bounds")


def _hits_and_misses(problem: Problem, state: jax.Array, counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Unpack the counts of one state: whole numbers where log Gamma is looked up, else float64."""
    dtype = jnp.float64 if problem.log_gamma.shape[2] == 1 else jnp.int32
    positives, negatives = (counts & LOW_HALF).astype(dtype), (counts >> NEGATIVE_SHIFT).astype(dtype)
    speaks_positive = state % 2 == 0  # C- and passive speak for the negative label (eq. 3)
    return jnp.where(speaks_positive, positives, negatives), jnp.where(speaks_positive, negatives, positives)


def _log_whole(problem: Problem, state: jax.Array, hits: jax.Array, misses: jax.Array) -> jax.Array:
    """Compute log B(hits + alpha, misses + beta): three gathers, or a formula for very many rows."""
    size = problem.log_gamma.shape[2]
    if size == 1:
        return log_beta(hits + problem.alpha[state], misses + problem.beta[state])
    table, start = problem.log_gamma.reshape(-1), 3 * size * state

    def look_up(number: jax.Array) -> jax.Array:
        return table.at[number].get(mode="promise_in_bounds")

    return look_up(start + hits) + look_up(start + size + misses) - look_up(start + 2 * size + hits + misses)


def _exponents(problem: Problem, state: jax.Array, counts: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Exponents of p and 1 - p in the likelihood of one state, and its log integral over [0, 1]."""
    hits, misses = _hits_and_misses(problem, state, counts)
    k = hits.astype(jnp.float64) + (problem.alpha[state] - 1)
    m = misses.astype(jnp.float64) + (problem.beta[state] - 1)
    return k, m, _log_whole(problem, state, hits, misses)


def state_log_likelihood(
    problem: Problem, state: jax.Array | int, counts: jax.Array, *, is_consensus: bool
) -> jax.Array:
    """Log integral of one state's rows over its rate (a factor of eq. 5), from packed counts of any shape.

    A consensus is bounded from below only, which halves the work where integrals are computed.

    Without bounds that is log B(hits + alpha, misses + beta). Counts are whole numbers, so it is looked up where the
    table is small enough: by positives and negatives for rates with bounds, else as three logarithms of Gamma. One
    state at a time keeps all in plain vectors, which XLA turns into a single loop; with the states as a last axis of
    length four it is far slower.
    """
    state = jnp.asarray(state, jnp.int32)
    if not problem.rule.size:
        if problem.states.size > 4:  # noqa: PLR2004
            return _look_up(problem, state, *_by_label(counts))
        return _log_whole(problem, state, *_hits_and_misses(problem, state, counts))
    k, m, whole = _exponents(problem, state, counts)
    low, high = problem.low[state], problem.high[state]
    if not problem.surfaces.size:
        # the quadrature starts at a bound, and wants room beyond it
        low, high = jnp.maximum(low, _NO_BOUND), jnp.minimum(high, 1 - _NO_BOUND)
        if is_consensus:
            return log_mass_above(k, m, low, whole, problem.rule)
        return log_mass(k, m, low, high, whole, problem.rule)
    tail, is_peak_below = log_far_tail(k, m, problem.edges[state, 0], problem.surfaces)
    at_low = jnp.where(low > 0, tail, -jnp.inf), is_peak_below & (low > 0)
    if is_consensus:
        value = join_above(at_low, whole)
    else:
        tail, is_peak_not_above = log_far_tail(k, m, problem.edges[state, 1], problem.surfaces)
        value = join_between(at_low, (jnp.where(high < 1, tail, -jnp.inf), is_peak_not_above | (high >= 1)), whole)
    positives, negatives = _by_label(counts)
    are_few = positives + negatives < FEW
    few = _look_up(problem, state, jnp.where(are_few, positives, 0), jnp.where(are_few, negatives, 0))
    return jnp.where(are_few, few, value)


def state_log_bound(problem: Problem, state: jax.Array | int, counts: jax.Array, *, is_consensus: bool) -> jax.Array:
    """Upper bound of `state_log_likelihood` without an integral, nearly tight where the rows' rate is within bounds.

    An integral over [low, high] is at most that over [0, 1], and at most the width times the greatest height, which
    lies at the rate of the rows or at the bound next to it.
    """
    del is_consensus
    state = jnp.asarray(state, jnp.int32)
    k, m, whole = _exponents(problem, state, counts)
    low, high = problem.low[state], problem.high[state]
    rate = jnp.clip(k / jnp.maximum(k + m, 1.0), jnp.maximum(low, _NO_BOUND), jnp.minimum(high, 1 - _NO_BOUND))
    # one more ulp or two, so that rounding cannot make the bound lower than the integral
    height = k * jnp.log(rate) + m * jnp.log1p(-rate)
    return jnp.minimum(whole, height + jnp.log(high - low)) + _ROUNDING * (1 + jnp.abs(whole))


def log_likelihood(problem: Problem, counts: jax.Array) -> jax.Array:
    """Collapsed likelihood of the labels (eq. 5), from packed counts of the states, (..., 4) int64."""
    if not problem.rule.size:
        every = jax.vmap(partial(state_log_likelihood, is_consensus=False), (None, 0, -1), -1)
        return every(problem, jnp.arange(4, dtype=jnp.int32), counts).sum(axis=-1) - problem.constant
    parts = []
    for states, is_consensus in ((slice(0, 2), True), (slice(2, 4), False)):
        each = jax.vmap(partial(state_log_likelihood, is_consensus=is_consensus), (None, 0, -1), -1)
        parts.append(each(problem, jnp.arange(4, dtype=jnp.int32)[states], counts[..., states]).sum(axis=-1))
    return parts[0] + parts[1] - problem.constant


def host_log_likelihood(problem: Problem, counts: IntArray) -> float:
    """Compute `log_likelihood` for one pair with SciPy: nothing to compile."""
    hits, misses = hits_and_misses(counts & LOW_HALF, counts >> NEGATIVE_SHIFT)
    alpha, beta, low, high = (np.asarray(part) for part in (problem.alpha, problem.beta, problem.low, problem.high))
    return float(log_beta_between(hits + alpha, misses + beta, low, high).sum() - np.asarray(problem.constant))


def log_prior(problem: Problem, sizes: jax.Array) -> jax.Array:
    """Log prior of both rule sets, from the number of rules of each side and kind, up to a constant."""
    by_kind = jnp.take_along_axis(problem.prior, sizes[..., None], axis=-1).sum()
    return by_kind + jnp.where(num_free(sizes) == 0, problem.log_doubt, 0.0)


def host_log_prior(problem: Problem, sizes: IntArray) -> float:
    """Compute the same with NumPy: nothing to compile."""
    by_kind = np.take_along_axis(np.asarray(problem.prior), sizes[..., None], axis=-1).sum()
    return float(by_kind) + (0.0 if sizes[:, 1:].any() else float(problem.log_doubt))


def num_free(sizes: jax.Array) -> jax.Array:
    """How many rules a pair has beside those that must be in."""
    return sizes[:, 1:].sum(dtype=jnp.int32)


def log_joint(problem: Problem, counts: jax.Array, sizes: jax.Array) -> jax.Array:
    """Log joint of a pair and the labels (eq. 6, up to the constant of the data), from its counts and sizes.

    The likelihood is raised to ``problem.power``; the paper's is power 1.
    """
    return problem.power * log_likelihood(problem, counts) + log_prior(problem, sizes)
