"""Sentences of a page that speak of what is on it: they are there when that is, and not otherwise."""

import pandas as pd
import pytest

from tests.reasons.models import make_model


def page_of(model, tmp_path, *given, name="page.html", **options):
    model.report(tmp_path / name, *given, **options)
    return (tmp_path / name).read_text(encoding="utf-8")


def rows_of(counts):
    """A table with so many positives and negatives for each value of a and b."""
    rows = [
        {"a": a, "b": b, "outcome": y}
        for (a, b), both in counts.items()
        for y, count in ((1, both[0]), (0, both[1]))
        for _ in range(count)
    ]
    frame = pd.DataFrame(rows)
    return frame[["a", "b"]], frame["outcome"]


def test_solid_and_hatched_are_said_of_a_bar_that_is_drawn(tmp_path):
    model = make_model([[("a", "==", 1)]], [[("b", "==", 1)]], columns=["a", "b"])
    X, y = rows_of({(1, 1): (40, 40), (1, 0): (60, 20), (0, 1): (20, 60), (0, 0): (30, 30)})
    page = page_of(model, tmp_path, X, y)
    assert "unopposed (solid)" in page and "by an opposite rule (hatched)" in page and 'class="split"' in page
    X, y = rows_of({(1, 1): (8, 12), (1, 0): (60, 20), (0, 1): (20, 60), (0, 0): (30, 30)})
    page = page_of(model, tmp_path, X, y)
    assert 'class="split"' not in page and "also covered by an opposite rule" in page
    assert "(solid)" not in page and "(hatched)" not in page


def test_what_a_ratio_says_is_explained_where_there_is_one(tmp_path):
    model = make_model([[("a", "==", 1)]], [[("b", "==", 1)]], columns=["a", "b"])
    X, y = rows_of({(1, 1): (20, 20), (1, 0): (60, 20), (0, 1): (20, 60), (0, 0): (30, 30)})
    assert "“40 : 60” says" in page_of(model, tmp_path, X, y)
    X, y = rows_of({(1, 1): (8, 12), (1, 0): (60, 20), (0, 1): (20, 60), (0, 0): (30, 30)})
    page = page_of(model, tmp_path, X, y)
    assert "“40 : 60” says" not in page and "can be in several disputes" in page


def test_the_lead_of_the_examples_names_what_is_shown(tmp_path):
    model = make_model([[("a", "==", 1)]], [[("b", "==", 1)]], columns=["a", "b"])
    lead = "shown because the author chose to: {}."
    X, y = rows_of({(1, 1): (20, 20), (1, 0): (60, 0), (0, 1): (0, 60), (0, 0): (30, 30)})
    assert lead.format("disputes and silence") in page_of(model, tmp_path, X, y, examples=3)
    X, y = rows_of({(1, 1): (20, 20), (1, 0): (60, 5), (0, 1): (0, 60)})
    assert lead.format("disputes and answers that were wrong") in page_of(model, tmp_path, X, y, examples=3)
    single = make_model([[("a", "==", 1)]], (), columns=["a", "b"], estimator="BOAClassifier")
    assert lead.format("answers that were wrong") in page_of(single, tmp_path, X, y, examples=3)


@pytest.mark.filterwarnings("ignore::soar_jax.UntrustedPosteriorWarning", "ignore::soar_jax.BetterPairWarning")
def test_the_card_says_of_the_draws_what_the_page_says(make_table, tmp_path):
    from soar_jax import SOARClassifier

    model = SOARClassifier(n_rounds=1, max_patterns=20, max_length=2, grow_to=0).fit(*make_table(0))
    model.sample_posterior(20, 2, num_temperatures=1)
    said = "How often a rule is in the draws cannot be said yet: the run of 2 chains of 20 draws was too short"
    card = page_of(model, tmp_path, name="card.md")
    assert said in card and said in page_of(model, tmp_path)
    assert "R-hat" not in card and "effective" not in card
