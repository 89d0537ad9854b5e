"""Models made from rules alone, without a fit."""

import numpy as np

from soar_jax import BOAClassifier, SOARClassifier
from soar_jax.estimators.model_file import FORMAT, FORMAT_VERSION, model_from_dict
from soar_jax.states import TAXONOMY

FLAT = {"alpha": [1.0] * 4, "beta": [1.0] * 4, "low": [0.0] * 4, "high": [1.0] * 4}
"""Laws of the four states' rates that say nothing."""


def model_of_rules(positive, negative, taxonomy, *, columns, classes=(0, 1), positive_index=1, kind=SOARClassifier):
    """A loaded model with these rules (lists of plain literals), and these eight counts on its training rows."""
    rules = [
        {
            "side": side, "rule": "", "length": len(literals), "support": 0, "precision": 0.0, "coverage": 0.0,
            "unique_coverage": 0.0, "literals": [list(literal) for literal in literals], "aliases": [],
        }
        for side, patterns in (("positive", positive), ("negative", negative))
        for literals in patterns
    ]  # fmt: skip
    longest = 4
    by_length = np.repeat(np.arange(-1, longest)[:, None], longest + 1, axis=1)
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": kind.__name__,
        "parameters": {},
        "classes": list(classes),
        "positive_index": positive_index,
        "num_features": len(columns),
        "has_feature_names": True,
        "columns": list(columns),
        "rules": rules,
        "training_taxonomy": dict(zip(TAXONOMY, taxonomy, strict=True)),
        "hyperparameters": {
            **FLAT,
            "claimed": FLAT,
            "log_doubt": 0.0,
            "power": 1.0,
            "kind": [by_length.tolist()] * 2,
            "rule_alpha": [[1.0] * longest] * 2,
            "rule_beta": [[100.0] * longest] * 2,
            "searched": [[50.0] * longest] * 2,
            "pool_size": [[50] * longest] * 2,
        },
        "score": 0.0,
        "gain": 0.0,
        "is_local_optimum": True,
        "certificate": None,
        "restart_scores": [],
    }
    return model_from_dict(content, {kind.__name__: kind for kind in (SOARClassifier, BOAClassifier)})
