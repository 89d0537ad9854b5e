"""Clocks, first signs of life, and results that say that they were stopped."""

import time
import warnings

import pytest

from soar_jax import SOARClassifier
from soar_jax._progress import Clock
from soar_jax.estimators import find_pair
from soar_jax.sampling import sampler as samplers
from soar_jax.search import explore
from soar_jax.search.certificate import Certificate
from tests.conftest import random_table

SETTINGS = dict(max_patterns=20, max_length=2, n_rounds=2)


@pytest.fixture(scope="module")
def table():
    return random_table(0, num_rows=200)


@pytest.fixture(scope="module")
def fitted(table):
    return SOARClassifier(**SETTINGS).fit(*table)


def test_a_clock_keeps_time_for_what_follows_and_begins_nothing_that_would_end_late():
    clock = Clock(10.0)
    before = clock.deadline
    clock.reserve(2.0)
    assert clock.deadline == before - 2.0
    clock.reserve(100.0)
    assert clock.deadline == pytest.approx(before - 2.0 - 10 / 3)
    assert clock.has_room_for(5.0) and not clock.stopped
    assert not clock.has_room_for(7.0) and clock.stopped
    free = Clock(None)
    free.reserve(1.0)
    assert free.has_room_for(1e9) and not free.stopped


def test_a_time_budget_is_kept_once_programs_are_compiled(table, fitted):
    """Rounds without end; 1.5 s are within 20 % or half a second, with another second for a busy machine."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SOARClassifier(**{**SETTINGS, "n_rounds": 10**6}, time_budget=1.5).fit(*table)
    assert time.perf_counter() - started < 1.5 + 0.5 + 1.0
    assert model.was_stopped_


def test_progress_is_reported_before_anything_is_compiled(table, fitted, monkeypatch):
    class Begun(Exception):
        pass

    def stop(*args, **kwargs):
        raise Begun

    seen = []
    monkeypatch.setattr(explore, "Explorer", stop)
    source, hyper = find_pair.Catalogue, None
    monkeypatch.setattr(explore, "default_rounds", lambda catalogue: 7)
    with pytest.raises(Begun):
        explore.run(source, hyper, single=False, seed=0, max_patterns=5, progress=seen.append)
    assert [(r.phase, r.done, r.total) for r in seen] == [("searching", 0, 7)] and seen[0].score is None

    from soar_jax.sampling import run as mcmc

    monkeypatch.setattr(mcmc, "Sampler", stop)
    with pytest.raises(Begun):
        mcmc.run(fitted.fitted_pair_.target, seed=0, num_draws=50, progress=seen.append)
    assert (seen[1].phase, seen[1].done, seen[1].total) == ("warm-up", 0, 25)


def test_an_interrupt_in_warm_up_keeps_the_fit(fitted, monkeypatch):
    def interrupt(self, *args):
        raise KeyboardInterrupt

    rules = fitted.describe()
    monkeypatch.setattr(samplers.Sampler, "advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fitted.sample_posterior(50, num_chains=2)
    assert fitted.describe() == rules and not hasattr(fitted, "posterior_")


def test_an_interrupted_result_says_so_everywhere(table, fitted, monkeypatch, tmp_path):
    def stop(self, number):
        raise KeyboardInterrupt

    assert not fitted.was_stopped_ and "stopped" not in fitted.describe() + fitted.conclude()
    monkeypatch.setattr(explore.Explorer, "round", stop)
    with pytest.warns(UserWarning, match="was stopped before"):
        model = SOARClassifier(**SETTINGS).fit(*table)
    model.save(tmp_path / "model.json")
    for one in (model, SOARClassifier.load(tmp_path / "model.json")):
        assert one.was_stopped_ and one.certificate_.was_stopped and not one.is_local_optimum_
        for text in (one.describe(), one.conclude(), str(one.certificate_)):
            assert "the search was stopped, by its time budget or an interrupt" in text


def test_a_certificate_that_holds_still_says_that_the_search_was_stopped():
    text = str(Certificate(True, 10, True, 2, 2, was_stopped=True))
    assert text.startswith("No added") and "was stopped" in text
