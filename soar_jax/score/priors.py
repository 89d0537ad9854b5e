"""What the user believes before seeing the table, said so that a person understands it, and as numbers.

What the four states mean is said by *bounds*: a side may speak alone only where it is right often enough, and where
both or neither speak nobody is. Within its bounds a state's rate is whatever the rows say (a flat Beta(1, 1) by
default), so that no belief grows with the table.

* `ErrorRatio(0.5)`, the default: alone, a side is wrong at most half as often as the base rate would be.
* `Precision(0.7)`: alone, a side is right at least 70 % of the time.
* `Opinion(0.95, share=0.05)`, the paper's form: a Beta prior without bounds, worth so many rows.

`soar_jax.score.rule_priors` has the prior of the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple, get_args

import numpy as np
from scipy.special import betainc, betaln

from soar_jax._base import FloatArray, InputError, IntArray
from soar_jax.candidates.pools import Pool
from soar_jax.candidates.searched import Searched
from soar_jax.score.rule_priors import RulePriors, log_doubt
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


def _check_bound(name: str, value: float) -> None:
    if not (isinstance(value, Real) and 0 < value < 1):
        raise InputError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


@dataclass(frozen=True)
class ErrorRatio:
    """Alone, a side may be wrong at most this many times as often as the base rate would be.

    With positives at a base rate of 30 % and a ratio of 0.5, consensus positive must be right in at least
    1 - 0.5 * 0.7 = 65 % and consensus negative in at least 1 - 0.5 * 0.3 = 85 % of the rows; ambiguous rows are
    positive in 15 to 65 %. The base rate always lies between, however skewed the classes are.

    Parameters
    ----------
    ratio : float
        Lower is stricter: usually fewer rows get a consensus, and more of those are right.
    """

    ratio: float = 0.5

    def __post_init__(self) -> None:
        """Check the number."""
        _check_bound("ErrorRatio.ratio", self.ratio)

    def bounds(self, base_rate: float) -> tuple[float, float]:
        """Give the rates of positives below which negative and above which positive rules may speak alone."""
        return self.ratio * base_rate, 1 - self.ratio * (1 - base_rate)

    def __str__(self) -> str:
        """Read the bound aloud."""
        return f"alone, a side is wrong at most {self.ratio:g} times as often as the base rate would be"


@dataclass(frozen=True)
class Precision:
    """Alone, a side must be right at least this often.

    The base rate stays between the bounds: a side that would be right so often by always saying its class must be right
    more often than that, at least half-way from the base rate to certainty.

    Parameters
    ----------
    rate : float
    """

    rate: float = 0.7

    def __post_init__(self) -> None:
        """Check the number."""
        if not (isinstance(self.rate, Real) and 0.5 < self.rate < 1):  # noqa: PLR2004
            raise InputError(f"Precision.rate must lie strictly between 0.5 and 1, got {self.rate!r}.")

    def bounds(self, base_rate: float) -> tuple[float, float]:
        """Give the rates of positives below which negative and above which positive rules may speak alone."""
        low = 1 - self.rate if 1 - self.rate < base_rate else base_rate / 2
        return low, self.rate if self.rate > base_rate else (1 + base_rate) / 2

    def __str__(self) -> str:
        """Read the bound aloud."""
        return f"alone, a side is right at least {self.rate:.3g} of the time"


Bound = ErrorRatio | Precision


class StatePriors(NamedTuple):
    """Laws of the four states' rates before any row is seen: (4,) each; see `Hyperparameters`."""

    alpha: FloatArray
    beta: FloatArray
    low: FloatArray
    high: FloatArray


class Hyperparameters(NamedTuple):
    """Every prior as plain numbers.

    Attributes
    ----------
    alpha, beta : (4,) float64
        Beta prior of each state's rate, in the order of ``STATES``. Alpha goes with the label the
        state speaks for: positive in C+ and active, negative in C- and passive (eq. 3).
    low, high : (4,) float64
        Where that prior is cut off; 0 and 1 for no bounds.
    kind : (2, longest + 1, longest + 1) int64
        Kind of a pattern by side, number of literals and of cuts among them.
    rule_alpha, rule_beta : (2, num_kinds) float64
        Beta prior of inclusion by side and kind.
    searched : (2, num_kinds) float64
        Patterns that could have been chosen, by side and kind.
    pool_size : (2, num_kinds) int64
        Candidates among them.
    log_doubt : () float64
        By how many nats no rules at all, beyond those that must be in, are more probable than the kinds alone say.
    power : () float64
        To which the likelihood is raised; see `soar_jax.score.power`.
    claimed : StatePriors, optional
        Laws by which rates are claimed of rows, where these differ from the priors; see `rates.claims_of`.
    """

    alpha: FloatArray
    beta: FloatArray
    low: FloatArray
    high: FloatArray
    kind: IntArray
    rule_alpha: FloatArray
    rule_beta: FloatArray
    searched: FloatArray
    pool_size: IntArray
    log_doubt: float | FloatArray = 0.0
    power: float | FloatArray = 1.0
    claimed: StatePriors | None = None

    @property
    def log_constant(self) -> float:
        """Log of what the prior of all pairs sums to, given that the log joint leaves its normalisation out.

        The kinds alone sum to one; no rules at all count ``exp(log_doubt)`` times.
        """
        with_none = betaln(self.rule_alpha, self.searched + self.rule_beta) - betaln(self.rule_alpha, self.rule_beta)
        return float(np.log1p(np.exp(with_none.sum()) * np.expm1(self.log_doubt)))

    @property
    def claims(self) -> StatePriors:
        """Laws by which rates are claimed of rows."""
        return StatePriors(self.alpha, self.beta, self.low, self.high) if self.claimed is None else self.claimed

    @property
    def is_bounded(self) -> bool:
        """Whether any state's rate is cut off."""
        return bool((self.low > 0).any() or (self.high < 1).any())

    def kinds_of(self, side: int, length: IntArray, num_cuts: IntArray) -> IntArray:
        """Kind of each of a side's patterns."""
        return self.kind[side, length, num_cuts]

    def kinds_of_pool(self, side: int, pool: Pool) -> IntArray:
        """Kind of each candidate of a side; -1 for those that must be in, which no prior charges for."""
        free = slice(pool.num_required, None)
        kinds = self.kinds_of(side, pool.length[free], pool.num_cuts[free])
        return np.concatenate([np.full(pool.num_required, -1, dtype=np.int64), kinds])

    def expected_rules(self) -> FloatArray:
        """Return the number of rules of each side expected before seeing the labels."""
        by_kinds = (self.searched * self.rule_alpha / (self.rule_alpha + self.rule_beta)).sum(axis=1)
        return np.asarray(by_kinds * np.exp(-self.log_constant))

    def names(self, side: int) -> list[str]:
        """Name the kinds of one side: "2 literals, 1 cut"."""
        lengths, cuts = np.arange(self.kind.shape[1]), np.arange(self.kind.shape[2])
        result = []
        for kind in range(self.rule_alpha.shape[1]):
            found = np.argwhere(self.kind[side] == kind)
            literals = sorted({int(lengths[i]) for i, _ in found})
            with_cuts = sorted({int(cuts[j]) for _, j in found})
            text = " or ".join(f"{n} literal{'s' if n > 1 else ''}" for n in literals) or "(none)"
            # a kind that holds every number of cuts is a length
            if len(with_cuts) == 1 and with_cuts[0]:
                text += f", {with_cuts[0]} cut{'s' if with_cuts[0] > 1 else ''}"
            result.append(text)
        return result

    def as_dict(self) -> dict[str, object]:
        """Plain numbers under readable names, as `priors_` shows them."""
        states = {
            state: {
                "alpha": float(self.alpha[s]),
                "beta": float(self.beta[s]),
                "low": float(self.low[s]),
                "high": float(self.high[s]),
                "mean": float(self._prior_mean(s)),
                "worth_rows": float(self.alpha[s] + self.beta[s]),
                "claimed": {name: float(law[s]) for name, law in self.claims._asdict().items()},
            }
            for s, state in enumerate(STATES)
        }
        rules = {
            name: {
                "kind": self.names(side),
                "alpha": self.rule_alpha[side].tolist(),
                "beta": self.rule_beta[side].tolist(),
                "searched": self.searched[side].tolist(),
                "pool_size": self.pool_size[side].tolist(),
                "expected_rules": float(self.expected_rules()[side]),
            }
            for side, name in enumerate(STATES[:2])
        }
        return {"states": states, "rules": rules, "doubt": float(np.exp(self.log_doubt)), "power": float(self.power)}

    def _prior_mean(self, s: int) -> float:
        a, b, low, high = self.alpha[s], self.beta[s], self.low[s], self.high[s]
        mass = betainc(a, b, high) - betainc(a, b, low)
        return float(a / (a + b) * (betainc(a + 1, b, high) - betainc(a + 1, b, low)) / mass)


Opinions = tuple[Opinion, Opinion] | Opinion


def both(name: str, value: object, kinds: tuple[type, ...]) -> tuple[object, object]:
    """Take one value for both sides or a pair (positive side, negative side)."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2 or not all(isinstance(v, kinds) for v in pair):  # noqa: PLR2004
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{name} must be {names}, or a pair of them for the two sides, got {value!r}.")
    return pair


def from_opinions(consensus: Opinions, ambiguous: Opinions, num_rows: int) -> StatePriors:
    """Take the paper's Beta priors, without bounds."""
    opinions = (*both("consensus", consensus, (Opinion,)), *both("ambiguous", ambiguous, (Opinion,)))
    alpha, beta = zip(*(opinion.resolve(num_rows) for opinion in opinions), strict=True)  # type: ignore[attr-defined]
    return StatePriors(np.array(alpha), np.array(beta), np.zeros(4), np.ones(4))


def from_bounds(positive: Bound, negative: Bound, base_rate: float) -> StatePriors:
    """Cut flat priors off: consensus beyond the bounds, ambiguous between them."""
    low, high = negative.bounds(base_rate)[0], positive.bounds(base_rate)[1]
    # in the units of each state: the rate of the label it speaks for
    return StatePriors(
        np.ones(4), np.ones(4), np.array([high, 1 - low, low, 1 - high]), np.array([1.0, 1.0, high, 1 - low])
    )


def resolve(
    states: StatePriors,
    rules: RulePriors | tuple[RulePriors, RulePriors],
    searched: Searched | tuple[Searched, Searched],
    pools: tuple[Pool, Pool],
    claimed: StatePriors | None = None,
    power: float = 1.0,
) -> Hyperparameters:
    """Put the priors of states and rules together for one table; the sides may have searched different patterns."""
    priors = both("rule_prior", rules, get_args(RulePriors))
    found = both("searched", searched, (Searched,))
    sides = [prior.resolve(mine) for prior, mine in zip(priors, found, strict=True)]  # type: ignore[attr-defined]
    num_kinds = max(1, *(len(side.alpha) for side in sides))

    def stack(name: str, fill: float) -> FloatArray:
        """Fill up the side with fewer kinds: none of them was searched."""
        return np.stack([np.append(v, np.full(num_kinds - len(v), fill)) for v in (getattr(s, name) for s in sides)])

    pool_size = [
        np.bincount(
            side.kind[pool.length[pool.num_required :], pool.num_cuts[pool.num_required :]], minlength=num_kinds
        )[:num_kinds]
        for side, pool in zip(sides, pools, strict=True)
    ]
    return Hyperparameters(
        *states,
        kind=np.stack([side.kind for side in sides]),
        rule_alpha=stack("alpha", 1.0),
        rule_beta=stack("beta", 1.0),
        searched=stack("searched", 0.0),
        pool_size=np.stack(pool_size).astype(np.int64),
        log_doubt=log_doubt(priors),  # type: ignore[arg-type]
        power=power,
        claimed=claimed,
    )
