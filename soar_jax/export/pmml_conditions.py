"""PMML expressions for the conditions of rules: true or false for every row, never missing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from soar_jax._base import InputError
from soar_jax.data.moments import EPOCH
from soar_jax.export.content import LEVEL, MISSING, MOMENT, Condition
from soar_jax.export.dialects.base import floats_of, moments_of
from soar_jax.export.grammar import INFINITIES, NUMBER, WHITE_SPACE, spells_whole

_END = "(?!a|[^a])"  # nothing follows; the sign $ would let a last line break pass
_SPACE = "[" + "".join(rf"\u{code:04X}" for code in WHITE_SPACE) + "]"
_EXACT = 1 << 53
_FUNCTIONS = {"<=": "lessOrEqual", ">": "greaterThan"}


class Names:
    """Names of fields that clash with none given before."""

    def __init__(self, taken: list[str]) -> None:
        self.taken = set(taken)

    def fresh(self, name: str) -> str:
        """Take a name, made longer until it is new."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


class Conditions:
    """Expressions that are true or false for every row, never missing."""

    def __init__(
        self, storages: Mapping[str, str], numbers_as_text: set[str], names: Names, transformations: ET.Element
    ) -> None:
        self.storages = storages
        self.numbers_as_text = numbers_as_text
        self.names = names
        self.transformations = transformations
        self.parsed: dict[str, str] = {}

    def holds(self, condition: Condition) -> ET.Element:
        """Say whether a condition holds."""
        name, op, value = condition.column, condition.op, condition.value
        if condition.reading == MISSING:
            return apply("isMissing", ref(name))
        if op == "in":
            same_as = [self._has_level(name, level) for level in condition.levels]
            return all_of("or", same_as) if same_as else constant("false", "boolean")
        if condition.reading == LEVEL:
            same = self._has_level(name, str(value))
            return same if op == "==" else all_of("and", [apply("isNotMissing", ref(name)), apply("not", same)])
        assert isinstance(value, float)
        read = self._compare_moment if condition.reading == MOMENT else self._compare_number
        return read(name, op, value)

    def _has_level(self, name: str, level: str) -> ET.Element:
        storage = self.storages[name]
        tests = []
        if storage == "text":
            tests.append(_compare("equal", name, level, "string"))
            if name in self.numbers_as_text:
                spelt = floats_of([level])
                tests += [_compare("equal", self._number_field(name), _number(value), "double") for value, _ in spelt]
            if level in ("0", "1"):
                word = constant("false" if level == "0" else "true", "string")
                tests.append(apply("equal", apply("lowercase", ref(name), missing=""), word, missing="false"))
            if spells_whole(level):
                pattern = f"^{re.escape(level)}[.]0+{_END}"
                tests.append(apply("matches", ref(name), constant(pattern, "string"), missing="false"))
        elif storage == "boolean":
            tests += [_compare("equal", name, "true" if level == "1" else "false", "boolean")] * (level in ("0", "1"))
        elif storage == "integer":
            if _is_whole(level) and abs(int(level)) >= _EXACT:
                raise InputError(f"PMML reads whole numbers as float64, which cannot tell {level} from its neighbours.")
            tests += [_compare("equal", name, f"{level}.0", "double")] * _is_whole(level)
        elif storage in ("double", "real"):
            tests += [_compare("equal", name, _number(number), "double") for number, _ in floats_of([level])]
        elif storage == "date":
            tests += [_compare("equal", name, level, "date")] * _is_date(level)
        else:
            tests += [_compare("equal", name, text.replace(" ", "T"), "dateTime") for _, text in moments_of([level])]
        return all_of("or", tests) if tests else constant("false", "boolean")

    def _compare_number(self, name: str, op: str, bound: float) -> ET.Element:
        function, storage = _FUNCTIONS[op], self.storages[name]
        if storage in ("date", "timestamp"):
            return constant("false", "boolean")
        if storage == "boolean":
            held = [text for text, number in (("true", 1.0), ("false", 0.0)) if (number <= bound) == (op == "<=")]
            tests = [_compare("equal", name, text, "boolean") for text in held]
            return all_of("or", tests) if tests else constant("false", "boolean")
        return _compare(function, self._number_field(name) if storage == "text" else name, _number(bound), "double")

    def _number_field(self, name: str) -> str:
        """Read text as float64, in a derived field."""
        if name not in self.parsed:
            field = self.parsed[name] = self.names.fresh(f"number of {name}")
            derive(self.transformations, field, "double", _parse_number(name))
        return self.parsed[name]

    def _compare_moment(self, name: str, op: str, bound: float) -> ET.Element:
        if self.storages[name] == "boolean":
            return constant("false", "boolean")
        if abs(bound) == float("inf"):
            always = (op == "<=") == (bound > 0)
            return apply("isNotMissing", ref(name)) if always else constant("false", "boolean")
        last = int(bound)  # the last whole microsecond at or before the cut, as float64 has it
        while float(last + 1) <= bound:
            last += 1
        if self.storages[name] == "date":
            day = (EPOCH + timedelta(microseconds=last)).date().isoformat()
            return _compare(_FUNCTIONS[op], name, day, "date")
        # a cell may have nanoseconds, which the library leaves off
        return _compare("lessThan" if op == "<=" else "greaterOrEqual", name, _iso(last + 1), "dateTime")


def _parse_number(name: str) -> ET.Element:
    pattern = constant(f"^{_SPACE}*{NUMBER}{_SPACE}*{_END}", "string")
    text = apply("replace", ref(name), constant(f"{_SPACE}+", "string"), constant("", "string"))
    infinite = [
        (
            constant(f"^{_SPACE}*({'|'.join(re.escape(word) for word in words)}){_SPACE}*{_END}", "string"),
            constant(spelled, "string"),
        )
        for words, spelled in zip(INFINITIES, ("INF", "-INF"), strict=True)
    ]
    lower = [
        apply("matches", apply("lowercase", ref(name), missing=""), words, missing="false") for words, _ in infinite
    ]
    rest = apply("if", lower[0], infinite[0][1], apply("if", lower[1], infinite[1][1]))
    return apply("if", apply("matches", ref(name), pattern, missing="false"), text, rest)


def derive(parent: ET.Element, name: str, kind: str, expression: ET.Element) -> None:
    """Add a derived field."""
    optype = "continuous" if kind == "double" else "categorical"
    ET.SubElement(parent, "DerivedField", {"name": name, "optype": optype, "dataType": kind}).append(expression)


def apply(function: str, *parts: ET.Element, missing: str | None = None) -> ET.Element:
    """Call a function; ``missing`` is its value where an argument is missing."""
    element = ET.Element("Apply", {"function": function} | ({} if missing is None else {"mapMissingTo": missing}))
    element.extend(parts)
    return element


def all_of(function: str, parts: Sequence[ET.Element]) -> ET.Element:
    """Join conditions by ``and`` or ``or``."""
    return parts[0] if len(parts) == 1 else apply(function, *parts)


def ref(name: str) -> ET.Element:
    """Refer to a field."""
    return ET.Element("FieldRef", {"field": name})


def constant(value: str, kind: str) -> ET.Element:
    """Write a constant."""
    element = ET.Element("Constant", {"dataType": kind})
    element.text = value
    return element


def _compare(function: str, name: str, value: str, kind: str) -> ET.Element:
    return apply(function, ref(name), constant(value, kind), missing="false")


def _number(value: float) -> str:
    return {float("inf"): "INF", float("-inf"): "-INF"}.get(value, repr(value))


def _iso(microseconds: int) -> str:
    return (EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None).isoformat()


def _is_whole(level: str) -> bool:
    digits = level.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and str(int(level)) == level


def _is_date(level: str) -> bool:
    try:
        return datetime.strptime(level, "%Y-%m-%d").date().isoformat() == level
    except ValueError:
        return False
