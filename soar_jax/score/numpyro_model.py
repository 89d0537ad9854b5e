"""The model as one would write it on a blackboard: the uncollapsed NumPyro model of a pair of rule sets.

This is the specification. It is for small pools: prior predictive draws, NumPyro's own samplers, checks. The
kernels of this package sample the same posterior with p and rho integrated out.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.typing import ArrayLike

from soar_jax.score.priors import Hyperparameters
from soar_jax.states import SPEAKS_POSITIVE, STATES


def soar_model(
    covers: tuple[ArrayLike, ArrayLike],
    lengths: tuple[ArrayLike, ArrayLike],
    hyper: Hyperparameters,
    labels: ArrayLike | None = None,
) -> Any:
    """Generate labels from two random rule sets.

    p_l ~ Beta(alpha_l, beta_l), z ~ Bernoulli(p_length), rho ~ Beta(alpha, beta) for each state (eq. 3), and the
    label of a row is what its state speaks for with probability rho.

    Parameters
    ----------
    covers : pair of (num_patterns, num_rows) bool
        Which pattern of each side is true of which row.
    lengths : pair of (num_patterns,) int
        Literals of each pattern.
    hyper : Hyperparameters
    labels : (num_rows,) 0/1, optional
        None draws labels from the prior predictive.
    """
    fires = []
    for side, name in enumerate(STATES[:2]):
        cover = jnp.asarray(covers[side])
        rate = numpyro.sample(
            f"p_{name}", dist.Beta(jnp.asarray(hyper.rule_alpha[side]), jnp.asarray(hyper.rule_beta[side])).to_event(1)
        )
        length = jnp.asarray(lengths[side], jnp.int32)
        # a plate, not one event: NumPyro's discrete samplers need the two values of each variable
        with numpyro.plate(f"{name}_patterns", length.shape[0]):
            included = numpyro.sample(f"z_{name}", dist.Bernoulli(rate[length - 1]))
        fires.append((included.astype(jnp.int32) @ cover.astype(jnp.int32)) > 0)
    rho = numpyro.sample("rho", dist.Beta(jnp.asarray(hyper.alpha), jnp.asarray(hyper.beta)).to_event(1))
    positive, negative = fires
    state = jnp.where(positive & ~negative, 0, jnp.where(negative & ~positive, 1, jnp.where(positive, 2, 3)))
    numpyro.deterministic("state", state)
    probability = jnp.where(jnp.asarray(SPEAKS_POSITIVE), rho, 1 - rho)[state]
    observed = None if labels is None else jax.numpy.asarray(labels)
    with numpyro.plate("rows", state.shape[0]):
        return numpyro.sample("label", dist.Bernoulli(probability), obs=observed)
