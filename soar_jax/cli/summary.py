"""The result of a fit as plain data: what ``soar fit --json`` prints, from counts of rows in each case alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def summary_of(model: Any, training: pd.Series, holdout: pd.Series | None = None) -> dict[str, Any]:
    """Say what a fit found, and how it does on the rows learned from and on those held out, by their taxonomies."""
    from soar_jax.cli.show import rule_records

    return {
        "classes": [str(c) for c in model.classes_],
        "positive_class": str(model._label(0)),
        "positive_rules": [str(rule) for rule in model.positive_rules_],
        "negative_rules": [str(rule) for rule in model.negative_rules_],
        "rules": rule_records(model),
        "score": model.score_,
        "gain": model.gain_,
        "power": model.power_,
        "conclusion": model.conclude(),
        "is_local_optimum": model.is_local_optimum_,
        "certificate": str(model.certificate_),
        "training": _part(model, training),
        "holdout": None if holdout is None else _part(model, holdout),
    }


def _part(model: Any, taxonomy: pd.Series) -> dict[str, Any]:
    from soar_jax.cli.answers import answers_of
    from soar_jax.states import counts_from_taxonomy

    cases = {name: int(count) for name, count in taxonomy.items()}
    rows = sum(cases.values())
    answers = answers_of(model, *counts_from_taxonomy(taxonomy)).to_dict()
    return {
        "rows": rows,
        "taxonomy": cases,
        "misclassified": (cases["CFP"] + cases["CFN"]) / rows,
        "ambiguous": sum(cases[name] for name in ("AAP", "AAN", "PAP", "PAN")) / rows,
        "error_of_predict": 1 - answers["right_if_all_labelled"] / rows,
        "answers": answers,
    }
