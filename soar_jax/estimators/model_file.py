"""Model files: versioned JSON, never pickle, so that reading one cannot run code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from soar_jax import __version__
from soar_jax._base import InputError
from soar_jax._files import write_text_atomically
from soar_jax.score.priors import Bound, Hyperparameters, Opinion
from soar_jax.score.rule_priors import RulePriors
from soar_jax.search.certificate import Certificate
from soar_jax.states import TAXONOMY

FORMAT = "soar-jax model"
FORMAT_VERSION = 2
_VALUE_OBJECTS: dict[str, Any] = {kind.__name__: kind for kind in (Opinion, *get_args(Bound), *get_args(RulePriors))}
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
            return {k: _decode(v) for k, v in value["items"]}
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items() if k != "type"}
        return _VALUE_OBJECTS[value["type"]](**fields)
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    return value


def model_to_dict(model: Any) -> dict[str, Any]:
    """Everything that prediction and printing need, as plain data."""
    hyper = model._hyper
    rules = [_without_nan(rule) for rule in model.rules_.drop(columns=["class"]).to_dict(orient="records")]
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "soar_jax_version": __version__,
        "estimator": type(model).__name__,
        "parameters": {name: _encode(value) for name, value in model.get_params(deep=False).items()},
        "classes": model.classes_.tolist(),
        "positive_index": model._positive_index,
        "num_features": model.n_features_in_,
        "has_feature_names": hasattr(model, "feature_names_in_"),
        "columns": model._column_names,
        "rules": [{k: v.item() if isinstance(v, np.generic) else v for k, v in rule.items()} for rule in rules],
        "training_taxonomy": {name: int(model.training_taxonomy_[name]) for name in TAXONOMY},
        "hyperparameters": {name: np.asarray(value).tolist() for name, value in hyper._asdict().items()},
        "score": model.score_,
        "gain": None if np.isnan(model.gain_) else model.gain_,
        "fresh_states": None if not hasattr(model, "fresh_states_") else _plain_frame(model.fresh_states_),
        "is_local_optimum": model.is_local_optimum_,
        "certificate": asdict(model.certificate_) if hasattr(model, "certificate_") else None,
        "restart_scores": model.restart_scores_.tolist(),
        "edits": list(model._edits),
    }


def _without_nan(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not measured; JSON has no NaN."""
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in record.items()}


def _plain_frame(frame: pd.DataFrame) -> dict[str, Any]:
    return {str(name): _without_nan(row) for name, row in frame.astype(float).to_dict(orient="index").items()}


def model_from_dict(content: Any, kinds: Mapping[str, type]) -> Any:
    """Rebuild a fitted estimator of one of ``kinds``, by name."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError("This is not a soar-jax model file.")
    found = content.get("format_version")
    if not isinstance(found, int) or found > FORMAT_VERSION:
        raise InputError(
            f"The model file has format version {found}, this package reads up to {FORMAT_VERSION}; "
            f"install soar-jax {content.get('soar_jax_version', '(newer)')} or later."
        )
    if isinstance(content.get("estimator"), str) and content["estimator"] not in kinds:
        raise InputError(f"The model file holds a {content['estimator']}, not a {' or '.join(kinds)}.")
    try:
        parameters = {name: _decode(value) for name, value in content["parameters"].items()}
        model = kinds[content["estimator"]](**parameters)
        model.classes_ = np.array(content["classes"])
        model._positive_index = int(content["positive_index"])
        model.n_features_in_ = int(content["num_features"])
        model._column_names = [str(name) for name in content["columns"]]
        if content["has_feature_names"]:
            model.feature_names_in_ = np.array(content["columns"], dtype=object)
        model.training_taxonomy_ = pd.Series(content["training_taxonomy"], name="rows").reindex(TAXONOMY)
        model._hyper = _hyperparameters(content["hyperparameters"], found)
        model.priors_ = model._hyper.as_dict()
        model.score_ = float(content["score"])
        gain = content["gain"] if found > 1 else None  # version 1 did not keep it
        model.gain_ = float("nan") if gain is None else float(gain)
        if content.get("fresh_states") is not None:
            model.fresh_states_ = pd.DataFrame(content["fresh_states"]).T.rename_axis(None)
        model.is_local_optimum_ = bool(content["is_local_optimum"])
        if content.get("certificate") is not None:
            model.certificate_ = Certificate(**content["certificate"])
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
        rules["aliases"] = [tuple(a) for a in rules["aliases"]]
        rules.insert(0, "class", [model._label(0 if side == "positive" else 1) for side in rules["side"]])
        model._set_rules(rules)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"The model file is damaged: {type(error).__name__}: {error}") from error
    return model


def _hyperparameters(content: Mapping[str, Any], version: int) -> Hyperparameters:
    """Read the priors; files of version 1 had no bounds, and counted the candidates by length."""
    fields = {name: np.array(value) for name, value in content.items()}
    if version == 1:
        longest = fields["pool_size"].shape[1]
        by_length = np.repeat(np.arange(-1, longest)[:, None], longest + 1, axis=1)
        fields |= {"low": np.zeros(4), "high": np.ones(4), "kind": np.stack([by_length, by_length])}
        fields["searched"] = fields["pool_size"].astype(np.float64)
    return Hyperparameters(**fields)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator as JSON."""
    write_text_atomically(path, json.dumps(model_to_dict(model), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_model(path: str | os.PathLike[str], kinds: Mapping[str, type]) -> Any:
    """Read a fitted estimator of one of ``kinds``, by name, from JSON."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(path)} is not a soar-jax model file: {error}") from None
    return model_from_dict(content, kinds)


def _refuse_constant(text: str) -> float:
    raise InputError(f"The model file is damaged: {text} is not JSON.")
