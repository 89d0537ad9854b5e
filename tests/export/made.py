"""Models made of random rules without a fit, and random rows of every kind a database stores.

The rows are Python values. The library reads them from a data frame of objects, each engine from a table of its own
types, so that nothing but the engine's reading can make the answers differ.
"""

import datetime as dt

import numpy as np
import pandas as pd

from soar_jax import BOAClassifier, SOARClassifier
from soar_jax.data.columns import plain_value
from soar_jax.estimators.model_file import FORMAT, FORMAT_VERSION, model_from_dict
from soar_jax.export.dialects.base import STORAGES
from soar_jax.rules import Rule, firing, rule_ids
from soar_jax.states import TAXONOMY
from tests.export.values import BOUNDS, COLUMNS, CUTS, LABELS, LEVELS, VALUES


def storages(columns=COLUMNS):
    """How a table stores the columns, in the words of ``to_sql``."""
    return {name: kind if kind in STORAGES else "text" for name, kind in columns.items()}


def levels_of(kind):
    """Level of each of a kind's values, as a rule of a fitted model has it."""
    return tuple(plain_value(v) for v in VALUES[kind] if not pd.isna(v))


def random_literal(rng, columns, can_write):
    column = str(rng.choice(list(columns)))
    op = str(rng.choice(["==", "==", "!=", "<=", ">", "<=", ">", "missing"]))
    if op == "missing":
        return column, op, None
    if op in ("==", "!="):
        pool = levels_of(columns[column]) if rng.random() < 0.7 else LEVELS
        pool = [level for level in pool if can_write(columns[column], level)]
        return column, op, pool[rng.integers(len(pool))]
    kind = columns[column]
    is_dated = kind in ("date", "timestamp", "dates as text") or (kind == "boolean" and rng.random() < 0.4)
    pool = CUTS if is_dated else BOUNDS
    return column, op, pool[rng.integers(len(pool))]


def random_rules(rng, num, columns, can_write):
    """Rules that read each column in one literal at most, as most fitted ones do."""
    rules = []
    for _ in range(num):
        literals = {}
        for _ in range(rng.integers(2, 5)):
            literal = random_literal(rng, columns, can_write)
            literals[literal[0]] = literal
        rules.append(tuple(literals.values()))
    return rules


def model_of(
    positive, negative, classes=("no", "yes"), positive_index=1, kind=SOARClassifier, columns=COLUMNS, seed=0,
    contract=None,
):  # fmt: skip
    """Make a fitted estimator of plain rules, with made-up counts."""
    rng = np.random.default_rng(seed)
    figures = {"support": 10, "precision": 0.8, "coverage": 0.1, "unique_coverage": 0.05, "aliases": []}
    rules = [
        figures
        | {
            "side": side,
            "rule": str(Rule.from_literals(literals)),
            "length": len(literals),
            "literals": [list(literal) for literal in literals],
        }
        for side, mine in (("positive", positive), ("negative", negative))
        for literals in mine
    ]
    flat = {"alpha": [1.0] * 4, "beta": [1.0] * 4, "low": [0.0] * 4, "high": [1.0] * 4}
    priors = {**flat, "claimed": flat, "log_doubt": 0.0, "power": 1.0, "kind": np.zeros((2, 5, 5), int).tolist()}
    priors |= {name: [[1.0], [1.0]] for name in ("rule_alpha", "rule_beta", "searched")} | {"pool_size": [[1], [1]]}
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "soar_jax_version": "0",
        "estimator": kind.__name__,
        "parameters": {"positive": classes[positive_index]},
        "classes": list(classes),
        "positive_index": positive_index,
        "num_features": len(columns),
        "has_feature_names": True,
        "columns": list(columns),
        "rules": rules,
        "training_taxonomy": {name: int(rng.integers(0, 60)) for name in TAXONOMY},
        "hyperparameters": priors,
        "score": 1.0,
        "gain": 1.0,
        "is_local_optimum": True,
        "restart_scores": [1.0],
    }
    if contract is not None:
        content["contract"] = contract.to_dict()
    return model_from_dict(content, {k.__name__: k for k in (SOARClassifier, BOAClassifier)})


def random_models(seed, columns=COLUMNS, can_write=lambda kind, level: True):
    """A few models: both estimators, both positive classes, every type of label, and one without rules.

    ``can_write(kind, level)`` says which levels the language can hold for a kind of column.
    """
    rng = np.random.default_rng(seed)
    models = [model_of([], [], columns=columns)]
    for i, classes in enumerate(LABELS):
        rules = random_rules(rng, 24, columns, can_write)
        models.append(model_of(rules[:12], rules[12:], classes, i % 2, columns=columns, seed=i))
    rules = random_rules(rng, 8, columns, can_write)
    return [*models, model_of(rules, [], kind=BOAClassifier, columns=columns, seed=9)]


def random_rows(seed, num_rows=10_000, columns=COLUMNS):
    """Rows of Python values; an eighth of them missing."""
    rng = np.random.default_rng(seed)
    data = {}
    for name, kind in columns.items():
        pool = (*VALUES[kind], *random_values(rng, kind))
        chosen = rng.integers(len(pool), size=num_rows)
        is_missing = rng.random(num_rows) < 0.125
        data[name] = [None if m else pool[i] for i, m in zip(chosen, is_missing, strict=True)]
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in data.items()})


def random_values(rng, kind, num=40):
    if kind == "integer":
        return [int(x) for x in rng.integers(-20, 20, num)]
    if kind == "double":
        return [float(x) for x in np.round(rng.normal(size=num), 2)]
    if kind == "real":
        return [float(np.float32(x)) for x in np.round(rng.normal(size=num), 2)]
    if kind == "numbers as text":
        return [repr(float(x)) for x in rng.normal(size=num // 2)] + [str(x) for x in rng.integers(-5, 5, num // 2)]
    if kind == "timestamp":
        start = dt.datetime(2021, 2, 25)
        return [start + dt.timedelta(microseconds=int(x)) for x in rng.integers(0, 10 * 86_400_000_000, num)]
    return []


def expected(model, frame):
    """What the library says: prediction, probability, state, rules."""
    sets = model.positive_rules_, model.negative_rules_
    table = model.predict_table(frame)
    ids = np.array(rule_ids(sets), dtype=object)
    table["rules"] = [" ".join(ids[row]) for row in firing(sets, model._frame(frame))]
    return table


def assert_same(answer, wanted):
    """``answer`` is rows of (prediction, probability, state, rules); probabilities agree to the bit."""
    assert len(answer) == len(wanted)
    for i, name in enumerate(wanted.columns):
        pairs = list(zip((row[i] for row in answer), wanted[name].tolist(), strict=True))
        wrong = [k for k, (a, b) in enumerate(pairs) if a != b]
        assert not wrong, f"{len(wrong)} rows differ in {name}; row {wrong[0]} has {pairs[wrong[0]]}"
