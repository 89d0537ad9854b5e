"""The JSON Schema of model files, as it is shipped with the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def model_schema() -> dict[str, Any]:
    """Give the JSON Schema (draft 2020-12) of what ``save`` and ``to_json`` write."""
    schema: dict[str, Any] = json.loads(files("soar_jax.export").joinpath("model.schema.json").read_text("utf-8"))
    return schema
