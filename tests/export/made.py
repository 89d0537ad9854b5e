"""Models made of random rules without a fit, and random rows of every kind a database stores.

The rows are Python values. The library reads them from a data frame of objects, each engine from a table of its own
types, so that nothing but the engine's reading can make the answers differ.
"""

import datetime as dt
import math

import numpy as np
import pandas as pd

from soar_jax import BOAClassifier, SOARClassifier
from soar_jax.export.dialects.base import STORAGES
from soar_jax.estimators.model_file import FORMAT, FORMAT_VERSION, model_from_dict
from soar_jax.rules import Rule, firing, rule_ids
from soar_jax.states import TAXONOMY

HOSTILE = (
    "plain",
    'quote " and \' and `',
    "semi; DROP TABLE canary; --",
    "'); DROP TABLE canary; --",
    '"; DROP TABLE canary; --',
    "`; DROP TABLE canary; --",
    "comment /* -- */ # end",
    "back\\slash \\' \\n",
    "line\nbreak\r\n\ttab",
    "Straße 名前 🐍 \u202e\u2028 é",
    "x" * 200,
    "SELECT",
    "value_1",
    "%s :name ? {0} $1",
    " ",
)
TEXTS = (
    "a", "b", "A", " a", "a ", "", "é", "é", "名前", "it's", 'say "x"', "back\\slash", "a\nb", "; DROP TABLE canary; --",
    "${env:HOME}", "%s", "true", "True", "FALSE", "0", "1", "1.0", "+1.0", "-0.0", "2.", "2.0", "2.00", "2", "02", "2.0.0",
    "²", "².0", "nan", "None", "other", "other_", "inf", "null",
)  # fmt: skip
NUMBER_TEXTS = (
    "12", " 12 ", "\t12\n", "\v12\f", "12.0", "1e3", "1E+3", "1e", "0x10", "inf", "-Inf", "+infinity", " inf", "nan", "NaN", "",
    " ", "1_000", "1,000", "5.", ".5", ".", "-.5", "+5", "--5", "007", "1e400", "-1e400", "1e-400", "-1e-400", "1e308", "1e-320",
    "1e0000005", "1e99999999999", "-1e99999999999", "1e-99999999999", "0e99999", "0.0e99999", "true", "9007199254740993",
    "123456789012345678901234567890", "0.1", "0.30", "0.3", "3e-1", "1d", "1f", "٣", "12abc", "1 e5", "1.e2", "+.5e-1", "2.5",
    "\u00a012", "12\u2028", "x",
)  # fmt: skip
DATE_TEXTS = (
    "2021-03-01", " 2021-03-01 ", "2021-03-01 10:00", "2021-03-01T10:00:00", "2021-03-01 10:00:00.5", "2021-03-01T10:00:00.123456",
    "2021-03-01T10:00:00Z", "2021-03-01T10:00:00+02:00", "2021-03-01 10:00:00-0530", "2021-03-01 10:00+14", "2021-02-29", "2020-02-29",
    "1900-02-29", "2000-02-29", "2021-04-31", "2021-13-01", "2021-03-01 24:00:00", "2021-03-01 10:60", "1969-12-31T23:59:59.999999",
    "1600-01-01", "0001-01-01", "9999-12-31 23:59:59", "2021-02-28T23:30:00-01:00", "", "x", "nan",
)  # fmt: skip
INTEGERS = (0, 1, -1, 2, 12, 1000, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, -(2**63), 2**63 - 1)
DOUBLES = (0.0, -0.0, 1.0, 2.0, 2.5, 0.1, 0.3, 0.1 + 0.2, -1.5, 1e300, 1e16, 1e-300, 5e-324, math.inf, -math.inf, math.nan, 12.0, 1e22)
SINGLES = tuple(float(np.float32(x)) for x in (0.1, 2.5, 2.0, 1e10, -0.3, math.inf, math.nan, 1e-40, 16777216.0))
DATES = tuple(dt.date.fromisoformat(x) for x in ("2021-03-01", "2021-02-28", "1969-12-31", "1600-01-01", "9999-12-31", "0001-01-01"))
MOMENTS = tuple(
    dt.datetime.fromisoformat(x)
    for x in (
        "2021-03-01", "2021-03-01T10:00:00", "2021-03-01T10:00:00.500000", "1969-12-31T23:59:59.999999", "1600-01-01T00:00:00.000001",
        "2300-01-01T00:00:00.000001", "2021-03-28T01:30:00", "2021-11-07T05:30:00", "2021-11-07T06:30:00",
    )
)  # fmt: skip
VALUES = {
    "words": TEXTS,
    "numbers as text": (*TEXTS, *NUMBER_TEXTS),
    "dates as text": (*DATE_TEXTS, "a", "é", "True"),
    "integer": INTEGERS,
    "double": DOUBLES,
    "real": SINGLES,
    "boolean": (True, False),
    "date": DATES,
    "timestamp": MOMENTS,
}
KINDS = (
    "words", "numbers as text", "dates as text", "integer", "double", "real", "boolean", "date", "timestamp", "words", "integer",
    "double", "numbers as text", "dates as text", "timestamp",
)  # fmt: skip
COLUMNS = dict(zip(HOSTILE, KINDS, strict=True))
"""Kind of every column: how the table stores it, and for text what it spells."""
LABELS = (("no", "yes"), (0, 1), (-1.5, 2.25), (False, True), ("it's; DROP TABLE canary; --", "\\'名 \"${x}\n"))
LEVELS = (
    *TEXTS, "12", "1000", "9007199254740993", "9007199254740992", "0.1", "0.3", "2.5", "-1.5", "1e+300", "1e-300", "5e-324", "-inf",
    str(10**22), str(int(1e300)), "2021-03-01", "2021-03-01 10:00:00", "2021-03-01 10:00:00.500000", "2021-03-01 10:00:00.5", "unseen",
    2, 2.0, True, 1.5, "0.1000000014901161", str(-(2**63)), "10000000000",
)  # fmt: skip
BOUNDS = (
    0.0, -0.0, 1, 2.0, 2.5, 12, 0.1, 0.3, 0.1 + 0.2, np.nextafter(0.3, 0).item(), 5e-324, 1e300, 1e308, -1e300, 9007199254740992.0, 999.5,
    float(np.float32(0.1)), 4.611686018427388e18, 0.7, 1 / 3,
)  # fmt: skip
CUTS = (
    "2021-03-01", "2021-02-28", "2021-03-01T10:00:00", "2021-03-01T10:00:00.123456", "2021-03-01T08:00:00", "1969-12-31T23:59:59.999998",
    "1600-01-01", "2300-01-01", "0001-01-01", "9999-12-31T12:00:00", "2021-11-07T06:00:00", "2021-02-28T20:00:00",
)  # fmt: skip


def storages(columns=COLUMNS):
    """How a table stores the columns, in the words of ``to_sql``."""
    return {name: kind if kind in STORAGES else "text" for name, kind in columns.items()}


def random_literal(rng, columns=COLUMNS):
    column = str(rng.choice(list(columns)))
    op = str(rng.choice(["==", "==", "!=", "<=", ">", "<=", ">", "missing"]))
    if op == "missing":
        return column, op, None
    if op in ("==", "!="):
        return column, op, LEVELS[rng.integers(len(LEVELS))]
    is_dated = columns[column] in ("date", "timestamp", "dates as text") or (columns[column] == "boolean" and rng.random() < 0.4)
    pool = CUTS if is_dated else BOUNDS
    return column, op, pool[rng.integers(len(pool))]


def random_rules(rng, num, columns=COLUMNS):
    """Rules that read each column in one literal at most, as fitted ones do."""
    rules = []
    for _ in range(num):
        literals = {}
        for _ in range(rng.integers(1, 4)):
            literal = random_literal(rng, columns)
            literals[literal[0]] = literal
        rules.append(tuple(literals.values()))
    return rules


def model_of(positive, negative, classes=("no", "yes"), positive_index=1, kind=SOARClassifier, columns=COLUMNS, seed=0):
    """Make a fitted estimator of plain rules, with made-up counts."""
    rng = np.random.default_rng(seed)
    rules = [
        {
            "side": side, "rule": str(Rule.from_literals(literals)), "length": len(literals), "support": 10, "precision": 0.8,
            "coverage": 0.1, "unique_coverage": 0.05, "literals": [list(literal) for literal in literals], "aliases": [],
        }
        for side, mine in (("positive", positive), ("negative", negative))
        for literals in mine
    ]  # fmt: skip
    table = {"alpha": [1.0] * 4, "beta": [1.0] * 4, "low": [0.0] * 4, "high": [1.0] * 4, "kind": np.zeros((2, 5, 5), int).tolist()}
    table |= {name: [[1.0], [1.0]] for name in ("rule_alpha", "rule_beta", "searched")} | {"pool_size": [[1], [1]]}
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "soar_jax_version": "0",
        "estimator": kind.__name__,
        "parameters": {},
        "classes": list(classes),
        "positive_index": positive_index,
        "num_features": len(columns),
        "has_feature_names": True,
        "columns": list(columns),
        "rules": rules,
        "training_taxonomy": {name: int(rng.integers(0, 60)) for name in TAXONOMY},
        "hyperparameters": table,
        "score": 1.0,
        "gain": 1.0,
        "is_local_optimum": True,
        "restart_scores": [1.0],
    }
    return model_from_dict(content, {k.__name__: k for k in (SOARClassifier, BOAClassifier)})


def random_models(seed, columns=COLUMNS):
    """A few models: both estimators, both positive classes, every type of label, and one without rules."""
    rng = np.random.default_rng(seed)
    models = [model_of([], [], columns=columns)]
    for i, classes in enumerate(LABELS):
        rules = random_rules(rng, 24, columns)
        models.append(model_of(rules[:11], rules[11:], classes, i % 2, columns=columns, seed=i))
    models.append(model_of(random_rules(rng, 8, columns), [], kind=BOAClassifier, columns=columns, seed=9))
    return models


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


def as_library_reads(frame, columns=COLUMNS):
    """Single-precision columns get their type, so that 0.1 in single precision is the level 0.1; the rest are objects."""
    singles = [name for name, kind in columns.items() if kind == "real"]
    return frame.assign(**{name: frame[name].astype(np.float32) for name in singles})


def expected(model, frame):
    """What the library says: prediction, probability, state, rules."""
    sets = model.positive_rules_, model.negative_rules_
    table = model.predict_table(frame)
    ids = np.array(rule_ids(sets), dtype=object)
    table["rules"] = [" ".join(ids[row]) for row in firing(sets, frame)]
    return table


def assert_same(answer, model, frame):
    """``answer`` is rows of (prediction, probability, state, rules); probabilities agree to the bit."""
    wanted = expected(model, frame)
    assert len(answer) == len(wanted)
    for i, name in enumerate(("state", "rules", "probability", "prediction")):
        got = [row[{"prediction": 0, "probability": 1, "state": 2, "rules": 3}[name]] for row in answer]
        wrong = [k for k, (a, b) in enumerate(zip(got, wanted[name].tolist(), strict=True)) if a != b]
        assert not wrong, f"{len(wrong)} rows differ in {name} (check {i}), first {wrong[0]}: {got[wrong[0]]!r}, not {wanted[name][wrong[0]]!r}"
