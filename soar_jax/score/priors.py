"""What the user believes before seeing the table, as Beta distributions with a human reading.

Two questions fix the likelihood's priors:

* *Consensus*: when only one rule set fires, how often should it be right, and how many rows is that
  opinion worth? A high rate worth many rows makes the model abstain more: this is the abstention knob.
* *Ambiguous*: when both or neither fire, how often is the label positive (active) or negative
  (passive)? One half, worth many rows, says that ambiguous means a coin flip. A weak opinion here
  would let the model use the ambiguous states as a waste bin for rows it can in fact predict.

A third fixes the size of the rule sets: how many rules of each length are expected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from soar_jax._base import FloatArray, InputError, IntArray
from soar_jax.states import STATES


@dataclass(frozen=True)
class Opinion:
    """A belief about a rate: "about 95 %, and that is worth 200 rows".

    Parameters
    ----------
    rate : float
        Expected rate, strictly between 0 and 1.
    share : float, optional
        Worth of the opinion as a share of the training rows (5 % unless ``rows`` is given).
    rows : float, optional
        Worth of the opinion in rows, instead of ``share``.

    Examples
    --------
    >>> Opinion(0.95, rows=200).resolve(1000)
    (190.0, 10.0)
    """

    rate: float
    share: float | None = None
    rows: float | None = None

    def __post_init__(self) -> None:
        """Check the three numbers."""
        if not (isinstance(self.rate, Real) and 0 < self.rate < 1):
            raise InputError(f"Opinion.rate must lie strictly between 0 and 1, got {self.rate!r}.")
        if self.share is not None and self.rows is not None:
            raise InputError("Give Opinion either share= or rows=, not both.")
        for name, value in (("share", self.share), ("rows", self.rows)):
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise InputError(f"Opinion.{name} must be a positive number, got {value!r}.")

    def resolve(self, num_rows: int) -> tuple[float, float]:
        """Give (alpha, beta) of the Beta prior for a table of ``num_rows`` rows."""
        worth = self.rows if self.rows is not None else (0.05 if self.share is None else self.share) * num_rows
        # rounded, so that 190 prints as 190.0 and not as 190.00000000000003
        alpha, beta = round(worth * self.rate, 10), round(worth * (1 - self.rate), 10)
        # A worth of almost nothing would make B(alpha, beta) overflow; a thousandth of a row is no opinion.
        return max(alpha, 1e-3), max(beta, 1e-3)

    def __str__(self) -> str:
        """Read the opinion aloud."""
        worth = (
            f"{self.rows:g} rows"
            if self.rows is not None
            else f"{(0.05 if self.share is None else self.share):.3g} of the training rows"
        )
        return f"rate {self.rate:g}, worth {worth}"


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
class RulePrior:
    """Beta(alpha_l, beta_l) on the inclusion probability of patterns with l literals.

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

    def resolve(self, pool_sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Give (alpha, beta) for each length, for pools with ``pool_sizes[l - 1]`` patterns of length l."""
        return _per_length("alpha", self.alpha, len(pool_sizes)), _per_length("beta", self.beta, len(pool_sizes))


@dataclass(frozen=True)
class ExpectedRules:
    """The same prior, said as "about this many rules, about this long".

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

    def resolve(self, pool_sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Spread the expected rules over lengths as a truncated geometric with the wanted mean."""
        lengths = np.arange(1, len(pool_sizes) + 1)
        present = pool_sizes > 0
        low, high = 1e-6, 1e6  # ratio of neighbouring lengths, found by bisection on the mean
        for _ in range(200):
            ratio = math.sqrt(low * high)
            weights = np.where(present, ratio ** (lengths - 1.0), 0.0)
            mean = float((weights * lengths).sum() / weights.sum()) if present.any() else self.length
            low, high = (ratio, high) if mean < self.length else (low, ratio)
        share = weights / weights.sum() if present.any() else weights
        rate = np.clip(self.rules * share / np.maximum(pool_sizes, 1), 1e-6, 0.5)
        return self.worth * rate, self.worth * (1 - rate)


class Hyperparameters(NamedTuple):
    """Every alpha and beta as plain numbers.

    Attributes
    ----------
    alpha, beta : (4,) float64
        Beta prior of each state's rate, in the order of ``STATES``. Alpha goes with the label the
        state speaks for: positive in C+ and active, negative in C- and passive (eq. 3).
    rule_alpha, rule_beta : (2, max_length) float64
        Beta prior of inclusion by side and length.
    pool_size : (2, max_length) int64
        Number of candidates by side and length.
    """

    alpha: FloatArray
    beta: FloatArray
    rule_alpha: FloatArray
    rule_beta: FloatArray
    pool_size: IntArray

    def expected_rules(self) -> FloatArray:
        """Return the number of rules of each side expected before seeing the labels."""
        return (self.pool_size * self.rule_alpha / (self.rule_alpha + self.rule_beta)).sum(axis=1)

    def expected_length(self) -> FloatArray:
        """Return the number of literals of a rule of each side expected before seeing the labels."""
        expected = self.pool_size * self.rule_alpha / (self.rule_alpha + self.rule_beta)
        lengths = np.arange(1, self.pool_size.shape[1] + 1)
        return (expected * lengths).sum(axis=1) / np.maximum(expected.sum(axis=1), 1e-300)

    def as_dict(self) -> dict[str, object]:
        """Plain numbers under readable names, as `priors_` shows them."""
        states = {
            state: {
                "alpha": float(a),
                "beta": float(b),
                "mean": float(a / (a + b)),
                "worth_rows": float(a + b),
            }
            for state, a, b in zip(STATES, self.alpha, self.beta, strict=True)
        }
        rules = {
            name: {
                "alpha": self.rule_alpha[side].tolist(),
                "beta": self.rule_beta[side].tolist(),
                "pool_size": self.pool_size[side].tolist(),
                "expected_rules": float(self.expected_rules()[side]),
                "expected_length": float(self.expected_length()[side]),
            }
            for side, name in enumerate(STATES[:2])
        }
        return {"states": states, "rules": rules}


Opinions = tuple[Opinion, Opinion] | Opinion
RulePriors = RulePrior | ExpectedRules


def both(name: str, value: object, kinds: tuple[type, ...]) -> tuple[object, object]:
    """Take one value for both sides or a pair (positive side, negative side)."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2 or not all(isinstance(v, kinds) for v in pair):  # noqa: PLR2004
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{name} must be {names}, or a pair of them for the two sides, got {value!r}.")
    return pair


def resolve(
    consensus: Opinions,
    ambiguous: Opinions,
    rules: RulePriors | tuple[RulePriors, RulePriors],
    num_rows: int,
    pool_size: IntArray,
) -> Hyperparameters:
    """Turn opinions into numbers for one table."""
    opinions = (*both("consensus", consensus, (Opinion,)), *both("ambiguous", ambiguous, (Opinion,)))
    alpha, beta = zip(*(opinion.resolve(num_rows) for opinion in opinions), strict=True)  # type: ignore[attr-defined]
    sides = both("rule_prior", rules, (RulePrior, ExpectedRules))
    per_side = [prior.resolve(sizes) for prior, sizes in zip(sides, pool_size, strict=True)]  # type: ignore[attr-defined]
    rule_alpha, rule_beta = (np.stack(values) for values in zip(*per_side, strict=True))
    return Hyperparameters(np.array(alpha), np.array(beta), rule_alpha, rule_beta, np.asarray(pool_size, np.int64))
