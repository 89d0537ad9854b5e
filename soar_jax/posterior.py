"""The posterior over pairs of rule sets: summaries, predictions averaged over draws, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ._base import BoolArray, FloatArray, InputError, IntArray
from .coverage import LOW_HALF, NEGATIVE_SHIFT
from .priors import STATES
from .rules import Rule
from .taxonomy import states_of

if TYPE_CHECKING:
    from .temper import Draws

MAX_R_HAT = 1.01
MIN_ESS = 400
MAX_FAMILY_SPREAD = 0.1
FAMILY_SIMILARITY = 0.5
_CHUNK_ROWS = 2048


@dataclass(frozen=True)
class Diagnosis:
    """Whether a run can be trusted, in words and as data.

    Attributes
    ----------
    is_trusted : bool
    table : DataFrame
        Rank-normalised split R-hat, bulk and tail effective sample sizes of each functional.
    problems : list of str
        What is wrong; empty when the run can be trusted.
    advice : list of str
        What to change.
    """

    is_trusted: bool
    table: pd.DataFrame
    problems: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Say the verdict."""
        if self.is_trusted:
            return "The chains agree: these frequencies can be used."
        return "Do NOT use these frequencies:\n" + "\n".join(
            [*(f"  - {problem}" for problem in self.problems), *(f"  > {advice}" for advice in self.advice)]
        )


class Posterior:
    """Draws of the pair of rule sets from a fitted estimator; made by ``sample_posterior``."""

    def __init__(self, model: Any, draws: Draws, seconds: float) -> None:
        self._model = model
        self._pools = model._candidates.pools
        self._layout = model._candidates.layout
        self._hyper = model._hyper
        self.draws = draws
        self.seconds = seconds

    # -- shapes -------------------------------------------------------------------------------

    @property
    def num_draws(self) -> int:
        """Draws of each chain."""
        return self.draws.included.shape[0]

    @property
    def num_chains(self) -> int:
        """Independent groups of replicas, each giving one chain of posterior draws."""
        return self.draws.included.shape[1]

    def __repr__(self) -> str:
        """Name the run and its verdict, so that nobody sees frequencies without it."""
        return f"Posterior: {self.num_chains} chains of {self.num_draws} draws. {self.diagnose()}"

    def _included(self, side: int) -> BoolArray:
        """Membership by chain and draw: (num_chains, num_draws, num_patterns)."""
        return self.draws.included[:, :, side, : len(self._pools[side])].swapaxes(0, 1)

    def _state_counts(self) -> tuple[IntArray, IntArray]:
        """Positives and negatives of each state: (num_chains, num_draws, 4) each."""
        counts = self.draws.counts.swapaxes(0, 1)
        return counts & LOW_HALF, counts >> NEGATIVE_SHIFT

    # -- summaries ----------------------------------------------------------------------------

    @property
    def log_joint(self) -> FloatArray:
        """Log joint of every draw: (num_chains, num_draws)."""
        return (self.draws.log_likelihood + self.draws.log_prior).T

    @property
    def log_evidence(self) -> tuple[float, float]:
        """Log marginal likelihood of the labels and its standard error over chains."""
        return self.draws.log_evidence, self.draws.log_evidence_error

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion probability of every candidate that is ever in, with its Monte Carlo error.

        A rule that is in every draw (or none) has no R-hat; ``status`` says "always" instead, and rules that
        never occur are left out.
        """
        frames = []
        for side in (0, 1):
            included = self._included(side)
            share = included.mean(axis=(0, 1)) if included.size else np.zeros(0)
            members = np.flatnonzero(share > 0)
            members = members[np.argsort(-share[members], kind="stable")]
            figures = _diagnostics({int(i): included[:, :, i] for i in members})
            frames.append(
                pd.DataFrame(
                    {
                        "class": [self._model._label(side)] * len(members),
                        "side": [STATES[side]] * len(members),
                        "rule": [str(Rule(self._pools[side].patterns[i])) for i in members],
                        "probability": share[members],
                        "monte_carlo_error": figures["mcse"].to_numpy(),
                        "ess": figures["ess_bulk"].to_numpy(),
                        "r_hat": figures["r_hat"].to_numpy(),
                        "status": np.where(share[members] == 1.0, "always", "sometimes"),
                    }
                )
            )
        return pd.concat([f for f in frames if len(f)] or frames, ignore_index=True)

    def families(self, similarity: float = FAMILY_SIMILARITY) -> pd.DataFrame:
        """Inclusion of families of candidates that cover nearly the same rows.

        Near-copies share the probability of one rule, so that a single rule's inclusion understates it. A
        candidate joins the family of the first better-ranked one whose coverage has at least the given Jaccard
        similarity; a family is in when any member is.
        """
        from .relatives import jaccard

        rows = []
        for side, pool in enumerate(self._pools):
            included = self._included(side)
            ever = np.flatnonzero(included.any(axis=(0, 1))) if included.size else np.zeros(0, int)
            alike = jaccard(pool.bits[ever], self._layout) if len(ever) else np.zeros((0, 0))
            heads: list[int] = []
            members: list[list[int]] = []
            for i in range(len(ever)):
                home = next((h for h, head in enumerate(heads) if alike[i, head] >= similarity), None)
                if home is None:
                    heads.append(i)
                    members.append([i])
                else:
                    members[home].append(i)
            for head, group in zip(heads, members, strict=True):
                by_chain = included[:, :, ever[group]].any(axis=2).mean(axis=1)
                rows.append(
                    {
                        "side": STATES[side],
                        "family": str(Rule(pool.patterns[ever[head]])),
                        "members": len(group),
                        "probability": float(by_chain.mean()),
                        "spread": float(by_chain.max() - by_chain.min()),
                    }
                )
        table = pd.DataFrame(rows, columns=["side", "family", "members", "probability", "spread"])
        return table.sort_values("probability", ascending=False, ignore_index=True)

    def top_pairs(self, k: int = 5) -> pd.DataFrame:
        """List the most visited pairs with their share of the draws and their score."""
        flat = self.draws.included.reshape(self.num_draws * self.num_chains, -1)
        packed = np.packbits(flat, axis=1)
        _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
        score = -(self.draws.log_likelihood + self.draws.log_prior).reshape(-1)
        order = np.lexsort((score[first], -counts))[:k]
        rows = []
        for i in order:
            pair = self.draws.included.reshape(-1, *self.draws.included.shape[2:])[first[i]]
            names = [
                [str(Rule(pool.patterns[j])) for j in np.flatnonzero(pair[side][: len(pool)])]
                for side, pool in enumerate(self._pools)
            ]
            rows.append(
                {
                    "share": counts[i] / len(flat),
                    "score": score[first[i]],
                    "positive_rules": names[0],
                    "negative_rules": names[1],
                }
            )
        return pd.DataFrame(rows)

    # -- predictions --------------------------------------------------------------------------

    def _rates(self) -> FloatArray:
        """P(positive | state) of every draw: (num_chains * num_draws, 4)."""
        positives, negatives = (c.reshape(-1, 4) for c in self._state_counts())
        speaks_positive = np.array([True, False, True, False])
        hits = np.where(speaks_positive, positives, negatives) + self._hyper.alpha
        misses = np.where(speaks_positive, negatives, positives) + self._hyper.beta
        rate = hits / (hits + misses)
        return np.where(speaks_positive, rate, 1 - rate)

    def _states(self, X: Any) -> IntArray:
        """State of every row in every draw: (num_chains * num_draws, num_rows)."""
        frame = self._model._frame(X)
        fires = []
        for side, pool in enumerate(self._pools):
            included = self._included(side).reshape(self.num_chains * self.num_draws, len(pool))
            ever = np.flatnonzero(included.any(axis=0))
            rules = [Rule(pool.patterns[i]) for i in ever]
            covered = np.zeros((len(included), len(frame)), dtype=bool)
            if rules:
                truth = np.stack([rule.fires(frame) for rule in rules]).astype(np.float32)
                chosen = included[:, ever].astype(np.float32)
                for start in range(0, len(frame), _CHUNK_ROWS):
                    part = slice(start, start + _CHUNK_ROWS)
                    covered[:, part] = chosen @ truth[:, part] > 0
            fires.append(covered)
        return states_of(fires[0], fires[1])

    def predict_state_proba(self, X: Any) -> pd.DataFrame:
        """Share of the draws in which each row is in each state; the four columns sum to 1."""
        states = self._states(X)
        shares = {name: (states == k).mean(axis=0) for k, name in enumerate(STATES)}
        return pd.DataFrame(shares, index=X.index if isinstance(X, pd.DataFrame) else None)

    def _probability(self, X: Any) -> FloatArray:
        """P(positive) of every row in every draw."""
        return np.take_along_axis(self._rates(), self._states(X), axis=1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities averaged over draws, columns in the order of ``classes_``."""
        positive = self._probability(X).mean(axis=0)
        columns = [1 - positive, positive] if self._model._positive_index == 1 else [positive, 1 - positive]
        return np.stack(columns, axis=1)

    def uncertainty(self, X: Any) -> pd.DataFrame:
        """Split each row's uncertainty, in nats.

        ``total`` is the entropy of the averaged probability; ``label_noise`` the average entropy within a draw
        (aleatoric: more data would not help); ``model_doubt`` the rest (epistemic: draws disagree).
        """
        from scipy.special import entr

        probability = self._probability(X)
        mean = probability.mean(axis=0)
        total = entr(mean) + entr(1 - mean)
        noise = (entr(probability) + entr(1 - probability)).mean(axis=0)
        return pd.DataFrame(
            {"total": total, "label_noise": noise, "model_doubt": np.maximum(total - noise, 0.0)},
            index=X.index if isinstance(X, pd.DataFrame) else None,
        )

    # -- diagnostics --------------------------------------------------------------------------

    def functionals(self) -> dict[str, FloatArray]:
        """Quantities whose mixing tells whether the chains have converged: (num_chains, num_draws) each."""
        positives, negatives = self._state_counts()
        shares = (positives + negatives) / self._layout.num_rows
        result: dict[str, FloatArray] = {"log joint": self.log_joint}
        literals = np.zeros(self.log_joint.shape)
        for side, name in enumerate(STATES[:2]):
            if len(self._pools[side]):
                result[f"{name} rules"] = self._included(side).sum(axis=2).astype(np.float64)
                literals += self._included(side) @ self._pools[side].length
        result["literals"] = literals
        for k, name in enumerate(STATES):
            result[f"share {name}"] = shares[..., k]
        return result

    def diagnose(self) -> Diagnosis:
        """Judge the run: whether chains from different starts agree, and whether there are enough draws."""
        table = _diagnostics(self.functionals())
        varies = table["r_hat"].notna()
        problems, advice = [], []
        bad = table.index[varies & (table["r_hat"] > MAX_R_HAT)]
        if len(bad):
            worst = table["r_hat"].max()
            problems.append(
                f"R-hat above {MAX_R_HAT} for {', '.join(map(str, bad))} (worst {worst:.3f}): chains disagree"
            )
        few = table.index[varies & (table[["ess_bulk", "ess_tail"]].min(axis=1) < MIN_ESS)]
        if len(few):
            least = table[["ess_bulk", "ess_tail"]].min(axis=None)
            problems.append(f"fewer than {MIN_ESS} effective draws of {', '.join(map(str, few))} (least {least:.0f})")
        spread = self.families()["spread"].max() if self.draws.included.any() else 0.0
        if spread > MAX_FAMILY_SPREAD:
            problems.append(f"inclusion of a rule family differs by {spread:.2f} between chains")
        if self.num_chains < 2:  # noqa: PLR2004
            problems.append("a single chain cannot show that it has converged")
            advice.append("use num_chains=4")
        if problems:
            advice.append(f"sample longer (num_draws={4 * self.num_draws}) with as much more warm-up")
            if (self.draws.round_trips == 0).any():
                advice.append(
                    f"no replica has come back from the prior in some chains: num_temperatures above "
                    f"{len(self.draws.betas)} or more draws"
                )
            if max(len(pool) for pool in self._pools) > 200:  # noqa: PLR2004
                advice.append("fit with fewer candidates (max_patterns=150)")
        return Diagnosis(not problems, table, problems, advice)

    def to_arviz(self) -> Any:
        """Labelled draws for ArviZ: InferenceData on the 0.x line, a DataTree on 1.x."""
        import inspect

        import arviz

        positives, negatives = self._state_counts()
        posterior: dict[str, Any] = {"state_rows": positives + negatives}
        dims, coords = {"state_rows": ["state"]}, {"state": list(STATES)}
        for side, name in enumerate(STATES[:2]):
            if len(self._pools[side]):
                posterior[f"include_{name}"] = self._included(side).astype(np.int8)
                dims[f"include_{name}"] = [f"{name}_rule"]
                coords[f"{name}_rule"] = [str(Rule(p)) for p in self._pools[side].patterns]
        rates = self._rates().reshape(self.num_chains, self.num_draws, 4)
        posterior["positive_rate"], dims["positive_rate"] = rates, ["state"]
        stats = {"lp": self.log_joint, "log_likelihood_total": self.draws.log_likelihood.T}
        groups = {"posterior": posterior, "sample_stats": stats}
        if "posterior" in inspect.signature(arviz.from_dict).parameters:
            return arviz.from_dict(**groups, dims=dims, coords=coords)
        return arviz.from_dict(groups, dims=dims, coords=coords)


def _diagnostics(series: Mapping[Any, np.ndarray]) -> pd.DataFrame:
    """R-hat, effective sample sizes and Monte Carlo error of each series; NaN where a series is constant."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ announces its own refactoring once a day
        import arviz

    rows = {}
    for name, array in series.items():
        values = np.asarray(array, dtype=np.float64)
        if values.shape[1] < 4 or np.ptp(values) == 0:  # noqa: PLR2004
            rows[name] = dict.fromkeys(("mean", "mcse", "ess_bulk", "ess_tail", "r_hat"), np.nan) | {
                "mean": values.mean()
            }
            continue
        rows[name] = {
            "mean": values.mean(),
            "mcse": float(arviz.mcse(values)),
            "ess_bulk": float(arviz.ess(values, method="bulk")),
            "ess_tail": float(arviz.ess(values, method="tail", prob=(0.05, 0.95))),
            "r_hat": float(arviz.rhat(values, method="rank")),
        }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "mcse", "ess_bulk", "ess_tail", "r_hat"])


def sample(
    model: Any, *, num_draws: int, num_chains: int, num_warmup: int | None, num_temperatures: int, seed: int
) -> Posterior:
    """Sample the posterior of a fitted estimator."""
    import time

    from . import temper
    from .mcmc import make_moves
    from .problem import make_problem

    if not hasattr(model, "_candidates"):
        raise InputError("A loaded model has no candidates to sample from; fit it again first.")
    start = time.perf_counter()
    pools, layout = model._candidates.pools, model._candidates.layout
    problem = make_problem(pools, layout, model._hyper, single=model._single)
    annealed = np.zeros((2, problem.bits.shape[2]), dtype=bool)
    fitted = set(zip(model.rules_["side"], model.rules_["literals"], strict=True))
    for side, pool in enumerate(pools):
        for index, pattern in enumerate(pool.patterns):
            annealed[side, index] = (STATES[side], Rule(pattern).literals) in fitted
    draws = temper.run(
        problem,
        make_moves(problem, pools, layout),
        model._hyper,
        seed=seed,
        num_rounds=num_draws,
        num_warmup=num_draws // 2 if num_warmup is None else num_warmup,
        num_groups=num_chains,
        num_temperatures=num_temperatures,
        annealed=annealed,
    )
    return Posterior(model, draws, time.perf_counter() - start)
