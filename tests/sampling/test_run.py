import os
import signal
import subprocess
import sys
from dataclasses import fields

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from soar_jax import InputError
from soar_jax.sampling import run as mcmc
from soar_jax.sampling import sampler as samplers
from soar_jax.sampling.draws import Draws, log_evidence
from soar_jax.sampling.plan import EXCHANGE, FLIP, HEAL
from soar_jax.sampling.sampler import prior_pair
from soar_jax.sampling.saved_run import SavedRun, fingerprint
from soar_jax.sampling.settings import ladder_length
from soar_jax.sampling.temper import RoundSums, _count_arrivals, adapt_ladder, bridge_weights, initial_ladder
from tests.problems import enumerate_log_joints, random_problem, tiny_target

SETTINGS = dict(seed=3, num_warmup=100, num_chains=2, num_temperatures=3, thin=2)
PLAN = ((FLIP, 6), (EXCHANGE, 2), (HEAL, 1))


@pytest.fixture(scope="module")
def tiny():
    target, *_ = tiny_target()

    def run(**changes):
        return mcmc.run(target, plan=PLAN, **{**SETTINGS, "num_draws": 100, **changes})

    return target.problem, run


def same(one, other):
    for field in fields(Draws):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def saved_in(folder, problem, **changes):
    return SavedRun(folder, fingerprint(problem, {**SETTINGS, **changes}), seconds_between=0)


class Killed(BaseException):
    """Ends a run where a kill would, past every handler of errors and interrupts."""


def killing(after):
    """A progress report that ends the run like a kill: nothing is saved afterwards."""
    reports = []

    def progress(report):
        reports.extend([report] * (report.done > 0))
        if len(reports) == after:
            raise Killed

    return progress


def test_same_seed_gives_the_same_draws_and_another_seed_others(tiny):
    _, run = tiny
    first = run()
    same(first, run())
    assert not np.array_equal(first.packed, run(seed=4).packed)


@pytest.mark.parametrize("after", [2, 6])
def test_a_killed_run_resumes_to_the_same_draws(tiny, tmp_path, after):
    """Killed in warm-up after 2 blocks, or while sampling after 6."""
    problem, run = tiny
    uninterrupted = run()
    with pytest.raises(Killed):
        run(saved=saved_in(tmp_path / "run", problem), progress=killing(after))
    seen = []
    resumed = run(saved=saved_in(tmp_path / "run", problem), progress=seen.append)
    # the block that was running when killed is run again
    assert len([report for report in seen if report.done]) == 8 - (after - 1)
    same(uninterrupted, resumed)


def test_a_finished_run_is_read_back_and_can_be_continued(tiny, tmp_path):
    problem, run = tiny
    first = run(saved=saved_in(tmp_path, problem), num_draws=50)
    same(first, run(saved=saved_in(tmp_path, problem), num_draws=50))
    same(run(num_draws=25), run(saved=saved_in(tmp_path, problem), num_draws=25))
    same(run(num_draws=100), run(saved=saved_in(tmp_path, problem), num_draws=100))


def judge_of(verdicts, seen):
    """A judge that says what it is told, and notes after how many draws it was asked."""

    def judge(draws):
        seen.append(draws.packed.shape[1])
        return verdicts[min(len(seen), len(verdicts)) - 1]

    return judge


GO_ON, DISAGREE, ENOUGH = mcmc.Verdict(False, True), mcmc.Verdict(False, False), mcmc.Verdict(True, True)


def test_a_run_without_a_length_goes_on_until_the_judge_is_content(tiny):
    seen = []
    draws = tiny[1](num_draws=None, judge=judge_of([GO_ON, GO_ON, ENOUGH], seen))
    assert seen == [400, 600, 900] and draws.packed.shape[1] == 900


def test_what_chains_drew_that_disagree_for_long_becomes_warm_up(tiny, tmp_path):
    """100 draws of warm-up, then 400: these are warm-up too, and a run killed after that resumes to the same draws."""
    problem, run = tiny
    verdicts, seen = [DISAGREE, GO_ON, ENOUGH], []
    draws = run(num_draws=None, judge=judge_of(verdicts, seen))
    assert seen == [400, 400, 600] and draws.packed.shape[1] == 600
    with pytest.raises(Killed):
        run(
            num_draws=None,
            judge=judge_of(verdicts, []),
            saved=saved_in(tmp_path, problem),
            progress=killing(4 + 16 + 5),
        )
    resumed = run(num_draws=None, judge=judge_of(verdicts[1:], []), saved=saved_in(tmp_path, problem))
    same(draws, resumed)


def test_a_long_run_keeps_its_draws_and_little_beside_them(tiny):
    """Sums by rule, temperature and chain of every block would outgrow the draws."""

    class Watch:
        def restore(self, sampler, blocks):
            return 0

        def keep(self, sampler, blocks, done):
            kept.extend(block.sums.inclusion.size for block in blocks)

        finish = keep

    kept = []
    tiny[1](num_draws=100, saved=Watch())
    assert kept and not any(kept)


def test_a_run_without_a_length_ends_when_its_time_is_over(tiny):
    draws = tiny[1](num_draws=None, judge=judge_of([DISAGREE], []), time_budget=0.0)
    assert draws.was_stopped and draws.packed.shape[1] == 25


def test_a_folder_of_another_run_is_refused(tiny, tmp_path):
    problem, run = tiny
    run(saved=saved_in(tmp_path, problem), num_draws=25)
    with pytest.raises(InputError, match="thin=2, now 5"):
        saved_in(tmp_path, problem, thin=5)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        saved_in(tmp_path / "file", problem)


def test_an_interrupt_keeps_the_draws_so_far(tiny):
    _, run = tiny

    def interrupt(report):
        if report.phase == "sampling" and report.done == 50:
            raise KeyboardInterrupt

    draws = run(progress=interrupt)
    assert draws.was_stopped and draws.packed.shape[1] == 50
    assert np.array_equal(draws.packed, run().packed[:, :50])


def test_a_time_budget_that_is_over_still_gives_a_block_of_draws(tiny):
    _, run = tiny
    draws = run(time_budget=1e-3)
    assert draws.was_stopped and draws.packed.shape[1] == 25


def test_a_warm_up_cut_by_the_budget_is_remembered_when_resumed(tiny, tmp_path):
    problem, run = tiny
    cut = run(time_budget=1e-3, saved=saved_in(tmp_path, problem), num_draws=25)
    assert cut.was_stopped
    assert run(saved=saved_in(tmp_path, problem), num_draws=50).was_stopped


def test_a_prior_of_too_many_rules_still_gives_a_start():
    hyper = random_problem(0)[4]
    broad = hyper._replace(rule_alpha=np.full_like(hyper.rule_alpha, 1e6), rule_beta=np.ones_like(hyper.rule_beta))
    assert not prior_pair(np.random.default_rng(0), broad, np.full((2, 500), 1)).any()


def test_online_counts_include_the_rounds_thinned_away(tiny):
    _, run = tiny
    thinned = run(thin=2, num_draws=100)
    assert thinned.num_rounds == 200
    assert thinned.visits.max() <= 200
    kept = thinned.included.sum(axis=1)
    assert (thinned.visits >= kept).all() and (thinned.visits <= kept + 100).all()


def test_power_flattens_towards_the_prior(tiny):
    _, run = tiny
    full = run()
    flat = mcmc.run(tiny_target(power=0.01)[0], plan=PLAN, **SETTINGS, num_draws=100)
    assert flat.ladder[-1] == pytest.approx(0.01)
    assert flat.log_likelihood.mean() < full.log_likelihood.mean()
    # the mean log prior under the prior itself, by listing all pairs
    target, covers, weights = tiny_target()
    everything = target.hyper._replace(alpha=np.full(4, 1e9), beta=np.full(4, 1e9))
    log_prior, _ = enumerate_log_joints(covers, [np.zeros_like(w) for w in weights], target.pools, everything)
    expected = (np.exp(log_prior - logsumexp(log_prior)) * log_prior).sum()
    # 200 draws of standard deviation about 1.5: three standard errors
    assert abs(flat.log_prior.mean() - expected) < 0.35


def test_how_chains_are_spread_over_threads_changes_nothing(tiny, monkeypatch):
    _, run = tiny
    draws = run()
    monkeypatch.setattr(samplers, "_num_threads", lambda num_chains: 1)
    same(draws, run())


def test_ladder_adapts_towards_equal_rejection():
    ladder = initial_ladder(5)
    adapted = adapt_ladder(ladder, np.array([0.1, 0.9, 0.9, 0.9]))
    assert np.diff(adapted)[0] < np.diff(ladder)[0] and (np.diff(adapted) > 0).all()


SCRIPT = """
import os, signal, sys
import numpy as np
from soar_jax import SOARClassifier
from tests.conftest import random_table
from soar_jax._progress import ProgressBar
X, y = random_table(0, num_rows=200)
model = SOARClassifier(n_rounds=2, max_patterns=20, max_length=2).fit(X, y)
if sys.argv[2] == "kill":
    import soar_jax.sampling.saved_run as saved_run
    finish = saved_run.SavedRun.finish
    def finish_then_die(self, sampler, blocks, done):
        finish(self, sampler, blocks, done)
        if len(blocks) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    saved_run.SavedRun.finish = finish_then_die
    saved_run.SavedRun.keep = finish_then_die
import warnings
warnings.simplefilter("ignore")
post = model.sample_posterior(100, num_chains=2, num_temperatures=3, save_to=sys.argv[1])
np.save(sys.argv[3], post.draws.packed)
"""


@pytest.mark.slow
def test_a_process_that_is_really_killed_resumes_to_the_same_draws(tmp_path):
    def run(folder, how, out):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / folder), how, str(tmp_path / out)]
        return subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": "."}).returncode

    assert run("a", "whole", "whole.npy") == 0
    assert run("b", "kill", "none.npy") == -signal.SIGKILL
    assert run("b", "resume", "resumed.npy") == 0
    assert np.array_equal(np.load(tmp_path / "whole.npy"), np.load(tmp_path / "resumed.npy"))


def test_bridges_give_the_known_evidence_of_a_gaussian_wherever_their_centre_lies():
    """A log likelihood that is N(t, 1) at inverse temperature t has evidence exp(1 / 2); 1e-5 are off by 4.5 errors."""
    ladder, centre = np.array([0.0, 0.5, 1.0]), np.array([0.7, -0.4])
    rng = np.random.default_rng(0)
    blocks = []
    for _ in range(10):
        drawn = ladder + rng.normal(size=(4, 5_000, 3))
        up, down = (np.asarray(part).mean(axis=1) for part in bridge_weights(drawn, ladder, centre))
        blocks.append(RoundSums(*[None] * 3, up, down, *[None] * 3))
    value, error = log_evidence(blocks, ladder, centre)
    assert abs(value - 0.5) < 4.5 * error and error < 0.005


def test_the_ladder_grows_with_the_gain_and_is_one_of_a_few_lengths():
    lengths = [ladder_length(gain) for gain in (0.0, 1.0, 30.0, 200.0, 600.0, 4000.0, 1e6)]
    assert lengths == sorted(lengths) and lengths[0] == 8 and lengths[-1] == 24 and len(set(lengths)) >= 4


def test_only_replicas_that_come_from_the_prior_count_as_arrivals():
    """Two chains of three temperatures: the one at the cold end was last at the prior, and last at the cold end."""
    journey = jnp.array([[1, 0, 2], [0, 2, 1]], jnp.int32)
    after, arrivals = _count_arrivals(journey)
    assert arrivals.tolist() == [1, 0]
    assert after.tolist() == [[2, 0, 1], [2, 2, 1]]
    alone, none = _count_arrivals(jnp.array([[0], [1]], jnp.int32))  # without a ladder there is no prior to come from
    assert none.tolist() == [0, 0] and alone.tolist() == [[1], [1]]
