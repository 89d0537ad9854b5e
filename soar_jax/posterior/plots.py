"""Pictures of a posterior. Each function draws on a new figure, or on given axes, and returns it.

They wear the colours and signs of the report (`soar_jax.palette`): blue discs for the positive side, orange squares for
the negative one, both at once where rules disagree, and neither where none speaks.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from soar_jax.data.columns import values_of
from soar_jax.data.labels import is_positive
from soar_jax.palette import LIGHT, MARKERS
from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning
from soar_jax.posterior.metrics import calibration_error, calibration_table, risk_coverage
from soar_jax.states import ACTIVE, STATES

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior

SIDE_COLOURS = {"positive": LIGHT["yes"], "negative": LIGHT["no"]}
_TRACED = ("log joint", "positive rules", "negative rules", "share active", "share passive")
_MAX_BAND_DRAWS = 300
_INK, _SOFT, _LINE, _HAIR, _PAPER = (LIGHT[name] for name in ("ink", "soft", "line", "hair", "paper"))
_CHAINS = (LIGHT["yes"], LIGHT["no"], LIGHT["ink"], LIGHT["none"])
_MARK_SIZE = 18
_DASHES = ("-", "--", ":", "-.")


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=size, layout="constrained")[1]
    return _dress(ax)


def _dress(ax: Any, grid: str = "both") -> Any:
    """Leave hairlines only: two spines, a pale grid below the data, second text in a softer colour."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_LINE)
    ax.tick_params(colors=_SOFT, length=0)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(_SOFT)
    ax.set_axisbelow(True)
    ax.grid(axis=grid, color=_HAIR, linewidth=0.8)
    return ax


def _mark(ax: Any, post: Posterior) -> None:
    """Write the verdict on a picture of frequencies that cannot be trusted."""
    if post.diagnose().is_trusted:
        return
    mark = ax.annotate(
        "chains do not agree:\ndo not use", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center",
        rotation=20, fontsize=_MARK_SIZE, color=_INK, alpha=0.35, weight="bold",
    )  # fmt: skip
    mark.set_in_layout(False)  # the picture makes no room for it: it is made to fit between the axes
    for _ in range(2):  # the first layout is made over by the second
        ax.figure.draw_without_rendering()
    has, room = mark.get_window_extent(), ax.get_window_extent()
    shrink = min(1.0, 0.9 * room.width / has.width, 0.9 * room.height / has.height)
    mark.set_fontsize(_MARK_SIZE * shrink)


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
            part["probability"], places, xerr=2 * part["monte_carlo_error"].fillna(0), fmt=MARKERS[side], markersize=6,
            color=SIDE_COLOURS[side], label=f"{side} rules", elinewidth=1.4,
            markerfacecolor=SIDE_COLOURS[side] if side == STATES[0] else _PAPER, markeredgewidth=1.6,
        )  # fmt: skip
        names += part["rule"].tolist()
        place += len(part)
    ax.set_yticks(np.arange(total), names, fontsize=9, color=_INK)
    ax.invert_yaxis()
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("posterior inclusion probability")
    ax.grid(visible=False, axis="y")
    # at the right edge, so that it has room above the names however long they are
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, labelcolor=_INK)
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
        _dress(left, "y")
        _dress(right, "y")
        ranks = rankdata(values).reshape(values.shape)
        edges = np.linspace(0, values.size + 1, num_bins + 1)
        for chain in range(len(values)):
            colour, dash = _CHAINS[chain % len(_CHAINS)], _DASHES[chain // len(_CHAINS) % len(_DASHES)]
            left.plot(values[chain], linewidth=0.6, alpha=0.8, color=colour)
            heights = np.histogram(ranks[chain], edges)[0]
            right.stairs(heights, edges, color=colour, linestyle=dash, label=f"chain {chain + 1}")
        right.axhline(values.shape[1] / num_bins, color=_INK, linewidth=0.8, linestyle=":")
        right.set_ylim(bottom=0)
        left.set_ylabel(name)
        r_hat, ess = figures.loc[name, "r_hat"], figures.loc[name, "ess_bulk"]
        right.set_title(f"R-hat {r_hat:.3f}, bulk ESS {ess:.0f}", fontsize=9, loc="left", color=_SOFT)
    axes[-1][0].set_xlabel("draw")
    axes[-1][1].set_xlabel("rank over all chains")
    handles, labels = axes[0][1].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8, ncols=4, loc="outside upper right", labelcolor=_INK)
    return figure


def plot_state_map(post: Posterior, X: Any, ax: Any = None) -> Any:
    """State probabilities of all rows, ordered by their most probable state and its probability."""
    shares = _quietly(lambda: post.predict_state_proba(X)).to_numpy()
    top = shares.argmax(axis=1)
    columns = [0, 2, 3, 1]  # ambiguous states between the two sides
    order = np.lexsort((-shares[np.arange(len(shares)), top], np.argsort(columns)[top]))
    ax = _axes(ax, (9, 3.4))
    areas = ax.stackplot(
        np.arange(len(shares)),
        shares[order][:, columns].T,
        colors=[SIDE_COLOURS.get(STATES[k], LIGHT["yes"] if k == ACTIVE else _HAIR) for k in columns],
        labels=[STATES[k] for k in columns],
        step="mid",
        linewidth=0,
    )
    both = areas[columns.index(ACTIVE)]  # both sides at once
    both.set(hatch="//", edgecolor=LIGHT["no"])
    if hasattr(both, "set_hatch_linewidth"):  # Matplotlib 3.10 and later
        both.set_hatch_linewidth(3)
    ax.grid(visible=False)
    ax.set_xlim(0, max(len(shares) - 1, 1))
    ax.set_ylim(0, 1)
    ax.set_xlabel("rows, by most probable state")
    ax.set_ylabel("share of draws")
    ax.legend(ncols=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), labelcolor=_INK)
    _mark(ax, post)
    return ax


def plot_calibration(model: Any, X: Any, y: Any, num_bins: int = 10, ax: Any = None) -> Any:
    """Share of positives against probability, with 90 % Wilson intervals.

    Parameters
    ----------
    model : Posterior or fitted estimator
        Probabilities averaged over draws, or those of the fitted pair.
    X, y : table and labels
        Rows to judge by, best not those of the fit.
    """
    fitted = getattr(model, "fitted", None)
    positive = fitted.positive_index if fitted is not None else model._positive_index
    classes = fitted.classes if fitted is not None else model.classes_
    p = _quietly(lambda: model.predict_proba(X))[:, positive]
    truth = is_positive(y, len(p), classes, classes[positive])
    table = calibration_table(truth, p, num_bins)
    ax = _axes(ax, (5, 4.6))
    z, n, share = 1.645, table["rows"], table["positives"]
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    ax.plot([0, 1], [0, 1], color=LIGHT["none"], linewidth=1, linestyle=(0, (4, 4)))
    low, high = (share - (centre - half)).clip(lower=0), (centre + half - share).clip(lower=0)
    ax.errorbar(table["probability"], share, yerr=[low, high], fmt="none", color=_INK, elinewidth=1.6)
    ax.scatter(table["probability"], share, s=20 + 150 * n / n.sum(), color=_INK, zorder=3)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("probability of the positive class")
    ax.set_ylabel("share of positives")
    ax.set_title(f"expected calibration error {calibration_error(truth, p, num_bins):.3f}", fontsize=10, color=_SOFT)
    if fitted is not None:
        _mark(ax, model)
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
    ax.fill_between(grid, low, high, color=_LINE, label="single pairs, 90 %", linewidth=0)
    coverage, risk = risk_coverage(truth, p)
    ax.plot(coverage, risk, color=_INK, linewidth=1.6, label="averaged over draws")
    values = values_of(post._frame(X))
    fires = [rule_set.fires(values) for rule_set in post.fitted.rule_sets]
    decided = fires[0] != fires[1]
    if decided.any():
        wrong = fires[0] != truth
        ax.plot(
            decided.mean(),
            wrong[decided].mean(),
            "D",
            color=_INK,
            markerfacecolor=_PAPER,
            markeredgewidth=1.6,
            label="consensus of the fitted pair",
        )
    ax.set_xlim(0, 1.02)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("coverage: share of rows predicted")
    ax.set_ylabel("error among them")
    ax.legend(frameon=False, labelcolor=_INK)
    _mark(ax, post)
    return ax
