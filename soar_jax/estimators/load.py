"""Read a model file of any kind."""

from __future__ import annotations

import os
from typing import Any

from soar_jax.estimators.boa import BOAClassifier
from soar_jax.estimators.model_file import load_model
from soar_jax.estimators.soar import SOARClassifier
from soar_jax.posterior.committee import Committee
from soar_jax.posterior.committee_file import is_committee


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator, or a committee, whichever it is."""
    if is_committee(path):
        return Committee.load(path)
    return load_model(path, {kind.__name__: kind for kind in (SOARClassifier, BOAClassifier)})
