r"""Far tails of p^k (1 - p)^m looked up: a smooth function of two variables, tabulated once for each bound.

For a bound x beyond the peak k / n, n = k + m, write  e = n^(-1/2) ,  s = (x (1 - x))^(1/2)  and
z = (x - k / n) / (e s) , how many standard deviations away the bound is. Then

    integral from x to 1 of p^k (1 - p)^m dp  =  x^k (1 - x)^m * e s * f(z, e) ,

where f(z, 0) is Mills's ratio of the normal distribution and f is smooth: near the peak in z and e, far from it in
1 / z and z e. Both regimes are one in the coordinates  t = 1 / (1 + z / A)  and  v = e / t , and f / t is nearly a
polynomial of degree `DEGREE` in each on small rectangles of them. A lower tail is the upper one of 1 - x with k and m
exchanged.

The device then needs one logarithm and one square root per tail, where a quadrature takes sixty exponentials and
logarithms (`soar_jax.score.bounded`). States of fewer than `FEW` rows, where f bends too much, have a table of
their own.
"""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from soar_jax._base import FloatArray

FEW = 256
NARROWEST, WIDEST = 0.005, 0.995
"""Bounds between which the surfaces hold 1e-9; beyond them the quadrature is used."""
DEGREE = 4
_NUM_CELLS = 64
_A = 4.5
_BEND = 6.0
_WINDOW = 36.0
_NUM_NODES = 64
_SLACK = 1e-12
_NUM_COEFFICIENTS = (DEGREE + 1) ** 2


def _scaled_tail(x: float, z: FloatArray, e: FloatArray) -> FloatArray:
    """Compute f(z, e) by Gauss-Legendre sums over a window in which the integrand falls by exp(-_WINDOW)."""
    unit = e * np.sqrt(x * (1 - x))
    rate = x - z * unit
    k, m = rate / e**2, (1 - rate) / e**2
    room = (1 - x) / unit
    steady, behind = m * (unit / (1 - x)) ** 2, np.maximum(k, 0.0) * unit**2

    def width(curvature: FloatArray) -> FloatArray:
        return np.minimum(2 * _WINDOW / (z + np.sqrt(z * z + 2 * _WINDOW * curvature)), room)

    length = width(steady + behind / (x + width(steady + behind / x**2) * unit) ** 2)
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_NODES)
    step = (length * unit)[..., None] * (nodes + 1) / 2
    fall = k[..., None] * np.log1p(step / x) + m[..., None] * np.log1p(-step / (1 - x))
    return np.asarray(length * (np.exp(fall) @ weights) / 2)


def _bend(x: float) -> float:
    """Scale on which v is compressed, so that cells are small where f changes."""
    return float(_BEND * np.sqrt(x * (1 - x)))


def _longest(x: float) -> float:
    """Largest compressed v of a state of at least `FEW` rows: that of k = 0."""
    v = FEW**-0.5 + np.sqrt(x / (1 - x)) / _A
    return float(v / (v + _bend(x)))


@lru_cache(maxsize=64)
def surface(x: float) -> FloatArray:
    """Coefficients of f / t in each cell of (t, v): (cells of t, cells of v, powers of t, powers of v)."""
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    places = (np.arange(_NUM_CELLS)[:, None] + (nodes + 1) / 2) / _NUM_CELLS
    w = places * _longest(x)
    t, v = places[:, None, :, None], (_bend(x) * w / (1 - w))[None, :, None, :]
    t, v = np.broadcast_arrays(t, v)
    values = _scaled_tail(x, _A * (1 / t - 1), v * t) / t
    powers = np.linalg.inv(np.vander(nodes, increasing=True))
    return np.einsum("ai,bj,tvij->tvab", powers, powers, values)


def tail_tables(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Surfaces of all bounds, one after another, and what `log_far_tail` needs to know of each state's two bounds.

    Returns
    -------
    surfaces : (num_surfaces * cells * coefficients,) float64
        Empty where a bound is out of reach.
    edges : (4, 2, 8) float64
        By state and bound: x, log x, log(1 - x), s; and for the upper and the lower tail the cells per compressed v and
        the place of the first coefficient.
    """
    bounds = np.stack([low, high], axis=1)
    inner = bounds[(bounds > 0) & (bounds < 1)]
    if not len(inner) or inner.min() < NARROWEST or inner.max() > WIDEST:
        return np.zeros(0), np.zeros((4, 2, 8))
    points = sorted({float(x) for x in np.round(np.concatenate([inner, 1 - inner]), 15)})
    first = {x: i * _NUM_CELLS**2 * _NUM_COEFFICIENTS for i, x in enumerate(points)}

    def of_tail(x: float) -> tuple[float, float]:
        return _NUM_CELLS / _longest(x), float(first[x])

    edges = np.zeros((*bounds.shape, 8))
    for place, bound in np.ndenumerate(np.clip(bounds, inner.min(), inner.max())):  # of no bound no tail is asked
        x = float(np.round(bound, 15))
        (per_v, start), (per_v_lower, start_lower) = of_tail(x), of_tail(float(np.round(1 - bound, 15)))
        edges[place] = x, np.log(x), np.log1p(-x), np.sqrt(x * (1 - x)), per_v, per_v_lower, start, start_lower
    return np.concatenate([surface(x).ravel() for x in points]), edges


def log_far_tail(k: jax.Array, m: jax.Array, edge: jax.Array, surfaces: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Integrate p^k (1 - p)^m from a bound away from the peak: its logarithm, and whether it is the upper tail.

    Parameters
    ----------
    k, m : float64
        With k + m >= `FEW`; of fewer the result means nothing.
    edge : (8,) float64
    surfaces : float64
        From `tail_tables`.
    """
    x, log_x, log_rest, spread, per_v, per_v_lower, start, start_lower = (edge[i] for i in range(8))
    e = jax.lax.rsqrt(jnp.maximum(k + m, FEW))
    distance = x - k * (e * e)
    # at a rate of exactly x rounding decides, and XLA may compute this twice and round otherwise: a little slack makes
    # the tail and what is said of it agree
    is_upper = distance > -_SLACK
    unit = e * spread
    t = _A / (_A + jnp.abs(distance) / unit)
    v = e / t
    v = v / (v + _BEND * spread) * jnp.where(is_upper, per_v, per_v_lower)
    t_cells = t * _NUM_CELLS
    cells = [jnp.clip(place.astype(jnp.int32), 0, _NUM_CELLS - 1) for place in (t_cells, v)]
    in_t, in_v = (2 * (place - cell.astype(jnp.float64)) - 1 for place, cell in zip((t_cells, v), cells, strict=True))
    first = jnp.where(is_upper, start, start_lower).astype(jnp.int32)
    first = first + (cells[0] * _NUM_CELLS + cells[1]) * _NUM_COEFFICIENTS

    def coefficient(power: int) -> jax.Array:
        return surfaces.at[first + power].get(mode="promise_in_bounds")

    value = jnp.zeros(())
    for i in reversed(range(DEGREE + 1)):
        row = jnp.zeros(())
        for j in reversed(range(DEGREE + 1)):
            row = row * in_v + coefficient(i * (DEGREE + 1) + j)
        value = value * in_t + row
    return k * log_x + m * log_rest + jnp.log(unit * t * value), is_upper
