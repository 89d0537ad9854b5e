import xml.etree.ElementTree as ET

import pytest

from soar_jax import InputError
from tests.export.made import model_of
from tests.export.values import HOSTILE

SPACE = {"p": "http://www.dmg.org/PMML-4_4"}


def parsed(model, **options):
    return ET.fromstring(model.to_pmml(**options))


def test_states_are_the_rules_of_a_rule_set_that_takes_the_first_hit(fitted):
    for model in fitted[1:]:
        root = parsed(model)
        assert root.get("version") == "4.4"
        rule_set = root.find("p:RuleSetModel/p:RuleSet", SPACE)
        assert rule_set.find("p:RuleSelectionMethod", SPACE).get("criterion") == "firstHit"
        states = (
            ["active", "positive", "negative", "passive"] if len(model.negative_rules_) else ["positive", "passive"]
        )
        assert [rule.get("id") for rule in rule_set.findall("p:SimpleRule", SPACE)] == states
        probabilities = dict(
            zip(("positive", "negative", "active", "passive"), model.state_probabilities(), strict=True)
        )
        for rule in rule_set.findall("p:SimpleRule", SPACE):
            shares = {s.get("value"): float(s.get("probability")) for s in rule.findall("p:ScoreDistribution", SPACE)}
            assert shares[model._label(0)] == probabilities[rule.get("id")]
        derived = [field.get("name") for field in root.findall("p:TransformationDictionary/p:DerivedField", SPACE)]
        assert len([name for name in derived if name.startswith("rule ")]) == len(model.rules_)


@pytest.mark.parametrize("name", [*HOSTILE, "<a & 'b'>]]>", "\t\n\r x "])
def test_names_and_values_survive_xml(name):
    root = parsed(model_of([[(name, "==", name)]], [], classes=(name, "b"), columns={name: "words"}))
    assert root.find("p:DataDictionary/p:DataField", SPACE).get("name") == name
    assert name in [constant.text for constant in root.iter("{http://www.dmg.org/PMML-4_4}Constant")]
    assert name in [share.get("value") for share in root.iter("{http://www.dmg.org/PMML-4_4}ScoreDistribution")]


def test_names_of_columns_and_of_results_do_not_clash():
    names = ("prediction", "state", "rules", "label", "rule P1")
    model = model_of([[(name, "==", "x")] for name in names], [], columns=dict.fromkeys(names, "words"))
    root = parsed(model)
    found = [
        e.get("name")
        for kind in ("DataField", "DerivedField", "OutputField")
        for e in root.iter(f"{{{SPACE['p']}}}{kind}")
    ]
    assert len(found) == len(set(found)) and "prediction_" in found and "probability" in found


@pytest.mark.parametrize(
    ("literals", "types", "message"),
    [
        ([("a", "==", "x"), ("a", ">", 1.0)], None, "in two ways"),
        ([("a", ">", "2021-01-01")], {"a": "text"}, "cannot compare text with dates"),
        ([("a", ">", "2021-01-01")], {"a": "double"}, "holds numbers"),
        ([("a", "==", 2**53)], {"a": "integer"}, "from its neighbours"),
        ([("a", "==", "\x01")], None, "XML cannot hold"),
        ([("a\0", "==", "x")], None, "XML cannot hold"),
        ([("a", "==", "x")], {"a": "float"}, "must be one of"),
    ],
)
def test_what_pmml_cannot_hold_is_refused(literals, types, message):
    model = model_of([[literal] for literal in literals], [], columns={literals[0][0]: "words"})
    with pytest.raises(InputError, match=message):
        model.to_pmml(types=types)
