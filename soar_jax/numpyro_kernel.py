"""`SOARKernel`: the sampler as a NumPyro kernel. A shell over `temper`; no mathematics here."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from ._base import InputError
from .flips import Patterns, flip, init
from .kernels import Moves, Weights, make_moves, make_weights
from .pair import Pair, empty_pair
from .problem import MAX_RULES, Problem
from .temper import Plan, Replicas, initial_ladder, one_round


class SOARKernelState(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    z : dict
        ``include_positive`` and ``include_negative``, int8: the draw.
    potential_energy : () float64
        Negative log joint of the draw.
    accept_prob : () float64
        Share of accepted flips at inverse temperature 1 in the last round.
    replicas : Replicas
        One replica for each temperature.
    rng_key : key
    """

    z: dict[str, jax.Array]
    potential_energy: jax.Array
    accept_prob: jax.Array
    replicas: Replicas
    rng_key: jax.Array


class SOARKernel(MCMCKernel):
    """Sample pairs of rule sets with ``numpyro.infer.MCMC``; every draw is one round of replica exchange.

    Parameters
    ----------
    problem : Problem
    moves : Moves
        From `soar_jax.kernels.make_moves`; or let `from_estimator` make both.
    betas : array, optional
        Ladder of inverse temperatures from 0 to 1; ``[1.0]`` for no tempering. Default: eight temperatures.
    plan : Plan, optional
        Steps of each kernel in a round.
    weights : Weights, optional
        How often each pattern and edge is tried, from `soar_jax.kernels.make_weights`; even when not given.

    Notes
    -----
    Counts need 64-bit integers: build the problem and run inside ``jax.enable_x64(True)``, or call
    ``numpyro.enable_x64()`` first. Start values are ``init_params={"include_positive": ..., "include_negative": ...}``
    with a leading chain axis for several chains; empty sets when not given.
    """

    model = None

    def __init__(
        self,
        problem: Problem,
        moves: Moves,
        *,
        betas: Any = None,
        plan: Plan | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.problem = problem
        self.moves = moves
        self.betas = np.asarray(initial_ladder(8) if betas is None else betas, dtype=np.float64)
        self.plan = Plan() if plan is None else plan
        if self.betas.ndim != 1 or self.betas[-1] != 1.0:
            raise InputError(f"betas must end at 1, got {self.betas!r}.")
        even = make_weights(problem, np.asarray(moves.edges)) if weights is None else weights
        self.weights = Weights(*(np.tile(np.asarray(leaf), (len(self.betas), 1)) for leaf in even))

    @classmethod
    def from_estimator(cls, model: Any, **settings: Any) -> SOARKernel:
        """Make the kernel for a fitted estimator's candidates and priors; further arguments go to the constructor."""
        from .sampling import problem_of

        problem, kinship = problem_of(model)
        return cls(problem, make_moves(problem, model._hyper, kinship), **settings)

    @property
    def sample_field(self) -> str:
        """The state's attribute that is the draw."""
        return "z"

    @property
    def default_fields(self) -> tuple[str, ...]:
        """What is recorded at every draw."""
        return ("z", "potential_energy", "accept_prob")

    def get_diagnostics_str(self, state: SOARKernelState) -> str:
        """Text of the progress bar."""
        return f"acc. prob={state.accept_prob:.2f}"

    def _start(self, rng_key: jax.Array, start: dict[str, jax.Array] | None) -> SOARKernelState:
        pair = empty_pair(self.problem)
        if start is not None:
            included = jnp.stack([start["include_positive"], start["include_negative"]]) > 0
            pair = _pair_of(self.problem, self.moves.patterns, included)
        one = init(self.problem, pair)
        num_temperatures = len(self.betas)
        states = jax.tree.map(lambda leaf: jnp.repeat(leaf[None, None], num_temperatures, axis=1), one)
        replicas = Replicas(states, jnp.zeros((1, num_temperatures), jnp.int32), jnp.zeros((), jnp.int32))
        return SOARKernelState(
            _draw_of(pair.included), -(one.log_likelihood + one.log_prior), jnp.zeros(()), replicas, rng_key
        )

    def init(
        self, rng_key: jax.Array, num_warmup: int, init_params: Any, model_args: Any, model_kwargs: Any
    ) -> SOARKernelState:
        """Make the first state of one chain, or of a batch of chains for a batch of keys."""
        del num_warmup, model_args, model_kwargs
        if jnp.result_type(float) != jnp.float64:
            raise InputError("SOARKernel needs 64-bit types: run inside `with jax.enable_x64(True):`.")
        if is_prng_key(rng_key):
            return self._start(rng_key, init_params)
        if init_params is None:
            return jax.vmap(lambda key: self._start(key, None))(rng_key)
        return jax.vmap(self._start)(rng_key, init_params)

    def _step(self, state: SOARKernelState) -> SOARKernelState:
        rng_key, key_round = jax.random.split(state.rng_key)
        weights = Weights(*map(jnp.asarray, self.weights))
        replicas, sums = one_round(
            key_round[None], state.replicas, self.problem, self.moves, weights, jnp.asarray(self.betas), self.plan
        )
        cold = jax.tree.map(lambda leaf: leaf[0, -1], replicas.states)
        log_joint = cold.log_likelihood + cold.log_prior
        return SOARKernelState(_draw_of(cold.pair.included), -log_joint, sums.acceptance[0, 0, -1], replicas, rng_key)

    def sample(self, state: SOARKernelState, model_args: Any, model_kwargs: Any) -> SOARKernelState:
        """One round; a batched state moves all chains."""
        del model_args, model_kwargs
        return self._step(state) if is_prng_key(state.rng_key) else jax.vmap(self._step)(state)


def _draw_of(included: jax.Array) -> dict[str, jax.Array]:
    return {name: included[side].astype(jnp.int8) for side, name in enumerate(("include_positive", "include_negative"))}


def _pair_of(problem: Problem, patterns: Patterns, included: jax.Array) -> Pair:
    """Build a pair from membership inside a trace, flip by flip."""
    members = jnp.nonzero(included.reshape(-1), size=2 * MAX_RULES, fill_value=-1)[0].astype(jnp.int32)

    def add(i: jax.Array, pair: Pair) -> Pair:
        added = flip(problem, patterns, pair, jnp.maximum(members[i], 0))
        return jax.tree.map(lambda new, old: jnp.where(members[i] >= 0, new, old), added, pair)

    return jax.lax.fori_loop(0, 2 * MAX_RULES, add, empty_pair(problem))
