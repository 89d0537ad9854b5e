"""The posterior over pairs of rule sets: summaries, predictions averaged over draws, and a verdict."""

from __future__ import annotations

import html
import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from soar_jax import _notebook as notebook
from soar_jax._base import InputError, check_whole
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.posterior.predictions import PosteriorPredictions
from soar_jax.posterior.tables import PosteriorTables
from soar_jax.states import STATES

if TYPE_CHECKING:
    from soar_jax.posterior.committee import Committee
    from soar_jax.score.target import FittedPair

BETTER_BY = 0.01
_DIGITS = 12
_SHOWN = 8
MAX_PAIRS = 500
"""Pairs of a committee, where nothing else is said."""


class PairLoss(Protocol):
    """What `Posterior.choose` weighs pairs by; `soar_jax.Loss` is one."""

    def expected(self, posterior: Posterior, X: Any) -> pd.DataFrame:
        """List the loss of every visited pair, in the order of ``top_pairs``: a column ``loss``, and its parts."""


class Posterior(PosteriorTables, PosteriorPredictions):
    """Draws of the pair of rule sets from a fitted estimator; made by ``sample_posterior``.

    Every table of frequencies carries the verdict: a column ``trusted``, and a warning when the chains do not agree.
    Tables that need no argument are properties (``inclusion``, ``families``, ``sizes``, ``rates``, ``log_evidence``),
    what takes one is a method.
    """

    template: Any = None
    """The estimator that was sampled, as it was then; models of pairs are made like it."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave the verdict's tables out of a saved posterior: they are made again when asked for."""
        return {name: value for name, value in self.__dict__.items() if name != "_diagnosis"}

    def __repr__(self) -> str:
        """Name the run and its verdict, so that nobody sees frequencies without it."""
        return f"Posterior: {self.num_chains} chains of {self.num_draws} draws. {self.diagnose()}"

    def _repr_html_(self) -> str:
        verdict = self.diagnose()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntrustedPosteriorWarning)  # the verdict stands above the table
            table = self.inclusion
        rows = []
        for side in STATES[:2]:
            mine = table[table["side"] == side].head(_SHOWN)
            rows += [
                [
                    notebook.sign(side),
                    html.escape(row.rule),
                    notebook.bar(row.probability, side),
                    f"{row.probability:.3f}",
                ]
                for row in mine.itertuples()
            ]
        head = f"<b>Posterior</b>: {self.num_chains} chains of {self.num_draws:,} draws"
        return notebook.block(head, verdict._html_lines(), notebook.table(["", "rule", "in the draws", ""], rows))

    @cached_property
    def better_pair(self) -> FittedPair | None:
        """The best pair among the draws, where it beats the fitted one by more than `BETTER_BY` nats; else None."""
        chain, draw = np.unravel_index(np.argmax(self.log_joint), self.log_joint.shape)
        found = replace(self.fitted, included=self.draws.included[chain, draw])
        return found if found.log_joint > self.fitted.log_joint + BETTER_BY else None

    @property
    def log_evidence(self) -> tuple[float, float]:
        """Log marginal likelihood by bridges along the ladder, and its standard error.

        Of the labels at the fit's power, and of every pattern outside the pools being out: it compares with the log
        joint of a pair, and not with evidence at another power. NaN without a ladder.
        """
        self._warn_unless_trusted()
        return self.draws.log_evidence, self.draws.log_evidence_error

    def committee(self, max_pairs: int = MAX_PAIRS, random_state: int = 0) -> Committee:
        """Make the averaged model as a thing of its own, which can be saved: see `Committee`.

        Parameters
        ----------
        max_pairs : int
            All distinct pairs among the draws with their shares, where there are no more than so many; else so many
            draws, taken evenly from all chains.
        random_state : int
            Where the even steps begin.
        """
        from soar_jax.posterior.committee import form_committee

        self._warn_unless_trusted()
        return form_committee(self, max_pairs, random_state)

    # -- models -------------------------------------------------------------------------------

    def _model_of(self, draw: int) -> Any:
        """Make the pair of a draw, counted through all chains, a fitted model."""
        if self.template is None:
            raise InputError("These draws do not know their estimator; get them from its sample_posterior().")
        chain, within = divmod(int(draw), self.num_draws)
        return self.template._of_draw(replace(self.fitted, included=self.draws.included[chain, within]))

    def top_models(self, k: int = 5) -> list[Any]:
        """Make the pairs of ``top_pairs(k)`` fitted models, in the same order: they predict, explain and are saved."""
        check_whole("k", k, 1)
        self._warn_unless_trusted()
        return [self._model_of(draw) for draw in self._visited_pairs()[0][:k]]

    def expected_loss(self, loss: PairLoss, X: Any = None) -> pd.DataFrame:
        """List the expected loss of every visited pair, in the order of ``top_pairs``; see `soar_jax.Loss`."""
        return self._with_verdict(loss.expected(self, X))

    def choose(self, loss: PairLoss, X: Any = None) -> Any:
        """Make the visited pair of least expected loss a fitted model, as ``sample_posterior``'s estimator is one.

        Parameters
        ----------
        loss : Loss
            What errors, rows without an answer, literals and gaps between groups cost.
        X : DataFrame or array-like, optional
            Rows to average over, without labels; the training rows when not given.

        Returns
        -------
        model
            With the pair that is best for ``loss``; of equal ones the most visited. Its certificate does not hold
            unless it is the fitted pair.
        """
        self._warn_unless_trusted()
        best = int(np.argmin(np.round(loss.expected(self, X)["loss"].to_numpy(), _DIGITS)))
        return self._model_of(self._visited_pairs()[0][best])

    # -- files --------------------------------------------------------------------------------

    def to_arviz(self, X: Any = None, y: Any = None) -> Any:
        """Labelled draws for ArviZ: InferenceData on the 0.x line, a DataTree on 1.x.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows to give the log likelihood of, one by one and draw by draw, as ``arviz.loo`` asks for: the training
            rows. It takes a number per draw and row, and a fit with ``power=1``.
        """
        from soar_jax.posterior.arviz_export import to_arviz

        if (X is None) != (y is None):
            raise InputError("to_arviz needs both X and y for the log likelihood of rows, or neither.")
        if X is not None and self.power < 1:
            raise InputError(
                f"These draws are of a coarsened posterior (power {self.power:.3g}), in which rows have no likelihood "
                "of their own: loo and its like would be wrong. Fit with power=1 for them, or leave X and y out."
            )
        return to_arviz(self, None if X is None else (X, y))
