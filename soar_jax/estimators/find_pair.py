"""From candidates and priors to the best pair, by either search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soar_jax._base import BoolArray, FloatArray, InputError
from soar_jax._progress import Progress
from soar_jax.candidates.build import Candidates
from soar_jax.candidates.catalogue import Catalogue
from soar_jax.candidates.patterns import pack
from soar_jax.candidates.pools import Pool
from soar_jax.data.literals import Literal
from soar_jax.score.priors import Hyperparameters, StatePriors, resolve
from soar_jax.score.rule_priors import RulePriors
from soar_jax.score.target import Starts, Target
from soar_jax.search.certificate import Certificate

if TYPE_CHECKING:
    from jax.sharding import Mesh

    from soar_jax.search.checkpoint import Checkpoint, CheckpointFolder


@dataclass(frozen=True)
class SearchSettings:
    """How to search; the fields are the estimators' parameters of the same names."""

    n_rounds: int | None
    n_iter: int
    n_restarts: int
    temperature: float
    random_share: float
    row_choice: str
    max_patterns: int


@dataclass(frozen=True)
class FoundPair:
    """What a search gives an estimator.

    Attributes
    ----------
    target : Target
        Candidates around the pair, and the priors.
    included : (2, num_slots) bool
    log_joint : float
        As computed on the device.
    certificate : Certificate
    was_stopped : bool
    rival_log_joints : (num_rivals,) float64
        Best of each restart, or of each reading of the table.
    history : dict of arrays
    seconds : dict
    left_out : float
        See `ExploreResult`; NaN where it is not known.
    starts : Starts, optional
    """

    target: Target
    included: BoolArray
    log_joint: float
    certificate: Certificate
    was_stopped: bool
    rival_log_joints: FloatArray
    history: dict[str, np.ndarray]
    seconds: dict[str, float]
    left_out: float = float("nan")
    starts: Starts | None = None


def find_pair(
    candidates: Candidates,
    states: StatePriors,
    claimed: StatePriors | None,
    rules: RulePriors | tuple[RulePriors, RulePriors],
    settings: SearchSettings,
    *,
    power: float,
    single: bool,
    seed: int,
    time_budget: float | None,
    progress: Callable[[Progress], None] | None,
    mesh: Mesh | None,
    checkpoints: CheckpointFolder | None = None,
    classes: Sequence[str] = (),
) -> FoundPair:
    """Search all that was mined, or anneal among screened candidates, as the candidates say.

    Parameters
    ----------
    power : float
        To which the likelihood is raised.
    checkpoints : CheckpointFolder, optional
        Where to save how far the search is, and from where to go on.
    classes : sequence of str
        What the sides speak for, for the checkpoint.
    """
    if checkpoints is not None and mesh is not None:
        raise InputError("checkpoint is for fits on one device; leave use_mesh(...) out, or the checkpoint.")

    def priors(pools: tuple[Pool, Pool]) -> Hyperparameters:
        return resolve(states, rules, candidates.searched, pools, claimed, power)

    def open_checkpoint(arrays: Iterable[Any], literals: Iterable[Literal], **more: Any) -> Checkpoint | None:
        if checkpoints is None:
            return None
        names = [*classes, *(str(literal) for literal in literals)]
        chosen = {**asdict(settings), **_limits(candidates), **more, "seed": seed, "single": single}
        return checkpoints.open(arrays, names, chosen)

    how = {"seed": seed, "time_budget": time_budget, "progress": progress, "mesh": mesh}
    if isinstance(candidates.source, Catalogue):
        return _explore(candidates, candidates.source, priors, settings, single, open_checkpoint, **how)
    return _anneal(candidates, candidates.source, priors, settings, single, open_checkpoint, **how)


Priors = Callable[[tuple[Pool, Pool]], Hyperparameters]


def _limits(candidates: Candidates) -> dict[str, Any]:
    """Give the rules at most, where they are limited."""
    limits = candidates.constraints.max_rules
    return {} if limits is None else {"max_rules": limits}


def _allowed(candidates: Candidates) -> dict[str, Any]:
    """Give what a certificate says of constraints."""
    given = candidates.constraints
    num_required = sum(len(rules) for rules in given.required)
    return {
        "is_constrained": given.has_any,
        "num_required": num_required,
        "columns": given.chosen or (),
        "num_sampled": candidates.num_sampled,
    }


def _explore(
    candidates: Candidates,
    catalogue: Catalogue,
    priors: Priors,
    settings: SearchSettings,
    single: bool,
    open_checkpoint: Callable[..., Checkpoint | None],
    **how: Any,
) -> FoundPair:
    from soar_jax.candidates.pools import empty_pool
    from soar_jax.search import explore

    layout = candidates.layout
    none = empty_pool(layout.num_words)
    hyper = priors((none, none))
    arrays = [
        catalogue.item_bits,
        catalogue.mined.items,
        *catalogue.listed,
        *catalogue.required,
        layout.shift,
        *hyper._replace(claimed=None)[:-1],
    ]
    result = explore.run(
        catalogue,
        hyper,
        checkpoint=open_checkpoint(arrays, catalogue.items.literals),
        single=single,
        max_patterns=settings.max_patterns,
        patience=settings.n_rounds,
        **_limits(candidates),
        **how,
    )
    positive, negative = (
        catalogue.pool(patterns, pack(patterns, catalogue.item_bits), side)
        for side, patterns in enumerate(result.patterns)
    )
    target = Target(
        (positive, negative), layout, priors((positive, negative)), single, candidates.constraints.max_rules
    )
    places = [{pattern: i for i, pattern in enumerate(pool.patterns)} for pool in target.pools]

    def members(of_side: tuple[BoolArray, BoolArray]) -> BoolArray:
        included = np.zeros((2, target.num_slots), dtype=bool)
        for side, mine in enumerate(of_side):
            rules = (catalogue.literals(pattern) for pattern in result.patterns[side][mine])
            included[side, [places[side][rule] for rule in rules]] = True
        return included

    included = members(result.included)
    readings = np.array([members(reading) for reading in result.readings], dtype=bool)
    starts = Starts(readings.reshape(-1, *included.shape), result.agreement)
    longest = catalogue.mined.items.shape[1]
    certificate = Certificate(
        holds=result.is_local_optimum,
        num_patterns=catalogue.num_patterns,
        are_all_mined=not catalogue.is_screened,
        longest=longest,
        grown_to=max(longest, result.grown_to),
        num_paired=catalogue.mined.num_paired,
        **_allowed(candidates),
        was_stopped=result.was_stopped,
    )
    return FoundPair(
        target,
        included,
        result.log_joint,
        certificate,
        result.was_stopped,
        result.niche_log_joints,
        result.history,
        result.seconds,
        result.left_out,
        starts,
    )


def _anneal(
    candidates: Candidates,
    pools: tuple[Pool, Pool],
    priors: Priors,
    settings: SearchSettings,
    single: bool,
    open_checkpoint: Callable[..., Checkpoint | None],
    **how: Any,
) -> FoundPair:
    from soar_jax.search import anneal

    target = Target(pools, candidates.layout, priors(pools), single, candidates.constraints.max_rules)
    literals = (literal for pool in pools for pattern in pool.patterns for literal in pattern)
    result = anneal.run(
        target.problem,
        checkpoint=open_checkpoint(target.problem, literals, cores=os.cpu_count()),  # batches depend on them
        pool=target.numbered_pool,
        required=target.required,
        num_steps=settings.n_iter,
        num_restarts=settings.n_restarts,
        temperature=settings.temperature,
        random_share=settings.random_share,
        judge_by_best=settings.row_choice == "best",
        **how,
    )
    longest = max((int(pool.length.max()) for pool in pools if len(pool)), default=0)
    certificate = Certificate(
        holds=bool(result.is_local_optimum),
        num_patterns=sum(len(pool) - pool.num_required for pool in pools),
        are_all_mined=False,
        longest=longest,
        grown_to=longest,
        **_allowed(candidates),
        was_stopped=result.was_stopped,
    )
    return FoundPair(
        target,
        result.included,
        result.log_joint,
        certificate,
        result.was_stopped,
        result.restart_log_joints,
        result.history,
        result.seconds,
    )
