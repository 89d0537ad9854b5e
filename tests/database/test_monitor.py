"""Monitoring: intervals are Beta-binomial quantiles, hold together as often as they say, and see drift."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from soar_jax import InputError
from soar_jax.database.monitor import _EXACT_ROWS, predictive_interval
from tests.database.tables import frame_table
from tests.export.made import model_of

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("hits", "rows", "new"), [(30, 100, 50), (0, 80, 200), (80, 80, 40), (500, 1000, 1), (3, 9, 9)]
)
@pytest.mark.parametrize("tail", [0.05, 0.001])
def test_intervals_are_quantiles_of_the_beta_binomial(hits, rows, new, tail):
    reference = stats.betabinom(new, hits + 0.5, rows - hits + 0.5)
    low, high = predictive_interval(hits, rows, new, tail)
    assert reference.cdf(low - 1) < tail <= reference.cdf(low) + 1e-12
    assert reference.sf(high) < tail <= reference.sf(high - 1) + 1e-12 or high == low


def test_large_batches_have_nearly_the_exact_interval():
    exact = predictive_interval(3000, 10_000, _EXACT_ROWS, 0.001)
    near = predictive_interval(3000, 10_000, _EXACT_ROWS + 1, 0.001)
    assert np.allclose(exact, near, rtol=2e-3)
    low, high = predictive_interval(3 * 10**7, 10**8, 10**11, 0.001)
    assert low < 0.3 * 10**11 < high and (high - low) / 10**11 < 5e-4


def batch(rng, size, share):
    return pd.DataFrame({"a": rng.random(size) < share, "b": rng.integers(0, 4, size)})


def fitted(training):
    """A model of two rules whose training figures are those of a table."""
    model = model_of([[("a", "==", True)]], [[("b", "<=", 1.0)]], columns={"a": "boolean", "b": "integer"})
    found = model.monitor(training, level=0.5).table
    counts = found["rows"]
    model.rules_["support"] = counts[["P1", "N1"]].to_numpy()
    for state, name in (("positive", "CTP"), ("negative", "CTN"), ("active", "AAP"), ("passive", "PAP")):
        model.training_taxonomy_[:] = model.training_taxonomy_
        model.training_taxonomy_[name] = counts[state]
    for name in ("CFP", "CFN", "AAN", "PAN"):
        model.training_taxonomy_[name] = 0
    return model


def test_batches_without_drift_are_called_drifted_no_more_often_than_stated():
    """400 batches at 90 %: at most 10 % are expected; more than 14 % has probability below 1 %."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(40):
        model = fitted(batch(rng, 800, 0.3))
        alarms += sum(model.monitor(batch(rng, 300, 0.3), level=0.9).has_drifted for _ in range(10))
    assert 1 <= alarms <= 56


def test_a_drifted_batch_is_seen_named_and_drawn():
    rng = np.random.default_rng(2)
    model = fitted(batch(rng, 2000, 0.3))
    found = model.monitor(batch(rng, 2000, 0.5))
    assert found.has_drifted and found.exit_code == 3 and found.table.loc["P1", "is_outside"]
    assert not found.table.loc["N1", "is_outside"]
    assert str(found).startswith("Drift: ") and "<- outside" in str(found)
    calm = model.monitor(batch(rng, 2000, 0.3))
    assert calm.exit_code == 0 and str(calm).startswith("No drift")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert found.plot().get_title() == "drift"
    assert found.to_dict()["has_drifted"] is True and len(found.to_frame()) == 6


def test_the_engine_counts_what_the_frame_counts_by_one_grouped_query(monkeypatch):
    from ibis.backends.duckdb import Backend

    rng = np.random.default_rng(3)
    frame = batch(rng, 5000, 0.4)
    model = fitted(frame)
    table = frame_table(frame, name="batch")
    lines, execute = [], Backend.execute

    def watched(self, expr, *args, **kwargs):
        result = execute(self, expr, *args, **kwargs)
        lines.append(len(result))
        return result

    monkeypatch.setattr(Backend, "execute", watched)
    pd.testing.assert_frame_equal(model.monitor(table).table, model.monitor(frame).table)
    assert len(lines) == 1 and lines[0] <= 4


def test_bad_levels_and_empty_batches_are_refused():
    rng = np.random.default_rng(3)
    model = fitted(batch(rng, 500, 0.4))
    with pytest.raises(InputError, match="level must lie"):
        model.monitor(batch(rng, 5, 0.4), level=1.5)
    with pytest.raises(InputError, match="fit without it"):
        fitted(batch(rng, 50, 0.4)).set_params(class_weight="balanced").monitor(batch(rng, 5, 0.4))
    with pytest.raises(InputError, match="no rows"):
        model.monitor(frame_table(batch(rng, 5, 0.4), name="batch").limit(0))
