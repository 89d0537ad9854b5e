"""Posterior draws as labelled arrays for ArviZ."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from soar_jax.rules import Rule
from soar_jax.states import STATES

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior


def to_arviz(post: Posterior, rows: tuple[Any, Any] | None = None) -> Any:
    """Build InferenceData on ArviZ 0.x, a DataTree on 1.x.

    ``posterior``: membership by rule, rows and positive rate by state, sizes; ``sample_stats``: log joint and its
    parts, acceptance by move at the cold end, mean swap chance of the ladder; ``constant_data``: the ladder, its
    swap chances, acceptance by move and temperature, arrivals from the prior, and the verdict; ``log_likelihood``, for
    given rows and labels: of each label. What is counted is float: ArviZ cannot rank integers that never change.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ announces its own refactoring once a day
        import arviz

    positives, negatives = post._state_counts()
    draws = post.draws
    posterior: dict[str, Any] = {
        "state_rows": (positives + negatives).astype(np.float64),
        "state_positives": positives.astype(np.float64),
        "positive_rate": post._positive_rates,
        "rho": post.draw_rates(),
    }
    dims = {name: ["state"] for name in posterior}
    coords: dict[str, Any] = {"state": list(STATES), "move": list(draws.kernels)}
    for side, name in enumerate(STATES[:2]):
        if len(post.pools[side]):
            posterior[f"include_{name}"] = post._members[side].astype(np.float32)
            posterior[f"{name}_rules"] = post._members[side].sum(axis=2).astype(np.float64)
            dims[f"include_{name}"] = [f"{name}_rule"]
            coords[f"{name}_rule"] = [str(Rule(p)) for p in post.pools[side].patterns]
    stats = {
        "lp": post.log_joint,
        "log_likelihood_total": draws.log_likelihood,
        "log_prior": draws.log_prior,
        "move_acceptance": draws.move_acceptance,
        "ladder_swaps": draws.ladder_swaps,
    }
    verdict = post.diagnose()
    constants = {
        "inverse_temperature": draws.ladder,
        "swap_probability": draws.swap_probability,
        "acceptance": draws.acceptance,
        "arrivals": draws.arrivals,
        "is_trusted": np.array(verdict.is_trusted),
    }
    dims |= {
        "move_acceptance": ["move"],
        "inverse_temperature": ["temperature"],
        "swap_probability": ["gap"],
        "acceptance": ["move", "temperature"],
        "arrivals": ["ladder"],
    }
    groups: dict[str, Any] = {"posterior": posterior, "sample_stats": stats, "constant_data": constants}
    if rows is not None:
        groups["log_likelihood"] = {"label": post.log_likelihood_of(*rows)}
        dims["label"] = ["row"]
    if "posterior" in inspect.signature(arviz.from_dict).parameters:
        data = arviz.from_dict(**groups, dims=dims, coords=coords)
    else:
        data = arviz.from_dict(groups, dims=dims, coords=coords)
    data.attrs["verdict"] = str(verdict)
    data.attrs["power"] = post.power
    return data
