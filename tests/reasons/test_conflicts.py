import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy.stats import beta

from soar_jax import InputError
from tests.reasons.models import make_model, models_and_rows


@settings(max_examples=60, deadline=None)
@given(models_and_rows(num_rows=12))
def test_conflicts_are_the_pairs_that_fire_together(case):
    model, frame = case
    y = np.arange(len(frame)) % 3 == 0
    expected = {}
    for i, plus in enumerate(model.positive_rules_):
        for j, minus in enumerate(model.negative_rules_):
            both = plus.fires(frame) & minus.fires(frame)
            if both.any():
                expected[f"P{i + 1}", f"N{j + 1}"] = (both.sum(), (both & y).sum(), str(plus), str(minus))
    table = model.conflicts(frame, y.astype(int))
    names = ["rows", "positives", "positive_rule", "negative_rule"]
    found = table.set_index(["positive_id", "negative_id"])[names].apply(tuple, axis=1).to_dict() if len(table) else {}
    assert found == expected
    assert (table["rows"] == table["positives"] + table["negatives"]).all()
    assert list(table["rows"]) == sorted(table["rows"], reverse=True)


def test_share_of_labels_has_its_interval_and_may_be_left_out():
    model = make_model([[("a", "==", 1)]], [[("b", "==", 1)]], classes=("no", "yes"))
    frame = pd.DataFrame({"a": [1] * 8 + [0] * 2, "b": [1] * 7 + [0] * 3})
    (line,) = model.conflicts(frame, ["yes"] * 5 + ["no"] * 5).to_dict(orient="records")
    assert (line["rows"], line["positives"], line["negatives"], line["positive_share"]) == (7, 5, 2, 5 / 7)
    assert (line["low"], line["high"]) == pytest.approx(beta(5.5, 2.5).ppf([0.05, 0.95]))
    assert list(model.conflicts(frame).columns) == [
        "positive_id", "negative_id", "positive_rule", "negative_rule", "rows"
    ]  # fmt: skip


def test_a_loaded_model_needs_rows_and_says_so():
    model = make_model([[("a", "==", 1)]], [[("b", "==", 1)]])
    with pytest.raises(InputError, match="give X and y"):
        model.conflicts()
    with pytest.raises(InputError, match="y without X"):
        model.conflicts(y=[1])
    assert model.conflicts(pd.DataFrame({"a": [1], "b": [0]}), [1]).empty
    one_class = make_model([[("a", "==", 1)]], estimator="BOAClassifier")
    assert one_class.conflicts(pd.DataFrame({"a": [1]}), [1]).empty
