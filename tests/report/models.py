"""Models and rows for reports: fitted ones, and large or odd ones made from plain rules."""

import functools
import json
import re

import numpy as np
import pandas as pd

from soar_jax import datasets
from tests.reasons.models import make_model

HOSTILE = "</script><img src=x onerror=alert(1)>"


@functools.cache
def car():
    """Car with the pair of a default fit, without the fit."""
    X, y = datasets.load_car()
    buying, upkeep, boot = "buyingPrice", "maintainPrice", "lugBoot"
    positive = [
        [(boot, "==", "big"), ("safety", "==", "med")],
        [("persons", "==", "more"), ("safety", "==", "high")],
        [("persons", "==", "4"), ("safety", "==", "high")],
    ]
    negative = [
        [("persons", "==", "2")],
        [("safety", "==", "low")],
        [(buying, "==", "high"), (upkeep, "==", "vhigh")],
        [(buying, "==", "vhigh"), (upkeep, "==", "vhigh")],
        [(buying, "==", "vhigh"), (upkeep, "==", "high")],
        [("doors", "==", "2"), ("persons", "==", "more"), (boot, "==", "small")],
    ]
    return make_model(positive, negative, columns=list(X.columns)), X, y


@functools.cache
def adult():
    """Adult with a pair like that of a fit, without the fit."""
    X, y = datasets.load_adult()
    married, husband = ("marital_status", "==", "Married-civ-spouse"), ("relationship", "==", "Husband")
    positive = [
        [
            ("age", ">", 24),
            ("education_num", ">", 8),
            husband,
            ("capital_gain", "<=", 3120),
            ("hours_per_week", ">", 34),
        ],
        [("age", ">", 21), ("capital_gain", ">", 7000)],
        [("education_num", ">", 8), ("relationship", "==", "Wife"), ("capital_loss", "<=", 1570)],
        [("age", ">", 35), ("education", "==", "Some-college"), ("sex", "==", "Male"), ("hours_per_week", ">", 41)],
        [married, ("capital_loss", ">", 1820), ("capital_loss", "<=", 1978)],
        [("workclass", "==", "Self-emp-inc"), married],
    ]
    negative = [
        [("education_num", "<=", 12), ("capital_gain", "<=", 4200), ("capital_loss", "<=", 1820)],
        [("age", "<=", 28), ("capital_gain", "<=", 7000), ("capital_loss", "<=", 1820)],
        [("occupation", "==", "Craft-repair"), ("capital_gain", "<=", 0)],
        [("occupation", "!=", "Exec-managerial"), ("hours_per_week", "<=", 38)],
        [("relationship", "==", "Not-in-family"), ("workclass", "missing", None)],
    ]
    return make_model(positive, negative, columns=list(X.columns)), X, y


@functools.cache
def sixty():
    """Sixty rules over twelve columns of all kinds: numbers, dates, levels, truth values."""
    rng = np.random.default_rng(3)
    num = 3000
    days = pd.date_range("2020-01-01", "2022-12-31").to_numpy()
    frame = pd.DataFrame(
        {
            **{f"n{i}": np.round(rng.normal(size=num), 2) for i in range(4)},
            **{f"count{i}": rng.integers(0, 60, num) for i in range(2)},
            **{f"level{i}": rng.choice(list("abcdefgh")[: 3 + i], num).astype(object) for i in range(3)},
            "day": rng.choice(days, num),
            "flag": rng.random(num) < 0.5,
            "code": rng.integers(1, 9, num).astype(str),
        }
    )
    frame.loc[rng.random(num) < 0.05, "n0"] = np.nan
    y = (frame["n1"] + frame["count0"] / 30 + rng.normal(size=num) > 1).astype(int).rename("outcome")

    def literal():
        name = rng.choice(frame.columns)
        if name.startswith("n"):
            return (name, str(rng.choice(["<=", ">"])), float(rng.choice([-1.25, -0.5, 0.0, 0.33, 1.1])))
        if name.startswith("count"):
            return (name, str(rng.choice(["<=", ">"])), int(rng.choice([5, 12, 30, 44])))
        if name == "day":
            return (name, str(rng.choice(["<=", ">"])), str(rng.choice(["2020-07-01", "2021-03-15", "2022-01-01"])))
        if name == "flag":
            return (name, "==", bool(rng.random() < 0.5))
        value = str(rng.choice(frame[name].unique()))
        return (name, str(rng.choice(["==", "==", "!="])), value)

    def rules(count):
        found = []
        while len(found) < count:
            literals = [literal() for _ in range(int(rng.integers(3, 6)))]
            if len({z[0] for z in literals}) == len(literals):
                found.append(literals)
        return found

    return make_model(rules(31), rules(29), columns=list(frame.columns)), frame, y


@functools.cache
def odd():
    """Columns that a fit seldom makes: numbers that are levels too, times of day, forty levels, truth values."""
    rng = np.random.default_rng(5)
    num = 600
    frame = pd.DataFrame(
        {
            "mixed": pd.Series(
                rng.choice(np.array([30, "x", 0.1, 12.0, 31, "y", 2.5], dtype=object), num), dtype=object
            ),
            "moment": rng.choice(pd.date_range("2020-02-28", "2020-03-03", freq="h").to_numpy(), num),
            "many": rng.choice([f"level {i}" for i in range(44)], num).astype(object),
            "flag": rng.random(num) < 0.5,
            "n": np.round(rng.normal(size=num), 1),
        }
    )
    y = pd.Series((rng.random(num) < 0.5).astype(int), name="outcome")
    positive = [
        [("mixed", "==", 30), ("n", ">", 0.1)],
        [("mixed", ">", 12.0), ("flag", "==", True)],
        [("moment", ">", "2020-03-01T12:30:00"), ("mixed", "!=", "x")],
        [("n", "missing", None), ("flag", "==", False)],
        *([("many", "==", f"level {i}"), ("n", "<=", i / 10)] for i in range(0, 30)),
    ]
    negative = [
        [("mixed", "<=", 12.0), ("mixed", "!=", 0.1)],
        [("moment", "<=", "2020-03-01"), ("n", ">", -0.5)],
        [("mixed", "==", "x"), ("n", "<=", 0.1), ("n", ">", -1)],
        *([("many", "!=", f"level {i}"), ("n", ">", i / 20), ("flag", "==", i % 2 == 0)] for i in range(25, 37)),
    ]
    return make_model(positive, negative, columns=list(frame.columns)), frame, y


def odd_cases(model, frame, count, seed):
    """Random cases for the rules' columns: values of the table, of the rules, beside cuts, unseen, and missing ones."""
    rng = np.random.default_rng(seed)
    named: dict = {}
    for rule in (*model.positive_rules_, *model.negative_rules_):
        for column, _, value in rule.literals:
            if value is not None:
                named.setdefault(column, []).append(value)
    cases = []
    for _ in range(count):
        gaps = rng.choice([0.0, 0.1, 0.3, 0.7])
        case = {}
        for column in model.features_used_:
            draw = rng.random()
            cuts = named.get(column, [])
            if rng.random() < gaps:
                case[column] = None
            elif draw < 0.3 and cuts:
                case[column] = cuts[int(rng.integers(len(cuts)))]
            elif draw < 0.4 and cuts and all(type(cut) in (int, float) for cut in cuts):
                case[column] = float(cuts[int(rng.integers(len(cuts)))]) + float(rng.choice([-0.01, 0.01, 1, -1]))
            elif draw < 0.45 and not pd.api.types.is_numeric_dtype(frame[column]) and column not in ("day", "moment"):
                case[column] = "never seen"
            else:
                value = frame[column].iloc[int(rng.integers(len(frame)))]
                case[column] = None if pd.isna(value) else value
        cases.append(case)
    return cases


def embedded(path):
    """The data in a page."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
