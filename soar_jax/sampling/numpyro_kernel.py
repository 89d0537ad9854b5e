"""`SOARKernel`: the sampler as a NumPyro kernel. A shell over `temper`; no mathematics here."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.mcmc import MCMCKernel
from numpyro.util import is_prng_key

from soar_jax._base import MAX_RULES, InputError
from soar_jax.sampling.experience import Experience
from soar_jax.sampling.kernel import Context
from soar_jax.sampling.plan import DEFAULT_PLAN, Plan
from soar_jax.sampling.prior_draw import make_prior_tables
from soar_jax.sampling.relatives import find_kinship
from soar_jax.sampling.settings import NUM_TEMPERATURES
from soar_jax.sampling.temper import Replicas, Setup, initial_ladder, one_round
from soar_jax.score.flips import flip, state_of, tempered
from soar_jax.score.pair import Pair, empty_pair
from soar_jax.score.target import Target


class SOARKernelState(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    z : dict
        ``include_positive`` and ``include_negative``, int8: the draw.
    potential_energy : () float64
        Negative log joint of the draw.
    accept_prob : () float64
        Share of accepted proposals at the cold end in the last round.
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
    target : Target
        What to sample; `from_estimator` takes it from a fitted estimator.
    ladder : array, optional
        Inverse temperatures from 0 to the target's power; that alone for no tempering.
    plan : Plan, optional
        Steps of each kernel in a round; see `soar_jax.sampling.plan`.
    seen : Experience, optional
        How often each pattern is expected to be in, and good pairs: where proposals go; everywhere if not given.

    Notes
    -----
    Counts need 64-bit integers: build the problem and run inside ``jax.enable_x64(True)``, or call
    ``numpyro.enable_x64()`` first. Start values are ``init_params={"include_positive": ..., "include_negative": ...}``
    with a leading chain axis for several chains; empty sets when not given. Rules that must be in are in.
    """

    model = None

    def __init__(
        self,
        target: Target,
        *,
        ladder: Any = None,
        plan: Plan = DEFAULT_PLAN,
        seen: Experience | None = None,
    ) -> None:
        self.plan = plan
        power = float(target.hyper.power)
        default = power * initial_ladder(NUM_TEMPERATURES)
        self.ladder = np.asarray(default if ladder is None else ladder, dtype=np.float64)
        if self.ladder.ndim != 1 or self.ladder[-1] != power:
            raise InputError(f"ladder must end at the target's power, {power:g}, got {self.ladder!r}.")
        self.context = Context(target.problem, target.numbered_pool)
        kinship = find_kinship(*target.merged, target.problem.num_slots)
        tools = [kernel.prepare(kinship, target.problem.num_slots, seen) for kernel, _ in plan]
        inclusion = None if seen is None else seen.inclusion
        weights = [
            np.tile(kernel.weigh(target.problem, mine, inclusion), (len(self.ladder), 1))
            for (kernel, _), mine in zip(plan, tools, strict=True)
        ]
        prior = make_prior_tables(self.context, target.hyper, target.required)
        # arrays of the host: they become constants of whatever program uses the kernel
        self.setup = Setup(
            self.context, prior, tuple(tools), tuple(weights), self.ladder, np.zeros(len(self.ladder) - 1)
        )

    @classmethod
    def from_estimator(cls, model: Any, **settings: Any) -> SOARKernel:
        """Make the kernel for a fitted estimator's candidates and priors; further arguments go to the constructor."""
        return cls(model.fitted_pair_.target, **settings)

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
        pair = jax.tree.map(jnp.asarray, self.setup.prior.least)
        if start is not None:
            included = jnp.stack([start["include_positive"], start["include_negative"]]) > 0
            pair = _pair_of(self.context, included | pair.included)
        one = state_of(self.context.problem, pair)
        num_temperatures = len(self.ladder)
        states = jax.tree.map(lambda leaf: jnp.repeat(leaf[None, None], num_temperatures, axis=1), one)
        replicas = Replicas(states, jnp.zeros((1, num_temperatures), jnp.int32), jnp.zeros((), jnp.int32))
        return SOARKernelState(
            _draw_of(pair.included), -tempered(one, self.ladder[-1]), jnp.zeros(()), replicas, rng_key
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
        setup = jax.tree.map(jnp.asarray, self.setup)
        replicas, sums = one_round(key_round[None], state.replicas, setup, self.plan)
        cold = jax.tree.map(lambda leaf: leaf[0, -1], replicas.states)
        log_joint = tempered(cold, self.ladder[-1])
        counts = jnp.array([count for _, count in self.plan], jnp.float64)
        accepted = (sums.acceptance[0, :, -1] * counts).sum() / counts.sum()
        return SOARKernelState(_draw_of(cold.pair.included), -log_joint, accepted, replicas, rng_key)

    def sample(self, state: SOARKernelState, model_args: Any, model_kwargs: Any) -> SOARKernelState:
        """One round; a batched state moves all chains."""
        del model_args, model_kwargs
        return self._step(state) if is_prng_key(state.rng_key) else jax.vmap(self._step)(state)


def _draw_of(included: jax.Array) -> dict[str, jax.Array]:
    return {name: included[side].astype(jnp.int8) for side, name in enumerate(("include_positive", "include_negative"))}


def _pair_of(context: Context, included: jax.Array) -> Pair:
    """Build a pair from membership inside a trace, flip by flip."""
    members = jnp.nonzero(included.reshape(-1), size=2 * MAX_RULES, fill_value=-1)[0].astype(jnp.int32)

    def add(i: jax.Array, pair: Pair) -> Pair:
        added = flip(*context, pair, jnp.maximum(members[i], 0))
        return jax.tree.map(lambda new, old: jnp.where(members[i] >= 0, new, old), added, pair)

    return jax.lax.fori_loop(0, 2 * MAX_RULES, add, empty_pair(context.problem))
