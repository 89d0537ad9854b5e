"""Tables of a posterior: how often rules, families, pairs and sizes occur, each with its error and the verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd

from soar_jax._base import FloatArray, InputError, IntArray
from soar_jax.posterior.diagnosis import figures_of
from soar_jax.posterior.families import FAMILY_SIMILARITY, family_table
from soar_jax.posterior.judged import JudgedDraws
from soar_jax.posterior.settled import MAX_ERROR, standard_errors
from soar_jax.rules import Rule
from soar_jax.score.rates import draw_rates
from soar_jax.states import STATES


class PosteriorTables(JudgedDraws):
    """Summaries of the draws."""

    @property
    def inclusion(self) -> pd.DataFrame:
        """Inclusion probability of every candidate that is ever in, with its Monte Carlo error.

        A rule that is in at every round has no R-hat: ``status`` says "always" instead. Candidates that were never
        in are left out; ``status`` would be "never". The probability counts every round, also those thinned away.
        ``settled`` says of each rule alone whether the standard error of its probability is at most 0.05, between the
        chains as well as within them.
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
                        "settled": ~(standard_errors(members[:, :, ever]) > MAX_ERROR),
                    }
                )
            )
        return self._with_verdict(pd.concat([f for f in frames if len(f)] or frames, ignore_index=True))

    @property
    def families(self) -> pd.DataFrame:
        """Inclusion of families of candidates that cover nearly the same rows: `find_families` as it stands."""
        return self.find_families()

    def find_families(self, similarity: float = FAMILY_SIMILARITY) -> pd.DataFrame:
        """Inclusion of families of candidates that cover nearly the same rows.

        Near-copies share the probability of one rule, so that a single rule's inclusion understates it. A family is
        the most included candidate left and those whose coverage has at least the given Jaccard similarity with
        it; it is in when any member is. ``spread`` is the largest difference between chains, ``error`` the standard
        error.

        Parameters
        ----------
        similarity : float
            Rows that both cover, as a share of those that either covers; higher makes smaller families.
        """
        return self._with_verdict(family_table(self.pools, self._members, self._layout, similarity))

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
        """List the most visited pairs.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        DataFrame
            ``share`` of the draws, ``score``, ``positive_rules`` and ``negative_rules`` as lists of sentences, and
            ``trusted``.
        """
        first, counts = self._visited_pairs()
        return self._with_verdict(self._pairs_table(first[:k], counts[:k]))

    def credible_set(self, level: float = 0.95) -> pd.DataFrame:
        """Smallest set of pairs that holds at least ``level`` of the draws, most visited first.

        A set nearly as large as the number of draws says that no pair dominates: report families instead.

        Parameters
        ----------
        level : float
            Share of the draws to hold, above 0 and at most 1.

        Returns
        -------
        DataFrame
            As from `top_pairs`.
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
