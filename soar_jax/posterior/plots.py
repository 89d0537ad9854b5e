"""Pictures of a posterior. Each function draws on a new figure, or on given axes, and returns it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from soar_jax.data.columns import values_of
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.posterior.metrics import calibration_error, calibration_table, risk_coverage
from soar_jax.states import STATES

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior

STATE_COLOURS = {"positive": "#2a7f9e", "negative": "#c8553d", "active": "#e9b44c", "passive": "#b8bec6"}
_TRACED = ("log joint", "positive rules", "negative rules", "share active", "share passive")
_MAX_BAND_DRAWS = 300
_INK = "#33373d"


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _mark(ax: Any, post: Posterior) -> None:
    """Write the verdict on a picture of frequencies that cannot be trusted."""
    if not post.diagnose().is_trusted:
        ax.annotate(
            "chains do not agree: do not use", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center",
            rotation=20, fontsize=18, color="#b00020", alpha=0.35, weight="bold",
        )  # fmt: skip


def _quietly(function: Any) -> Any:
    """Ask for frequencies without the warning: the picture itself carries the verdict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)
        return function()


def plot_inclusion(post: Posterior, count: int = 10, ax: Any = None) -> Any:
    """Forest of the most probable rules of each side, with two Monte Carlo errors either way."""
    table = _quietly(lambda: post.inclusion)
    parts = [table[table["side"] == side].head(count) for side in STATES[:2]]
    total = sum(len(part) for part in parts)
    ax = _axes(ax, (9, 1.2 + 0.3 * total))
    place, names = 0, []
    for side, part in zip(STATES[:2], parts, strict=True):
        places = np.arange(place, place + len(part))
        ax.errorbar(
            part["probability"], places, xerr=2 * part["monte_carlo_error"].fillna(0), fmt="o", markersize=5,
            color=STATE_COLOURS[side], label=f"{side} rules",
        )  # fmt: skip
        names += part["rule"].tolist()
        place += len(part)
    ax.set_yticks(np.arange(total), names, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("posterior inclusion probability")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(frameon=False, loc="upper left")
    _mark(ax, post)
    return ax


def plot_traces(post: Posterior, names: tuple[str, ...] = _TRACED, num_bins: int = 20) -> Any:
    """Trace and rank histogram of each functional; chains that agree have flat, equal histograms."""
    import matplotlib.pyplot as plt
    from scipy.stats import rankdata

    functionals = {name: values for name, values in post.functionals.items() if name in names}
    figure, axes = plt.subplots(
        len(functionals), 2, figsize=(11, 1.9 * len(functionals)), layout="constrained", squeeze=False
    )
    figures = post.diagnose().table
    for (left, right), (name, values) in zip(axes, functionals.items(), strict=True):
        ranks = rankdata(values).reshape(values.shape)
        edges = np.linspace(0, values.size + 1, num_bins + 1)
        for chain in range(len(values)):
            left.plot(values[chain], linewidth=0.5, alpha=0.8, color=f"C{chain}")
            heights = np.histogram(ranks[chain], edges)[0]
            right.stairs(heights, edges, color=f"C{chain}", label=f"chain {chain + 1}")
        right.axhline(values.shape[1] / num_bins, color=_INK, linewidth=0.8, linestyle=":")
        right.set_ylim(bottom=0)
        left.set_ylabel(name)
        r_hat, ess = figures.loc[name, "r_hat"], figures.loc[name, "ess_bulk"]
        right.set_title(f"R-hat {r_hat:.3f}, bulk ESS {ess:.0f}", fontsize=9, loc="left")
    axes[-1][0].set_xlabel("draw")
    axes[-1][1].set_xlabel("rank over all chains")
    axes[0][1].legend(frameon=False, fontsize=8, ncols=4, loc="lower center")
    return figure


def plot_state_map(post: Posterior, X: Any, ax: Any = None) -> Any:
    """State probabilities of all rows, ordered by their most probable state and its probability."""
    shares = _quietly(lambda: post.predict_state_proba(X)).to_numpy()
    top = shares.argmax(axis=1)
    order = np.lexsort((-shares[np.arange(len(shares)), top], np.array([0, 2, 3, 1])[top]))
    ax = _axes(ax, (9, 3.4))
    columns = [0, 2, 3, 1]  # ambiguous states between the two sides
    ax.stackplot(
        np.arange(len(shares)),
        shares[order][:, columns].T,
        colors=[STATE_COLOURS[STATES[k]] for k in columns],
        labels=[STATES[k] for k in columns],
        step="mid",
    )
    ax.set_xlim(0, max(len(shares) - 1, 1))
    ax.set_ylim(0, 1)
    ax.set_xlabel("rows, by most probable state")
    ax.set_ylabel("share of draws")
    ax.legend(ncols=4, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    _mark(ax, post)
    return ax


def plot_calibration(post: Posterior, X: Any, y: Any, num_bins: int = 10, ax: Any = None) -> Any:
    """Share of positives against probability, averaged over draws, with 90 % Wilson intervals."""
    truth = np.asarray(y) == post.fitted.label(0)
    p = _quietly(lambda: post.predict_proba(X))[:, post.fitted.positive_index]
    table = calibration_table(truth, p, num_bins)
    ax = _axes(ax, (5, 4.6))
    z, n, share = 1.645, table["rows"], table["positives"]
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    ax.plot([0, 1], [0, 1], color=_INK, linewidth=0.8, linestyle=":")
    low, high = (share - (centre - half)).clip(lower=0), (centre + half - share).clip(lower=0)
    ax.errorbar(table["probability"], share, yerr=[low, high], fmt="none", color=STATE_COLOURS["positive"])
    ax.scatter(table["probability"], share, s=20 + 150 * n / n.sum(), color=STATE_COLOURS["positive"], zorder=3)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("probability of the positive class")
    ax.set_ylabel("share of positives")
    ax.set_title(f"expected calibration error {calibration_error(truth, p, num_bins):.3f}", fontsize=10)
    _mark(ax, post)
    return ax


def plot_risk_coverage(post: Posterior, X: Any, y: Any, ax: Any = None) -> Any:
    """Error among the rows predicted as ever fewer, surer rows are, with a 90 % band over draws of the pair."""
    truth = np.asarray(y) == post.fitted.label(0)
    p = _quietly(lambda: post.predict_proba(X))[:, post.fitted.positive_index]
    step = max(1, post.num_chains * post.num_draws // _MAX_BAND_DRAWS)
    draws = np.concatenate(_quietly(lambda: [post._probability(part)[::step] for part in post._by_chunk(X)]), axis=1)
    grid = np.linspace(0.05, 1, 96)
    curves = []
    for one in draws:
        coverage, risk = risk_coverage(truth, one)
        curves.append(np.interp(grid, coverage, risk))
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    ax = _axes(ax, (6, 4.2))
    ax.fill_between(grid, low, high, color=STATE_COLOURS["positive"], alpha=0.2, label="single pairs, 90 %")
    coverage, risk = risk_coverage(truth, p)
    ax.plot(coverage, risk, color=STATE_COLOURS["positive"], label="averaged over draws")
    values = values_of(post._frame(X))
    fires = [rule_set.fires(values) for rule_set in post.fitted.rule_sets]
    decided = fires[0] != fires[1]
    if decided.any():
        wrong = fires[0] != truth
        ax.plot(decided.mean(), wrong[decided].mean(), "D", color=_INK, label="consensus of the fitted pair")
    ax.set_xlim(0, 1.02)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("coverage: share of rows predicted")
    ax.set_ylabel("error among them")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    _mark(ax, post)
    return ax
