"""What estimators do with the posterior: sample it, and take a better pair from it."""

from __future__ import annotations

import copy
import os
import time
import warnings
from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import BetterPairWarning, BoolArray, InputError, check_seconds, check_whole, draw_seed
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.rules import Rule
from soar_jax.sampling.settings import NUM_CHAINS, TIME_BUDGET, ladder_length

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior
    from soar_jax.sampling.draws import Draws
    from soar_jax.score.priors import Hyperparameters
    from soar_jax.score.target import FittedPair
    from soar_jax.search.certificate import Certificate


class SamplingMixin:
    """Give an estimator ``sample_posterior``."""

    fitted_pair_: FittedPair
    posterior_: Posterior
    certificate_: Certificate
    _hyper: Hyperparameters

    def sample_posterior(
        self,
        num_draws: int | None = None,
        num_chains: int = NUM_CHAINS,
        *,
        num_warmup: int | None = None,
        num_temperatures: int | None = None,
        thin: int = 1,
        power: float | None = None,
        random_state: Any = 0,
        time_budget: float | None = None,
        progress: bool = False,
        save_to: str | os.PathLike[str] | None = None,
    ) -> Posterior:
        """Draw pairs of rule sets from the posterior by replica exchange.

        Parameters
        ----------
        num_draws : int, optional
            Draws per chain. When not given, the run goes on until ``diagnose()`` trusts it or ``time_budget`` is over.
        num_chains : int
            Independent chains, each a ladder of replicas. Every second one starts from the fitted pair or, in turn,
            from another reading that the search kept, the others from the prior.
        num_warmup : int, optional
            Draws left out at the start, while ladder and proposals adapt. When not given: half of ``num_draws``, or 200
            without that, and more where the chains go on to disagree.
        num_temperatures : int, optional
            Length of the ladder from the prior to the posterior; 1 for no tempering. Chosen by the fitted pair's gain
            over no rules when not given.
        thin : int
            Rounds per draw: longer runs without more memory.
        power : float, optional
            Draws are of the fit's target, at power_. Another power is refused: candidates
            and fitted pair are those of this one.
        random_state : int, RandomState or None
            The same seed gives the same draws.
        time_budget : float, optional
            Seconds; the draws so far are kept, as after an interrupt from the keyboard. When not given: 150 for a run
            without ``num_draws``, else no limit.
        progress : bool
            Show a progress bar.
        save_to : path, optional
            Folder for the run's blocks. Called again with the same folder and settings, a run that was killed goes
            on from the last saved block and ends with the same draws; a larger ``num_draws`` (with ``num_warmup``
            given) continues a finished one.

        Returns
        -------
        Posterior
            Also kept as ``posterior_``. The estimator goes on to predict with the fitted pair; ``posterior_`` has
            averaged probabilities, and ``posterior_.committee()`` is the averaged model, which can be saved.
        """
        check_is_fitted(self, "classes_")
        given = {"num_draws": num_draws, "num_temperatures": num_temperatures, "num_chains": num_chains, "thin": thin}
        for name, value in given.items():
            if value is not None or name in {"num_chains", "thin"}:
                check_whole(name, value, 1)
        if num_warmup is not None:
            check_whole("num_warmup", num_warmup, 0)
        check_seconds("time_budget", time_budget)
        fitted_power = float(self._hyper.power)
        if power is not None and power != fitted_power:
            raise InputError(
                f"The fit has power {fitted_power:g}, and its candidates are of that target; to sample at power "
                f"{power!r}, fit with power={power!r}."
            )
        if not hasattr(self, "fitted_pair_"):
            raise InputError("A loaded model has no candidates to sample from; fit it again first.")
        posterior = sample(
            self.fitted_pair_,
            num_draws=None if num_draws is None else int(num_draws),
            num_chains=int(num_chains),
            num_warmup=None if num_warmup is None else int(num_warmup),
            num_temperatures=None if num_temperatures is None else int(num_temperatures),
            thin=int(thin),
            seed=draw_seed(random_state),
            time_budget=time_budget,
            progress=progress,
            save_to=save_to,
        )
        posterior.template = copy.copy(self)
        posterior.template.__dict__.pop("posterior_", None)
        self.posterior_ = posterior
        if not posterior.diagnose().is_trusted:
            warnings.warn(
                str(posterior.diagnose()),
                UntrustedPosteriorWarning,
                stacklevel=2,
            )
        if posterior.better_pair is not None:
            warnings.warn(
                "The draws met a pair that scores "
                f"{posterior.better_pair.log_joint - self.fitted_pair_.log_joint:.2f} nats better than the fitted one; "
                "take_better_pair() makes it the fitted pair, or fit again with more n_rounds.",
                BetterPairWarning,
                stacklevel=2,
            )
        return posterior

    def take_better_pair(self) -> Self:
        """Make the best pair that the posterior's draws met the fitted one; its certificate is lost."""
        check_is_fitted(self, "classes_")
        better = self.posterior_.better_pair if hasattr(self, "posterior_") else None
        if better is None:
            raise InputError("There is no better pair: no draw scores better than the fitted pair.")
        self.posterior_.fitted = better
        self.posterior_.__dict__.pop("better_pair", None)
        self._take(better, replace(self.certificate_, holds=False))
        return self

    def _with_pair(self, fitted: FittedPair, certificate: Certificate) -> Self:
        """Make a model with another pair; this one stays as it is, and its draws stay with it."""
        model = copy.copy(self)
        model.__dict__.pop("posterior_", None)
        model._take(fitted, certificate)
        return model

    def _of_draw(self, pair: FittedPair) -> Self:
        """Make a model with a pair of the draws; the certificate goes with the fitted pair only."""
        is_same = np.array_equal(pair.included, self.fitted_pair_.included)
        return self._with_pair(pair, self.certificate_ if is_same else replace(self.certificate_, holds=False))

    @abstractmethod
    def _take(self, fitted: FittedPair, certificate: Certificate) -> None:
        """Set what depends on the fitted pair."""


def _names(fitted: FittedPair) -> list[str]:
    """Name the candidates and the class of each side, in the order of the draws."""
    return [
        *(f"{side}: {fitted.label(side)}" for side in (0, 1)),
        *(f"{side}: {Rule(pattern)}" for side, pool in enumerate(fitted.target.pools) for pattern in pool.patterns),
    ]


def _starts(fitted: FittedPair) -> BoolArray:
    """List the pairs that chains start from: the fitted one, and those of the other readings that the search kept."""
    others = [] if fitted.starts is None else list(fitted.starts.readings)
    return np.stack([fitted.included, *others])


def sample(
    fitted: FittedPair,
    *,
    num_draws: int | None,
    num_chains: int,
    num_warmup: int | None,
    num_temperatures: int | None,
    thin: int,
    seed: int,
    time_budget: float | None,
    progress: bool,
    save_to: str | os.PathLike[str] | None,
) -> Posterior:
    """Sample the posterior around a fitted pair; see ``sample_posterior``."""
    from soar_jax._progress import ProgressBar
    from soar_jax.posterior.posterior import Posterior
    from soar_jax.sampling.run import Verdict, run
    from soar_jax.sampling.saved_run import SavedRun, fingerprint

    start = time.perf_counter()
    target = fitted.target
    if not any(len(pool) for pool in target.pools):
        raise InputError("There is no candidate rule to sample: lower min_support and fit again.")
    settings: dict[str, Any] = {
        "seed": seed,
        "num_warmup": num_warmup if num_warmup is not None or num_draws is None else num_draws // 2,
        "num_chains": num_chains,
        "num_temperatures": ladder_length(fitted.gain) if num_temperatures is None else num_temperatures,
        "thin": thin,
    }
    if num_draws is None and time_budget is None:
        time_budget = TIME_BUDGET

    def posterior_of(draws: Draws) -> Posterior:
        return Posterior(fitted, draws, seconds=time.perf_counter() - start, thin=thin)

    def judge(draws: Draws) -> Verdict:
        verdict = posterior_of(draws).diagnose()
        left = start + time_budget - time.perf_counter() if time_budget is not None else None
        return Verdict(
            verdict.is_sampled_well, verdict.agrees, verdict.brief + (f", {left:.0f} s left" if left else "")
        )

    # the fitted pair is only where half of the chains start: a saved state no longer depends on it
    saved = None if save_to is None else SavedRun(save_to, fingerprint(target.problem, settings, _names(fitted)))
    with ProgressBar() if progress else nullcontext() as bar:
        draws = run(
            target,
            num_draws=num_draws,
            starts=_starts(fitted),
            time_budget=time_budget,
            progress=bar,
            saved=saved,
            judge=judge,
            **settings,
        )
    return posterior_of(draws)
