import json

import numpy as np
import pandas as pd
import pytest

from soar_jax import BOAClassifier, ExpectedRules, InputError, Opinion, SOARClassifier

QUICK = dict(n_iter=100, n_restarts=2, max_patterns=60, n_rounds=2)


@pytest.mark.parametrize("kind", [SOARClassifier, BOAClassifier])
def test_saved_model_predicts_the_same(make_table, tmp_path, kind):
    X, y = make_table(0, num_rows=600)
    X["day"] = pd.to_datetime("2021-03-01") + pd.to_timedelta(np.arange(len(X)) % 90, unit="D")
    y = y ^ (X["day"] > "2021-04-20").to_numpy()
    model = kind(**QUICK, consensus=Opinion(0.9, rows=40), rule_prior=(ExpectedRules(), ExpectedRules(rules=3))).fit(
        X, np.where(y, "ja", "nein")
    )
    model.save(tmp_path / "m.json")
    again = kind.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.score_ == model.score_ and again.priors_ == model.priors_
    assert again.describe() == model.describe()
    assert again.get_params() == model.get_params()
    pd.testing.assert_frame_equal(again.rules_, model.rules_)
    with pytest.raises(AttributeError, match="not kept"):
        _ = again.pools_


def test_model_file_is_plain_json(make_table, tmp_path):
    X, y = make_table(0, num_rows=300)
    SOARClassifier(**QUICK).fit(X, y).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["format_version"] == 1
    assert {lit[1] for rule in content["rules"] for lit in rule["literals"]} <= {"==", "<=", ">"}
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("not json", "not a soar-jax model"), ("{}", "not a soar-jax model"), ("[1]", "not a soar-jax model")],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(InputError, match=message):
        SOARClassifier.load(tmp_path / "m.json")


def test_damaged_newer_and_foreign_models_are_refused(make_table, tmp_path):
    X, y = make_table(0)
    path = tmp_path / "m.json"
    SOARClassifier(**QUICK).fit(X, y).save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "format_version": 99}))
    with pytest.raises(InputError, match="format version 99"):
        SOARClassifier.load(path)
    path.write_text(json.dumps({k: v for k, v in content.items() if k != "rules"}))
    with pytest.raises(InputError, match="damaged"):
        SOARClassifier.load(path)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="not a BOAClassifier"):
        BOAClassifier.load(path)


def test_failed_save_leaves_the_old_file(make_table, tmp_path):
    X, y = make_table(0)
    model = SOARClassifier(**QUICK).fit(X, y)
    path = tmp_path / "m.json"
    model.save(path)
    before = path.read_bytes()
    model.score_ = float("nan")
    with pytest.raises(ValueError, match="JSON"):
        model.save(path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["m.json"]
