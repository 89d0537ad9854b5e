r"""Integrals of p^k (1 - p)^m between bounds, in logarithms: the likelihood of a rate that is cut off.

A state's rate has a Beta(alpha, beta) prior cut off at ``low`` and ``high``. With k hits and m misses the collapsed
likelihood of its rows is

    integral over [low, high] of p^(k + alpha - 1) (1 - p)^(m + beta - 1) dp
    ----------------------------------------------------------------------- ,
    integral over [low, high] of p^(alpha - 1) (1 - p)^(beta - 1) dp

and with bounds 0 and 1 the paper's beta-binomial B(k + alpha, m + beta) / B(alpha, beta) (eq. 5).

The integrand has one peak. Everything is put together from *far tails*: integrals from a bound away from the peak,
where the integrand falls all the way. Between bounds that hold the peak the integral is the whole less two far tails,
beyond them it is the difference of two far tails, so nothing cancels. On the device a far tail is looked up
(`soar_jax.score.tails`) or, for bounds next to 0 or 1, it is a Gauss-Legendre sum over a window in which the integrand
falls by exp(-WINDOW); on the host it is SciPy's incomplete beta function or, where that underflows, its continued
fraction. Every fit compares device and host.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray

WINDOW = 24.0
NUM_NODES = 20
_SLACK = 1e-12


def quadrature() -> FloatArray:
    """Nodes in [0, 1] and weights of the Gauss-Legendre rule: (2, NUM_NODES)."""
    nodes, weights = np.polynomial.legendre.leggauss(NUM_NODES)
    return np.stack([(nodes + 1) / 2, weights / 2])


def _log_far_tail(k: jax.Array, m: jax.Array, bound: jax.Array, rule: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Integrate p^k (1 - p)^m from a bound away from the peak: its logarithm, and whether it is the upper tail.

    The window: with slope r and least curvature c of the log integrand, r u + c u^2 / 2 = WINDOW. The curvature is
    k / p^2 + m / (1 - p)^2; the part that shrinks along the way is taken at the end of a first guess.
    """
    bound = jnp.broadcast_to(bound, k.shape)
    # some slack, so that rounding at a rate of exactly the bound cannot make two computations of this disagree
    is_upper = k * (1 - bound) <= m * bound + _SLACK * (k + m)
    # mirror a lower tail, so that the integral always runs from `start` up to 1
    ahead, behind = jnp.where(is_upper, m, k), jnp.where(is_upper, k, m)
    start = jnp.where(is_upper, bound, 1 - bound)
    room = 1 - start
    slope = jnp.maximum(ahead / room - behind / start, 0.0)
    steady = ahead / (room * room)

    def width(curvature: jax.Array) -> jax.Array:
        length = 2 * WINDOW / (slope + jnp.sqrt(slope * slope + 2 * WINDOW * curvature) + 1e-300)
        return jnp.minimum(length, room)

    end = start + width(steady + behind / (start * start))
    length = width(steady + behind / (end * end))
    nodes, weights = (row.reshape((1,) * length.ndim + (-1,)) for row in rule)
    step = length[..., None] * nodes
    fall = behind[..., None] * jnp.log1p(step / start[..., None])
    fall = fall + ahead[..., None] * jnp.log1p(-step / room[..., None])
    total = (weights * jnp.exp(fall)).sum(axis=-1)
    log_height = behind * jnp.log(start) + ahead * jnp.log(room)
    return log_height + jnp.log(length) + jnp.log(total), is_upper


def _less(log_whole: jax.Array, log_part: jax.Array) -> jax.Array:
    """Compute log(whole - part) from logarithms, for a part that is not larger than the whole."""
    return log_whole + jnp.log(-jnp.expm1(jnp.minimum(log_part - log_whole, 0.0)))


FarTail = tuple[jax.Array, jax.Array]
"""Logarithm of a far tail, and whether it is the upper one."""


def join_above(at_low: FarTail, log_whole: jax.Array) -> jax.Array:
    """Log integral from the lower bound up, from the far tail at it and the log integral over [0, 1]."""
    tail, is_upper = at_low
    return jnp.where(is_upper, tail, _less(log_whole, tail))


def join_between(at_low: FarTail, at_high: FarTail, log_whole: jax.Array) -> jax.Array:
    """Log integral between two bounds, from the far tails at them and the log integral over [0, 1]."""
    (low_tail, is_peak_below), (high_tail, is_peak_not_above) = at_low, at_high
    beyond = _less(jnp.where(is_peak_below, low_tail, high_tail), jnp.where(is_peak_below, high_tail, low_tail))
    within = _less(log_whole, jnp.logaddexp(low_tail, high_tail))
    return jnp.where(is_peak_below | ~is_peak_not_above, beyond, within)


def log_mass_above(k: jax.Array, m: jax.Array, low: jax.Array, log_whole: jax.Array, rule: jax.Array) -> jax.Array:
    """Integrate p^k (1 - p)^m over [low, 1]: its logarithm; see `log_mass`."""
    return join_above(_log_far_tail(k, m, low, rule), log_whole)


def log_mass(
    k: jax.Array, m: jax.Array, low: jax.Array, high: jax.Array, log_whole: jax.Array, rule: jax.Array
) -> jax.Array:
    """Integrate p^k (1 - p)^m over [low, high]: its logarithm.

    Parameters
    ----------
    k, m : float64
        Exponents: hits + alpha - 1 and misses + beta - 1, whole numbers from 0 up (of others the sum loses digits where
        they are small).
    low, high : () float64
        Bounds, strictly between 0 and 1 (nearly 0 and 1 for none).
    log_whole : float64
        log B(k + 1, m + 1), the integral over [0, 1].
    rule : (2, NUM_NODES)
        From `quadrature`.
    """
    return join_between(_log_far_tail(k, m, low, rule), _log_far_tail(k, m, high, rule), log_whole)
