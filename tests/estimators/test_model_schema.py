"""Model files that were damaged or changed by hand: refused, or said to be changed; never silently wrong."""

import copy
import json
import warnings
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from soar_jax import BOAClassifier, Committee, EditedModelWarning, InputError, Rule, SOARClassifier
from soar_jax._json import Damaged, check_schema, sealed
from soar_jax.estimators.load import load
from soar_jax.export.schema import model_schema
from soar_jax.posterior.committee_file import committee_schema
from tests.conftest import random_table

FILES = Path(__file__).parents[1] / "files"
CONTENT = json.loads((FILES / "model.json").read_text(encoding="utf-8"))


def rows():
    X, _ = random_table(0, num_rows=600)
    X["day"] = pd.to_datetime("2021-03-01") + pd.to_timedelta(np.arange(len(X)) % 90, unit="D")
    X["dose"] = np.random.default_rng(5).integers(0, 9, 600)
    return X


TABLE = rows().head(60)


def read(content):
    return SOARClassifier.from_json(content if isinstance(content, str) else json.dumps(content))


def changed(**change):
    return lambda c: c.update(change)


def first_rule(**change):
    return lambda c: c["rules"][0].update(change)


# -- what was seen ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (first_rule(side="Positive"), r"rules\[0\].side must be one of positive or negative"),
        (first_rule(literals=[]), r"rules\[0\].literals is shorter than 1"),
        (lambda c: c["training_taxonomy"].pop("CTP"), "training_taxonomy.CTP is not there"),
        (lambda c: c["training_taxonomy"].update(CFP=-5), "training_taxonomy.CFP is less than 0"),
        (changed(positive_index=0.5), "positive_index must be one of 0 or 1"),
        (
            first_rule(literals=[["c0", "==", "b"], CONTENT["rules"][0]["literals"][1]]),
            r"rules\[0\].rule does not say what its literals say",
        ),
        (changed(classes=["no", "yes", "maybe"]), "classes is longer than 2"),
        (changed(score=float("inf")), "Infinity is not JSON"),
        (changed(columns=[*CONTENT["columns"][:-1], "other"]), "does not have"),
        (changed(classes=["no", 1]), "two types"),
        (lambda c: c["hyperparameters"]["low"].__setitem__(0, 1.0), "hyperparameters.low is not below high"),
        (lambda c: c["hyperparameters"]["claimed"]["low"].__setitem__(2, 1.0), "claimed.low is not below high"),
        (lambda c: c["contract"]["columns"][5].update(kind="category"), "contract does not allow"),
        (changed(positive_index=0), "positive_index does not name the class"),
        (changed(classes=["yes", "no"]), "classes are not in order"),
        (lambda c: c["training_taxonomy"].update(CTP=22, CFP=137), r"rules\[0\].precision does not fit"),
        (lambda c: c["contract"].update(missing_words=["a"]), r"rules\[0\] reads a level that contract.missing_words"),
        (lambda c: c["hyperparameters"]["claimed"].update(alpha=[1e308] * 4), "claimed.alpha"),
        (changed(surprise=1), "a field that is not known"),
        (changed(parameters={"no_such": 1}), "damaged"),
        (changed(parameters={"consensus": {"type": "os.system"}}), "damaged"),
    ],
    ids=[
        "side Positive", "literals empty", "count deleted", "count negative", "positive_index 0.5", "literal edited",
        "three classes", "infinite", "column renamed", "classes of two types", "prior bounds crossed",
        "claimed bounds crossed", "kind changed", "classes flipped", "classes swapped", "hits and misses swapped",
        "a level is missing", "huge prior", "unknown field", "unknown parameter", "unknown type",
    ],
)  # fmt: skip
def test_edits_that_were_once_believed_are_refused_in_one_line(spoil, message):
    content = copy.deepcopy(CONTENT)
    spoil(content)
    with pytest.raises(InputError, match=message) as caught:
        read(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 10_000 + "]" * 10_000, "nested"),
        ('{"format": ' + "[" * 100 + "]" * 100 + "}", "nested"),
        ('{"format": "soar-jax model", "format": "soar-jax model"}', "a key stands twice"),
        ('{"score": NaN}', "NaN is not JSON"),
        ('{"score": ' + "9" * 5000 + "}", "too long"),
        ("x" * 100, "not a soar-jax model file"),
    ],
    ids=["10,000 levels", "100 levels", "key twice", "NaN", "5,000 digits", "no JSON"],
)
def test_hostile_json_is_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_numbers_beyond_float64_are_refused():
    text = json.dumps(CONTENT).replace(f'"score": {CONTENT["score"]}', '"score": 1e999')
    with pytest.raises(InputError, match="score is not a finite number"):
        read(text)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "m.json"
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(InputError, match="larger than 64 MB"):
        SOARClassifier.load(path)


# -- seals --------------------------------------------------------------------------------------


def test_an_edit_that_is_otherwise_right_is_said(tmp_path):
    content = copy.deepcopy(CONTENT)
    content["training_taxonomy"]["CTP"] += 1
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.warns(EditedModelWarning, match="changed since it was saved"):
        SOARClassifier.load(tmp_path / "m.json")


def test_a_model_is_not_saved_as_a_file_that_would_not_load():
    model = read(CONTENT)
    model.set_params(positive=CONTENT["classes"][0])
    with pytest.raises(InputError, match="positive was set to another class after the fit"):
        model.to_json()
    model.set_params(positive=CONTENT["classes"][1])
    assert read(model.to_json()).positive == CONTENT["classes"][1]


def test_layout_is_no_edit():
    turned = {name: CONTENT[name] for name in reversed(CONTENT)}
    whole = json.dumps(turned, indent=3).replace("1.0,", "1,").replace("0.0,", "0,")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(read(whole).predict_proba(TABLE), read(CONTENT).predict_proba(TABLE))


def test_a_cut_off_file_is_damaged_at_every_length():
    text = json.dumps(CONTENT)
    for stop in range(0, len(text) - 1, 97):
        with pytest.raises(InputError):
            read(text[:stop])


# -- every field --------------------------------------------------------------------------------


def places(node, path=()):
    """Every place of a JSON document; of lists of numbers the ends."""
    if isinstance(node, list) and len(node) > 4 and all(isinstance(child, int | float) for child in node):
        yield from ((*path, 0), (*path, len(node) - 1))
        return
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*path, key)
        yield from places(child, (*path, key))


def changes(value):
    """What a place could be turned into: other types, other signs, other truth."""
    yield from (None, [], {}, "", [value], {"type": value}, True)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (-value, str(value), value + 0.5 if isinstance(value, int) else -value - 1)
    elif isinstance(value, str):
        yield from (0, value.upper(), value + " ")


def variants(content):
    """Each field removed, retyped, negated: (path, what was done, the document)."""
    for path in places(content):
        spoilt = copy.deepcopy(content)
        parent = spoilt
        for key in path[:-1]:
            parent = parent[key]
        value = parent[path[-1]]
        if isinstance(parent, dict):
            del parent[path[-1]]
            yield path, "removed", spoilt
        for change in changes(value):
            if type(change) is not type(value) or change != value:
                spoilt = copy.deepcopy(content)
                parent = spoilt
                for key in path[:-1]:
                    parent = parent[key]
                parent[path[-1]] = change
                yield path, "changed", spoilt


def outcome(spoilt, expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = read(spoilt).predict_proba(TABLE)
        except InputError:
            return "refused"
    said = any(issubclass(w.category, EditedModelWarning) for w in caught)
    same = np.array_equal(found, expected)
    return f"{'said' if said else 'silent'}, {'same' if same else 'other'} predictions"


@pytest.fixture(scope="module")
def outcomes():
    """Every change sealed anew, as by someone who means harm: nothing but sense is left to refuse it."""
    expected = read(CONTENT).predict_proba(TABLE)
    return [
        (path, done, spoilt, outcome(sealed(spoilt), expected))
        for path, done, spoilt in variants(CONTENT)
        if path[0] != "checksum"
    ]


def test_every_field_removed_retyped_or_negated_is_refused_or_leaves_the_predictions(outcomes):
    found = Counter(what for *_, what in outcomes)
    assert set(found) == {"refused", "silent, same predictions"} and found["refused"] > 3000, found


def test_the_checksum_tells_whatever_is_not_refused(outcomes):
    expected = read(CONTENT).predict_proba(TABLE)
    left = [(path, spoilt, what) for path, _, spoilt, what in outcomes if what != "refused"]
    for path, spoilt, what in left[::8]:
        assert outcome(spoilt, expected) == what.replace("silent", "said"), path


def test_the_checker_agrees_with_jsonschema():
    schema = model_schema()
    reference = jsonschema.Draft202012Validator(schema)
    count = Counter()
    for i, (path, done, spoilt) in enumerate(variants(CONTENT)):
        if i % 11:
            continue
        try:
            check_schema(spoilt, schema)
            is_valid = True
        except Damaged:
            is_valid = False
        assert is_valid == reference.is_valid(spoilt), (path, done)
        count[is_valid] += 1
    assert min(count.values()) > 20


def test_a_keyword_that_the_checker_does_not_know_is_an_error():
    with pytest.raises(ValueError, match="multipleOf"):
        check_schema(3, {"multipleOf": 2})


# -- formats ------------------------------------------------------------------------------------


def test_a_file_predicts_as_its_model_did(tmp_path):
    """Written once and kept; the figures are what the model printed then."""
    expected = [0.1679653679653680, 0.8571430627767105, 0.1679653679653680, *[0.8571430627767105] * 3]
    model = SOARClassifier.load(FILES / "model.json")
    assert model.predict_proba(TABLE)[:6, 1] == pytest.approx(expected, abs=1e-12)
    assert model.score_ == pytest.approx(232.63561469360286) and model.power_ == 1
    model.save(tmp_path / "m.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = load(tmp_path / "m.json")
    assert np.array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert again.contract_ == model.contract_
    with pytest.raises(InputError, match="holds numbers"):
        again.predict(TABLE.assign(day=np.arange(60)))


def test_a_negative_rule_in_a_one_sided_model_is_refused():
    content = copy.deepcopy(CONTENT)
    content["estimator"] = "BOAClassifier"
    content["parameters"].pop("ambiguous")
    with pytest.raises(InputError, match="no negative rules"):
        BOAClassifier.from_json(json.dumps(content))


# -- committees ---------------------------------------------------------------------------------


def committee():
    model = read(CONTENT)
    rules = [
        [Rule.from_literals(r["literals"]) for r in CONTENT["rules"] if r["side"] == s]
        for s in ("positive", "negative")
    ]
    included = tuple(np.array([[True] * len(side), [True, *[False] * (len(side) - 1)]]) for side in rules)
    rates = np.array([[0.9, 0.1, 0.4, 0.5], [0.8, 0.2, 0.4, 0.6]])
    return Committee(
        (tuple(rules[0]), tuple(rules[1])), included, np.array([0.7, 0.3]), rates, model.classes_, 1,
        tuple(CONTENT["columns"]), "said", True, model._contract,
    )  # fmt: skip


def test_a_committee_is_checked_as_a_model_is(tmp_path):
    path = tmp_path / "c.json"
    made = committee()
    made.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(committee_schema()).validate(content)
    expected = made.predict_proba(TABLE)
    assert np.array_equal(Committee.load(path).predict_proba(TABLE), expected)
    assert made.check(TABLE).is_clean and Committee.load(path).contract_ == made.contract_
    found = Counter()
    for place, done, spoilt in variants(content):
        path.write_text(json.dumps(spoilt), encoding="utf-8")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                Committee.load(path).predict_proba(TABLE)
                what = "said" if any(issubclass(w.category, EditedModelWarning) for w in caught) else "silent"
            except InputError:
                what = "refused"
        found[what] += 1
        assert what != "silent", (place, done)
    assert found["refused"] > 500


def test_both_schemas_say_the_same_of_a_contract():
    model, other = model_schema(), committee_schema()
    assert model["properties"]["contract"] == other["$defs"]["contract"]
    assert model["$defs"]["column"] == other["$defs"]["column"]
