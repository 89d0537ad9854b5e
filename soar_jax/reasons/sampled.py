"""What the posterior draws say of the rules of the fitted pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soar_jax._base import BoolArray, IntArray
from soar_jax.candidates.pools import Pool
from soar_jax.posterior.families import FAMILY_SIMILARITY
from soar_jax.posterior.posterior import Posterior
from soar_jax.rules import Rule, RuleSet


def places_in_pool(rules: Sequence[Rule], pool: Pool) -> list[int | None]:
    """Find rules among the candidates of a side; None for a rule that is none of them."""
    place = {pattern: i for i, pattern in enumerate(pool.patterns)}
    return [place.get(rule.conditions) for rule in rules]


def inclusion_of(posterior: Posterior, sets: tuple[RuleSet, RuleSet]) -> list[float | None]:
    """Posterior inclusion probability of each rule, counted over every round as ``Posterior.inclusion`` does."""
    draws, found = posterior.draws, []
    for side, (rules, pool) in enumerate(zip(sets, posterior.pools, strict=True)):
        share = draws.visits[:, side].mean(axis=0) / draws.num_rounds
        found += [None if i is None else float(share[i]) for i in places_in_pool(rules.rules, pool)]
    return found


def clash_probability(posterior: Posterior, positive: int, negative: int) -> tuple[float, float]:
    """How probable a conflict is: share of the draws with both candidates, and with look-alikes of both that clash.

    Look-alikes cover nearly the same training rows (Jaccard similarity of at least one half); two of them clash where
    they share a training row.
    """
    members = [np.asarray(m).reshape(-1, m.shape[-1]) for m in posterior._members]
    both = members[0][:, positive] & members[1][:, negative]
    mine, theirs = (_look_alikes(posterior, side, i) for side, i in enumerate((positive, negative)))
    bits = [posterior.pools[side].bits[family] for side, family in enumerate((mine, theirs))]
    clash: BoolArray = np.stack([(row & bits[1]).any(axis=1) for row in bits[0]])
    in_dispute = (members[0][:, mine].astype(np.float32) @ clash.astype(np.float32)) * members[1][:, theirs]
    return float(both.mean()), float((in_dispute > 0).any(axis=1).mean())


def _look_alikes(posterior: Posterior, side: int, candidate: int) -> IntArray:
    """Candidates that are ever in and cover nearly the same rows as one; that one is among them."""
    bits, layout = posterior.pools[side].bits, posterior.fitted.target.layout
    shared = np.add(*layout.counts(bits & bits[candidate]))
    either = np.add(*layout.counts(bits | bits[candidate]))
    alike = shared >= FAMILY_SIMILARITY * np.maximum(either, 1)
    alike &= posterior._members[side].any(axis=(0, 1))
    alike[candidate] = True
    return np.flatnonzero(alike)
