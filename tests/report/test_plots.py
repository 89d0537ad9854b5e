"""Pictures of a posterior as people see them."""

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.mark.filterwarnings("ignore::soar_jax.UntrustedPosteriorWarning", "ignore::soar_jax.BetterPairWarning")
@pytest.mark.parametrize("longest", [1, 12])
def test_the_verdict_on_a_picture_stays_between_its_axes(longest, make_table):
    from matplotlib import pyplot as plt

    from soar_jax import SOARClassifier
    from soar_jax.posterior import plots

    X, y = make_table(0)
    X = X.rename(columns={name: "_".join([name] * longest) for name in X.columns})
    model = SOARClassifier(n_rounds=1, max_patterns=20, max_length=2, grow_to=0).fit(X, y)
    ax = plots.plot_inclusion(model.sample_posterior(20, 2, num_temperatures=1), count=4)
    ax.figure.canvas.draw()
    (mark,) = (text for text in ax.texts if "do not use" in text.get_text())
    said, room = mark.get_window_extent(), ax.get_window_extent()
    assert room.x0 <= said.x0 and said.x1 <= room.x1 and room.y0 <= said.y0 and said.y1 <= room.y1
    assert mark.get_fontsize() > 4
    plt.close(ax.figure)
