"""docs/paper.md: slips that need no more than arithmetic or a look at the settings."""

from pathlib import Path

import numpy as np
import pytest

from soar_jax import SOARClassifier

# The paper's cross table of Adult: BOA's TP, TN, FN, FP against CTP, CTN, CFN, CFP, AAN, AAP, PAN, PAP.
CROSS = np.array(
    [
        [433, 0, 21, 0, 0, 1234, 0, 39],
        [0, 3525, 0, 0, 16, 0, 45, 0],
        [0, 0, 137, 0, 0, 1, 0, 11],
        [0, 68, 0, 118, 1864, 0, 49, 0],
    ]
)


def test_adult_tables_of_the_paper_disagree_on_misclassified_but_not_on_ambiguous():
    assert CROSS.sum() == 7561
    share = CROSS.sum(axis=0) / 7561
    assert share[2] + share[3] == pytest.approx(0.0365, abs=5e-5)  # the comparison table says 0.034
    assert share[4:].sum() == pytest.approx(0.431, abs=5e-4)  # and 0.432


def test_both_readings_of_algorithm_1_are_there():
    X, y = np.random.default_rng(0).integers(0, 2, (200, 4)), None
    y = (X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 3] & 1)
    fits = [
        SOARClassifier(search="annealing", row_choice=choice, n_iter=100, n_restarts=1).fit(X, y)
        for choice in ("current", "best")
    ]
    assert fits[0].row_choice == SOARClassifier().row_choice
    assert all(model.is_local_optimum_ for model in fits)


def test_every_setting_the_paper_leaves_open_is_a_documented_number():
    priors = (
        SOARClassifier(n_iter=10, n_restarts=1).fit([[0, 1], [1, 0], [1, 1], [0, 0]] * 10, [0, 1, 1, 0] * 10).priors_
    )
    assert set(priors["states"]) == {"positive", "negative", "active", "passive"}
    for state in priors["states"].values():
        claimed = state.pop("claimed")
        assert all(value > 0 for value in state.values())
        assert claimed["alpha"] > 0 < claimed["beta"] and 0 <= claimed["low"] < claimed["high"] <= 1


def test_every_note_on_the_paper_names_a_test_that_exists():
    import re

    notes = (Path(__file__).parents[1] / "docs" / "paper.md").read_text()
    items = re.split(r"\n(?=\d\. )", notes)[1:]
    assert len(items) == 8
    tests = "\n".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    for item in items:
        named = re.findall(r"`(test_\w+)`", item)
        assert named and all(f"def {name}(" in tests for name in named), item
