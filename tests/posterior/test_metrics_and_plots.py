import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from soar_jax import InputError, SOARClassifier, plots
from soar_jax.posterior.metrics import brier_score, calibration_error, risk_coverage
from tests.conftest import random_table

pytestmark = pytest.mark.filterwarnings("ignore::soar_jax.posterior.diagnosis.UntrustedPosteriorWarning")


def test_calibration_error_of_honest_and_of_boastful_probabilities():
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    y = rng.random(50_000) < p
    assert calibration_error(y, p) < 0.01  # ten bins of 5,000: about 0.003 expected
    assert calibration_error(y, (p > 0.5).astype(float)) == pytest.approx(0.25, abs=0.01)
    assert brier_score(y, p) == pytest.approx(1 / 6, abs=0.005)


def test_risk_coverage_takes_equal_confidence_together_and_ends_at_the_error():
    y = np.array([1, 0, 1, 1, 0, 0])
    p = np.array([0.9, 0.1, 0.9, 0.1, 0.6, 0.6])
    coverage, risk = risk_coverage(y, p)
    assert coverage.tolist() == [4 / 6, 1.0]
    assert risk.tolist() == [1 / 4, 3 / 6]
    with pytest.raises(InputError, match="equally long"):
        risk_coverage([1, 0], [0.5])
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        brier_score([1], [2.0])


def test_every_plot_is_drawn_and_marks_draws_that_cannot_be_trusted():
    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(n_rounds=2, max_patterns=20, max_length=2).fit(X, y)
    post = model.sample_posterior(num_draws=50, num_warmup=25, num_temperatures=4)
    assert not post.diagnose().is_trusted
    drawn = [
        plots.plot_inclusion(post),
        plots.plot_state_map(post, X),
        plots.plot_calibration(post, X, y),
        plots.plot_risk_coverage(post, X, y),
    ]
    for ax in drawn:
        assert any("do not agree" in text.get_text() for text in ax.texts)
        ax.figure.canvas.draw()
    figure = plots.plot_traces(post)
    assert len(figure.axes) == 10
    figure.canvas.draw()
    plt.close("all")
