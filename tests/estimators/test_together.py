"""Features side by side: constrained, edited, saved, read, explained and exported models say the same of every row."""

import json
import sqlite3

import jsonschema
import numpy as np
import pytest

from soar_jax import Costs, SOARClassifier, datasets
from soar_jax.export.schema import model_schema


@pytest.fixture(scope="module")
def edited():
    X, y = datasets.load_car()
    model = SOARClassifier(
        n_rounds=2,
        grow_to=0,
        forbid=("doors", ("persons", "lugBoot"), "safety = med"),
        require={"negative": ("safety = low and persons = 2",)},
        max_rules=6,
        class_weight={0: 1, 1: 2},
    ).fit(X, y)
    return X, y, model.with_rule("persons = 4 and safety = high and lugBoot = big", 1, reason="asked for by the board")


def test_an_edited_model_under_constraints_is_saved_and_read_whole(edited, tmp_path):
    X, _, model = edited
    path = tmp_path / "model.json"
    model.save(path)
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), model_schema())
    loaded = SOARClassifier.load(path)
    assert loaded.get_params() == model.get_params()
    assert loaded.edits_["reason"].tolist() == ["asked for by the board"]
    assert np.array_equal(loaded.predict_state(X), model.predict_state(X))
    assert not loaded.certificate_.holds and "by hand" in str(loaded.certificate_)


def test_reasons_and_exports_of_it_agree_with_its_predictions(edited):
    X, _, model = edited
    frame = model.explain(X).to_frame()
    connection = sqlite3.connect(":memory:")
    X.assign(row=range(len(X))).to_sql("cars", connection, index=False)
    rows = connection.execute(model.to_sql("sqlite", table="cars", key="row")).fetchall()
    found = [list(column) for column in zip(*rows, strict=True)]
    assert found[3] == frame["state"].tolist() == list(model.predict_state(X))
    assert found[4] == frame["rules"].tolist()
    assert found[2] == frame["probability"].tolist()
    assert found[1] == frame["prediction"].tolist() == model.predict(X).tolist()


def test_every_way_to_decide_sees_the_edited_rules(edited):
    X, y, model = edited
    audit = model.audit(X, y, by="persons")
    assert set(audit.groups["group"]) == {"2", "4", "more"}
    decided = model.decide(X, Costs(false_positive=5, false_negative=1, abstain=0.3))
    assert decided["state"].tolist() == list(model.predict_state(X))
    suggested = model.contrast(X.iloc[0], to=1).rows()
    assert len(suggested) and set(model.predict_state(suggested)) == {"positive"}
