"""Planted rules: what is found, what is false. Tables of noise with known rules in them.

Run: python -m experiments.power [--quick]
"""

from __future__ import annotations

import itertools
import json
import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from experiments.made_tables import Planted, planted_table
from experiments.noise import COLOURS, SETTINGS, claimed_right, number_of_columns, quiet
from experiments.study import RESULTS, Study, table
from soar_jax import Rule, SOARClassifier
from soar_jax.data.columns import TableValues

GRID = list(itertools.product((500, 2000, 8000, 20_000), (1, 3, 6), (0.8, 0.9, 0.95)))
FIRST_SEED = 30_000
RECOVERED = 0.8
RELATED = 0.5
MARGIN = 0.05


def similarities(fitted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Jaccard similarity of the rows that each fitted and each true rule covers: (fitted, true)."""
    both = fitted.astype(np.float32) @ true.astype(np.float32).T  # counts of rows are exact in float32
    either = fitted.sum(axis=1)[:, None] + true.sum(axis=1) - both
    return both / np.maximum(either, 1)


def is_false(fires: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Say of each rule whether it is hardly better than its side's base rate."""
    precision = (fires & own).sum(axis=1) / np.maximum(fires.sum(axis=1), 1)
    return precision < own.mean() + MARGIN


def figures_of_rules(model: SOARClassifier, planted: Planted) -> dict:
    """Compare fitted with true rules, side by side of the pair, on the fresh rows."""
    true_rules = recovered = fitted_rules = false = unrelated = weak = 0
    is_positive = planted.fresh_y == 1
    for rules, true, own in (
        (model.positive_rules_, planted.positive, is_positive),
        (model.negative_rules_, planted.negative, ~is_positive),
    ):
        fires = np.array([rule.fires(planted.fresh_X) for rule in rules], dtype=bool).reshape(len(rules), len(own))
        alike = similarities(fires, true)
        true_rules += len(true)
        fitted_rules += len(rules)
        recovered += int((alike.max(axis=0, initial=0.0) > RECOVERED).sum())
        unrelated += int((alike.max(axis=1, initial=0.0) <= RELATED).sum())
        false += int(is_false(fires, own).sum())
        weak += int(is_false(true, own).sum())
    return {
        "true_rules": true_rules,
        "true_rules_that_count_as_false": weak,
        "recovered": recovered,
        "fitted_rules": fitted_rules,
        "false_rules": false,
        "unrelated_rules": unrelated,
    }


def within_reach(model: SOARClassifier, planted: Planted) -> int:
    """True rules that some candidate of their side, fitted or not, matches well enough."""
    values, candidates = TableValues(planted.fresh_X), model.pools_
    found = 0
    for label, true in ((1, planted.positive), (0, planted.negative)):
        mine = candidates[candidates["class"] == label]["literals"]
        fires = np.array([Rule.from_literals(literals).fires(values) for literals in mine], dtype=bool)
        alike = similarities(fires.reshape(len(mine), len(planted.fresh_y)), true)
        found += int((alike.max(axis=0, initial=0.0) > RECOVERED).sum())
    return found


def figures_of_predictions(model: SOARClassifier, planted: Planted) -> dict:
    """Error, and what consensus claims beside what the fresh rows say."""
    states = model.predict_state(planted.fresh_X)
    is_positive = planted.fresh_y == 1
    rows = np.array([(states == name).sum() for name in ("positive", "negative")])
    right = np.array([is_positive[states == "positive"].sum(), (~is_positive)[states == "negative"].sum()])
    in_consensus = int(rows.sum())
    claimed = float((claimed_right(model) * rows).sum() / in_consensus) if in_consensus else None
    fresh = float(right.sum() / in_consensus) if in_consensus else None
    return {
        "error": float((model.predict(planted.fresh_X) != planted.fresh_y).mean()),
        "consensus": in_consensus / len(states),
        "claimed": claimed,
        "fresh": fresh,
        "claimed_minus_fresh": claimed - fresh if in_consensus else None,
    }


def error_of_truth(planted: Planted) -> float:
    """Error of who knows the true rules: positive where only positive ones fire, else negative."""
    says_positive = planted.positive.any(axis=0) & ~planted.negative.any(axis=0)
    return float((says_positive != (planted.fresh_y == 1)).mean())


def fits_of(seed: int, num_rows: int, rules_per_side: int, precision: float) -> list[dict]:
    """Figures of one table in every setting."""
    num_columns = number_of_columns(seed)
    planted = planted_table(seed, num_rows, num_columns, rules_per_side, precision)
    about = {
        "seed": seed,
        "num_rows": num_rows,
        "num_columns": num_columns,
        "rules_per_side": rules_per_side,
        "precision": precision,
        "error_of_truth": error_of_truth(planted),
    }
    rows = []
    for setting, parameters in SETTINGS.items():
        start = time.perf_counter()
        with quiet():
            model = SOARClassifier(**parameters).fit(planted.X, planted.y)
        seconds = time.perf_counter() - start
        if not rows:  # both settings choose from the same candidates
            about["within_reach"] = within_reach(model, planted)
        figures = figures_of_rules(model, planted) | figures_of_predictions(model, planted)
        rows.append(about | {"setting": setting} | figures | {"seconds": seconds})
    return rows


def summary(part: pd.DataFrame) -> dict:
    """Figures of some fits, by setting. Shares of rules are over all rules of these fits."""
    found = {
        "tables": int(part["seed"].nunique()),
        "error_of_truth": float(part["error_of_truth"].mean()),
        "within_reach": float(part["within_reach"].sum() / part["true_rules"].sum()),
    }
    for setting, mine in part.groupby("setting", sort=False):
        fitted = int(mine["fitted_rules"].sum())
        excess = mine["claimed_minus_fresh"].dropna()
        found[setting] = {
            "recovered": float(mine["recovered"].sum() / mine["true_rules"].sum()),
            "false_per_fit": float(mine["false_rules"].mean()),
            "share_unrelated": float(mine["unrelated_rules"].sum() / fitted) if fitted else None,
            "rules_per_fit": float(mine["fitted_rules"].mean()),
            "error": float(mine["error"].mean()),
            "claimed_minus_fresh": float(excess.mean()) if len(excess) else None,
            "fits_with_consensus": len(excess),
        }
    return found


def summary_rows(label: str, found: dict) -> list[list]:
    """One line for each setting."""
    rows = []
    for setting in SETTINGS:
        f = found[setting]
        rows.append(
            [
                label,
                found["tables"],
                setting,
                f"{f['recovered']:.3f}",
                f"{found['within_reach']:.3f}",
                f"{f['false_per_fit']:.2f}",
                "" if f["share_unrelated"] is None else f"{f['share_unrelated']:.3f}",
                f"{f['rules_per_fit']:.1f}",
                f["error"],
                found["error_of_truth"],
                "" if f["claimed_minus_fresh"] is None else f"{f['claimed_minus_fresh']:+.4f}",
            ]
        )
    return rows


def noise_results(study: Study) -> dict | None:
    """The noise study's results: of this run's folder, or the committed ones."""
    for folder in (study.folder, RESULTS):
        file = folder / "noise.json"
        if file.exists():
            return json.loads(file.read_text())
    return None


def draw(fits: pd.DataFrame, noise: dict | None):
    """Power against rows, and beside it how often noise alone gives rules: both are shares, on one axis."""
    figure, ax = plt.subplots(figsize=(8.5, 5), layout="constrained")
    for setting, mine in fits.groupby("setting", sort=False):
        sums = mine.groupby("num_rows")[["recovered", "true_rules"]].sum()
        share = sums["recovered"] / sums["true_rules"]
        style = {"color": COLOURS[setting], "markersize": 6}
        ax.plot(share.index, share, "o-", label=f"{setting}: planted rules recovered", **style)
        if noise is None:
            continue
        cells = pd.DataFrame([{"num_rows": c["num_rows"], "tables": c["tables"], **c[setting]} for c in noise["cells"]])
        sums = cells.groupby("num_rows")[["fits_with_rules", "tables"]].sum()
        share = sums["fits_with_rules"] / sums["tables"]
        ax.plot(share.index, share, "x--", label=f"{setting}: noise tables with any rule", **style)
        total = noise["total"]
        ax.annotate(
            f"noise: {total[setting]['fits_with_rules']} of {total['tables']} fits have rules",
            (share.index[-1], share.iloc[-1]),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=COLOURS[setting],
        )
    sums = fits.groupby("num_rows")[["within_reach", "true_rules"]].sum()
    reach = sums["within_reach"] / sums["true_rules"]
    ax.plot(reach.index, reach, ":", color="#777777", linewidth=1.2)
    ax.annotate(
        "planted rules\namong the candidates",
        (reach.index[0], reach.iloc[0]),
        xytext=(-8, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color="#666666",
    )
    ax.set_xscale("log")
    ticks = sorted({*fits["num_rows"], *(c["num_rows"] for c in (noise or {"cells": []})["cells"])})
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.minorticks_off()
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("training rows")
    ax.set_ylabel("share")
    ax.set_title(
        f"Power (similarity above {RECOVERED} counts as recovered) and what noise alone gives", fontsize=10, loc="left"
    )
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def main(argv=None) -> dict:
    study = Study("power", __doc__, argv)
    rows = []
    for i, (num_rows, rules_per_side, precision) in enumerate(GRID[:2] if study.quick else GRID):
        found = fits_of(FIRST_SEED + i, num_rows, rules_per_side, precision)
        rows += found
        counts = ", ".join(
            f"{r['setting']} {r['recovered']}/{r['true_rules']} recovered, {r['false_rules']}/{r['fitted_rules']} false"
            for r in found
        )
        study.say(
            f"{num_rows} rows, {rules_per_side} per side, {precision}, {found[0]['num_columns']} columns: {counts} "
            f"in {sum(r['seconds'] for r in found):.0f} s"
        )
    fits = pd.DataFrame(rows)
    fits["claimed_minus_fresh"] = fits["claimed_minus_fresh"].astype(float)
    total = summary(fits)
    groups = {
        name: {str(value): summary(part) for value, part in fits.groupby(name)}
        for name in ("num_rows", "rules_per_side", "precision")
    }
    noise = noise_results(study)
    one = fits[fits["setting"] == next(iter(SETTINGS))]  # what is true does not depend on the setting
    weak, num_true = int(one["true_rules_that_count_as_false"].sum()), int(one["true_rules"].sum())
    header = [
        "tables",
        "setting",
        "recovered",
        "within reach",
        "false rules per fit",
        "unrelated",
        "rules",
        "error",
        "error of the true rules",
        "claimed - fresh",
    ]
    lines = [
        f"{total['tables']} tables, seeds {FIRST_SEED:,} to {fits['seed'].max():,}, one for each combination of rows, rules "
        "per side and precision; 10 to 40 columns by the seed. Rows of true rules have their label with the precision, rows "
        "of clashing rules with one half, others are positive with 0.4; a true rule has one to three conditions and covers 5 "
        "to 20 % of the rows. Everything is measured on 5,000 fresh rows. Settings as in [the noise study](noise.md).",
        "",
        "`recovered`: share of true rules of which some fitted rule of the same side covers the same rows with a Jaccard "
        f"similarity above {RECOVERED}; `within reach`: share of which some candidate does, fitted or not. `false rules per "
        "fit`: a fitted rule is false when its precision on the fresh rows does not exceed its side's base rate there by at "
        f"least {MARGIN} (so would {weak} of the {num_true} true rules be, where rules of the other side cover many of "
        "their rows). `unrelated`: share of fitted rules with no true rule of their side of similarity above "
        f"{RELATED}. `error`: of `predict` on the fresh rows; beside it that of saying positive where only true positive "
        "rules fire. `claimed - fresh`: rate of being right that consensus claims, minus that on the fresh rows, mean over "
        "fits with any consensus.",
        "",
        *(["Of noise tables, with any rule: " + noise_line(noise), ""] if noise else []),
    ]
    for name, heading in (
        ("num_rows", "rows"),
        ("rules_per_side", "rules per side"),
        ("precision", "precision"),
    ):
        body = [row for value, found in groups[name].items() for row in summary_rows(value, found)]
        lines += [f"## By {heading}", "", *table([heading, *header], body), ""]
    lines += ["## All", "", *table(["", *header], summary_rows("all", total))]
    noise_shares = {s: noise["total"][s]["share_with_rules"] for s in SETTINGS} if noise else None
    record = {"total": total, "by": groups, "noise_share_with_rules": noise_shares, "fits": rows}
    return study.save(record, "Planted rules: what is found, what is false", lines, draw(fits, noise))


def noise_line(noise: dict) -> str:
    total = noise["total"]
    parts = [f"{setting} {total[setting]['fits_with_rules']} of {total['tables']}" for setting in SETTINGS]
    return "; ".join(parts) + " ([noise](noise.md))."


if __name__ == "__main__":
    main()
