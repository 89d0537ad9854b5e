"""A rule means on a new row what it meant on the training rows, wherever the row is read."""

import numpy as np
import pandas as pd
import pytest

from soar_jax import InputError, SOARClassifier

QUICK = dict(n_rounds=1, grow_to=0, max_length=2)


@pytest.mark.parametrize("names", [[0, 1, 2], [2, 1, 0], [7, 5, 3]])
def test_28_3_integer_names_are_matched_as_names_unless_they_only_number_the_columns(names):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=names)
    y = X[names[0]] > 0.3
    model = SOARClassifier(**QUICK).fit(X, y)
    assert model._contract.has_names == (names != [0, 1, 2])
    for one in (model, SOARClassifier.from_json(model.to_json())):
        assert np.array_equal(one.predict(X), y)
        assert np.array_equal(one.predict(X[names[::-1]]), y)
        assert np.array_equal(one.predict(X[names[:1]]), y)
        if names == [0, 1, 2]:
            assert np.array_equal(one.predict(X.to_numpy()), y)
            with pytest.raises(InputError, match="does not have"):
                one.predict(X[[2, 1]])
