"""Fits that were killed go on from their checkpoint, and end where they would have ended."""

import warnings

import numpy as np
import pytest

from soar_jax import InputError, SOARClassifier
from soar_jax.search import checkpoint as checkpoints
from soar_jax.search.checkpoint import DamagedCheckpointWarning
from tests.conftest import random_table

FULL = dict(n_rounds=4, max_patterns=40, max_length=2)
ANNEALING = dict(search="annealing", n_iter=300, n_restarts=2, max_patterns=40, max_length=2)


class Killed(BaseException):
    """Ends a fit where a kill would."""


@pytest.fixture(autouse=True)
def save_always(monkeypatch):
    make = checkpoints.CheckpointFolder.__init__
    monkeypatch.setattr(
        checkpoints.CheckpointFolder, "__init__", lambda self, path: make(self, path, seconds_between=0.0)
    )


@pytest.fixture(scope="module")
def table():
    return random_table(1, num_rows=300)


def kill_after(monkeypatch, num_saves):
    keep, saves = checkpoints.Checkpoint.keep, []

    def keep_then_die(self, *args):
        keep(self, *args)
        saves.append(1)
        if len(saves) == num_saves:
            raise Killed

    monkeypatch.setattr(checkpoints.Checkpoint, "keep", keep_then_die)


def killed(monkeypatch, table, folder, num_saves, **settings):
    with monkeypatch.context() as patch:
        kill_after(patch, num_saves)
        with pytest.raises(Killed):
            SOARClassifier(**settings).fit(*table, checkpoint=folder)


def same(one, other):
    assert one.score_ == other.score_ and one.certificate_ == other.certificate_
    assert one.rules_["rule"].tolist() == other.rules_["rule"].tolist()
    np.testing.assert_array_equal(one.restart_scores_, other.restart_scores_)
    timeless = [name for name in one.history_ if name != "seconds"]
    assert one.history_[timeless].equals(other.history_[timeless])


@pytest.fixture(scope="module")
def whole(table):
    return SOARClassifier(**FULL).fit(*table)


@pytest.mark.parametrize("num_saves", [1, 3])
def test_a_killed_fit_goes_on_to_the_same_result_to_the_bit(monkeypatch, tmp_path, table, whole, num_saves):
    killed(monkeypatch, table, tmp_path, num_saves, **FULL)
    again = SOARClassifier(**FULL).fit(*table, checkpoint=tmp_path)
    same(whole, again)
    assert not hasattr(again, "_checkpoints")
    same(whole, SOARClassifier(**FULL).fit(*table, checkpoint=tmp_path))  # a finished one is read back


def test_a_killed_annealing_goes_on_to_the_same_result_to_the_bit(monkeypatch, tmp_path, table):
    whole = SOARClassifier(**ANNEALING).fit(*table)
    killed(monkeypatch, table, tmp_path, 1, **ANNEALING)
    same(whole, SOARClassifier(**ANNEALING).fit(*table, checkpoint=tmp_path))


def test_a_killed_choice_of_columns_goes_on_too(monkeypatch, tmp_path, table):
    settings = {**FULL, "max_columns": 2}
    whole = SOARClassifier(**settings).fit(*table)
    killed(monkeypatch, table, tmp_path, 6, **settings)
    same(whole, SOARClassifier(**settings).fit(*table, checkpoint=tmp_path))


def test_a_damaged_checkpoint_falls_back_to_the_one_before(monkeypatch, tmp_path, table, whole):
    killed(monkeypatch, table, tmp_path, 3, **FULL)
    newest = tmp_path / "search-0.soar"
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 4
    newest.write_bytes(content)
    with pytest.warns(DamagedCheckpointWarning, match="its checksum does not match; the fit goes on from"):
        same(whole, SOARClassifier(**FULL).fit(*table, checkpoint=tmp_path))
    for path in tmp_path.glob("*.soar"):
        path.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedCheckpointWarning)
        same(whole, SOARClassifier(**FULL).fit(*table, checkpoint=tmp_path))


def test_a_checkpoint_of_other_labels_or_settings_is_refused(monkeypatch, tmp_path, table):
    killed(monkeypatch, table, tmp_path, 1, **FULL)
    X, y = table
    with pytest.raises(InputError, match=r"holds another fit.*choose another folder"):
        SOARClassifier(**FULL).fit(X, 1 - y, checkpoint=tmp_path)
    with pytest.raises(InputError, match="n_rounds=4, now 5"):
        SOARClassifier(**{**FULL, "n_rounds": 5}).fit(X, y, checkpoint=tmp_path)
    with pytest.raises(InputError, match="is a file"):
        SOARClassifier(**FULL).fit(X, y, checkpoint=tmp_path / "search-0.soar")


def test_the_checkpoint_is_not_routed_as_metadata():
    requests = SOARClassifier().get_metadata_routing().fit.requests
    assert "checkpoint" not in requests and "sample_weight" in requests
