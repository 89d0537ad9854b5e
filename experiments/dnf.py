"""Formulas without noise: can a learner get back a random DNF, or a multiplexer, among columns that do not matter?

Run: pip install what you want of wittgenstein and rulelist, then python -m experiments.dnf [--quick] [--limit SECONDS]
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.logic_tables import LogicTable, multiplexer, random_dnf
from experiments.options import study_with_options
from experiments.rivals import LEARNERS, Answer, Failed, Learner, installed, limited
from experiments.study import Study, table

FIRST_SEED = 50_000
NUM_DNF = 12
MULTIPLEXERS = ((2, 24, 1000), (2, 44, 2000), (3, 19, 3000), (3, 29, 5000))
NAMES = ("SOAR", "SOAR, annealing", "RIPPER", "CLASSY", "tree of 16 leaves")
FIT_SEED = 0
OPTIONS = {
    "--limit": {"type": float, "default": 300.0, "metavar": "SECONDS", "help": "for one fit and its answers"},
    "--learners": {"nargs": "+", "choices": NAMES, "metavar": "NAME", "help": f"some of: {'; '.join(NAMES)}"},
}
FIGURES = ("error", "consensus_wrong", "error_in_consensus", "ambiguous", "rules", "seconds", "refit_seconds")


def tables(*, quick: bool) -> list[LogicTable]:
    """Made tables: the first of each kind for a smoke run."""
    if quick:
        return [random_dnf(FIRST_SEED, rows=(1000,), columns=(30, 30)), multiplexer(FIRST_SEED + 100, *MULTIPLEXERS[0])]
    return [random_dnf(FIRST_SEED + i) for i in range(NUM_DNF)] + [
        multiplexer(FIRST_SEED + 100 + i, *shape) for i, shape in enumerate(MULTIPLEXERS)
    ]


def figures(answer: Answer, y: np.ndarray) -> dict:
    """Error of the labels and, for a learner with states, of those rows that get a consensus."""
    found = {
        "error": float((answer.predicted != y).mean()),
        "rules": sum(answer.rules),
        "rules_by_side": list(answer.rules),
        "seconds": answer.seconds,
        "refit_seconds": answer.refit_seconds,
    }
    if answer.states is not None:
        is_decided = np.isin(answer.states, ["positive", "negative"])
        is_wrong = is_decided & ((answer.states == "positive") != (y == 1))
        found["consensus_wrong"] = float(is_wrong.mean())
        found["error_in_consensus"] = float(is_wrong[is_decided].mean()) if is_decided.any() else None
        found["ambiguous"] = float(1 - is_decided.mean())
    return found


def fits_of(study: Study, logic: LogicTable, learners: dict[str, Learner], limit: float) -> list[dict]:
    """Figures of every learner on one table."""
    rows = []
    for name, learner in learners.items():
        try:
            answer = limited(learner.answer, (logic.X, logic.y, logic.fresh_X, FIT_SEED), limit)
            found = figures(answer, logic.fresh_y)
        except Failed as failure:
            found = {"failure": str(failure)}
        rows.append({"table": logic.name, "kind": logic.kind, "learner": name, **found})
        study.say(
            f"{logic.name}: {name}: " + (found.get("failure") or f"error {found['error']:.4f}, {found['rules']} rules")
        )
    return rows


def cells(row: dict) -> list:
    """Figures as they are printed, with nothing where a learner has none."""
    values = [row.get(name) for name in FIGURES]
    shown = ["" if value is None or np.isnan(value) else f"{value:.4f}" for value in values[:4]]
    shown += ["" if value is None or np.isnan(value) else f"{value:.1f}" for value in values[4:]]
    return shown


def means(fits: pd.DataFrame) -> dict[str, dict]:
    """Mean figures of each learner over the tables that it answered."""
    found = {}
    for name, mine in fits.groupby("learner", sort=False):
        answered = mine[mine["error"].notna()]
        found[name] = {"tables": len(answered), "of": len(mine)}
        if len(answered):
            mean = answered[list(FIGURES)].astype(float).mean()
            found[name] |= {key: float(value) for key, value in mean.items() if not np.isnan(value)}
            found[name]["exact"] = int((answered["error"] == 0).sum())
    return found


def mean_lines(title: str, found: dict[str, dict]) -> list[str]:
    header = ["learner", "tables", "without error", "error", "consensus and wrong", "error in consensus", "ambiguous"]
    return [
        f"## {title}",
        "",
        *table(
            [*header, "rules", "seconds", "refit"],
            [[name, f"{f['tables']} of {f['of']}", f.get("exact", ""), *cells(f)] for name, f in found.items()],
        ),
        "",
    ]


def page(made: list[LogicTable], rows: list[dict], fits: pd.DataFrame, packages: list[str], limit: float) -> list[str]:
    lines = [
        f"{sum(t.kind == 'DNF' for t in made)} random DNFs of 5 to 12 terms of 2 to 5 literals over 30 to 60 fair 0/1 columns "
        f"(the number after DNF is the table's seed), and multiplexers with as many noise columns as follow the plus sign (seeds from "
        f"{FIRST_SEED + 100:,}). Labels are the formula's, without noise; 0.2 to 0.8 of them positive. Errors are on 5,000 fresh "
        f"rows. Every learner at its defaults with seed {FIT_SEED}, each fit in a fresh process with {limit:.0f} s for it and its "
        "answers. *Consensus and wrong*: share of all rows; *error in consensus*: share of the rows with a consensus. Seconds are of "
        "the fit, for SOAR with compilation; *refit* is the same fit again. Rules of SOAR are of both sides, of a tree its leaves.",
        "",
        *packages,
        "",
        *mean_lines("All tables, means", means(fits)),
    ]
    for kind in fits["kind"].unique():
        lines += mean_lines(f"{kind}s, means", means(fits[fits["kind"] == kind]))
    for logic in made:
        mine = [row for row in rows if row["table"] == logic.name]
        lines += [
            f"## {logic.name}",
            "",
            f"{len(logic.X):,} rows, {logic.X.shape[1]} columns, {len(logic.terms)} terms, {logic.y.mean():.2f} positive.",
            "",
            *table(
                ["learner", "error", "consensus and wrong", "error in consensus", "ambiguous", "rules", "seconds", "refit"],
                [[r["learner"], *([r["failure"], *[""] * 6] if "failure" in r else cells(r))] for r in mine],
            ),
            "",
        ]  # fmt: skip
    return lines[:-1]


def main(argv=None) -> dict:
    study, options = study_with_options("dnf", __doc__, argv, OPTIONS)
    limit = min(options.limit, 30.0) if study.quick else options.limit
    learners, packages = installed({name: LEARNERS[name] for name in options.learners or NAMES})
    made: list[LogicTable] = []
    rows: list[dict] = []
    record: dict = {}
    for logic in tables(quick=study.quick):  # a long run: what there is so far is written after every table
        made.append(logic)
        rows += fits_of(study, logic, learners, limit)
        fits = pd.DataFrame(rows).reindex(columns=["table", "kind", "learner", *FIGURES])
        found = {"means": means(fits), "limit": limit, "packages": packages, "tables": [t.about() for t in made]}
        lines = page(made, rows, fits, packages, limit)
        record = study.save({**found, "fits": rows}, "Formulas without noise", lines)
    return record


if __name__ == "__main__":
    main()
