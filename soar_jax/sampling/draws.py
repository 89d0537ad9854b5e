"""What a sampling run leaves behind, and the evidence along its ladder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.sampling.temper import BLOCK, Draw, RoundSums

_BATCHES_PER_CHAIN = 5


class Block(NamedTuple):
    """What one block of rounds leaves behind; ``draws.included`` is packed.

    A kept block has an empty ``sums.inclusion``: memberships by temperature would take more room than the draws, and
    are needed added up only.
    """

    sums: RoundSums
    draws: Draw


@dataclass(frozen=True, kw_only=True)
class Draws:
    """What sampling leaves behind; arrays of draws lead with (num_chains, num_draws).

    Attributes
    ----------
    packed : (num_chains, num_draws, 2, ceil(num_slots / 8)) uint8
        Membership, eight patterns per byte.
    num_slots : int
    counts : (num_chains, num_draws, 4) int64
        Packed class counts of the states.
    log_likelihood, log_prior : (num_chains, num_draws) float64
        The likelihood as it is, not raised to the target's power.
    move_acceptance : (num_chains, num_draws, num_kernels) float64
        Share of each kernel's proposals accepted at the cold end since the last draw.
    ladder_swaps : (num_chains, num_draws) float64
        Mean chance of a swap over the ladder since the last draw.
    visits : (num_chains, 2, num_slots) int64
        Rounds, of all and not only of the draws kept, in which each rule was in.
    num_rounds : int
        Rounds after warm-up.
    ladder : (num_temperatures,) float64
        The inverse temperatures used, fixed after warm-up; the last one is the target's power.
    kernels : tuple of str
        Names of the plan's kernels.
    acceptance : (num_kernels, num_temperatures) float64
    swap_probability : (num_temperatures - 1,) float64
    arrivals : (num_chains,) int64
    log_evidence, log_evidence_error : float
        Log normaliser of the target by bridges along the ladder, and its standard error: of the labels, and of every
        pattern outside the pools being out. NaN without a ladder.
    was_stopped : bool
        The time budget or an interrupt ended the run, or its warm-up, early.
    """

    packed: np.ndarray
    num_slots: int
    counts: IntArray
    log_likelihood: FloatArray
    log_prior: FloatArray
    move_acceptance: FloatArray
    ladder_swaps: FloatArray
    visits: IntArray
    num_rounds: int
    ladder: FloatArray
    kernels: tuple[str, ...]
    acceptance: FloatArray
    swap_probability: FloatArray
    arrivals: IntArray
    log_evidence: float
    log_evidence_error: float
    was_stopped: bool = False

    @property
    def log_joint(self) -> FloatArray:
        """Log of the target's density, up to its normaliser: (num_chains, num_draws)."""
        return self.ladder[-1] * self.log_likelihood + self.log_prior

    @property
    def included(self) -> BoolArray:
        """Membership: (num_chains, num_draws, 2, num_slots) bool."""
        return np.unpackbits(self.packed, axis=-1, count=self.num_slots).astype(bool)


def log_evidence(blocks: Sequence[RoundSums], ladder: FloatArray, centre: FloatArray) -> tuple[float, float]:
    """Log ratio of the normalising constants at the cold and the hot end, by bridges between neighbours, and its error.

    The error is a jackknife over stretches of rounds of every chain, so that it holds what bridges share.
    """
    up, down = (np.stack([getattr(sums, name) for sums in blocks]) for name in ("bridge_up", "bridge_down"))
    num_batches = min(_BATCHES_PER_CHAIN, len(blocks))
    # (num_batches, num_chains, num_gaps), batches of as equal length as can be
    parts = np.array_split(np.arange(len(blocks)), num_batches)
    up, down = (np.stack([sums[part].mean(axis=0) for part in parts]).reshape(-1, len(centre)) for sums in (up, down))
    fixed = float((np.diff(ladder) * centre).sum())

    def estimate(up: FloatArray, down: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(up) - np.log(down)).sum(axis=-1))

    value = float(estimate(up.mean(axis=0), down.mean(axis=0))) + fixed
    if len(up) < 2:  # noqa: PLR2004
        return value, float("nan")
    without = estimate(*(((sums.sum(axis=0) - sums) / (len(sums) - 1)) for sums in (up, down)))
    return value, float(np.sqrt((len(up) - 1) / len(up) * ((without - without.mean()) ** 2).sum()))


@dataclass(frozen=True)
class RunInfo:
    """How a run was made, as far as `join` needs it.

    Attributes
    ----------
    num_slots, thin : int
    ladder : (num_temperatures,) float64
    centre : (num_temperatures - 1,) float64
        See `soar_jax.sampling.temper.Setup`.
    kernels : tuple of str
    log_mass : float
        See `soar_jax.sampling.prior_draw.PriorTables`.
    was_stopped : bool
    """

    num_slots: int
    thin: int
    ladder: FloatArray
    centre: FloatArray
    kernels: tuple[str, ...]
    log_mass: float
    was_stopped: bool


def join(blocks: Sequence[Block], info: RunInfo, num_draws: int | None = None) -> Draws:
    """Put the blocks of a run together, chain by chain, and keep the first so many draws."""
    num_rounds = len(blocks) * BLOCK * info.thin
    sums: RoundSums = jax.tree.map(lambda *leaves: np.sum(leaves, axis=0), *(block.sums for block in blocks))
    draws: Draw = jax.tree.map(
        lambda *leaves: np.ascontiguousarray(np.concatenate(leaves)[:num_draws].swapaxes(0, 1)),
        *(block.draws for block in blocks),
    )
    evidence, error = np.nan, np.nan
    if len(info.ladder) > 1:
        evidence, error = log_evidence([block.sums for block in blocks], info.ladder, info.centre)
        evidence += info.log_mass
    return Draws(
        packed=draws.included,
        num_slots=info.num_slots,
        counts=draws.counts,
        log_likelihood=draws.log_likelihood,
        log_prior=draws.log_prior,
        move_acceptance=draws.acceptance,
        ladder_swaps=draws.swap_probability,
        visits=sums.visits,
        num_rounds=num_rounds,
        ladder=info.ladder,
        kernels=info.kernels,
        acceptance=sums.acceptance.mean(axis=0) / num_rounds,
        swap_probability=sums.swap_probability.mean(axis=0) / num_rounds,
        arrivals=sums.arrivals.astype(np.int64),
        log_evidence=evidence,
        log_evidence_error=error,
        was_stopped=info.was_stopped,
    )
