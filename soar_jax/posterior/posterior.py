"""The posterior over pairs of rule sets: summaries, predictions averaged over draws, and a verdict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from soar_jax._base import FloatArray, InputError, IntArray
from soar_jax.candidates.coverage import LOW_HALF, NEGATIVE_SHIFT
from soar_jax.data.columns import TableValues
from soar_jax.data.table import frame_to_predict, require_columns
from soar_jax.posterior.diagnosis import Diagnosis, Figures, UntrustedPosteriorWarning, figures_of, judge
from soar_jax.rules import Rule
from soar_jax.sampling.relatives import jaccard
from soar_jax.score.rates import as_positive, draw_rates, positive_rates
from soar_jax.states import STATES, states_of

if TYPE_CHECKING:
    from soar_jax.candidates.pools import Pool
    from soar_jax.sampling.run import Draws
    from soar_jax.score.target import FittedPair

FAMILY_SIMILARITY = 0.5
_CHUNK_ROWS = 2048
_MAX_FUNCTIONAL_ROWS = 8
_MAX_CHECK_DRAWS = 400
BETTER_BY = 0.01


class Posterior:
    """Draws of the pair of rule sets from a fitted estimator; made by ``sample_posterior``.

    Every table of frequencies carries the verdict: a column ``trusted``, and a warning when the chains do not agree.
    Tables that need no argument are properties (``inclusion``, ``families``, ``sizes``, ``rates``, ``log_evidence``),
    what takes one is a method.
    """

    def __init__(self, fitted: FittedPair, draws: Draws, *, seconds: float, thin: int, power: float) -> None:
        self.fitted = fitted
        self.draws = draws
        self.seconds = seconds
        self.thin = thin
        self.power = power
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
    def num_rows(self) -> int:
        """Training rows."""
        return self._layout.num_rows

    def __repr__(self) -> str:
        """Name the run and its verdict, so that nobody sees frequencies without it."""
        return f"Posterior: {self.num_chains} chains of {self.num_draws} draws. {self.diagnose()}"

    def _state_counts(self) -> tuple[IntArray, IntArray]:
        """Positives and negatives of each state: (num_chains, num_draws, 4) each."""
        return self.draws.counts & LOW_HALF, self.draws.counts >> NEGATIVE_SHIFT

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
        families = self._family_table()
        return Figures(
            table=figures_of(self.functionals),
            family_spread=float(families["spread"].max()) if len(families) else 0.0,
            round_trips=[int(n) for n in self.draws.round_trips] if len(self.draws.ladder) > 1 else [],
            least_swap_probability=float(self.draws.swap_probability.min(initial=1.0)),
            num_temperatures=len(self.draws.ladder),
            num_chains=self.num_chains,
            num_draws=self.num_draws,
            thin=self.thin,
            power=self.power,
            was_stopped=self.draws.was_stopped,
            num_candidates=max(len(pool) for pool in self.pools),
            num_rows=self.num_rows,
        )

    def _warn_unless_trusted(self) -> None:
        if not self.diagnose().is_trusted:
            warnings.warn(str(self.diagnose()), UntrustedPosteriorWarning, stacklevel=4)

    def _with_verdict(self, table: pd.DataFrame) -> pd.DataFrame:
        """Mark a table of frequencies, and warn when they cannot be trusted."""
        self._warn_unless_trusted()
        table["trusted"] = self.diagnose().is_trusted
        table.attrs["verdict"] = str(self.diagnose())
        return table

    # -- summaries ----------------------------------------------------------------------------

    @property
    def log_joint(self) -> FloatArray:
        """Log joint of every draw: (num_chains, num_draws)."""
        return self.draws.log_likelihood + self.draws.log_prior

    @cached_property
    def better_pair(self) -> FittedPair | None:
        """The best pair among the draws, where it beats the fitted one by more than `BETTER_BY` nats; else None."""
        chain, draw = np.unravel_index(np.argmax(self.log_joint), self.log_joint.shape)
        found = replace(self.fitted, included=self.draws.included[chain, draw])
        return found if found.log_joint > self.fitted.log_joint + BETTER_BY else None

    @property
    def log_evidence(self) -> tuple[float, float]:
        """Log marginal likelihood by thermodynamic integration, and its standard error over chains.

        Of the labels, and of every pattern outside the pools being out: it compares with the log joint of a pair.

        The error does not hold the bias of the integral over a finite ladder. NaN without a ladder, and with
        ``power`` below 1.
        """
        self._warn_unless_trusted()
        return self.draws.log_evidence, self.draws.log_evidence_error

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion probability of every candidate that is ever in, with its Monte Carlo error.

        A rule that is in at every round has no R-hat: ``status`` says "always" instead. Candidates that were never
        in are left out; ``status`` would be "never". The probability counts every round, also those thinned away.
        """
        frames = []
        for side, members in enumerate(self._members):
            visits = self.draws.visits[:, side, : len(self.pools[side])]
            visited = visits.mean(axis=0) / self.draws.num_rounds
            ever = np.flatnonzero(visits.any(axis=0))
            ever = ever[np.argsort(-visited[ever], kind="stable")]
            figures = figures_of({int(i): members[:, :, i] for i in ever})
            always = (visits[:, ever] == self.draws.num_rounds).all(axis=0)
            frames.append(
                pd.DataFrame(
                    {
                        "class": [self.fitted.label(side)] * len(ever),
                        "side": [STATES[side]] * len(ever),
                        "rule": [str(Rule(self.pools[side].patterns[i])) for i in ever],
                        "probability": visited[ever],
                        "monte_carlo_error": np.where(always, 0.0, figures["mcse"].to_numpy(float)),
                        "ess": figures["ess_bulk"].to_numpy(float),
                        "r_hat": figures["r_hat"].to_numpy(float),
                        "status": np.where(always, "always", "sometimes"),
                    }
                )
            )
        return self._with_verdict(pd.concat([f for f in frames if len(f)] or frames, ignore_index=True))

    def _family_table(self, similarity: float = FAMILY_SIMILARITY) -> pd.DataFrame:
        """Inclusion of families by chain, without the verdict that it serves; see `find_families`."""
        rows = []
        for side, (pool, members) in enumerate(zip(self.pools, self._members, strict=True)):
            share = members.mean(axis=(0, 1)) if members.size else np.zeros(len(pool))
            ever = np.argsort(-share, kind="stable")[: int((share > 0).sum())]
            alike = jaccard(pool.bits[ever], self._layout) if len(ever) else np.zeros((0, 0))
            unassigned = np.ones(len(ever), dtype=bool)
            for head in range(len(ever)):
                if not unassigned[head]:
                    continue
                family = np.flatnonzero(unassigned & (alike[head] >= similarity))
                unassigned[family] = False
                by_chain = members[:, :, ever[family]].any(axis=2).mean(axis=1)
                rows.append(
                    {
                        "side": STATES[side],
                        "family": str(Rule(pool.patterns[ever[head]])),
                        "members": len(family),
                        "probability": float(by_chain.mean()),
                        "spread": float(by_chain.max() - by_chain.min()),
                    }
                )
        table = pd.DataFrame(rows, columns=["side", "family", "members", "probability", "spread"])
        return table.sort_values("probability", ascending=False, ignore_index=True, kind="stable")

    @property
    def families(self) -> pd.DataFrame:
        """Inclusion of families of candidates that cover nearly the same rows: `find_families` as it stands."""
        return self.find_families()

    def find_families(self, similarity: float = FAMILY_SIMILARITY) -> pd.DataFrame:
        """Inclusion of families of candidates that cover nearly the same rows.

        Near-copies share the probability of one rule, so that a single rule's inclusion understates it. A family is
        the most included candidate left and those whose coverage has at least the given Jaccard similarity with
        it; it is in when any member is. ``spread`` is the largest difference between chains.
        """
        return self._with_verdict(self._family_table(similarity))

    def _visited_pairs(self) -> tuple[IntArray, IntArray]:
        """First draw and number of draws of each distinct pair, most visited first."""
        flat = self.draws.packed.reshape(self.num_chains * self.num_draws, -1)
        _, first, counts = np.unique(flat, axis=0, return_index=True, return_counts=True)
        score = -self.log_joint.reshape(-1)
        order = np.lexsort((score[first], -counts))
        return first[order], counts[order]

    def _pairs_table(self, first: IntArray, counts: IntArray) -> pd.DataFrame:
        score = -self.log_joint.reshape(-1)
        rows = []
        for index, count in zip(first, counts, strict=True):
            chain, draw = divmod(int(index), self.num_draws)
            names = [
                [str(Rule(pool.patterns[j])) for j in np.flatnonzero(members[chain, draw])]
                for pool, members in zip(self.pools, self._members, strict=True)
            ]
            rows.append(
                {
                    "share": count / (self.num_draws * self.num_chains),
                    "score": score[index],
                    "positive_rules": names[0],
                    "negative_rules": names[1],
                }
            )
        return pd.DataFrame(rows, columns=["share", "score", "positive_rules", "negative_rules"])

    def top_pairs(self, k: int = 5) -> pd.DataFrame:
        """List the most visited pairs with their share of the draws and their score."""
        first, counts = self._visited_pairs()
        return self._with_verdict(self._pairs_table(first[:k], counts[:k]))

    def credible_set(self, level: float = 0.95) -> pd.DataFrame:
        """Smallest set of pairs that holds at least ``level`` of the draws, most visited first.

        A set nearly as large as the number of draws says that no pair dominates: report families instead.
        """
        if not 0 < level <= 1:
            raise InputError(f"level must lie in (0, 1], got {level!r}.")
        first, counts = self._visited_pairs()
        enough = int(np.searchsorted(np.cumsum(counts), level * counts.sum() - 1e-9)) + 1
        return self._with_verdict(self._pairs_table(first[:enough], counts[:enough]))

    @property
    def sizes(self) -> pd.DataFrame:
        """Posterior of the number of rules and literals: mean, standard deviation, 90 % interval."""
        sizes = {k: v for k, v in self.functionals.items() if k.endswith(" rules") or k == "literals"}
        return self._with_verdict(_summary(sizes))

    # -- rates --------------------------------------------------------------------------------

    def draw_rates(self, random_state: int = 0) -> FloatArray:
        """One draw of the four rates rho for every pair (eq. 3): (num_chains, num_draws, 4)."""
        generator = np.random.Generator(np.random.Philox(random_state))
        return draw_rates(generator, self._hyper, *self._state_counts())

    @property
    def rates(self) -> pd.DataFrame:
        """Posterior of each state's rate: how often the label is what the state speaks for.

        Positive for consensus positive and active, negative for consensus negative and passive (eq. 3).
        """
        drawn = self.draw_rates()
        return self._with_verdict(_summary({name: drawn[..., k] for k, name in enumerate(STATES)}))

    @cached_property
    def _positive_rates(self) -> FloatArray:
        """P(positive | state) of every draw: (num_chains, num_draws, 4)."""
        return positive_rates(self._hyper, *self._state_counts())

    # -- predictions --------------------------------------------------------------------------

    def _frame(self, X: Any) -> pd.DataFrame:
        """Check a table to predict on."""
        frame = frame_to_predict(X, self.fitted.columns, self.fitted.model)
        require_columns(frame, self._columns, "The sampled rules use")
        return frame

    def _states(self, X: Any) -> IntArray:
        """State of every row in every draw: (num_chains * num_draws, num_rows)."""
        frame = self._frame(X)
        values = TableValues(frame)
        fires = []
        for pool, members in zip(self.pools, self._members, strict=True):
            included = members.reshape(self.num_chains * self.num_draws, len(pool))
            ever = np.flatnonzero(included.any(axis=0))
            rules = [Rule(pool.patterns[i]) for i in ever]
            covered = np.zeros((len(included), len(frame)), dtype=bool)
            if rules:
                truth = np.stack([rule.fires(values) for rule in rules]).astype(np.float32)
                chosen = included[:, ever].astype(np.float32)
                for start in range(0, len(frame), _CHUNK_ROWS):
                    part = slice(start, start + _CHUNK_ROWS)
                    covered[:, part] = chosen @ truth[:, part] > 0
            fires.append(covered)
        return states_of(fires[0], fires[1])

    @cached_property
    def _columns(self) -> list[str]:
        """Columns that any sampled rule reads."""
        found: dict[str, None] = {}
        for pool, members in zip(self.pools, self._members, strict=True):
            for index in np.flatnonzero(members.any(axis=(0, 1))):
                found |= dict.fromkeys(literal.column for literal in pool.patterns[index])
        return list(found)

    def _by_chunk(self, X: Any) -> Iterator[pd.DataFrame]:
        """Yield parts of the table small enough for one entry per draw and row."""
        self._warn_unless_trusted()
        frame = self._frame(X)
        for start in range(0, max(len(frame), 1), _CHUNK_ROWS):
            yield frame.iloc[start : start + _CHUNK_ROWS]

    def predict_state_proba(self, X: Any) -> pd.DataFrame:
        """Share of the draws in which each row is in each state; the four columns sum to 1."""
        parts = []
        for part in self._by_chunk(X):
            states = self._states(part)
            parts.append(np.stack([(states == k).mean(axis=0) for k in range(4)], axis=1))
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(np.concatenate(parts), columns=list(STATES), index=index)

    def _probability(self, X: Any) -> FloatArray:
        """P(positive) of every row in every draw."""
        return np.take_along_axis(self._positive_rates.reshape(-1, 4), self._states(X), axis=1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities averaged over draws, columns in the order of ``classes_``."""
        positive = np.concatenate([self._probability(part).mean(axis=0) for part in self._by_chunk(X)])
        return self.fitted.by_class(positive)

    def uncertainty(self, X: Any) -> pd.DataFrame:
        """Split each row's uncertainty, in nats.

        ``total`` is the entropy of the averaged probability; ``label_noise`` the average entropy within a draw
        (aleatoric: more data would not help); ``model_doubt`` the rest (epistemic: draws disagree).
        """
        from scipy.special import entr

        means, noises = [], []
        for part in self._by_chunk(X):
            probability = self._probability(part)
            means.append(probability.mean(axis=0))
            noises.append((entr(probability) + entr(1 - probability)).mean(axis=0))
        mean, noise = np.concatenate(means), np.concatenate(noises)
        total = entr(mean) + entr(1 - mean)
        return pd.DataFrame(
            {"total": total, "label_noise": noise, "model_doubt": np.maximum(total - noise, 0.0)},
            index=X.index if isinstance(X, pd.DataFrame) else None,
        )

    def predictive_check(self, X: Any, y: Any, random_state: int = 0) -> pd.DataFrame:
        """Posterior predictive check: where labels drawn from the model do not look like the labels seen.

        For every level of every column (numbers and dates in quarters): positives seen, positives in labels drawn
        anew from the posterior (mean and 90 % interval), and a two-sided predictive p-value. A group with a small
        p-value is one whose outcome the rule sets miss.
        """
        from soar_jax.posterior.predictive import check_groups

        frame = self._frame(X)
        labels = self.fitted.is_positive(y, len(frame))
        generator = np.random.Generator(np.random.Philox(random_state))
        total = self.num_chains * self.num_draws
        chosen = generator.choice(total, min(total, _MAX_CHECK_DRAWS), replace=False)
        rates = as_positive(self.draw_rates(random_state)).reshape(-1, 4)[chosen]
        parts = [np.take_along_axis(rates, self._states(part)[chosen], axis=1) for part in self._by_chunk(frame)]
        return self._with_verdict(check_groups(frame, labels, np.concatenate(parts, axis=1), generator))

    # -- files --------------------------------------------------------------------------------

    def to_arviz(self) -> Any:
        """Labelled draws for ArviZ: InferenceData on the 0.x line, a DataTree on 1.x."""
        from soar_jax.posterior.arviz_export import to_arviz

        return to_arviz(self)


def _summary(series: dict[str, FloatArray]) -> pd.DataFrame:
    figures = figures_of(series)
    flat = {name: np.asarray(values).reshape(-1) for name, values in series.items()}
    return pd.DataFrame(
        {
            "mean": figures["mean"],
            "sd": [values.std() for values in flat.values()],
            "q05": [np.quantile(values, 0.05) for values in flat.values()],
            "q95": [np.quantile(values, 0.95) for values in flat.values()],
            "monte_carlo_error": figures["mcse"].fillna(0.0),
            "r_hat": figures["r_hat"],
        }
    )
