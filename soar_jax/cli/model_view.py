"""A model on the screen: its rules with what they cover and how often they are right, and what its states do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soar_jax._base import IntArray
from soar_jax.cli.screen import heading, label_of, paragraph, percent, table
from soar_jax.cli.wording import as_options
from soar_jax.score.intervals import interval
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE, STATES, hits_and_misses

if TYPE_CHECKING:
    import pandas as pd

_CASES = (("CTP", "CFP"), ("CFN", "CTN"), ("AAP", "AAN"), ("PAP", "PAN"))
LEGEND = (
    "In a code the first letter is the state: C consensus (one rule set fires), A active (both fire), P passive (none "
    "does). CTP and CFP: it says the positive class, truly or falsely; CTN and CFN: the negative. In AAP, AAN, PAP, "
    "PAN the last letter is the row's true class."
)


def rules_view(model: Any) -> list[Any]:
    """Show both rule sets, each as a table."""
    import pandas as pd

    rules = model.rules_
    is_fresh = "fresh_precision" in rules
    num_rows = int(model.training_taxonomy_.sum())
    parts: list[Any] = []
    for side, letter in enumerate("P" if model._single else "PN"):
        mine = rules[rules["side"] == STATES[side]]
        parts.append(heading(f"Rules for {label_of(model, side)}: any of these"))
        if not len(mine):
            parts.append(paragraph("(none)"))
            continue
        rows = []
        for i, rule in enumerate(mine.to_dict(orient="records")):
            if not is_fresh:
                right = percent(rule["precision"])
            elif pd.isna(rule["fresh_precision"]):
                right = "no row met it"
            else:
                ends = f"{percent(rule['fresh_low'], '')} to {percent(rule['fresh_high'], '')}"
                right = f"{percent(rule['fresh_precision'])} ({ends})"
            rows.append((f"{letter}{i + 1}", str(rule["rule"]), percent(rule["support"] / max(num_rows, 1)), right))
        last = "right, held out" if is_fresh else "right"
        parts.append(table([("id", "left"), ("rule", "wrap"), ("covers", "right"), (last, "left")], rows))
    if len(rules):
        parts.append(paragraph(_rules_legend(is_fresh), style="dim"))
    return parts


def _rules_legend(is_fresh: bool) -> str:
    where = "on rows held out, with a 90% interval" if is_fresh else "on those rows"
    return (
        "covers: share of the rows learned from on which the rule fires. right: how often its class is true where it "
        f"fires, {where}. Where rules of the other class fire too the model gives no answer, so its answers can be "
        "right more often than a rule."
    )


def states_view(model: Any, positives: IntArray, negatives: IntArray, is_fresh: bool) -> list[Any]:
    """Show how many rows of each class every state has, with the eight cases by name."""
    names = [label_of(model, side, 16) for side in (0, 1)]
    says = {
        POSITIVE: names[0],
        NEGATIVE: names[1],
        ACTIVE: "both: they clash",
        PASSIVE: names[1] if model._single else "nothing: silent",
    }
    total = max(int((positives + negatives).sum()), 1)
    rows = []
    for state in (POSITIVE, PASSIVE) if model._single else (POSITIVE, NEGATIVE, ACTIVE, PASSIVE):
        counts = int(positives[state]), int(negatives[state])
        right = "no answer"
        if state in (POSITIVE, NEGATIVE) or model._single:
            right = _rate(counts[0 if state == POSITIVE else 1], sum(counts), is_fresh)
        cells = [f"{count:,} {case}" for count, case in zip(counts, _CASES[state], strict=True)]
        rows.append((STATES[state], says[state], f"{sum(counts):,}", percent(sum(counts) / total), *cells, right))
    columns = [
        ("state", "left"),
        ("rules say", "wrap"),
        ("rows", "right"),
        ("share", "right"),
        (f"truly {names[0]}", "right"),
        (f"truly {names[1]}", "right"),
        ("right", "left"),
    ]
    return [table(columns, rows), paragraph(LEGEND, style="dim")]


def trust_text(conclusion: str, certificate: str, score: float) -> str:
    """Say what the search found and how far it went, each once: of a search that was stopped the first says both."""
    said = conclusion if certificate in conclusion else f"{conclusion} {certificate}"
    return f"{as_options(said, ('--time-budget',))} (score {score:.3f})"


def _rate(hits: int, rows: int, is_fresh: bool) -> str:
    if not rows:
        return "no row"
    if not is_fresh:
        return percent(hits / rows)
    low, high = interval(hits, rows)
    return f"{percent(hits / rows)} ({percent(float(low), '')} to {percent(float(high), '')})"


def counts_of_fresh_states(states: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Give rows of each class in each state, from the rates that a model keeps of rows held out."""
    rows = states["rows"].to_numpy(dtype=np.float64)
    hits = np.rint(np.nan_to_num(states["fresh"].to_numpy(dtype=np.float64)) * rows).astype(np.int64)
    # what a state speaks for, back to positive and negative: the exchange is its own inverse
    return hits_and_misses(hits, rows.astype(np.int64) - hits)
