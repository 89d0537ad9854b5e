"""One small model of Car and its table, fitted once by the command for all tests of this folder."""

from types import SimpleNamespace

import pandas as pd
import pytest

from soar_jax import datasets
from soar_jax.cli.main import main


@pytest.fixture(scope="session")
def car(tmp_path_factory):
    """Files: ``table`` with labels, ``model`` fitted to it with rows held out, ``committee``."""
    import numpy as np

    from soar_jax import Committee
    from soar_jax.estimators.load import load

    folder = tmp_path_factory.mktemp("car")
    X, y = datasets.load_car()
    frame = pd.DataFrame(X).assign(good=np.where(y == 1, "yes", "no")).iloc[::2]
    frame.to_csv(folder / "car.csv", index=False)
    words = ["fit", str(folder / "car.csv"), "--target", "good", "--rounds", "1", "--max-length", "2"]
    assert main([*words, "--out", str(folder / "car.json")]) == 0
    model = load(folder / "car.json")
    one = [np.ones((1, len(rules)), dtype=bool) for rules in (model.positive_rules_, model.negative_rules_)]
    rules = tuple(model.positive_rules_), tuple(model.negative_rules_)
    names = tuple(model._column_names)
    Committee(rules, tuple(one), np.ones(1), np.full((1, 4), 0.5), model.classes_, 1, names, "Fine.", True).save(
        folder / "committee.json"
    )
    return SimpleNamespace(
        folder=folder,
        table=str(folder / "car.csv"),
        model=str(folder / "car.json"),
        committee=str(folder / "committee.json"),
        frame=frame,
    )
