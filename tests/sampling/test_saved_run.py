"""Saved runs that were altered: nothing foreign or damaged is ever read as draws, and what is good is kept."""

import shutil
import warnings

import numpy as np
import pytest

from soar_jax import InputError
from soar_jax._sealed import DamagedFileError, digest_of, seal, unseal
from soar_jax.sampling import run as mcmc
from soar_jax.sampling.plan import EXCHANGE, FLIP, HEAL
from soar_jax.sampling.saved_run import DamagedRunWarning, SavedRun, fingerprint
from tests.problems import tiny_target

SETTINGS = dict(seed=3, num_warmup=100, num_chains=2, num_temperatures=3, thin=2)
PLAN = ((FLIP, 6), (EXCHANGE, 2), (HEAL, 1))
NAMES = ("0: yes", "1: no")


class Study:
    """One tiny run, saved after each of its 4 + 4 blocks, and ways to run it again."""

    def __init__(self, folder):
        self.target = tiny_target()[0]
        self.folder = folder / "run"
        self.other = folder / "other"
        self.draws = self.run(self.folder)
        self.run(self.other, seed=4)

    def saved(self, folder, names=NAMES, problem=None, **changes):
        identity = fingerprint(problem or self.target.problem, {**SETTINGS, **changes}, names)
        return SavedRun(folder, identity, seconds_between=0)

    def run(self, folder, progress=None, **changes):
        settings = {**SETTINGS, **changes}
        saved = self.saved(folder, **changes)
        return mcmc.run(self.target, plan=PLAN, num_draws=100, saved=saved, progress=progress, **settings)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def copy(study, tmp_path):
    return shutil.copytree(study.folder, tmp_path / "copy")


def goes_on(study, folder, match, num_good):
    """Resume: one warning, the good blocks are not run again, and the draws are those of the whole run."""
    seen = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DamagedRunWarning)
        draws = study.run(folder, progress=seen.append)
    ours = [str(w.message) for w in caught if w.category is DamagedRunWarning]
    assert len(ours) == 1 and match in ours[0] and "\n" not in ours[0]
    assert len([report for report in seen if report.done]) == 8 - num_good
    np.testing.assert_array_equal(draws.packed, study.draws.packed)
    np.testing.assert_array_equal(draws.log_likelihood, study.draws.log_likelihood)


def test_old_draws_are_refused_under_flipped_labels_without_the_note_of_the_run(study, copy):
    (copy / "run.json").unlink()
    problem = study.target.problem
    flipped = problem._replace(shift=np.asarray(problem.shift)[::-1].copy())
    assert not np.array_equal(flipped.shift, problem.shift)
    with pytest.raises(InputError, match=r"holds another run \(data or labels\); choose another folder"):
        study.saved(copy, problem=flipped)
    with pytest.raises(InputError, match="rules or classes"):
        study.saved(copy, names=NAMES[::-1])
    with pytest.raises(InputError, match="seed=3, now 9"):
        study.saved(copy, seed=9)
    assert study.saved(copy).folder == copy  # the run itself gets its note back
    assert (copy / "run.json").exists()


def test_a_damaged_note_is_made_again_from_the_blocks(study, copy):
    (copy / "run.json").write_text("{" * 10_000)
    with pytest.raises(InputError, match="seed=3, now 9"):
        study.saved(copy, seed=9)
    np.testing.assert_array_equal(study.run(copy).packed, study.draws.packed)


def test_folders_in_place_of_files_are_said_in_one_line(study, copy):
    (copy / "run.json").unlink()
    (copy / "run.json").mkdir()
    with pytest.raises(InputError, match=r"run\.json cannot be read"):
        study.saved(copy)
    (copy / "run.json").rmdir()
    (copy / "blocks-00005.soar").unlink()
    (copy / "blocks-00005.soar").mkdir()
    goes_on(study, copy, "blocks-00005.soar cannot be read", 5)


def test_swapped_blocks_are_not_used(study, copy):
    one, other = copy / "blocks-00005.soar", copy / "blocks-00006.soar"
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    goes_on(study, copy, "blocks-00005.soar does not follow", 5)
    assert not list(copy.glob("blocks-00008*")) and len(list(copy.glob("*.unused"))) == 3


def test_blocks_of_another_seed_are_not_used(study, copy):
    shutil.copy(study.other / "blocks-00006.soar", copy)
    goes_on(study, copy, "blocks-00006.soar is of another run", 6)


def test_a_missing_block_ends_the_chain(study, copy):
    (copy / "blocks-00003.soar").unlink()
    goes_on(study, copy, "blocks-00003.soar is missing", 3)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
def test_a_truncated_block_is_not_used(study, copy, share):
    path = copy / "blocks-00007.soar"
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    goes_on(study, copy, "blocks-00007.soar is damaged", 7)


def test_a_flipped_byte_is_found_wherever_it_is(study):
    content = (study.folder / "blocks-00006.soar").read_bytes()
    rng = np.random.default_rng(0)
    head = range(120)
    for place in [*head, *rng.integers(len(content), size=600), len(content) - 1]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.integers(8)
        with pytest.raises(DamagedFileError):
            unseal(bytes(flipped))
    for length in [*head, *rng.integers(len(content), size=100)]:
        with pytest.raises(DamagedFileError):
            unseal(content[:length])


def test_a_flipped_byte_costs_the_blocks_from_there_on_only(study, copy):
    path = copy / "blocks-00002.soar"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    goes_on(study, copy, "blocks-00002.soar is damaged: its checksum does not match", 2)


def test_blocks_are_read_without_pickle():
    objects = np.array([{"a": 1}], dtype=object)
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        seal({}, {"x": objects})
    good = seal({"n": 1}, {"x": np.arange(3)})
    sealed = unseal(good)
    assert sealed.about == {"n": 1} and sealed.arrays["x"].tolist() == [0, 1, 2] and sealed.digest == digest_of(good)


def test_a_block_that_lacks_arrays_is_not_used(study, copy):
    """A file with the right checksum and chain, but without what it must have."""
    path = copy / "blocks-00007.soar"
    sealed = unseal(path.read_bytes())
    path.write_bytes(seal(sealed.about, {k: v for k, v in sealed.arrays.items() if not k.startswith("block0draws")}))
    goes_on(study, copy, "blocks-00007.soar was not written by soar_jax", 7)
