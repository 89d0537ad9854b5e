"""Whether a sampling run can be trusted: figures, thresholds, and a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from .posterior import Posterior

MAX_R_HAT = 1.01
MIN_ESS = 400
MAX_FAMILY_SPREAD = 0.1
MIN_ROUND_TRIPS = 3
MANY_CANDIDATES = 200
_COLUMNS = ["mean", "mcse", "ess_bulk", "ess_tail", "r_hat"]


class UntrustedPosteriorWarning(UserWarning):
    """Frequencies are shown from chains that do not agree or are too short."""


@dataclass(frozen=True)
class Diagnosis:
    """Whether a run can be trusted, in words and as data.

    Attributes
    ----------
    is_trusted : bool
    table : DataFrame
        Rank-normalised split R-hat, bulk and tail effective sample sizes of each functional.
    family_spread : float
        Largest difference between chains in the inclusion of a family of rules.
    round_trips : list of int
        Replicas that came back from the prior, by chain; empty without tempering.
    problems : list of str
        What is wrong; empty when the run can be trusted.
    advice : list of str
        What to change.
    """

    is_trusted: bool
    table: pd.DataFrame
    family_spread: float
    round_trips: list[int]
    problems: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Say the verdict."""
        if self.is_trusted:
            varies = self.table.dropna()
            if varies.empty:
                return "Every chain gives one and the same pair: these frequencies can be used."
            least = varies[["ess_bulk", "ess_tail"]].min(axis=None)
            return (
                f"The chains agree (worst R-hat {varies['r_hat'].max():.3f}, at least {least:.0f} effective draws): "
                "these frequencies can be used."
            )
        return "Do NOT use these frequencies:\n" + "\n".join(
            [*(f"  - {problem}" for problem in self.problems), *(f"  > {advice}" for advice in self.advice)]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        table = self.table.astype(object).where(np.isfinite(self.table.to_numpy(float)), None)
        return {
            "is_trusted": self.is_trusted,
            "problems": self.problems,
            "advice": self.advice,
            "family_spread": self.family_spread,
            "round_trips": self.round_trips,
            "functionals": table.to_dict(orient="index"),
        }


def figures_of(series: Mapping[Any, np.ndarray]) -> pd.DataFrame:
    """R-hat, effective sample sizes and Monte Carlo error of each series; NaN where a series is constant."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ announces its own refactoring once a day
        import arviz

    rows = {}
    for name, array in series.items():
        values = np.asarray(array, dtype=np.float64)
        if values.shape[1] < 4 or np.ptp(values) == 0:  # noqa: PLR2004
            rows[name] = dict.fromkeys(_COLUMNS, np.nan) | {"mean": values.mean()}
            continue
        # a rare event may leave both tails constant; then there is no tail to judge
        with np.errstate(invalid="ignore", divide="ignore"):
            rows[name] = {
                "mean": values.mean(),
                "mcse": _number(arviz.mcse(values)),
                "ess_bulk": _number(arviz.ess(values, method="bulk")),
                "ess_tail": _number(arviz.ess(values, method="tail", prob=(0.05, 0.95))),
                "r_hat": _number(arviz.rhat(values, method="rank")),
            }
    return pd.DataFrame.from_dict(rows, orient="index", columns=_COLUMNS)


def _number(value: Any) -> float:
    """Take a figure of ArviZ, which is an array of one where Numba is installed."""
    return float(np.asarray(value).reshape(-1)[0])


def judge(posterior: Posterior) -> Diagnosis:
    """Judge a run: whether chains from different starts agree, and whether there are enough draws."""
    table = figures_of(posterior.functionals())
    draws = posterior.draws
    varies = table["r_hat"].notna()
    problems, advice = [], []
    if posterior.num_draws < 4:  # noqa: PLR2004
        problems.append(f"{posterior.num_draws} draws a chain cannot be judged at all")
    bad = table.index[varies & (table["r_hat"] > MAX_R_HAT)]
    if len(bad):
        worst = table["r_hat"].max()
        problems.append(f"R-hat above {MAX_R_HAT} for {', '.join(map(str, bad))} (worst {worst:.3f}): chains disagree")
    effective = table[["ess_bulk", "ess_tail"]].min(axis=1)
    few = table.index[varies & (effective < MIN_ESS)]
    if len(few):
        problems.append(
            f"fewer than {MIN_ESS} effective draws of {', '.join(map(str, few))} (least {effective.min():.0f})"
        )
    families = posterior._family_table()
    spread = float(families["spread"].max()) if len(families) else 0.0
    if spread > MAX_FAMILY_SPREAD:
        problems.append(f"inclusion of a rule family differs by {spread:.2f} between chains")
    if posterior.num_chains < 2:  # noqa: PLR2004
        problems.append("a single chain cannot show that it has converged")
        advice.append("use num_chains=4")
    trips = [int(n) for n in draws.round_trips] if len(draws.betas) > 1 else []
    if trips and min(trips) < MIN_ROUND_TRIPS:
        problems.append(
            f"in a chain only {min(trips)} replicas have come back from the prior (at least {MIN_ROUND_TRIPS} wanted)"
        )
        if draws.swap_probability.min() < 0.2:  # noqa: PLR2004
            advice.append(f"use a longer ladder (num_temperatures={2 * len(draws.betas)})")
    if problems:
        if draws.was_stopped:
            problems.append(f"the run was stopped early, after {posterior.num_draws} draws a chain")
            advice.append("give it a larger time_budget, or call it again with the same save_to")
        else:
            wanted = 4 * posterior.num_draws
            advice.append(f"sample longer: num_draws={wanted}, with as much more warm-up, or thin={4 * posterior.thin}")
        if max(len(pool) for pool in posterior.pools) > MANY_CANDIDATES:
            advice.append("fit with fewer candidates (max_patterns=150)")
        if posterior.num_rows > 10_000 and posterior.power == 1.0:  # noqa: PLR2004
            advice.append("on so many rows consider a coarsened posterior (power=0.1): see sample_posterior")
    return Diagnosis(not problems, table, spread, trips, problems, advice)
