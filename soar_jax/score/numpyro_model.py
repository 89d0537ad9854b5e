"""The model as one would write it on a blackboard: the uncollapsed NumPyro model of a pair of rule sets.

This is the specification. It is for small pools: prior predictive draws, NumPyro's own samplers, checks. The
kernels of this package sample the same posterior with p and rho integrated out.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.typing import ArrayLike
from scipy.special import betaln

from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.tables import state_table
from soar_jax.states import SPEAKS_POSITIVE, STATES


def soar_model(
    covers: tuple[ArrayLike, ArrayLike],
    kinds: tuple[ArrayLike, ArrayLike],
    hyper: Hyperparameters,
    labels: ArrayLike | None = None,
    *,
    max_rules: tuple[int, int] | None = None,
) -> Any:
    """Generate labels from two random rule sets.

    p_k ~ Beta(alpha_k, beta_k) for each kind of pattern, z ~ Bernoulli(p_kind), rho ~ Beta(alpha, beta) cut off at its
    bounds for each state (eq. 3), and the label of a row is what its state speaks for with probability rho. Patterns
    that were searched and are no candidates are out. Patterns that must be in are in, and no p is charged for them. No
    rules beside those are as many times as probable as the prior's doubt says.

    With labels and a power h below 1 one factor is added, the marginal likelihood of the pair to the power h - 1: pairs
    then have the coarsened posterior, and the rates, given the pair, the posterior that all rows give them.

    Parameters
    ----------
    covers : pair of (num_patterns, num_rows) bool
        Which pattern of each side is true of which row.
    kinds : pair of (num_patterns,) int
        Kind of each pattern, from ``hyper.kinds_of_pool``; -1 for one that must be in.
    hyper : Hyperparameters
    labels : (num_rows,) 0/1, optional
        None draws labels from the prior predictive.
    max_rules : (int, int), optional
        Rules of each side at most: pairs with more have no density. NumPyro's ``Predictive`` leaves such factors out.
    """
    fires, num_free = [], jnp.zeros((), jnp.int32)
    for side, name in enumerate(STATES[:2]):
        cover = jnp.asarray(covers[side])
        rate = numpyro.sample(
            f"p_{name}", dist.Beta(jnp.asarray(hyper.rule_alpha[side]), jnp.asarray(hyper.rule_beta[side])).to_event(1)
        )
        kind = jnp.asarray(kinds[side], jnp.int32)
        left_out = jnp.asarray(hyper.searched[side] - hyper.pool_size[side])
        numpyro.factor(f"left_out_{name}", (left_out * jnp.log1p(-rate)).sum())
        # a plate, not one event: NumPyro's discrete samplers need the two values of each variable
        with numpyro.plate(f"{name}_patterns", kind.shape[0]):
            included = numpyro.sample(f"z_{name}", dist.Bernoulli(jnp.where(kind < 0, 1.0, rate[kind])))
        # NumPyro keeps probabilities off 0 and 1, so that leaving out what must be in would only be dear
        is_allowed = jnp.all((included > 0) | (kind >= 0))
        if max_rules is not None:
            is_allowed &= included.sum() <= max_rules[side]
        numpyro.factor(f"allowed_{name}", jnp.where(is_allowed, 0.0, -jnp.inf))
        num_free += jnp.where(kind < 0, 0, included.astype(jnp.int32)).sum()
        fires.append((included.astype(jnp.int32) @ cover.astype(jnp.int32)) > 0)
    numpyro.factor("doubt", jnp.where(num_free == 0, jnp.asarray(hyper.log_doubt), 0.0))
    rho = _sample_rates(hyper)
    positive, negative = fires
    state = jnp.where(positive & ~negative, 0, jnp.where(negative & ~positive, 1, jnp.where(positive, 2, 3)))
    numpyro.deterministic("state", state)
    probability = jnp.where(jnp.asarray(SPEAKS_POSITIVE), rho, 1 - rho)[state]
    if labels is not None and hyper.power != 1:
        numpyro.factor("coarsened", (hyper.power - 1) * _log_marginal(hyper, state, np.asarray(labels)))
    observed = None if labels is None else jax.numpy.asarray(labels)
    with numpyro.plate("rows", state.shape[0]):
        return numpyro.sample("label", dist.Bernoulli(probability), obs=observed)


def _log_marginal(hyper: Hyperparameters, state: jax.Array, labels: np.ndarray) -> jax.Array:
    """Log likelihood of the labels with the rates integrated out (eq. 5), looked up in a table of counts."""
    num_positives = int(labels.sum())
    table = jnp.asarray(state_table(hyper, num_positives, len(labels) - num_positives))
    is_state = jnp.arange(4)[:, None] == state
    positives, negatives = (is_state & labels.astype(bool)).sum(axis=1), (is_state & ~labels.astype(bool)).sum(axis=1)
    constant = log_beta_between(hyper.alpha, hyper.beta, hyper.low, hyper.high).sum()
    return table[jnp.arange(4), positives, negatives].sum() - constant


def _sample_rates(hyper: Hyperparameters) -> jax.Array:
    """Draw the four rates from their Beta priors, cut off at the bounds."""
    whole = dist.Beta(jnp.asarray(hyper.alpha), jnp.asarray(hyper.beta))
    if not hyper.is_bounded:
        return numpyro.sample("rho", whole.to_event(1))
    low, high = jnp.asarray(hyper.low), jnp.asarray(hyper.high)
    rho = numpyro.sample("rho", dist.Uniform(low, high).to_event(1))
    log_density = betaln(hyper.alpha, hyper.beta) - log_beta_between(hyper.alpha, hyper.beta, hyper.low, hyper.high)
    numpyro.factor("rates_within_bounds", (whole.log_prob(rho) + log_density + jnp.log(high - low)).sum())
    return rho
