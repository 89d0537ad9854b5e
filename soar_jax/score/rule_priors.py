"""How many rules, and of which kind, are expected before the labels are seen.

Patterns fall into *kinds*, and each kind has its own inclusion probability with a Beta prior (eq. 4 of the paper, where
a kind is a length). The prior is over all patterns that were searched, not over the candidates that screening left:
choosing the best of 100,000 by the labels and then counting 1,000 makes noise look like evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soar_jax._base import FloatArray, InputError, IntArray
from soar_jax.candidates.searched import Searched


class KindPrior(NamedTuple):
    """The prior of one side's rules.

    Attributes
    ----------
    kind : (longest + 1, longest + 1) int64
        Kind of a pattern by its number of literals and of cuts among them.
    alpha, beta : (num_kinds,) float64
        Beta prior of the inclusion of each pattern of a kind.
    searched : (num_kinds,) float64
        Patterns of each kind that could have been chosen.
    """

    kind: IntArray
    alpha: FloatArray
    beta: FloatArray
    searched: FloatArray


def _by_length(searched: Searched) -> tuple[IntArray, FloatArray]:
    """Let the length alone be the kind: kinds, and patterns of each."""
    longest = searched.longest
    kind = np.repeat(np.arange(-1, longest)[:, None], longest + 1, axis=1)
    return kind, searched.patterns.sum(axis=1)[1:].astype(np.float64)


def _per_length(name: str, value: float | Sequence[float], max_length: int) -> FloatArray:
    values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if values.ndim != 1 or not np.all(np.isfinite(values)) or np.any(values <= 0):
        raise InputError(f"RulePrior.{name} must be positive, got {value!r}.")
    if len(values) == 1:
        return np.full(max_length, values[0])
    if len(values) < max_length:
        raise InputError(
            f"RulePrior.{name} has {len(values)} values, but patterns have up to {max_length} literals; "
            "give one number for all lengths or one for each length."
        )
    return values[:max_length]


@dataclass(frozen=True)
class SearchedRules:
    """Expect few rules among all that were searched; the default.

    A kind is a length together with the number of cuts in it (``x <= 30``) that were placed by the labels. Each such
    cut stands for the positions it could have taken, and each kind is expected to hold ``1 / strictness`` rules of its
    side: Beta(1, strictness * searched). A first rule then costs log((1 + strictness) * searched) nats, which is what
    the best of that many patterns reaches in noise, and some more.

    Many kinds together expect some rule somewhere, whatever the table. So two empty rule sets are made ``doubt`` times
    as probable as the counts alone would make them: the rows must favour any rules over none by log(doubt) nats more.
    Among pairs that have a rule nothing changes.

    Parameters
    ----------
    strictness : float
        Higher asks for more evidence per rule.
    doubt : float
        Higher asks for more evidence that there are rules at all; at least 1.
    """

    strictness: float = 5.0
    doubt: float = 20.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (math.isfinite(self.strictness) and self.strictness > 0):
            raise InputError(f"SearchedRules.strictness must be a positive number, got {self.strictness!r}.")
        if not (math.isfinite(self.doubt) and self.doubt >= 1):
            raise InputError(f"SearchedRules.doubt must be a number of at least 1, got {self.doubt!r}.")

    def resolve(self, searched: Searched) -> KindPrior:
        """Count kinds and hypotheses for one table."""
        kind = np.full(searched.hypotheses.shape, -1, dtype=np.int64)
        present = searched.hypotheses > 0
        kind[present] = np.arange(present.sum())
        found = np.ceil(searched.hypotheses[present])
        return KindPrior(kind, np.ones(len(found)), self.strictness * found, found)


@dataclass(frozen=True)
class RulePrior:
    """Beta(alpha_l, beta_l) on the inclusion probability of patterns with l literals, as in the paper.

    Parameters
    ----------
    alpha, beta : float or sequence of float
        One number for all lengths, or one for each length from 1 up.
    """

    alpha: float | tuple[float, ...] = 1.0
    beta: float | tuple[float, ...] = 100.0

    def __post_init__(self) -> None:
        """Check the parameters once, not at every fit."""
        _per_length("alpha", self.alpha, 1)
        _per_length("beta", self.beta, 1)

    def resolve(self, searched: Searched) -> KindPrior:
        """Give alpha and beta for each length."""
        kind, counts = _by_length(searched)
        alpha, beta = (_per_length(name, getattr(self, name), len(counts)) for name in ("alpha", "beta"))
        return KindPrior(kind, alpha, beta, counts)


@dataclass(frozen=True)
class ExpectedRules:
    """The paper's prior, said as "about this many rules, about this long".

    Parameters
    ----------
    rules : float
        Expected number of rules in the set.
    length : float
        Expected number of literals per rule.
    worth : float
        alpha + beta of each Beta prior: how firm the expectation is, in patterns.
    """

    rules: float = 5.0
    length: float = 2.0
    worth: float = 100.0

    def __post_init__(self) -> None:
        """Check the three numbers."""
        for name, value, minimum in (
            ("rules", self.rules, 0),
            ("length", self.length, 1),
            ("worth", self.worth, 0),
        ):
            if not (math.isfinite(value) and value > minimum):
                raise InputError(f"ExpectedRules.{name} must be above {minimum}, got {value!r}.")

    def resolve(self, searched: Searched) -> KindPrior:
        """Spread the expected rules over lengths as a truncated geometric with the wanted mean."""
        kind, counts = _by_length(searched)
        lengths = np.arange(1, len(counts) + 1)
        present = counts > 0
        low, high = 1e-6, 1e6  # ratio of neighbouring lengths, found by bisection on the mean
        for _ in range(200):
            ratio = math.sqrt(low * high)
            weights = np.where(present, ratio ** (lengths - 1.0), 0.0)
            mean = float((weights * lengths).sum() / weights.sum()) if present.any() else self.length
            low, high = (ratio, high) if mean < self.length else (low, ratio)
        share = weights / weights.sum() if present.any() else weights
        rate = np.clip(self.rules * share / np.maximum(counts, 1), 1e-9, 0.5)
        return KindPrior(kind, self.worth * rate, self.worth * (1 - rate), counts)


# every form of prior that estimators take and model files hold
RulePriors = SearchedRules | RulePrior | ExpectedRules


def log_doubt(priors: Sequence[RulePriors]) -> float:
    """By how many nats no rules at all are made more probable: the larger of the two sides' doubts, 0 for none."""
    return max(math.log(prior.doubt) if isinstance(prior, SearchedRules) else 0.0 for prior in priors)
