"""Whether a sampling run can be trusted: figures, thresholds, and a verdict in words."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from soar_jax import _notebook as notebook
from soar_jax.posterior.settled import MAX_ERROR
from soar_jax.score.power import at_power

if TYPE_CHECKING:
    from soar_jax.score.target import Agreement

MAX_R_HAT = 1.01
NEAR_R_HAT = 1.05
MIN_ESS = 400
MIN_CHAINS = 4
MIN_COLD_CHAINS = 16
MIN_ARRIVALS = 3
MAX_LEFT_OUT = 0.1
"""Rules per draw outside the pools, at most."""
MIN_AGREEING = 2
"""Independent searches that must have found the leading reading of the table."""
MANY_CANDIDATES = 200
MANY_ROWS = 10_000
_COLUMNS = ["mean", "mcse", "ess_bulk", "ess_tail", "r_hat"]


class UntrustedPosteriorWarning(UserWarning):
    """Frequencies are shown from chains that do not agree or are too short."""


@dataclass(frozen=True)
class Diagnosis:
    """Whether a run can be trusted, in words and as data.

    Attributes
    ----------
    is_trusted : bool
    is_sampled_well : bool
        Longer runs of the same kind would not help: what is wrong, if anything, is in the fit.
    table : DataFrame
        Rank-normalised split R-hat, bulk and tail effective sample sizes of each functional.
    family_spread : float
        Largest difference between chains in the inclusion of a family of rules.
    inclusion_error : float
        Largest standard error of the inclusion of any rule or family.
    no_rules : float
        Share of the draws without any rule.
    log_odds : float
        Log posterior odds of any rules over none, by the evidence; NaN where that is not known.
    power : float
        To which the likelihood is raised.
    agreement : Agreement, optional
        How many independent searches found the leading reading; None where that is not known.
    left_out : float
        Rules per draw that are mined patterns but no candidates, estimated around all readings; NaN if not known.
    arrivals : list of int
        Replicas that arrived at the cold end from the prior, by chain; empty without tempering.
    problems : list of str
        What is wrong; empty when the run can be trusted.
    advice : list of str
        What to change.
    """

    is_trusted: bool
    is_sampled_well: bool
    table: pd.DataFrame
    family_spread: float
    inclusion_error: float
    no_rules: float
    log_odds: float
    power: float
    agreement: Agreement | None
    left_out: float
    arrivals: list[int]
    problems: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Say the verdict."""
        if self.is_trusted:
            r_hat, least = self._worst
            if np.isnan(r_hat):
                return f"Every chain gives one and the same pair: these frequencies can be used. {self.in_favour}"
            return (
                f"The chains agree (worst R-hat {r_hat:.3f}, at least {least:.0f} effective draws, inclusion to within "
                f"{2 * self.inclusion_error:.2f}): these frequencies can be used. {self.in_favour}"
            )
        return "Do NOT use these frequencies:\n" + "\n".join(
            [*(f"  - {problem}" for problem in self.problems), *(f"  > {advice}" for advice in self.advice)]
        )

    def _html_lines(self) -> str:
        """Say the verdict, with what is wrong and what to do, as HTML."""
        if self.is_trusted:
            return f"<p>{html.escape(str(self))}</p>"
        lines = [*self.problems, *(f"What to do: {advice}" for advice in self.advice)]
        return "<p><b>Do not use these frequencies.</b></p>" + notebook.bullets(lines)

    def _repr_html_(self) -> str:
        names = {"mean": "mean", "ess_bulk": "bulk ESS", "ess_tail": "tail ESS", "r_hat": "R-hat"}
        rows = [
            [html.escape(str(name)), *("" if np.isnan(row[c]) else f"{row[c]:.4g}" for c in names)]
            for name, row in self.table.iterrows()
        ]
        return notebook.block("<b>Diagnosis</b>", self._html_lines(), notebook.table(["", *names.values()], rows))

    @property
    def _worst(self) -> tuple[float, float]:
        """Largest R-hat and least effective sample size of all functionals that vary."""
        varies = self.table.dropna(subset=["r_hat"])
        least = varies[["ess_bulk", "ess_tail"]].min(axis=None)
        return float(varies["r_hat"].max()), float(least)

    @property
    def in_favour(self) -> str:
        """What the rows say for rules over no rules, in words; convergence is not truth."""
        share = f"P(no rules) {self.no_rules:.2f}" if self.no_rules >= 0.005 else "P(no rules) below 0.01"  # noqa: PLR2004
        power = at_power(self.power)
        if self.no_rules > 0.5:  # noqa: PLR2004
            full = "" if self.power == 1 else " A higher power may find rules that this one is too coarse for."
            return f"The rows do not speak for any rule{power} ({share}).{full}"
        said = f"{share}."
        if np.isfinite(self.log_odds):
            said = f"The rows favour rules over none by {self.log_odds:.1f} nats{power} ({share})."
        return said if self.agreement is None else f"{said} {self.agreement}"

    @property
    def agrees(self) -> bool:
        """Whether the chains nearly agree, so that more draws of the same kind will do."""
        r_hat, _ = self._worst
        return not r_hat > NEAR_R_HAT

    @property
    def brief(self) -> str:
        """The verdict's figures in a few words."""
        r_hat, least = self._worst
        return f"R-hat {r_hat:.3f}, {least:.0f} effective draws"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        table = self.table.astype(object).where(np.isfinite(self.table.to_numpy(float)), None)
        return {
            "is_trusted": self.is_trusted,
            "problems": self.problems,
            "advice": self.advice,
            "family_spread": self.family_spread,
            "inclusion_error": self.inclusion_error,
            "no_rules": self.no_rules,
            "left_out": self.left_out if np.isfinite(self.left_out) else None,
            "log_odds_of_rules": self.log_odds if np.isfinite(self.log_odds) else None,
            "power": self.power,
            "searches": None if self.agreement is None else self.agreement.to_dict(),
            "arrivals": self.arrivals,
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


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a verdict is based on.

    Attributes
    ----------
    table : DataFrame
        From `figures_of` the functionals.
    family_spread, inclusion_error, no_rules, log_odds, power, agreement, left_out
        See `Diagnosis`.
    contested : str
        A rule that some chains nearly always have and others nearly never; empty where there is none.
    num_unsettled : int
        Rules and families whose inclusion has a larger standard error than `MAX_ERROR`.
    arrivals : list of int
        By chain; empty without tempering.
    least_swap_probability : float
        Of neighbours on the ladder.
    num_temperatures, num_chains, num_draws, thin, was_stopped
        How the run was made.
    num_candidates : int
        Of the larger pool.
    num_rows : int
    """

    table: pd.DataFrame
    family_spread: float
    inclusion_error: float
    num_unsettled: int
    no_rules: float
    log_odds: float
    power: float
    agreement: Agreement | None
    contested: str
    left_out: float
    arrivals: list[int]
    least_swap_probability: float
    num_temperatures: int
    num_chains: int
    num_draws: int
    thin: int
    was_stopped: bool
    num_candidates: int
    num_rows: int


def _check_mixing(figures: Figures) -> list[str]:
    """Whether the chains agree on every functional, and whether there are enough effective draws of each."""
    table, problems = figures.table, []
    if figures.num_draws < 4:  # noqa: PLR2004
        problems.append(f"{figures.num_draws} draws per chain cannot be judged at all")
    varies = table["r_hat"].notna()
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
    return problems


def _check_agreement(figures: Figures) -> list[str]:
    """Whether there are enough chains to tell, and whether they agree on every rule and family that is shown."""
    problems = []
    if figures.contested:
        problems.append(
            f"chains stay in different readings of the table: some nearly always have the rule {figures.contested}, "
            "others nearly never"
        )
    if figures.num_unsettled:
        problems.append(
            f"inclusion of {figures.num_unsettled} rules or families is not settled (standard error up to "
            f"{figures.inclusion_error:.2f}, at most {MAX_ERROR} wanted)"
        )
    if figures.num_chains < 2:  # noqa: PLR2004
        problems.append("a single chain cannot show that it has converged")
    elif figures.num_temperatures < 2 and figures.num_chains < MIN_COLD_CHAINS:  # noqa: PLR2004
        problems.append(f"without tempering {figures.num_chains} chains may all have missed the same pairs")
    elif figures.num_chains < MIN_CHAINS:
        problems.append(f"{figures.num_chains} chains may agree by chance (at least {MIN_CHAINS} wanted)")
    return problems


def _check_candidates(figures: Figures) -> list[str]:
    """Whether searches agree on what to look at, and whether the candidates hold nearly all that a draw would have."""
    problems = []
    found = figures.agreement
    if found is not None and found.num_agreeing < MIN_AGREEING:
        problems.append(f"searches do not agree: {found} (at least {MIN_AGREEING} wanted)")
    if figures.left_out > MAX_LEFT_OUT:
        problems.append(
            f"mined patterns that are no candidates would be about {figures.left_out:.2g} rules of a draw (at most "
            f"{MAX_LEFT_OUT} wanted)"
        )
    return problems


def _has_few_arrivals(figures: Figures) -> bool:
    return bool(figures.arrivals) and min(figures.arrivals) < MIN_ARRIVALS


def _check_ladder(figures: Figures) -> list[str]:
    """Whether replicas wander along the whole ladder."""
    if not _has_few_arrivals(figures):
        return []
    least = min(figures.arrivals)
    return [f"in a chain only {least} replicas have arrived from the prior (at least {MIN_ARRIVALS} wanted)"]


def _advise(figures: Figures, is_sampled_well: bool) -> list[str]:
    """Say what to change in a run that has problems."""
    advice = []
    if figures.left_out > MAX_LEFT_OUT:
        advice.append("fit with more candidates (a larger max_patterns)")
    found = figures.agreement
    if found is not None and found.num_agreeing < MIN_AGREEING:
        lower = f"power={figures.power / 2:.2g}"
        advice.append(f"fit with a lower power ({lower}) or longer searches (more n_rounds, no time_budget)")
    if is_sampled_well:
        return advice
    if figures.num_temperatures < 2:  # noqa: PLR2004
        advice.append(f"leave num_temperatures out, or use num_chains={MIN_COLD_CHAINS}")
    elif figures.num_chains < MIN_CHAINS:
        advice.append(f"use num_chains={MIN_CHAINS}")
    if _has_few_arrivals(figures) and figures.least_swap_probability < 0.2:  # noqa: PLR2004
        advice.append(f"use a longer ladder (num_temperatures={2 * figures.num_temperatures})")
    if figures.was_stopped:
        advice.append("give it a larger time_budget, or call it again with the same save_to")
    else:
        wanted = 4 * figures.num_draws
        advice.append(f"sample longer: num_draws={wanted}, with as much more warm-up, or thin={4 * figures.thin}")
    if figures.num_candidates > MANY_CANDIDATES:
        advice.append("fit with fewer candidates (max_patterns=150)")
    if figures.num_rows > MANY_ROWS and figures.power == 1.0:
        advice.append(
            'fit with power="auto": the full likelihood of this many rows decides more than the model can mean'
        )
    return advice


def judge(figures: Figures) -> Diagnosis:
    """Judge a run: whether chains and searches agree, and whether there are enough draws and candidates."""
    problems = [problem for check in (_check_mixing, _check_agreement, _check_ladder) for problem in check(figures)]
    is_sampled_well = not problems
    if problems and figures.was_stopped:
        problems.append(f"the run was stopped early, after {figures.num_draws} draws per chain")
    problems += _check_candidates(figures)
    return Diagnosis(
        is_trusted=not problems,
        is_sampled_well=is_sampled_well,
        table=figures.table,
        family_spread=figures.family_spread,
        inclusion_error=figures.inclusion_error,
        no_rules=figures.no_rules,
        log_odds=figures.log_odds,
        power=figures.power,
        agreement=figures.agreement,
        left_out=figures.left_out,
        arrivals=figures.arrivals,
        problems=problems,
        advice=_advise(figures, is_sampled_well) if problems else [],
    )
