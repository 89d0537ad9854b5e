"""Fitted models without a fit: any rules, rates and figures, as a model file could hold them."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from soar_jax import BOAClassifier, Rule, SOARClassifier
from soar_jax.estimators.model_file import FORMAT_VERSION, model_from_dict

KINDS = {"SOARClassifier": SOARClassifier, "BOAClassifier": BOAClassifier}
HOSTILE = ("a", "Robert'); DROP TABLE x;--", '"quoted" <b>&', "größe\n2", "age > 30 and b", "z" * 200)
LEVELS = ("x", "2", 2.0, True, "is missing", "ö;'\"", "<i>")
CUTS = (-1.5, 0.0, 0.1, 30.0)
DAYS = ("2020-01-01", "2020-03-01T12:00:00", "2021-12-31")


def make_model(positive, negative=(), columns=None, estimator="SOARClassifier", classes=(0, 1), fresh=False):
    """A model with these rules, each a sequence of plain literals."""
    rules = []
    for side, mine in (("positive", positive), ("negative", negative)):
        for i, literals in enumerate(mine):
            support = 40 + 7 * i
            rules.append(
                {
                    "side": side,
                    "rule": str(Rule.from_literals(literals)),
                    "length": len(literals),
                    "support": support,
                    "precision": (support - 3 - i) / support,
                    "coverage": 0.5,
                    "unique_coverage": 0.1,
                    "literals": [list(literal) for literal in literals],
                    "aliases": [],
                }
            )
            if fresh:
                rules[-1] |= {"fresh_support": 20, "fresh_precision": 0.9, "fresh_low": 0.75, "fresh_high": 0.97}
    used = {z[0]: None for rule in rules for z in rule["literals"]}
    names = list(columns if columns is not None else used)
    flat = {"alpha": [1.0] * 4, "beta": [1.0] * 4, "low": [0.0] * 4, "high": [1.0] * 4}
    kind = [[-1, -1], [0, 0]]
    return model_from_dict(
        {
            "format": "soar-jax model",
            "format_version": FORMAT_VERSION,
            "estimator": estimator,
            "parameters": {},
            "classes": list(classes),
            "positive_index": 1,
            "num_features": len(names),
            "has_feature_names": True,
            "columns": names,
            "rules": rules,
            "training_taxonomy": dict(zip("CTP CFP CTN CFN AAP AAN PAP PAN".split(), range(9, 1, -1), strict=True)),
            "hyperparameters": {
                **flat,
                "claimed": flat,
                "log_doubt": 0.0,
                "power": 1.0,
                "kind": [kind, kind],
                "rule_alpha": [[1.0], [1.0]],
                "rule_beta": [[1.0], [1.0]],
                "searched": [[9.0], [9.0]],
                "pool_size": [[9], [9]],
            },
            "score": 1.0,
            "gain": 2.0,
            "fresh_states": None,
            "is_local_optimum": True,
            "certificate": None,
            "restart_scores": [1.0],
        },
        KINDS,
    )


def settle(model):
    """Let the taxonomy agree with the hits and misses of the rules, as a model file must."""
    counts = {"CTP": 0, "CFP": 0, "CTN": 0, "CFN": 0}
    for side, mine in model.rules_.groupby("side"):
        largest = mine.loc[mine["support"].idxmax()]  # it has the most hits and the most misses
        hits = round(largest["support"] * largest["precision"])
        right, wrong = ("CTP", "CFP") if side == "positive" else ("CTN", "CFN")
        counts |= {right: hits, wrong: int(largest["support"]) - hits}
    model.training_taxonomy_ = pd.Series({**counts, "AAP": 0, "AAN": 0, "PAP": 4, "PAN": 3}, name="rows")
    return model


def literals_of(column, kind, missing=True):
    """Literals of a column of a kind: levels, numbers, dates, or numbers of which some are levels too."""
    if kind == "level":
        about = st.tuples(st.sampled_from(["==", "!="]), st.sampled_from(LEVELS))
    elif kind == "mixed":
        named = st.tuples(st.sampled_from(["==", "!="]), st.sampled_from([30, "x", 0.1, 12.0]))
        about = st.one_of(named, st.tuples(st.sampled_from(["<=", ">"]), st.sampled_from(CUTS)))
    else:
        about = st.tuples(st.sampled_from(["<=", ">"]), st.sampled_from(CUTS if kind == "number" else DAYS))
    if missing:
        about = st.one_of(about, about, about, st.just(("missing", None)))
    return about.map(lambda pair: (column, *pair))


def values_of_kind(kind, size):
    """A column of that kind with missing values, unseen levels and odd values."""
    if kind == "level":
        return st.lists(st.sampled_from([*LEVELS, "unseen", 7, None, float("nan")]), min_size=size, max_size=size)
    if kind in ("number", "mixed"):
        odd = [None, float("nan"), float("inf"), -float("inf"), -1.5, -1.4, 0, 0.05, 0.1, 12.0, 30, 31.0, "2", "odd"]
        return st.lists(st.sampled_from(odd), min_size=size, max_size=size)
    days = [*DAYS, "2019-05-05", "2020-03-01", "2035-01-01", None, "no day", pd.Timestamp("2021-12-31 00:00:01")]
    return st.lists(st.sampled_from(days), min_size=size, max_size=size)


@st.composite
def models_and_rows(draw, num_rows=6, max_rules=4, num_columns=4, missing=True):
    """A random model over columns with hostile names, and rows for it."""
    names = draw(st.permutations(HOSTILE))[:num_columns]
    kinds = [draw(st.sampled_from(["level", "number", "date", "mixed"])) for _ in names]
    literal = st.one_of(*[literals_of(n, k, missing) for n, k in zip(names, kinds, strict=True)])
    rule = st.lists(literal, min_size=1, max_size=3, unique=True)
    positive, negative = (draw(st.lists(rule, max_size=max_rules)) for _ in range(2))
    frame = pd.DataFrame(
        {n: pd.Series(draw(values_of_kind(k, num_rows)), dtype=object) for n, k in zip(names, kinds, strict=True)},
        index=[f"row {i}" for i in range(num_rows)],
    )
    return make_model(positive, negative, columns=names), frame


def brute_states(model, frame):
    """States by the rule sets themselves."""
    plus, minus = model.positive_rules_.fires(frame), model.negative_rules_.fires(frame)
    return np.select([plus & ~minus, minus & ~plus, plus & minus], ["positive", "negative", "active"], "passive")
