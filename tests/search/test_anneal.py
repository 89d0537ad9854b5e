import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soar_jax._base import MAX_RULES, in_float64
from soar_jax.score.host import host_log_joint
from soar_jax.score.pair import pair_from
from soar_jax.search import anneal, anneal_step, descent
from tests.problems import enumerate_log_joints, random_problem

SETTINGS = dict(num_steps=500, num_restarts=4, temperature=3.0, random_share=0.5, judge_by_best=False)


def run(problem, seed=0, **changes):
    return anneal.run(problem, seed=seed, **{**SETTINGS, **changes})


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 30))])
def test_fitted_pair_is_the_true_map_by_enumeration(seed):
    single = seed % 5 == 4
    problem, pools, covers, weights, hyper = random_problem(
        seed, num_patterns=(7, 0 if single else 7), num_rows=60, single=single, bounded=seed % 2 == 1
    )
    values, subsets = enumerate_log_joints(covers, weights, pools, hyper)
    result = run(problem, seed)
    assert result.log_joint == pytest.approx(values.max(), rel=1e-10)
    best = np.unravel_index(values.argmax(), values.shape)
    for side in (0, 1):
        assert np.array_equal(result.included[side][: len(covers[side])], subsets[side][best[side]])
    assert result.is_local_optimum


@pytest.mark.parametrize("judge_by_best", [False, True])
def test_same_seed_gives_the_same_bits(judge_by_best):
    problem, *_ = random_problem(3, num_patterns=(40, 40), num_rows=60)
    first, again = (run(problem, 5, num_steps=150, judge_by_best=judge_by_best) for _ in range(2))
    assert np.array_equal(first.included, again.included)
    assert first.log_joint == again.log_joint
    for name, values in first.history.items():
        assert np.array_equal(values, again.history[name]), name


def test_history_is_consistent():
    problem, *_ = random_problem(1, num_patterns=(30, 30), num_rows=60)
    result = run(problem, num_steps=150, num_restarts=4)
    history = result.history
    assert all(len(values) == 600 for values in history.values())
    assert history["iteration"].reshape(4, 150)[2].tolist() == list(range(1, 151))
    best = history["best_score"].reshape(4, 150)
    assert (np.diff(best, axis=1) <= 0).all()
    assert (best <= history["score"].reshape(4, 150) + 1e-9).all()
    assert np.allclose(-result.restart_log_joints, best[:, -1])
    assert history["temperature"][0] == pytest.approx(3.0 / np.log(2))
    sizes = history["positive_rules"].reshape(4, 150) + history["negative_rules"].reshape(4, 150)
    steps = np.abs(np.diff(np.pad(sizes, ((0, 0), (1, 0))), axis=1))
    assert np.array_equal(steps, history["accepted"].reshape(4, 150).astype(int))


def asked_moves(fires, weights):
    """Rows that ask for each move, by Algorithm 1 row by row: add to R+, add to R-, remove from R+, remove from R-."""
    asked = np.zeros(4)
    for label in (1, 0):
        own, other = (0, 1) if label else (1, 0)
        for row, weight in enumerate(weights[1 - label]):
            if fires[own][row] and fires[other][row]:
                asked[2 + other] += weight
            elif not fires[own][row] and not fires[other][row]:
                asked[own] += weight
            elif fires[other][row]:
                asked[2 + other] += weight / 2
                asked[own] += weight / 2
    return asked


@pytest.mark.parametrize("seed", range(5))
@in_float64
def test_moves_are_drawn_as_a_random_wrong_row_would_draw_them(seed):
    """Algorithm 1 literally, row by row, against the four weights; no sampling on either side."""
    problem, _, covers, weights, _ = random_problem(seed, num_rows=50, max_weight=5)
    included = np.zeros((2, problem.bits.shape[2]), bool)
    included[0, [0, 2]] = included[1, [1, 3]] = True
    pair = pair_from(problem, included)
    fires = [covers[s][included[s][: len(covers[s])]].any(axis=0) for s in (0, 1)]
    asked = asked_moves(fires, weights)
    grid = (np.arange(100_000) + 0.5) / 100_000
    choose = jax.jit(jax.vmap(lambda u: anneal_step._choose_move(problem, pair, pair.counts, u)))
    found = np.bincount(np.asarray(choose(jnp.asarray(grid))), minlength=4) / 100_000
    assert found == pytest.approx(asked / asked.sum(), abs=2e-5)


@in_float64
def test_random_patterns_are_drawn_evenly_from_the_eligible():
    eligible = np.random.default_rng(0).random(96) < 0.3
    grid = (np.arange(eligible.sum() * 100) + 0.5) / (eligible.sum() * 100)
    found = jax.vmap(lambda u: anneal_step._choose_random(jnp.asarray(eligible), u))(jnp.asarray(grid))
    assert np.array_equal(np.bincount(np.asarray(found), minlength=96), eligible * 100)


def algorithm_one(values, covers, weights, seed, restart, judge_by_best):
    """The score after each step of Algorithm 1; every neighbour is looked up in a list of all pairs each time."""
    pair, best, scores = (0, 0), (0, 0), []
    for t in range(SETTINGS["num_steps"]):
        move_u, greedy_u, pattern_u, accept_u = anneal._draw(seed, restart, t // anneal.BLOCK)[t % anneal.BLOCK]
        members = [[(z >> j) & 1 == 1 for j in range(len(cover))] for z, cover in zip(pair, covers, strict=True)]
        judged = best if judge_by_best else pair
        fires = [covers[s][[(judged[s] >> j) & 1 == 1 for j in range(len(covers[s]))]].any(axis=0) for s in (0, 1)]
        asked = asked_moves(fires, weights)
        possible = [not all(members[0]), not all(members[1]), any(members[0]), any(members[1])]
        odds = np.array([(asked[m] + asked[m ^ 2] * (not possible[m ^ 2])) * possible[m] for m in range(4)])
        odds = odds if odds.sum() else np.array(possible, dtype=float)
        move = int(np.searchsorted(np.cumsum(odds), move_u * odds.sum(), side="right"))
        side, is_removal = move % 2, move >= 2
        eligible = [j for j, is_in in enumerate(members[side]) if is_in == is_removal]
        flipped = [tuple(z ^ (1 << j) if s == side else z for s, z in enumerate(pair)) for j in eligible]
        greedy = greedy_u >= SETTINGS["random_share"]
        proposal = max(flipped, key=lambda z: values[z]) if greedy else flipped[int(pattern_u * len(eligible))]
        temperature = SETTINGS["temperature"] / np.log1p(t + 1)
        if accept_u < np.exp(min(0.0, (values[proposal] - values[pair]) / temperature)):
            pair = proposal
        best = max(best, pair, key=lambda z: values[z])
        scores.append(-values[pair])
    return scores


@pytest.mark.parametrize("judge_by_best", [False, True])
def test_every_step_is_that_of_algorithm_one_without_memory(judge_by_best):
    problem, pools, covers, weights, hyper = random_problem(11, num_patterns=(7, 7), num_rows=60)
    values, _ = enumerate_log_joints(covers, weights, pools, hyper)
    history = run(problem, 3, num_restarts=3, judge_by_best=judge_by_best).history
    found = history["score"].reshape(3, -1)
    assert history["accepted"].sum() > 100
    for restart in range(3):
        wanted = algorithm_one(values, covers, weights, 3, restart, judge_by_best)
        assert found[restart] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("num_restarts", "num_words", "num_threads"), [(1, 8, 2), (4, 8, 2), (5, 400, 2), (100, 400, 2), (3, 9000, 8)]
)
def test_batches_hold_every_restart_once_and_are_alike(num_restarts, num_words, num_threads):
    batches = anneal.batch_restarts(num_restarts, num_words, num_threads)
    everyone = [restart for batch in batches for restart in batch]
    assert everyone[:num_restarts] == list(range(num_restarts)) and len(everyone) - num_restarts < len(batches[0])
    assert len({len(batch) for batch in batches}) == 1 and len(batches[0]) >= 2
    assert len(batches[0]) == 2 or len(batches[0]) * num_words * 96 <= anneal.BATCH_BYTES


def test_restarts_do_not_depend_on_their_batch(monkeypatch):
    problem, *_ = random_problem(9, num_patterns=(40, 40), num_rows=60)
    together = run(problem, num_steps=150, num_restarts=5)
    monkeypatch.setattr(anneal, "MAX_BATCH", 2)
    apart = run(problem, num_steps=150, num_restarts=5)
    for name, values in together.history.items():
        assert np.array_equal(values, apart.history[name]), name


def test_most_best_flips_are_remembered():
    """Half of the steps are greedy; without memory all of those would read the pool."""
    problem, *_ = random_problem(1, num_patterns=(40, 40), num_rows=60)
    history = run(problem).history
    greedy = np.concatenate([anneal._draw(0, r, b)[:, 1] >= 0.5 for r in range(4) for b in range(5)])
    assert not (history["looked_up"] & ~greedy).any()
    assert 0 < history["looked_up"].sum() < 0.6 * greedy.sum()


def test_no_more_than_sixty_three_rules_a_side():
    """Patterns that cover nothing cost only their prior: at a high temperature the sets fill up and stay consistent."""
    problem, *_ = random_problem(0, num_patterns=(90, 90), num_rows=30)
    with jax.enable_x64(True):
        problem = problem._replace(bits=jnp.zeros_like(problem.bits))
    history = run(problem, num_steps=1500, num_restarts=1, temperature=1e6).history
    assert history["positive_rules"].max() == history["negative_rules"].max() == MAX_RULES
    sizes = history["positive_rules"] + history["negative_rules"]
    sign = np.array([-1 if "remove" in move else 1 for move in history["move"]])
    assert np.array_equal(np.diff(sizes, prepend=0), sign * history["accepted"])


def test_a_descent_goes_on_where_a_block_ended():
    calls = []

    def block(included, with_exchanges):
        calls.append(included.copy())
        state = np.array([len(calls)]), float(len(calls)), len(calls) == 3
        return descent.DescentState(SimpleNamespace(included=state[0]), state[1], state[2])

    best = descent.descend(block, np.array([0]), descent.Clock(None))
    assert [call.tolist() for call in calls] == [[0], [1], [2]]
    assert (best.log_joint, best.included.tolist(), best.is_optimal) == (3.0, [3], True)


def test_an_error_in_one_batch_ends_the_search(monkeypatch):
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    draw = anneal._draw

    def fail(seed, restart, block):
        if restart == 0:
            raise MemoryError("no room")
        return draw(seed, restart, block)

    monkeypatch.setattr(anneal, "_draw", fail)
    with ThreadPoolExecutor(1) as executor, pytest.raises(MemoryError, match="no room"):
        executor.submit(run, problem).result(timeout=60)


def test_no_wrong_row_exhausted_pool_and_empty_sets_do_not_stall():
    problem, *_ = random_problem(2, num_patterns=(1, 1), num_rows=10)
    result = run(problem, num_steps=100)
    assert set(result.history["move"]) == set(anneal.MOVES)


def test_device_value_equals_host_value():
    problem, _, _, _, hyper = random_problem(8, num_patterns=(50, 60), num_rows=64, max_weight=1000)
    result = run(problem, num_steps=200)
    with jax.enable_x64(True):
        pair = pair_from(problem, result.included)
    positives, negatives = np.asarray(pair.counts) & 0xFFFFFFFF, np.asarray(pair.counts) >> 32
    longest = hyper.searched.shape[1]
    assert host_log_joint(positives, negatives, np.asarray(pair.sizes)[:, 1 : longest + 1], hyper) == pytest.approx(
        result.log_joint, rel=1e-9
    )


def test_time_budget_returns_the_best_so_far():
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    run(problem, num_steps=100)  # compile first
    start = time.perf_counter()
    result = run(problem, num_steps=10**7, time_budget=0.5)
    assert time.perf_counter() - start < 5
    assert result.was_stopped
    assert result.log_joint >= result.restart_log_joints.max() - 1e-9
    assert len(result.history["score"]) < 4 * 10**7


def test_interrupt_returns_the_best_so_far():
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    seen = []

    def interrupt(report):
        seen.extend([report] * (report.done > 0))
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    result = run(problem, num_steps=10**6, progress=interrupt)
    assert result.was_stopped and np.isfinite(result.log_joint)
    assert result.log_joint >= result.restart_log_joints.max() - 1e-9
    assert len(result.history["score"]) == 4 * 3 * anneal.BLOCK


def test_interrupt_while_waiting_for_the_first_descent_keeps_the_annealed_pair(monkeypatch):
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    run(problem, num_steps=100)  # compile first
    # the descent never ends before the interrupt is handled, however busy the machine; one signal, not one per block
    released, signals = Event(), []
    signal.siginterrupt(signal.SIGINT, False)  # as other libraries leave it: waits go on when a signal comes
    monkeypatch.setattr(anneal, "descend", lambda *_: released.wait(60))

    def interrupt_later(report):
        if report.done == report.total and not signals:
            signals.append(Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]))
            signals[0].start()

    try:
        result = run(problem, num_steps=100, progress=interrupt_later)
    finally:
        released.set()
        signal.siginterrupt(signal.SIGINT, True)
    assert result.was_stopped and not result.is_local_optimum
    assert result.log_joint == result.restart_log_joints.max()


def test_restarts_do_not_depend_on_block_boundaries():
    """A run of 150 steps is the beginning of a run of 400."""
    problem, *_ = random_problem(6, num_patterns=(40, 40), num_rows=60)
    short, long = run(problem, num_steps=150), run(problem, num_steps=400)
    a = short.history["score"].reshape(4, 150)
    assert np.array_equal(a, long.history["score"].reshape(4, 400)[:, :150])


def test_annealing_leaves_time_for_a_descent():
    """Steps without end within a budget: the pair is still certified, half of the time being kept for that."""
    problem, *_ = random_problem(4, num_patterns=(40, 40), num_rows=60)
    run(problem, num_steps=100)  # compile first
    result = run(problem, num_steps=10**7, time_budget=2.0)
    assert result.was_stopped and result.is_local_optimum
    assert result.log_joint >= run(problem, num_steps=100).log_joint - 1e-9
