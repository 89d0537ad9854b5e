"""Whether a model file is whole: of the right form, and consistent in what it says."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from soar_jax._base import InputError
from soar_jax._json import Damaged, check_schema
from soar_jax.data.cells import is_code
from soar_jax.data.check_contract import check_contract, check_literals, demand, orders_in
from soar_jax.data.columns import CATEGORY, level_text
from soar_jax.export.schema import model_schema
from soar_jax.rules import Rule

FORMAT_VERSION = 1
_COVERED = {"positive": ("CTP", "CFP", "AAP", "AAN"), "negative": ("CTN", "CFN", "AAP", "AAN")}
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{6})?)?")
_BY_KIND = ("rule_alpha", "rule_beta", "searched", "pool_size")


@cache
def _schema() -> dict[str, Any]:
    return model_schema()


def check_content(content: dict[str, Any]) -> dict[str, Any]:
    """Check all of the content of a model file."""
    try:
        check_schema(content, _schema())
        _check_meaning(content)
    except Damaged as error:
        raise InputError(f"The model file is damaged, or was changed by hand and is wrong now: {error}.") from None
    return content


def _check_meaning(content: dict[str, Any]) -> None:
    """Check what no schema can say: whether the parts of a file agree."""
    names = content["columns"]
    demand(content["num_features"] == len(names), "num_features is not the number of columns")
    demand(len({type(label) for label in content["classes"]}) == 1, "classes are of two types")
    num_rows = sum(content["training_taxonomy"].values())
    demand(num_rows > 0, "training_taxonomy counts no row")
    kinds, orders = check_contract(content["contract"], names), orders_in(content["contract"])
    demand(
        content["contract"]["has_names"] == content["has_feature_names"], "contract.has_names is not that of the model"
    )
    sides = [rule["side"] for rule in content["rules"]]
    demand(sides == sorted(sides, reverse=True), "rules do not begin with the positive ones")
    for i, rule in enumerate(content["rules"]):
        where = f"rules[{i}]"
        check_literals(rule["literals"], names, kinds, where, orders)
        texts = [value for column, op, value in rule["literals"] if op in ("<=", ">") and column not in orders]
        are_dates = all(_DATE.fullmatch(text) for text in texts if isinstance(text, str))
        demand(are_dates, f"{where} has a cut point that is neither a number nor a date")
        demand(rule["length"] == len(rule["literals"]), f"{where}.length is not the number of its literals")
        same = Rule.from_literals(rule["literals"], orders)
        demand(len(same) == rule["length"], f"{where} has a literal more than once")
        demand(rule["rule"] == str(same), f"{where}.rule does not say what its literals say")
        demand(rule["support"] <= num_rows, f"{where}.support is more than there are rows")
        demand(_counts_fit(rule, content["training_taxonomy"]), f"{where}.precision does not fit training_taxonomy")
    for side, cases in _COVERED.items():
        supports = [rule["support"] for rule in content["rules"] if rule["side"] == side]
        covered = sum(content["training_taxonomy"][case] for case in cases)
        fits = max(supports, default=0) <= covered <= sum(supports)
        demand(fits, f"the {side} rules cover other rows than training_taxonomy says")
    if content["estimator"] == "BOAClassifier":
        demand("negative" not in sides, "a BOAClassifier has no negative rules")
    _check_positive(content)
    _check_words(content, orders)
    _check_priors(content["hyperparameters"])


def _counts_fit(rule: dict[str, Any], cases: dict[str, int]) -> bool:
    """Whether a rule's hits and misses find room among the rows that its side covers."""
    hits = round(rule["support"] * rule["precision"]) if rule["precision"] is not None else 0
    right, wrong = ("CTP", "CFP") if rule["side"] == "positive" else ("CTN", "CFN")
    both = ("AAP", "AAN") if rule["side"] == "positive" else ("AAN", "AAP")
    return hits <= cases[right] + cases[both[0]] and rule["support"] - hits <= cases[wrong] + cases[both[1]]


def _check_positive(content: dict[str, Any]) -> None:
    """Check that the positive class is the one that the fit was asked for."""
    classes, place = content["classes"], content["positive_index"]
    demand(classes == sorted(classes), "classes are not in order")
    is_named = names_positive(classes, place, content["parameters"].get("positive"))
    demand(is_named, "positive_index does not name the class that parameters.positive asks for")


def names_positive(classes: list[Any], place: int, asked: Any) -> bool:
    """Whether the class at a place is the positive one that was asked for: the last when nothing was."""
    return level_text(classes[place]) == level_text(classes[1] if asked is None else asked)


def _check_words(content: dict[str, Any], orders: dict[str, Any]) -> None:
    """Check that no rule reads a level that would be missing, or that the way of reading its column cannot give."""
    columns = {column["name"]: column for column in content["contract"]["columns"]}
    words = set(content["contract"]["missing_words"])
    for i, rule in enumerate(content["rules"]):
        for name, op, value in rule["literals"]:
            column = columns.get(name)
            if column is None or op not in ("==", "!=") or name in orders or not isinstance(value, str):
                continue
            is_word = column["read_as"] == "text" and value in words and value not in column["words"]
            demand(not is_word, f"rules[{i}] reads a level that contract.missing_words says is missing")
            is_number = column["kind"] == CATEGORY and column["read_as"] == "number"
            demand(not (is_number and is_code(value)), f"rules[{i}] reads a code in a column that is read as numbers")


def _check_priors(priors: dict[str, Any]) -> None:
    for name, laws in (("hyperparameters", priors), ("hyperparameters.claimed", priors["claimed"])):
        for low, high in zip(laws["low"], laws["high"], strict=True):
            demand(low < high, f"{name}.low is not below high")
    for side in (0, 1):
        table = priors["kind"][side]
        demand(all(len(row) == len(table) for row in table), "hyperparameters.kind is not square")
        sizes = {len(priors[name][side]) for name in _BY_KIND}
        most = max((kind for row in table for kind in row), default=-1)
        demand(len(sizes) == 1 and most < sizes.pop(), "hyperparameters are not of one size")
