"""SOAR's pair beside rule learners, a small tree, a forest and boosting: error, log loss, rules and seconds.

Run: pip install imodels six wittgenstein interpret-core gmpy2 numba; pip install --no-deps rulelist (it asks for an old SciPy); then
python -m experiments.rule_learners [--quick] [--averaged] [--limit SECONDS] [--tables ...] [--learners ...]
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments.defaults_study import SEEDS, load
from experiments.options import study_with_options
from experiments.rivals import LEARNERS, Answer, Failed, Learner, installed, limited, soar_averaged
from experiments.study import Study, table
from experiments.tables import LOADERS, available

OURS = "SOAR"
AVERAGED = "SOAR, averaged"
NAMES = tuple(name for name in LEARNERS if name != "SOAR, annealing")
LEAST = 1e-6
FIGURES = ("error", "log_loss", "rules", "seconds", "refit_seconds")
OPTIONS = {
    "--limit": {"type": float, "default": 600.0, "metavar": "SECONDS", "help": "for one fit and its answers"},
    "--averaged": {"action": "store_true", "help": "also average SOAR over draws of the posterior"},
    "--budget": {"type": float, "default": 60.0, "metavar": "SECONDS", "help": "for those draws"},
    "--tables": {"nargs": "+", "choices": tuple(LOADERS), "metavar": "NAME", "help": "some of the tables"},
    "--keep": {"action": "store_true", "help": "take the figures of the others from the last results"},
    "--learners": {"nargs": "+", "choices": NAMES, "metavar": "NAME", "help": f"some of: {'; '.join(NAMES)}"},
}


def split(name: str, seed: int) -> list:
    """The splits of the study of the defaults."""
    X, y = load(name, seed)
    return train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)


def figures(answer: Answer, y: np.ndarray) -> dict:
    of_label = np.where(y == 1, answer.probability, 1 - answer.probability)
    return {
        "error": float((answer.predicted != y).mean()),
        "log_loss": float(-np.log(np.clip(of_label, LEAST, 1 - LEAST)).mean()),
        "rules": sum(answer.rules) if answer.rules else None,
        "rules_by_side": list(answer.rules),
        "seconds": answer.seconds,
        "refit_seconds": answer.refit_seconds,
        "is_trusted": answer.is_trusted,
    }


def fits_of(study: Study, name: str, learners: dict[str, Learner], seeds: tuple[int, ...], limit: float) -> list[dict]:
    """Figures of every learner on every split of one table; one that failed on a split does not try the next."""
    rows = []
    failed: dict[str, str] = {}
    for seed in seeds:
        X, X_out, y, y_out = split(name, seed)
        for label, learner in learners.items():
            try:
                if label in failed:
                    raise Failed(failed[label])
                found = figures(limited(learner.answer, (X, y, X_out, seed), limit), y_out)
            except Failed as failure:
                failed[label] = str(failure)
                found = {"failure": failed[label]}
            rows.append({"table": name, "seed": seed, "learner": label, **found})
            told = found.get("failure") or f"error {found['error']:.4f}, log loss {found['log_loss']:.4f}"
            study.say(f"{name}, split {seed}: {label}: {told}")
    return rows


def kept_rows(path: Path, learners: dict[str, Learner], names: list[str]) -> tuple[list[dict], list[str]]:
    """Fits of the last run by learners that are not run again, and the packages that it named."""
    last = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in last["fits"] if row["learner"] not in learners and row["table"] in names]
    return rows, last["packages"]


def in_order(rows: list[dict], names: list[str]) -> list[dict]:
    """Sort by table, split and learner, as one run would have them."""
    learners = [*NAMES, AVERAGED]
    return sorted(rows, key=lambda row: (names.index(row["table"]), row["seed"], learners.index(row["learner"])))


def by_table(fits: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Mean over the splits of each table (down) and learner (across); nothing where a split failed."""
    mean = lambda values: values.astype(float).mean(skipna=False)
    found = fits.pivot_table(figure, "table", "learner", aggfunc=mean, sort=False, dropna=False)
    return found.reindex(index=fits["table"].unique(), columns=fits["learner"].unique())


def summary(fits: pd.DataFrame) -> dict:
    """Means of each learner over the tables that it answered, SOAR's over the same, and all over the common ones."""
    parts = {key: by_table(fits, key) for key in FIGURES}
    error, loss = parts["error"], parts["log_loss"]
    never = [name for name in error.columns if error[name].isna().all()]
    common = error.drop(columns=never).dropna().index
    found = {}
    for name in error.columns:
        mine = error.index[error[name].notna()]
        means = {
            **{key: part.loc[mine, name].mean() for key, part in parts.items()},
            "error_of_ours": error.loc[mine, OURS].mean() if OURS in error else None,
            "log_loss_of_ours": loss.loc[mine, OURS].mean() if OURS in loss else None,
            "seconds_median": parts["seconds"].loc[mine, name].median(),
            "error_common": error.loc[common, name].mean(),
            "log_loss_common": loss.loc[common, name].mean(),
        }
        found[name] = {"tables": len(mine), **{key: None if pd.isna(v) else float(v) for key, v in means.items()}}
    return {"learners": found, "common": list(common), "never": never}


COLUMNS = {
    "error": 4,
    "error_of_ours": 4,
    "log_loss": 4,
    "log_loss_of_ours": 4,
    "rules": 1,
    "seconds": 1,
    "seconds_median": 1,
    "error_common": 4,
    "log_loss_common": 4,
}


def shown(value: float | None, digits: int = 4) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def matrix(fits: pd.DataFrame, figure: str, digits: int = 4) -> list[str]:
    found = by_table(fits, figure)
    return table(
        ["table", *found.columns],
        [[name, *(shown(value, digits) for value in values)] for name, values in found.iterrows()],
    )


def sides(rows: list[dict]) -> list[str]:
    """Rules of SOAR's two sides, and the seconds of fitting again."""
    mine = pd.DataFrame([row for row in rows if row["learner"] == OURS and "failure" not in row])
    if mine.empty:
        return []
    mine = mine.assign(plus=mine["rules_by_side"].str[0], minus=mine["rules_by_side"].str[1])
    means = mine.groupby("table", sort=False)[["plus", "minus", "seconds", "refit_seconds"]].mean()
    body = [
        [n, f"{r.plus:.1f} + {r.minus:.1f}", f"{r.seconds:.1f}", f"{r.refit_seconds:.1f}"] for n, r in means.iterrows()
    ]
    return ["## SOAR's two sides", "", *table(["table", "rules", "seconds", "refit"], body), ""]


def trust_line(rows: list[dict]) -> list[str]:
    runs = [row for row in rows if row.get("is_trusted") is not None]
    return (
        [f"Draws that passed their diagnosis: {sum(r['is_trusted'] for r in runs)} of {len(runs)}.", ""] if runs else []
    )


def page(
    rows: list[dict], fits: pd.DataFrame, found: dict, packages: list[str], seeds: tuple[int, ...], limit: float
) -> list[str]:
    failures = {(row["table"], row["learner"]): row["failure"] for row in rows if "failure" in row}
    lines = [
        f"70/30 stratified splits, seeds {list(seeds)}, as in [the study of the defaults](defaults_study.md); every learner at its "
        f"defaults, each fit in a fresh process with {limit:.0f} s for it and its answers. Log loss is of `predict_proba` clipped at "
        f"{LEAST:g}: SOAR's rates of the four states, RIPPER's smoothed frequencies of the rules that fire, CLASSY's of the rule that "
        "fires (Jeffreys), RuleFit's of the logistic model it fits, labels too (`predict_proba` of imodels puts its score f into "
        "softmax(1 - f, f)), FIGS's the package's softmax, a leaf's share in a tree, their mean in a forest. *Rules*: of both sides of SOAR; terms that are not zero of RuleFit, columns "
        "included; splits of FIGS; leaves of the tree. Seconds are of the fit alone, for SOAR with compilation.",
        "",
        *packages,
        "",
        *trust_line(rows),
        "## Means over tables",
        "",
        f"Over the tables that a learner answered on all splits, SOAR's over the same; and over the {len(found['common'])} tables that all "
        "answered" + (f" (but {', '.join(found['never'])}, which answered none)" if found["never"] else "") + ".",
        "",
        *table(
            ["learner", "tables", "error", "SOAR's", "log loss", "SOAR's", "rules", "seconds, mean", "median", "error, common", "log loss, common"],
            [
                [name, f["tables"], *(shown(f[key], digits) for key, digits in COLUMNS.items())]
                for name, f in found["learners"].items()
            ],
        ),
        "",
    ]  # fmt: skip
    for title, key, digits in (
        ("Error", "error", 4),
        ("Log loss", "log_loss", 4),
        ("Rules", "rules", 1),
        ("Seconds", "seconds", 1),
    ):
        lines += [f"## {title}", "", *matrix(fits, key, digits), ""]
    lines += sides(rows)
    if failures:
        body = [[name, learner, text] for (name, learner), text in failures.items()]
        lines += ["## Failures", "", *table(["table", "learner", "what happened"], body), ""]
    return lines[:-1]


def main(argv=None) -> dict:
    study, options = study_with_options("rule_learners", __doc__, argv, OPTIONS)
    names = options.tables or (["sklearn iris"] if study.quick else available())
    seeds = SEEDS[:1] if study.quick else SEEDS
    limit, budget = (min(options.limit, 40.0), 2.0) if study.quick else (options.limit, options.budget)
    learners, packages = installed({name: LEARNERS[name] for name in options.learners or NAMES})
    if options.averaged:
        learners[AVERAGED] = Learner(partial(soar_averaged, budget=budget), "soar-jax", "soar_jax")
    rows: list[dict] = []
    if options.keep:
        rows, packages = kept_rows(study.folder / "rule_learners.json", learners, names)
    kept = sorted({row["learner"] for row in rows})
    record: dict = {}
    for name in names:  # a long run: what there is so far is written after every table
        rows = in_order(rows + fits_of(study, name, learners, seeds, limit), names)
        if options.keep and name != names[-1]:
            continue
        fits = pd.DataFrame(rows).reindex(columns=["table", "seed", "learner", *FIGURES])
        found = summary(fits)
        lines = page(rows, fits, found, packages, seeds, limit)
        if kept:
            said = "are those of the run before, on the same splits, versions and kind of machine"
            lines = [f"Figures of {', '.join(kept)} {said}; the others were run again.", "", *lines]
        record = study.save(
            {**found, "limit": limit, "packages": packages, "fits": rows}, "Beside rule learners", lines
        )
    return record


if __name__ == "__main__":
    main()
