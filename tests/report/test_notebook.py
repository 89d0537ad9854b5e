"""What notebooks show: small, escaped, with the verdict before the figures."""

import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from soar_jax import SOARClassifier
from tests.reasons.models import make_model
from tests.report import models

BAD = "<img src=x onerror=alert(1)>"


def test_a_fitted_estimator_shows_its_rules_and_folds_its_parameters():
    model = make_model(
        [[("a", "==", BAD)]] + [[("n", ">", i)] for i in range(12)], [[(BAD, "<=", 3)]], classes=(BAD, "b")
    )
    shown = model._repr_mimebundle_()["text/html"]
    assert BAD not in shown and "&lt;img" in shown
    assert "P10" in shown and "P11" not in shown and "and 3 more" in shown
    assert "<details>" in shown
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_an_unfitted_estimator_and_a_pipeline_look_as_scikit_learn_draws_them():
    assert "<b>" not in SOARClassifier()._repr_html_()[:3] and "SOARClassifier" in SOARClassifier()._repr_html_()
    assert "SOARClassifier" in make_pipeline(SOARClassifier())._repr_html_()


def test_rule_sets_and_explanations_are_escaped():
    model = make_model([[("a", "==", BAD)]], [], classes=("no", BAD))
    assert BAD not in model.positive_rules_._repr_html_()
    assert "has no rules" in model.negative_rules_._repr_html_()
    frame = models.pd.DataFrame({"a": [BAD, "b"]})
    assert BAD not in model.explain(frame)[0]._repr_html_()


@pytest.mark.parametrize("name", ["car"])
def test_a_report_prints_its_verdict_only(name, tmp_path):
    model, X, y = getattr(models, name)()
    said = repr(model.report(tmp_path / "r.html", X, y))
    assert said.startswith("Report: For ") and len(said) < 500
