"""Other people's tools on our objects: skops, pickle, ArviZ, plots, forked processes."""

import multiprocessing
import os
import pickle
import pickletools
import warnings

import numpy as np
import pandas as pd
import pytest

from soar_jax import InputError, SOARClassifier
from soar_jax import _base as base
from soar_jax.estimators.plain_state import plain_table, table_of
from tests.conftest import random_table

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def sampled():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(n_rounds=1, max_patterns=20, max_length=2, holdout=0.2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.sample_posterior(50, num_chains=2, num_temperatures=3)
        model.posterior_.diagnose()
    return X, y, model


def same_model(one, other, X):
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.describe() == other.describe() and one.certificate_ == other.certificate_
    for name in ("rules_", "history_", "fresh_states_"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))
    pd.testing.assert_series_equal(one.training_taxonomy_, other.training_taxonomy_)


def test_skops_saves_and_loads_a_fitted_model_and_its_draws(sampled):
    skops = pytest.importorskip("skops.io")
    X, _, model = sampled
    content = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=content)
    assert all(name.startswith("soar_jax.") for name in unknown)
    again = skops.loads(content, trusted=unknown)
    same_model(model, again, X)
    np.testing.assert_array_equal(model.posterior_.predict_proba(X), again.posterior_.predict_proba(X))
    assert str(again.posterior_.diagnose()) == str(model.posterior_.diagnose())


def test_a_pickle_holds_nothing_of_jax(sampled):
    """No arrays of a device and no insides of pandas: a pickle can be read by another Python with the same packages."""
    X, _, model = sampled
    content = pickle.dumps(model)
    named = [arg for op, arg, _ in pickletools.genops(content) if isinstance(arg, str)]
    roots = {name.split(".")[0].split(" ")[0] for name in named}
    assert not {"jax", "jaxlib", "pandas"} & roots
    same_model(model, pickle.loads(content), X)


def test_tables_survive_being_taken_apart():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, np.nan], "d": [(1,), ()]}, index=["p", "q"])
    frame.index.name = "side"
    pd.testing.assert_frame_equal(table_of(plain_table(frame)), frame)
    for empty in (frame.iloc[:0], pd.DataFrame()):
        assert table_of(plain_table(empty)).shape == empty.shape
    pd.testing.assert_series_equal(table_of(plain_table(frame["a"])), frame["a"])


def test_arviz_draws_its_plots_and_leaves_one_out(sampled):
    arviz = pytest.importorskip("arviz")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X, y, model = sampled
    kept = np.setdiff1d(np.arange(len(X)), model.held_out_)
    data = model.posterior_.to_arviz(X.iloc[kept], np.asarray(y)[kept])
    for plot in (arviz.plot_rank, arviz.plot_trace, arviz.plot_forest):
        plot(data, var_names=["positive_rules", "state_rows"])
        plt.close("all")
    assert len(arviz.summary(data)) > 0
    found = arviz.loo(data)
    pointwise = data["log_likelihood"]["label"].to_numpy()
    assert pointwise.shape == (2, 50, len(kept)) and np.isfinite(pointwise).all()
    average = np.log(np.exp(pointwise).mean(axis=(0, 1))).sum()
    assert float(getattr(found, "elpd_loo", getattr(found, "elpd", None))) < average < 0
    with pytest.raises(InputError, match="both X and y"):
        model.posterior_.to_arviz(X)


def test_the_log_likelihood_of_rows_is_that_of_the_rates_drawn(sampled):
    X, y, model = sampled
    post = model.posterior_
    states = post._states(X.iloc[:5]).reshape(2, 50, 5)
    rho = post.draw_rates()
    speaks_for_positive = np.array([True, False, True, False])[states]
    is_right = speaks_for_positive == (np.asarray(y)[:5] == post.fitted.label(0))
    rate = np.take_along_axis(rho, states, axis=2)
    expected = np.log(np.where(is_right, rate, 1 - rate))
    np.testing.assert_allclose(post.log_likelihood_of(X.iloc[:5], np.asarray(y)[:5]), expected, rtol=1e-12)


def test_calibration_of_an_estimator_is_plotted(sampled):
    pytest.importorskip("matplotlib").use("Agg")
    from soar_jax.posterior.plots import plot_calibration

    X, y, model = sampled
    for one in (model, model.posterior_):
        assert "calibration error" in plot_calibration(one, X, y).get_title()


def _in_child(model, X, queue):
    try:
        predicted = model.predict(X)
        queue.put(("predicted", predicted.tolist()))
        model.fit(X, predicted)
    except BaseException as error:
        queue.put((type(error).__name__, str(error)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fit_in_a_forked_child_fails_at_once_and_predictions_work(sampled):
    X, _, model = sampled
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(model, X, queue), daemon=True)
    child.start()
    assert queue.get(timeout=60) == ("predicted", model.predict(X).tolist())
    name, message = queue.get(timeout=60)
    child.join(timeout=60)
    assert name == "InputError" and "forked" in message and "spawn" in message
    assert not base._jax["is_forked"]
