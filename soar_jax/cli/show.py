"""``soar show``: print a saved model or committee."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from soar_jax._names import short_name
from soar_jax.cli.files import load_model, stage
from soar_jax.cli.parsers import add_json, new_command
from soar_jax.cli.wording import as_options


def add_parser(commands: Any) -> None:
    """Describe the command."""
    show = new_command(
        commands,
        "show",
        "print a saved model: rules, states, certificate, priors, edits, columns",
        "soar show model.json\nsoar show model.json --json > model-as-data.json",
    )
    show.add_argument_group("data").add_argument(
        "model", metavar="MODEL.json", help="a model saved by soar fit or soar edit, or a committee of soar sample"
    )
    add_json(show.add_argument_group("output"))
    show.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the model."""
    with stage(args, f"Reading {short_name(args.model)}"):
        model = load_model(args.model)
    is_committee = not hasattr(model, "positive_rules_")
    if args.json:
        content = _committee_content(model) if is_committee else content_of(model)
        print(json.dumps({**content, **_of_file(args.model)}, ensure_ascii=False, allow_nan=False))
    else:
        from soar_jax.cli.show_view import show_committee, show_model

        if is_committee:
            show_committee(model, args.model, _of_file(args.model), _verdict(model, args))
        else:
            show_model(model, args.model, _of_file(args.model))
    return 0


def _verdict(committee: Any, args: argparse.Namespace) -> str:
    """Give the verdict on the draws, with advice for the command that would draw more."""
    options = args.parsers["sample"]._option_string_actions
    return as_options(committee.verdict, options, time_budget="--sampling-budget")


def _of_file(path: str) -> dict[str, Any]:
    """Say which version wrote a model file, and in which format."""
    raw = json.loads(Path(path).read_text(encoding="utf-8"))
    return {"soar_jax_version": raw.get("soar_jax_version"), "format_version": raw.get("format_version")}


def rule_records(model: Any) -> list[dict[str, Any]]:
    """Give the rules with their figures as plain data, by the ids that every report uses."""
    from soar_jax.rules import rule_ids

    ids = rule_ids((model.positive_rules_, model.negative_rules_))
    rows = model.rules_.drop(columns="aliases").to_dict(orient="records")
    return [
        {"id": name, **{key: _plain_figure(key, value) for key, value in row.items()}}
        for name, row in zip(ids, rows, strict=True)
    ]


def _plain_figure(name: str, value: Any) -> Any:
    if name == "class":
        return str(value)
    if name == "literals":
        return [list(literal) for literal in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def content_of(model: Any) -> dict[str, Any]:
    """Give everything that ``soar show`` prints of an estimator as plain data."""
    import numpy as np

    states = getattr(model, "fresh_states_", None)
    certificate = getattr(model, "certificate_", None)
    contract = getattr(model, "columns_", None)
    return {
        "kind": type(model).__name__,
        "classes": [str(c) for c in model.classes_],
        "positive_class": str(model._label(0)),
        "rules": rule_records(model),
        "conclusion": model.conclude(),
        "score": model.score_,
        "gain": None if np.isnan(model.gain_) else model.gain_,
        "power": model.power_,
        "certificate": None if certificate is None else str(certificate),
        "training_taxonomy": {name: int(count) for name, count in model.training_taxonomy_.items()},
        "held_out_states": None if states is None else json.loads(states.to_json(orient="index")),
        "state_probabilities": dict(zip(_states(), model.state_probabilities().tolist(), strict=True)),
        "priors": json.loads(json.dumps(model.priors_, default=_plain)),
        "edits": [dict(entry) for entry in model._edits],
        "columns": list(model._column_names),
        "columns_read": list(model.features_used_),
        "column_contract": None if contract is None else json.loads(contract.to_json(orient="records")),
    }


def _committee_content(model: Any) -> dict[str, Any]:
    rules = model.rules_
    return {
        "kind": "Committee",
        "classes": [str(c) for c in model.classes_],
        "positive_class": str(model.classes_[model.positive_index]),
        "pairs": len(model.weights),
        "verdict": model.verdict,
        "is_trusted": model.is_trusted,
        "rules": json.loads(rules.assign(**{"class": rules["class"].map(str)}).to_json(orient="records")),
        "columns": list(model.columns),
        "columns_read": list(model.features_used_),
    }


def _states() -> tuple[str, ...]:
    from soar_jax.states import STATES

    return STATES


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
