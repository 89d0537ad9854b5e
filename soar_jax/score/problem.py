"""The data of one search or sampling run, as fixed-shape arrays for the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from soar_jax._base import MAX_RULES, Leaf, WordArray, in_float64, round_up_to_bucket, slots_for
from soar_jax.candidates.coverage import NEGATIVE_SHIFT, BitLayout, pad_words
from soar_jax.candidates.pools import Pool
from soar_jax.score.bounded import quadrature
from soar_jax.score.host_bounded import log_beta_between
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.tables import log_gamma_table, prior_table, state_table
from soar_jax.score.tails import FEW, tail_tables

MAX_TABLE_ROWS = 1 << 18
"""Rows up to which log Gamma is looked up: 28 MB at most."""
MAX_STATE_ROWS = 2048
"""Rows up to which the likelihood of a state with bounds is looked up: 42 MB at most."""
_MIN_KINDS = 8
_MIN_COUNTS = 64

# Which rows ask for which move, by state (C+, C-, active, passive) and label; see anneal_step.py.
# moves: add to R+, add to R-, remove from R+, remove from R-.
_PAIR_POSITIVE_LABEL = ((0, 0.5, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0.5, 1, 0))
_PAIR_NEGATIVE_LABEL = ((0, 0, 0, 0), (0.5, 0, 0, 1), (0.5, 0, 1, 0), (0, 0, 0, 0))
# One rule set: uncovered positives ask for more, covered negatives for less (Wang et al.).
_SINGLE_POSITIVE_LABEL = ((0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
_SINGLE_NEGATIVE_LABEL = ((0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0))


class Problem(NamedTuple):
    """Everything a kernel reads; a traced argument, so equal shapes share one compilation.

    Attributes
    ----------
    bits : (2, num_words, num_slots) uint64
        Packed coverage of both pools, word-major: scanning words and keeping one running count per
        pattern is what XLA turns into a fast loop; gathering a side's rows first would copy the pool.
    shift : (num_words,) uint64
        See `soar_jax.candidates.coverage`.
    stretch_start : (num_devices, num_stretches + 1) int32
    stretch_shift : (num_devices, num_stretches) int64
        Stretches of words that share a shift, by device: first word of each, and the shift.
    kind : (2, num_slots) int32
        1 + kind of each pattern (see `soar_jax.score.rule_priors`); 0 marks what cannot be flipped: padding, and rules
        that must be in.
    max_rules : (2,) int32
        Rules of each side at most, those that must be in included.
    pool_size : (2,) int32
        Candidates of each side; slots beyond are padding.
    alpha, beta, low, high : (4,) float64
        Beta priors of the states' rates, and where they are cut off.
    constant : () float64
        Sum over the states of the log integral of the prior.
    log_gamma : (4, 3, num_rows + 1, padded) float64
        See `soar_jax.score.tables.log_gamma_table`; of size (4, 3, 1) for more than `MAX_TABLE_ROWS` rows, where a
        formula takes its place and memory does not grow with the rows.
    states : (4, num_positives + 1, num_negatives + 1) float64
        See `soar_jax.score.tables.state_table`; of size (4, 1, 1) for rates without bounds. For tables of more than
        `MAX_STATE_ROWS` rows only states of fewer than `soar_jax.score.tails.FEW` are in it.
    rule : (2, num_nodes) float64
        Quadrature for rates with bounds where ``states`` does not hold all; of size (2, 0) where it is not needed.
    surfaces, edges
        See `soar_jax.score.tails.tail_tables`: far tails looked up in place of the quadrature; empty where not.
    prior : (2, num_kinds, MAX_RULES + 2) float64
        Log prior by side, kind and number of rules of that kind. Index 0 is for what cannot be flipped: 0 for as many
        as must be in, -inf for any other number, so that an empty slot never becomes a rule.
    log_doubt : () float64
        Added to the log prior of pairs without rules, beyond those that must be in.
    power : () float64
        To which the likelihood is raised.
    total : () int64
        Packed class counts of all rows.
    wrong : (2, 4, 4) float64
        By label (positive, negative), move and state: how strongly a row of that label and state asks for the move.
    """

    bits: Leaf
    shift: Leaf
    stretch_start: Leaf
    stretch_shift: Leaf
    kind: Leaf
    max_rules: Leaf
    pool_size: Leaf
    alpha: Leaf
    beta: Leaf
    low: Leaf
    high: Leaf
    constant: Leaf
    log_gamma: Leaf
    states: Leaf
    rule: Leaf
    surfaces: Leaf
    edges: Leaf
    prior: Leaf
    log_doubt: Leaf
    power: Leaf
    total: Leaf
    wrong: Leaf

    @property
    def num_slots(self) -> int:
        """Places for patterns per side: the larger pool, padded."""
        return int(self.bits.shape[2])


@in_float64
def make_problem(
    pools: tuple[Pool, Pool],
    layout: BitLayout,
    hyper: Hyperparameters,
    *,
    single: bool,
    num_slots: int = 0,
    max_rules: tuple[int, int] = (MAX_RULES, MAX_RULES),
    num_required: tuple[int, int] | None = None,
) -> Problem:
    """Pad and move the pools to the device.

    Parameters
    ----------
    single : bool
        One-class method: rows outside the positive rule set count as predicted negative.
    num_slots : int
        Places per side at least.
    max_rules : (int, int)
        Rules of each side at most.
    num_required : (int, int), optional
        Rules of each side that must be in; those of the pools when not given.
    """
    num_slots = slots_for(max(num_slots, *(len(pool) for pool in pools)))
    num_words = round_up_to_bucket(layout.num_words)
    bits = np.zeros((2, num_words, num_slots), dtype=np.uint64)
    kind = np.zeros((2, num_slots), dtype=np.int32)
    for side, pool in enumerate(pools):
        bits[side, :, : len(pool)] = pad_words(pool.bits, num_words).T
        kind[side, : len(pool)] = 1 + hyper.kinds_of_pool(side, pool)
    shift = pad_words(layout.shift, num_words)
    stretch_start, stretch_shift = _stretches(shift, 1)
    table = prior_table(hyper, MAX_RULES)
    prior = np.zeros((2, round_up_to_bucket(table.shape[1] + 1, _MIN_KINDS), table.shape[2]))
    prior[:, 1 : table.shape[1] + 1] = table
    prior[:, 0] = -np.inf
    prior[[0, 1], 0, num_required or [pool.num_required for pool in pools]] = 0.0
    positive = _SINGLE_POSITIVE_LABEL if single else _PAIR_POSITIVE_LABEL
    negative = _SINGLE_NEGATIVE_LABEL if single else _PAIR_NEGATIVE_LABEL
    total = layout.num_positives + (layout.num_negatives << NEGATIVE_SHIFT)
    needs_integrals = hyper.is_bounded and layout.num_rows > MAX_STATE_ROWS
    nowhere = (np.zeros(0), np.zeros((4, 2, 8)))
    surfaces, edges = tail_tables(np.asarray(hyper.low), np.asarray(hyper.high)) if needs_integrals else nowhere
    # one transfer of host arrays: each `jnp.asarray` would compile a program of its own
    host = Problem(
        bits=bits,
        shift=shift,
        stretch_start=stretch_start,
        stretch_shift=stretch_shift,
        kind=kind,
        max_rules=np.array(max_rules, dtype=np.int32),
        pool_size=np.array([len(pool) for pool in pools], dtype=np.int32),
        alpha=np.array(hyper.alpha, dtype=np.float64),
        beta=np.array(hyper.beta, dtype=np.float64),
        low=np.array(hyper.low, dtype=np.float64),
        high=np.array(hyper.high, dtype=np.float64),
        constant=np.asarray(log_beta_between(hyper.alpha, hyper.beta, hyper.low, hyper.high).sum()),
        log_gamma=_log_gamma(hyper, layout.num_rows),
        states=_states(hyper, layout),
        rule=quadrature() if needs_integrals else np.zeros((2, 0)),
        surfaces=surfaces,
        edges=edges,
        prior=prior,
        log_doubt=np.asarray(hyper.log_doubt, dtype=np.float64),
        power=np.asarray(hyper.power, dtype=np.float64),
        total=np.asarray(total, dtype=np.int64),
        wrong=np.array([positive, negative], dtype=np.float64),
    )
    return Problem(*jax.device_put(tuple(host)))


def pad_problem(problem: Problem, multiple: int) -> Problem:
    """Fill up the words, with rows that nothing covers, so that each of ``multiple`` devices gets as many."""
    missing = -problem.bits.shape[1] % multiple
    fields: dict[str, Any] = problem._asdict()
    fields["bits"] = np.pad(problem.bits, ((0, 0), (0, missing), (0, 0)))
    fields["shift"] = np.pad(problem.shift, (0, missing))
    fields["stretch_start"], fields["stretch_shift"] = _stretches(fields["shift"], multiple)
    return Problem(**fields)


def _stretches(shift: WordArray, num_devices: int) -> tuple[np.ndarray, np.ndarray]:
    """Find stretches of words of equal shift on each device; the lists are filled up with empty ones."""
    parts = shift.reshape(num_devices, -1).astype(np.int64)
    edges = [np.flatnonzero(np.diff(part, prepend=-1)) for part in parts]
    most = round_up_to_bucket(max(len(edge) for edge in edges))
    start = np.full((num_devices, most + 1), parts.shape[1], dtype=np.int32)
    shifts = np.zeros((num_devices, most), dtype=np.int64)
    for i, edge in enumerate(edges):
        start[i, : len(edge)] = edge
        shifts[i, : len(edge)] = parts[i, edge]
    return start, shifts


def _log_gamma(hyper: Hyperparameters, num_rows: int) -> np.ndarray:
    if num_rows > MAX_TABLE_ROWS:
        return np.zeros((4, 3, 1))
    return log_gamma_table(hyper, round_up_to_bucket(num_rows + 1) - 1)


def _states(hyper: Hyperparameters, layout: BitLayout) -> np.ndarray:
    """Tabulate the states' likelihoods where rates have bounds, padded to share compilations."""
    if not hyper.is_bounded:
        return np.zeros((4, 1, 1))
    if layout.num_rows > MAX_STATE_ROWS:
        return state_table(hyper, FEW - 1, FEW - 1)
    sizes = [round_up_to_bucket(n + 1, _MIN_COUNTS) for n in (layout.num_positives, layout.num_negatives)]
    table = np.zeros((4, *sizes))
    table[:, : layout.num_positives + 1, : layout.num_negatives + 1] = state_table(
        hyper, layout.num_positives, layout.num_negatives
    )
    return table
