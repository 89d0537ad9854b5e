"""What the posterior draws say of the rules of the fitted pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from soar_jax._base import BoolArray, IntArray
from soar_jax.posterior.families import FAMILY_SIMILARITY
from soar_jax.reasons.conflicts import places_in_pool
from soar_jax.rules import RuleSet

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior


def inclusion_of(posterior: Posterior, sets: tuple[RuleSet, RuleSet]) -> list[float | None]:
    """Posterior inclusion probability of each rule, counted over every round as ``Posterior.inclusion`` does."""
    draws, found = posterior.draws, []
    for side, (rules, pool) in enumerate(zip(sets, posterior.pools, strict=True)):
        share = draws.visits[:, side].mean(axis=0) / draws.num_rounds
        found += [None if i is None else float(share[i]) for i in places_in_pool(rules.rules, pool)]
    return found


def clash_probability(posterior: Posterior, sets: tuple[RuleSet, RuleSet]) -> Callable[[int, int], tuple[float, float]]:
    """Return how probable a conflict of two opposite rules is, by their places in the sets.

    First the share of the draws with both rules; then the share with look-alikes of both that clash. Look-alikes cover
    nearly the same training rows (Jaccard similarity of at least one half); two of them clash where they share a
    training row. NaN for a rule that is no candidate.
    """
    places = [places_in_pool(rules.rules, pool) for rules, pool in zip(sets, posterior.pools, strict=True)]
    members = [np.asarray(m).reshape(-1, m.shape[-1]) for m in posterior._members]
    families = [
        [None if i is None else _look_alikes(posterior, side, i) for i in mine] for side, mine in enumerate(places)
    ]

    def probability(positive: int, negative: int) -> tuple[float, float]:
        own, other = places[0][positive], places[1][negative]
        alike = families[0][positive], families[1][negative]
        if own is None or other is None or alike[0] is None or alike[1] is None:
            return float("nan"), float("nan")
        both = members[0][:, own] & members[1][:, other]
        bits = posterior.pools[0].bits[alike[0]], posterior.pools[1].bits[alike[1]]
        clash: BoolArray = np.stack([(row & bits[1]).any(axis=1) for row in bits[0]])
        rivals = members[0][:, alike[0]].astype(np.float32) @ clash.astype(np.float32)
        return float(both.mean()), float(((rivals > 0) & members[1][:, alike[1]]).any(axis=1).mean())

    return probability


def _look_alikes(posterior: Posterior, side: int, candidate: int) -> IntArray:
    """Candidates that are ever in and cover nearly the same rows as one; that one is among them."""
    bits, layout = posterior.pools[side].bits, posterior.fitted.target.layout
    shared = np.add(*layout.counts(bits & bits[candidate]))
    either = np.add(*layout.counts(bits | bits[candidate]))
    alike = shared >= FAMILY_SIMILARITY * np.maximum(either, 1)
    alike &= posterior._members[side].any(axis=(0, 1))
    alike[candidate] = True
    return np.flatnonzero(alike)
