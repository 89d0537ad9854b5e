"""A fitted model as PMML 4.4: a RuleSetModel over the four states, with every rule as a derived field.

A RuleSetModel says one thing per row, the first rule that hits. Here those rules are the states: they carry label and
probabilities, and their ids are the states' names. Each rule of the pair is a boolean derived field, from which the
states' predicates and the output field ``rules`` are made.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from xml.sax.saxutils import escape, quoteattr

from soar_jax._base import InputError, Plain
from soar_jax.export.content import (
    LEVEL,
    MISSING,
    MOMENT,
    NUMBER,
    ExportedColumn,
    ModelContent,
)
from soar_jax.export.dialects.base import UNKNOWN
from soar_jax.export.pmml_conditions import Conditions, Names, all_of, apply, constant, derive, ref
from soar_jax.export.sql import refuse_strict, storages_of

NAMESPACE = "http://www.dmg.org/PMML-4_4"
_TYPES = {
    "text": ("categorical", "string"),
    "integer": ("continuous", "double"),  # evaluators' integers may have 32 bits
    "double": ("continuous", "double"),
    "real": ("continuous", "double"),
    "boolean": ("categorical", "boolean"),
    "date": ("ordinal", "date"),
    "timestamp": ("ordinal", "dateTime"),
}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def pmml_of(content: ModelContent, types: Mapping[str, str] | None = None) -> str:
    """Write the document; see ``RuleSetClassifier.to_pmml``."""
    columns = {column.name: column for column in content.columns}
    given = storages_of(content, dict(types or {}))
    refuse_strict(content, given)
    storages = {name: _storage(column, given[name]) for name, column in columns.items()}
    names = Names([*columns])
    target = names.fresh("label")
    root = ET.Element("PMML", {"xmlns": NAMESPACE, "version": "4.4"})
    header = ET.SubElement(root, "Header", {"description": content.title})
    ET.SubElement(header, "Application", {"name": "soar_jax", "version": content.version})
    ET.SubElement(header, "Timestamp").text = datetime.now(UTC).isoformat(timespec="seconds")
    _dictionary(root, content, storages, target)
    transformations = ET.SubElement(root, "TransformationDictionary")
    as_text = {name for name, column in columns.items() if column.reads_numbers}
    writer = Conditions(storages, as_text, names, transformations)
    fields = {rule.id: names.fresh(f"rule {rule.id}") for rule in content.rules}
    for rule in content.rules:
        expression = all_of("and", [writer.holds(condition) for condition in rule.conditions])
        derive(transformations, fields[rule.id], "boolean", expression)
    model = ET.SubElement(
        root,
        "RuleSetModel",
        {"functionName": "classification", "modelName": content.estimator, "algorithmName": "SOAR"},
    )
    schema = ET.SubElement(model, "MiningSchema")
    for name in columns:
        ET.SubElement(schema, "MiningField", {"name": name, "invalidValueTreatment": "asMissing"})
    ET.SubElement(schema, "MiningField", {"name": target, "usageType": "target"})
    _output(model, content, fields, names)
    _states(model, content, fields)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "".join(_lines(root, 0))


def _storage(column: ExportedColumn, given: str) -> str:
    """Take what the user said, or what the rules' readings suggest."""
    if given == UNKNOWN:
        by_reading = {LEVEL: "text", NUMBER: "double", MOMENT: "timestamp"}
        found = [by_reading[reading] for reading in column.readings if reading != MISSING] or ["text"]
        if len(found) > 1:
            raise InputError(
                f"The rules read column {column.name!r} in two ways ({' and '.join(found)}), but a PMML field has one "
                f"type; give types={{{column.name!r}: ...}}."
            )
        given = found[0]
    if given == "text" and column.moments:
        raise InputError(
            f"PMML cannot compare text with dates; give types={{{column.name!r}: 'timestamp'}} and pass timestamps."
        )
    return given


def _dictionary(root: ET.Element, content: ModelContent, storages: Mapping[str, str], target: str) -> None:
    dictionary = ET.SubElement(root, "DataDictionary")
    for name, storage in storages.items():
        optype, kind = _TYPES[storage]
        field = ET.SubElement(dictionary, "DataField", {"name": name, "optype": optype, "dataType": kind})
        words = {column.name: column.words for column in content.columns}[name] if kind in ("string", "double") else ()
        for word in (*(["NaN"] if kind == "double" else []), *(w for w in words if w != "NaN")):
            ET.SubElement(field, "Value", {"value": word, "property": "missing"})
    kind = _label_type(content.classes)
    field = ET.SubElement(dictionary, "DataField", {"name": target, "optype": "categorical", "dataType": kind})
    for label in content.classes:
        ET.SubElement(field, "Value", {"value": _label(label)})


def _label_type(classes: Sequence[Plain]) -> str:
    kinds: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "double"))
    return next((name for kind, name in kinds if all(isinstance(c, kind) for c in classes)), "string")


def _label(label: Plain) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def _output(model: ET.Element, content: ModelContent, fields: Mapping[str, str], names: Names) -> None:
    output = ET.SubElement(model, "Output")

    def add(name: str, optype: str, kind: str, **more: str) -> ET.Element:
        named = {"name": names.fresh(name), "optype": optype, "dataType": kind}
        return ET.SubElement(output, "OutputField", named | more)

    add("prediction", "categorical", _label_type(content.classes), feature="predictedValue")
    # the score distributions say it too, but not every evaluator reads those of a rule set
    add("probability", "continuous", "double", feature="transformedValue").append(_probability(content, fields))
    add("state", "categorical", "string", feature="entityId")
    rules = add("rules", "categorical", "string", feature="transformedValue")
    parts = [
        apply("if", ref(fields[rule.id]), constant(f"{rule.id} ", "string"), constant("", "string"))
        for rule in content.rules
    ]
    joined = apply("concat", *parts) if len(parts) > 1 else parts[0] if parts else constant("", "string")
    rules.append(apply("trimBlanks", joined))


def _probability(content: ModelContent, fields: Mapping[str, str]) -> ET.Element:
    fires = []
    for side in (True, False):
        mine = [ref(fields[rule.id]) for rule in content.rules if rule.is_positive is side]
        fires.append(all_of("or", mine) if mine else constant("false", "boolean"))
    positive, negative, active, passive = (constant(repr(state.probability), "double") for state in content.states)
    alone = apply("if", fires[1], negative, passive)
    return apply("if", fires[0], apply("if", fires[1], active, positive), alone)


def _states(model: ET.Element, content: ModelContent, fields: Mapping[str, str]) -> None:
    rule_set = ET.SubElement(model, "RuleSet", {"defaultScore": _label(content.states[-1].label)})
    ET.SubElement(rule_set, "RuleSelectionMethod", {"criterion": "firstHit"})
    by_name = {state.name: state for state in content.states}
    positive = [fields[rule.id] for rule in content.rules if rule.is_positive]
    negative = [fields[rule.id] for rule in content.rules if not rule.is_positive]
    predicates = {"active": [positive, negative], "positive": [positive], "negative": [negative], "passive": []}
    for name, groups in predicates.items():
        if not all(groups):
            continue
        state = by_name[name]
        rule = ET.SubElement(rule_set, "SimpleRule", {"id": name, "score": _label(state.label)})
        tests = [_compound("or", [_is_true(field) for field in group]) for group in groups]
        rule.append(_compound("and", tests) if tests else ET.Element("True"))
        for label, probability in zip(content.classes, state.by_class, strict=True):
            share = {"value": _label(label), "recordCount": repr(probability), "probability": repr(probability)}
            ET.SubElement(rule, "ScoreDistribution", share)


def _is_true(field: str) -> ET.Element:
    return ET.Element("SimplePredicate", {"field": field, "operator": "equal", "value": "true"})


def _compound(operator: str, parts: Sequence[ET.Element]) -> ET.Element:
    if len(parts) == 1:
        return parts[0]
    element = ET.Element("CompoundPredicate", {"booleanOperator": operator})
    element.extend(parts)
    return element


def _lines(element: ET.Element, depth: int) -> list[str]:
    """Print a tree with line breaks in names and values kept, which XML readers would else turn into blanks."""
    kept = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    for text in (element.text or "", *element.attrib.values()):
        if _NOT_XML.search(text):
            raise InputError(f"{text!r} holds a character that XML cannot hold; rename it and fit again.")
    attributes = "".join(f" {name}={quoteattr(value, kept)}" for name, value in element.attrib.items())
    indent, text = "  " * depth, escape(element.text or "", kept)
    if not len(element):
        ending = "/>" if element.text is None else f">{text}</{element.tag}>"
        return [f"{indent}<{element.tag}{attributes}{ending}\n"]
    inner = [line for child in element for line in _lines(child, depth + 1)]
    return [f"{indent}<{element.tag}{attributes}>\n", *inner, f"{indent}</{element.tag}>\n"]
