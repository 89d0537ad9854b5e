"""The posterior in a report: whether it can be used, how many pairs are credible, which families of rules there are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.report.content import Family, Sampled
from soar_jax.report.numbers import count

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior

SHOWN_FAMILIES = 6
LEVEL = 0.95
_LEAST = 0.05


def sampled_part(posterior: Posterior | None) -> Sampled | None:
    """Summarise the draws; the verdict goes before every frequency."""
    if posterior is None:
        return None
    diagnosis = posterior.diagnose()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)  # the page itself carries the verdict
        families, credible = posterior.families, len(posterior.credible_set(LEVEL))
    total = posterior.num_chains * posterior.num_draws
    found = []
    for side in ("positive", "negative"):
        mine = families[(families["side"] == side) & (families["probability"] >= _LEAST)]
        found += [
            Family(side == "positive", str(row.family), int(row.members), round(float(row.probability), 3),
                   round(float(row.error), 3))
            for row in mine.head(SHOWN_FAMILIES).itertuples()
        ]  # fmt: skip
    said = f"{count(credible)} pair{'s' if credible != 1 else ''} of rule sets hold {LEVEL:.0%} of the draws".replace(
        "%", " %"
    ) + (": no single pair stands out, so read the families." if credible > total / 2 else ".")
    draws = f"{posterior.num_chains} chains of {count(posterior.num_draws)} draws"
    return Sampled(
        diagnosis.is_trusted,
        str(diagnosis) if diagnosis.is_trusted else "Do not use these frequencies.",
        tuple(diagnosis.problems),
        tuple(diagnosis.advice),
        draws,
        said,
        tuple(found),
        _better(posterior),
        str(diagnosis) if diagnosis.is_trusted else _not_yet(draws),
    )


def _not_yet(draws: str) -> str:
    return (
        f"How often a rule is in the draws cannot be said yet: the run of {draws} was too short, or its chains do not "
        "agree. No figures of it are shown."
    )


def _better(posterior: Posterior) -> str:
    """Say that the draws met a better pair; nothing where they did not."""
    pair = posterior.better_pair
    if pair is None:
        return ""
    by = pair.log_joint - posterior.fitted.log_joint
    digits = 1 if by >= 1 else 2
    return (
        f"The draws met a pair that scores {by:.{digits}f} nats better than this one: fit again with a longer search, "
        "or take it."
    )
