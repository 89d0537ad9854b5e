"""Model files: versioned JSON, never pickle, so that reading one cannot run code."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

import numpy as np
import pandas as pd

from soar_jax import __version__
from soar_jax._base import EditedModelWarning, InputError
from soar_jax._files import write_text_atomically
from soar_jax._json import SEAL, checksum, read_json, read_text, sealed
from soar_jax._names import short_name
from soar_jax.data.contract import Contract
from soar_jax.data.literals import Literal
from soar_jax.estimators.model_check import FORMAT_VERSION, check_content, names_positive
from soar_jax.rules import Rule
from soar_jax.score.priors import Bound, Hyperparameters, Opinion, StatePriors
from soar_jax.score.rule_priors import RulePriors
from soar_jax.search.certificate import Certificate
from soar_jax.states import TAXONOMY

FORMAT = "soar-jax model"
_VALUE_OBJECTS: dict[str, Any] = {
    kind.__name__: kind for kind in (Opinion, Literal, Rule, *get_args(Bound), *get_args(RulePriors))
}
_MAPPING = "mapping"
_SCALARS = (str, int, float, bool, type(None))


def _encode(value: Any) -> Any:
    """Turn a parameter into JSON; what JSON cannot hold (a RandomState) is not kept."""
    if type(value).__name__ in _VALUE_OBJECTS:
        return {"type": type(value).__name__, **{name: _encode(v) for name, v in vars(value).items()}}
    if isinstance(value, Mapping):  # keys may be labels, which need not be text
        return {"type": _MAPPING, "items": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if isinstance(value, tuple | list | np.ndarray):
        return [_encode(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, _SCALARS) else None


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if value["type"] == _MAPPING:
            return {_decode(k): _decode(v) for k, v in value["items"]}
        return _VALUE_OBJECTS[value["type"]](**{k: _decode(v) for k, v in value.items() if k != "type"})
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    return value


def _lists(numbers: Any) -> dict[str, Any]:
    """Turn a tuple of arrays into plain lists under their names."""
    return {name: np.asarray(value).tolist() for name, value in numbers._asdict().items()}


def _arrays(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.array(value) for name, value in numbers.items()}


def model_to_dict(model: Any) -> dict[str, Any]:
    """Everything that prediction and printing need, as plain data."""
    if not names_positive(model.classes_.tolist(), model._positive_index, model.positive):
        raise InputError(
            "positive was set to another class after the fit, and a file would contradict itself; fit again, or set it "
            "back."
        )
    hyper = model._hyper
    rules = [_without_nan(rule) for rule in model.rules_.drop(columns=["class"]).to_dict(orient="records")]
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "soar_jax_version": __version__,
        "estimator": type(model).__name__,
        "parameters": {name: _encode(value) for name, value in model.get_params(deep=False).items()},
        "classes": model.classes_.tolist(),
        "seed": model.seed_,
        "positive_index": model._positive_index,
        "num_features": model.n_features_in_,
        "has_feature_names": model._contract.has_names,
        "columns": model._column_names,
        "contract": model._contract.to_dict(),
        "rules": [{k: v.item() if isinstance(v, np.generic) else v for k, v in rule.items()} for rule in rules],
        "training_taxonomy": {name: int(model.training_taxonomy_[name]) for name in TAXONOMY},
        "hyperparameters": {**_lists(hyper._replace(claimed=None)), "claimed": _lists(hyper.claims)},
        "score": model.score_,
        "gain": None if np.isnan(model.gain_) else model.gain_,
        "fresh_states": None if not hasattr(model, "fresh_states_") else _plain_frame(model.fresh_states_),
        "is_local_optimum": model.is_local_optimum_,
        "certificate": asdict(model.certificate_) if hasattr(model, "certificate_") else None,
        "restart_scores": model.restart_scores_.tolist(),
        "edits": list(model._edits),
    }
    return sealed(content)


def _without_nan(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not measured; JSON has no NaN."""
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in record.items()}


def _plain_frame(frame: pd.DataFrame) -> dict[str, Any]:
    return {str(name): _without_nan(row) for name, row in frame.astype(float).to_dict(orient="index").items()}


def model_from_dict(content: dict[str, Any], kinds: Mapping[str, type]) -> Any:
    """Rebuild a fitted estimator of one of ``kinds``, by name, from content that was checked before."""
    try:
        parameters = {name: _decode(value) for name, value in content["parameters"].items()}
        model = kinds[content["estimator"]](**parameters)
        model.classes_ = np.array(content["classes"])
        model._positive_index = int(content["positive_index"])
        model._draw_seed()
        model.seed_ = int(content.get("seed", model.seed_))
        model.n_features_in_ = int(content["num_features"])
        model._column_names = [str(name) for name in content["columns"]]
        if content["has_feature_names"]:
            model.feature_names_in_ = np.array(content["columns"], dtype=object)
        model.training_taxonomy_ = pd.Series(content["training_taxonomy"], name="rows").reindex(TAXONOMY)
        numbers = dict(content["hyperparameters"])
        claimed = StatePriors(**_arrays(numbers.pop("claimed")))
        model._hyper = Hyperparameters(**_arrays(numbers), claimed=claimed)
        model.priors_ = model._hyper.as_dict()
        model.score_ = float(content["score"])
        model.power_ = float(model._hyper.power)
        model.gain_ = float("nan") if content["gain"] is None else float(content["gain"])
        if content.get("fresh_states") is not None:
            model.fresh_states_ = pd.DataFrame(content["fresh_states"]).T.rename_axis(None)
        model.is_local_optimum_ = bool(content["is_local_optimum"])
        if content.get("certificate") is not None:
            model.certificate_ = _certificate(content["certificate"])
        model.restart_scores_ = np.array(content["restart_scores"])
        model._edits = tuple(dict(entry) for entry in content.get("edits", ()))
        columns = [
            "side",
            "rule",
            "length",
            "support",
            "precision",
            "coverage",
            "unique_coverage",
            "literals",
            "aliases",
        ]
        if any("fresh_precision" in rule for rule in content["rules"]):
            columns += ["fresh_support", "fresh_precision", "fresh_low", "fresh_high"]
        rules = pd.DataFrame(content["rules"], columns=columns)
        rules["literals"] = [tuple(tuple(literal) for literal in literals) for literals in rules["literals"]]
        nothing = {"columns": (), "has_names": content["has_feature_names"], "missing_words": (), "num_rows": 0}
        model._contract = Contract.from_dict(content.get("contract", nothing))
        orders = model._contract.orders
        rules["rule"] = [str(Rule.from_literals(literals, orders)) for literals in rules["literals"]]
        rules["aliases"] = [tuple(a) for a in rules["aliases"]]
        rules.insert(0, "class", [model._label(0 if side == "positive" else 1) for side in rules["side"]])
        model._set_rules(rules)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"The model file is damaged: {type(error).__name__}: {short_name(error, 200)}") from error
    return model


def _certificate(content: Mapping[str, Any]) -> Certificate:
    return Certificate(**{**content, "columns": tuple(content.get("columns", ()))})


def model_text(model: Any) -> str:
    """Write a fitted estimator as JSON."""
    return json.dumps(model_to_dict(model), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def model_from_text(text: str, kinds: Mapping[str, type], source: str) -> Any:
    """Rebuild a fitted estimator of one of ``kinds``, by name, from JSON; ``source`` is named when it is none."""
    content = read_json(text, source, "model file")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{source} is not a soar-jax model file.")
    version = content.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise InputError(
            f"The model file has format version {short_name(version, 20)}, this package reads up to {FORMAT_VERSION}; "
            f"install soar-jax {short_name(content.get('soar_jax_version', '(newer)'), 20)} or later."
        )
    estimator = content.get("estimator")
    if isinstance(estimator, str) and estimator not in kinds:
        raise InputError(f"The model file holds a {short_name(estimator)}, not a {' or '.join(kinds)}.")
    checked = check_content(content)
    model = model_from_dict(checked, kinds)
    if checked[SEAL] != checksum(checked):
        warnings.warn(
            f"{source} was changed since it was saved; its content is of the right form, but nobody vouches for it.",
            EditedModelWarning,
            stacklevel=4,
        )
    return model


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file."""
    write_text_atomically(path, model_text(model))


def load_model(path: str | os.PathLike[str], kinds: Mapping[str, type]) -> Any:
    """Read a fitted estimator of one of ``kinds``, by name, from a file."""
    return model_from_text(read_text(path, "model file"), kinds, os.fspath(path))
