import copy
import json

import jsonschema
import numpy as np
import pytest

from soar_jax import BOAClassifier, InputError, SOARClassifier
from soar_jax.export.schema import model_schema

jsonschema.Draft202012Validator.check_schema(model_schema())
VALID = jsonschema.Draft202012Validator(model_schema())


def test_json_is_what_save_writes_and_is_read_back(fitted, tmp_path):
    X, *models = fitted
    for model in models:
        model.save(tmp_path / "m.json")
        assert model.to_json() == (tmp_path / "m.json").read_text(encoding="utf-8")
        again = type(model).from_json(model.to_json())
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.to_json() == model.to_json()


def test_models_of_both_kinds_are_valid(fitted, models):
    for model in (*fitted[1:], *models):
        VALID.validate(json.loads(model.to_json()))


def _rule(**change):
    return lambda content: content["rules"][0].update(change)


def _change(**change):
    return lambda content: content.update(change)


@pytest.mark.parametrize(
    "spoil",
    [
        _rule(side="neutral"),
        _rule(literals=[]),
        _rule(literals=[["a", "<", 1]]),
        _rule(literals=[["a", "=="]]),
        _rule(literals=[["a", "==", 1, 2]]),
        _rule(literals=[[1, "==", 1]]),
        _rule(literals=[["a", "==", None]]),
        _rule(literals=[["a", "<=", None]]),
        _rule(literals=[["a", "missing", 0]]),
        _rule(literals=[{"column": "a"}]),
        _rule(support=-1),
        _rule(support=1.5),
        _rule(precision=1.5),
        _rule(length=0),
        _rule(rule=None),
        _rule(fresh_precision=-0.1),
        lambda content: content["rules"][0].pop("coverage"),
        lambda content: content["training_taxonomy"].update(CTP=-1),
        lambda content: content["training_taxonomy"].pop("PAN"),
        lambda content: content["hyperparameters"].update(alpha=[1, 1, 1]),
        lambda content: content["hyperparameters"].update(alpha=[1, 1, 0, 1]),
        lambda content: content["hyperparameters"].update(high=[1, 1, 1, 2]),
        lambda content: content["hyperparameters"].update(pool_size=[[-1], [1]]),
        lambda content: content["hyperparameters"].update(log_doubt=-1.0),
        lambda content: content["hyperparameters"]["claimed"].update(low=[0, 0, 2, 0]),
        lambda content: content["hyperparameters"]["claimed"].pop("alpha"),
        lambda content: content["hyperparameters"].pop("kind"),
        _change(classes=["a"]),
        _change(classes=["a", "a"]),
        _change(classes=["a", None]),
        _change(positive_index=2),
        _change(positive_index=True),
        _change(format="other"),
        _change(format_version=2),
        lambda content: content["hyperparameters"].update(power=1.5),
        _change(format_version=99),
        _change(estimator="Pickle"),
        _change(columns=["a", "a"]),
        _change(columns=[1]),
        _change(score=None),
        _change(restart_scores=["1"]),
        _change(num_features=0),
        lambda content: content.pop("rules"),
        lambda content: content.pop("score"),
    ],
)
def test_broken_models_are_not_valid(fitted, spoil):
    content = json.loads(fitted[1].to_json())
    VALID.validate(content)
    broken = copy.deepcopy(content)
    spoil(broken)
    assert not VALID.is_valid(broken)


def test_text_that_is_no_model_is_refused(fitted):
    with pytest.raises(InputError, match="This text is not a soar-jax model file"):
        SOARClassifier.from_json("nonsense")
    with pytest.raises(InputError, match="not a BOAClassifier"):
        BOAClassifier.from_json(fitted[1].to_json())
    with pytest.raises(InputError, match="NaN is not JSON"):
        SOARClassifier.from_json('{"score": NaN}')
