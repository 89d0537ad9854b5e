"""Models and rows that every engine answers for, with the library's own answers, made once."""

import numpy as np
import pytest

from soar_jax import BOAClassifier, SOARClassifier
from tests.conftest import random_table
from tests.export.made import expected, random_models, random_rows


@pytest.fixture(scope="session")
def models():
    return random_models(5)


@pytest.fixture(scope="session")
def rows():
    return random_rows(1)


@pytest.fixture(scope="session")
def answers(models, rows):
    return [expected(model, rows) for model in models]


@pytest.fixture(scope="session")
def fitted():
    """A small table and both estimators fitted to it."""
    X, y = random_table(0, num_rows=300)
    quick = dict(n_iter=100, n_restarts=2, max_patterns=60, n_rounds=2, missing_literals=True, holdout=0.3)
    labels = np.where(y, "ja", "nein")
    return X, SOARClassifier(**quick).fit(X, labels), BOAClassifier(**quick).fit(X, labels)
