"""Draws of the pair with a verdict: what is watched, and the mark that every table of frequencies carries."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from soar_jax._base import FloatArray, IntArray
from soar_jax.candidates.coverage import LOW_HALF, NEGATIVE_SHIFT
from soar_jax.posterior.diagnosis import Diagnosis, Figures, UntrustedPosteriorWarning, figures_of, judge
from soar_jax.posterior.families import family_table
from soar_jax.posterior.settled import MAX_ERROR, standard_errors
from soar_jax.rules import Rule
from soar_jax.score.rates import positive_rates
from soar_jax.states import STATES, states_of

if TYPE_CHECKING:
    from soar_jax.candidates.pools import Pool
    from soar_jax.sampling.draws import Draws
    from soar_jax.score.target import FittedPair

_MAX_FUNCTIONAL_ROWS = 8
_LARGE = 30.0
_CONTESTED = 0.8


class JudgedDraws:
    """Draws of the pair of rule sets, and whether they can be trusted."""

    def __init__(self, fitted: FittedPair, draws: Draws, *, seconds: float, thin: int) -> None:
        self.fitted = fitted
        self.draws = draws
        self.seconds = seconds
        self.thin = thin
        self._layout, self._hyper = fitted.target.layout, fitted.target.hyper
        members = draws.included
        self._members = tuple(
            np.ascontiguousarray(members[:, :, side, : len(pool)]) for side, pool in enumerate(self.pools)
        )

    @property
    def pools(self) -> tuple[Pool, Pool]:
        """Candidates of both sides."""
        return self.fitted.target.pools

    # -- shapes -------------------------------------------------------------------------------

    @property
    def num_draws(self) -> int:
        """Draws of each chain."""
        return self.draws.packed.shape[1]

    @property
    def num_chains(self) -> int:
        """Independent ladders of replicas, each giving one chain of posterior draws."""
        return self.draws.packed.shape[0]

    @property
    def power(self) -> float:
        """To which the likelihood is raised."""
        return float(self._hyper.power)

    @property
    def num_rows(self) -> int:
        """Training rows."""
        return self._layout.num_rows

    @property
    def log_joint(self) -> FloatArray:
        """Log joint of every draw: (num_chains, num_draws)."""
        return self.draws.log_joint

    def _state_counts(self) -> tuple[IntArray, IntArray]:
        """Positives and negatives of each state: (num_chains, num_draws, 4) each."""
        return self.draws.counts & LOW_HALF, self.draws.counts >> NEGATIVE_SHIFT

    @cached_property
    def _positive_rates(self) -> FloatArray:
        """P(positive | state) of every draw: (num_chains, num_draws, 4)."""
        return positive_rates(self._hyper, *self._state_counts())

    # -- the verdict --------------------------------------------------------------------------

    @property
    def functionals(self) -> dict[str, FloatArray]:
        """Quantities whose mixing tells whether the chains have converged: (num_chains, num_draws) each.

        Log joint, number of rules and literals, the four states' shares of the training rows, and the probability
        given to a few fixed training rows.
        """
        positives, negatives = self._state_counts()
        shares = (positives + negatives) / self.num_rows
        result: dict[str, FloatArray] = {"log joint": self.log_joint}
        literals = np.zeros(self.log_joint.shape)
        for side, name in enumerate(STATES[:2]):
            if len(self.pools[side]):
                result[f"{name} rules"] = self._members[side].sum(axis=2).astype(np.float64)
                literals += self._members[side] @ self.pools[side].length
        result["literals"] = literals
        for k, name in enumerate(STATES):
            result[f"share {name}"] = shares[..., k]
        return result | self._row_functionals()

    def _row_functionals(self) -> dict[str, FloatArray]:
        """Probability of the positive class of training rows spread over the table."""
        bits = [np.asarray(pool.bits) for pool in self.pools]
        num_words = self._layout.num_words
        places = np.unique(np.linspace(0, 64 * num_words - 1, 2 * _MAX_FUNCTIONAL_ROWS).astype(int))
        everything = self._layout.everything()
        rates = self._positive_rates
        result: dict[str, FloatArray] = {}
        for place in places:
            word, bit = int(place) // 64, np.uint64(int(place) % 64)
            if not (everything[word] >> bit) & np.uint64(1) or len(result) == _MAX_FUNCTIONAL_ROWS:
                continue
            fires = []
            for side, members in enumerate(self._members):
                covers = ((bits[side][:, word] >> bit) & np.uint64(1)).astype(bool)
                fires.append(np.asarray(members[:, :, covers].any(axis=2)))
            state = states_of(fires[0], fires[1])
            result[f"row {len(result) + 1} probability"] = np.take_along_axis(rates, state[..., None], axis=2)[..., 0]
        return result

    def diagnose(self) -> Diagnosis:
        """Say whether the run can be trusted, and what to change if not."""
        return self._diagnosis

    @cached_property
    def _diagnosis(self) -> Diagnosis:
        return judge(self._figures())

    def _figures(self) -> Figures:
        """Collect what the verdict is based on."""
        pools, layout = self.fitted.target.merged
        families = family_table(pools, self._members, layout)
        errors = [standard_errors(members) for members in self._members if members.size]
        rule_error = np.concatenate(errors) if errors else np.zeros(0)
        return Figures(
            table=figures_of(self.functionals),
            family_spread=float(families["spread"].max()) if len(families) else 0.0,
            inclusion_error=float(np.nanmax([0.0, *rule_error, *families["error"]])),
            num_unsettled=int((rule_error > MAX_ERROR).sum() + (families["error"] > MAX_ERROR).sum()),
            no_rules=self._probability_of_no_rules(),
            log_odds=self._log_odds_of_rules(),
            power=self.power,
            agreement=None if self.fitted.starts is None else self.fitted.starts.agreement,
            contested=self._contested_rule(),
            left_out=self.fitted.left_out,
            arrivals=[int(n) for n in self.draws.arrivals] if len(self.draws.ladder) > 1 else [],
            least_swap_probability=float(self.draws.swap_probability.min(initial=1.0)),
            num_temperatures=len(self.draws.ladder),
            num_chains=self.num_chains,
            num_draws=self.num_draws,
            thin=self.thin,
            was_stopped=self.draws.was_stopped,
            num_candidates=max(len(pool) for pool in self.pools),
            num_rows=self.num_rows,
        )

    def _contested_rule(self) -> str:
        """Name the rule that chains differ most about, where some nearly always have it and others nearly never."""
        worst, name = 0.0, ""
        for pool, members in zip(self.pools, self._members, strict=True):
            spread = np.ptp(members.mean(axis=1), axis=0) if members.shape[2] else np.zeros(0)
            if spread.max(initial=0.0) > worst:
                worst, name = float(spread.max()), str(Rule(pool.patterns[int(spread.argmax())]))
        return f"{name!r}" if worst > _CONTESTED else ""

    def _probability_of_no_rules(self) -> float:
        """Share of the draws in which both rule sets are empty, or have only what must be in."""
        num_required = sum(pool.num_required for pool in self.pools)
        return float((sum(members.sum(axis=2) for members in self._members) == num_required).mean())

    def _log_odds_of_rules(self) -> float:
        """Log posterior odds of any rules over none, from the evidence; NaN where there is none."""
        constant = self.fitted.target.hyper.log_constant
        over_empty = self.draws.log_evidence + constant - (self.fitted.log_joint - self.fitted.gain)
        if not np.isfinite(over_empty):
            return float("nan")
        return float(np.log(np.expm1(over_empty))) if 0 < over_empty < _LARGE else float(over_empty)

    def _warn_unless_trusted(self) -> None:
        if not self.diagnose().is_trusted:
            warnings.warn(str(self.diagnose()), UntrustedPosteriorWarning, stacklevel=4)

    def _with_verdict(self, table: pd.DataFrame) -> pd.DataFrame:
        """Mark a table of frequencies, and warn when they cannot be trusted."""
        self._warn_unless_trusted()
        table["trusted"] = self.diagnose().is_trusted
        table.attrs["verdict"] = str(self.diagnose())
        return table
