"""The full search: what it claims of all mined patterns, checked by brute force; its parts one by one."""

from dataclasses import replace
from itertools import product

import jax
import numpy as np
import pandas as pd
import pytest

from soar_jax import BOAClassifier, InputError, NothingFoundWarning, RulePrior, SOARClassifier, datasets
from soar_jax._base import in_float64
from soar_jax._progress import Clock
from soar_jax.candidates.build import CandidateOptions, build_candidates
from soar_jax.candidates.pools import empty_pool
from soar_jax.score.pricing import exact_prices, price_page, stack_queries
from soar_jax.score.priors import ErrorRatio, from_bounds, resolve
from soar_jax.score.problem import make_problem
from soar_jax.score.rule_priors import SearchedRules
from soar_jax.search import explore, kicks, pages
from soar_jax.search.descent import Best
from soar_jax.search.niches import NUM_NICHES, Niches
from soar_jax.search.pages import make_page
from soar_jax.search.working import WorkingPools
from tests.candidates.test_patterns import OPTIONS
from tests.conftest import coverage, log_joint_of_cover


def prepare(make_table, seed, num_rows=120, grow_to=5, power=1.0):
    X, y = make_table(seed, num_rows=num_rows)
    options = CandidateOptions(**{**OPTIONS, "max_length": None, "grow_to": grow_to, "negations": False})
    candidates = build_candidates(X, y, np.ones(len(y), np.int64), options, single=False)
    catalogue, layout = candidates.source, candidates.layout
    none = empty_pool(layout.num_words)
    states = from_bounds(ErrorRatio(), ErrorRatio(), y.mean())
    hyper = resolve(states, SearchedRules(), candidates.searched, (none, none), power=power)
    open_hyper = hyper._replace(pool_size=hyper.searched.astype(np.int64))
    return catalogue, hyper, make_problem((none, none), layout, open_hyper, single=False, num_slots=64)


def all_changes(inside, num_patterns):
    """Every way to change one side by one rule: what goes out, what comes in; None for nothing."""
    outs = [None, *inside]
    ins = [None, *range(num_patterns)]
    return ((out, new) for out, new in product(outs, ins) if (out, new) != (None, None) and new not in inside)


@pytest.mark.parametrize(
    ("kind", "parameters", "num_rows"),
    [
        (SOARClassifier, {}, 150),
        (SOARClassifier, {"pools": "shared", "max_length": 2}, 150),
        (SOARClassifier, {"power": 0.4}, 150),
        (
            SOARClassifier,
            {"max_length": 2, "power": 0.7},
            2600,
        ),  # too many rows for look-ups: priced by upper bounds first
        (BOAClassifier, {}, 150),
    ],
)
def test_no_mined_pattern_in_or_out_of_the_pools_improves_the_fitted_pair(make_table, kind, parameters, num_rows):
    X, y = make_table(1, num_rows=num_rows)
    model = kind(max_patterns=5, n_rounds=2, **parameters).fit(X, y)
    assert model.certificate_ and model.certificate_.are_all_mined
    options = {name: getattr(model, name) for name in CandidateOptions.__dataclass_fields__}
    ones = np.ones(len(y), np.int64)
    catalogue = build_candidates(X, y, ones, CandidateOptions(**options), single=model._single).source
    mined = catalogue.mined
    patterns = [catalogue.literals(p) for p in mined.items]
    cover = coverage(X, [[(z.column, z.op, z.value) for z in literals] for literals in patterns])
    hyper = model.fitted_pair_.target.hyper
    rate = cover @ y.astype(int) / cover.sum(axis=1)
    members, covers, sizes = [], [], []
    for side, pool in enumerate(model.fitted_pair_.target.pools):
        chosen = model.fitted_pair_.members[side]
        members.append([pool.patterns[i] for i in chosen])
        covers.append(coverage(X, [[(z.column, z.op, z.value) for z in literals] for literals in members[side]]))
        kinds = hyper.kinds_of(side, pool.length[chosen], pool.num_cuts[chosen])
        sizes.append(np.bincount(kinds, minlength=hyper.searched.shape[1]))

    def log_joint(covered, counts):
        return log_joint_of_cover(*covered, y, ones, counts, model.priors_)

    now = [c.any(axis=0) for c in covers]
    best = log_joint(now, sizes)
    assert -model.score_ == pytest.approx(best, rel=1e-9)
    tried = 0
    for side in (0,) if model._single else (0, 1):
        may = rate > y.mean() if side == 0 else rate < y.mean()
        may |= parameters.get("pools") == "shared"
        allowed = np.flatnonzero(may & (cover.sum(axis=1) < len(y)))
        kinds = hyper.kinds_of(side, mined.length, catalogue.num_cuts(mined.items))
        own = [hyper.kinds_of(side, *_shape(catalogue, p))[0] for p in members[side]]
        for out, new in all_changes(range(len(members[side])), len(allowed)):
            counts = [s.copy() for s in sizes]
            kept = np.delete(covers[side], out, axis=0) if out is not None else covers[side]
            covered = list(now)
            covered[side] = kept.any(axis=0)
            if out is not None:
                counts[side][own[out]] -= 1
            if new is not None:
                covered[side] = covered[side] | cover[allowed[new]]
                counts[side][kinds[allowed[new]]] += 1
            tried += 1
            if tried % (1 if num_rows < 1000 else 7) == 0:  # the oracle is slow; every seventh on the large table
                assert log_joint(covered, counts) <= best + 1e-8 * (1 + abs(best))
    assert tried > 200


def _shape(catalogue, literals):
    place = {z: i for i, z in enumerate(catalogue.items.literals)}
    pattern = np.array([[place[z] for z in literals]])
    return np.array([len(literals)]), catalogue.num_cuts(pattern)


@pytest.mark.parametrize(("num_rows", "power"), [(120, 0.4), (2600, 1.0), (2600, 0.4)])
def test_prices_equal_exact_ones_or_bound_them(make_table, num_rows, power):
    catalogue, hyper, problem = prepare(make_table, 2, num_rows, power=power)
    working = WorkingPools(catalogue, hyper, problem)
    nothing = np.zeros((2, len(working)), bool)
    for side in (0, 1):
        working.bring_in(side, catalogue.first(side, len(working)), nothing)
    rng = np.random.default_rng(0)
    for side in (0, 1):
        included = nothing.copy()
        included[0, rng.integers(0, 30, 3)] = included[1, rng.integers(0, 30, 4)] = True
        without = int(np.flatnonzero(included[side])[0])
        queries = [working.query(included, side), working.query(included, side, without)]
        patterns = catalogue.mined.items[catalogue.listed[side]][:500]
        bits = catalogue.mined.pack(catalogue.item_bits, catalogue.listed[side][:500])
        kind = 1 + hyper.kinds_of(side, (patterns >= 0).sum(axis=1), catalogue.num_cuts(patterns))
        got = price(problem, bits, kind, queries, best_case=False)
        for query, values in zip(queries, got, strict=False):
            exact = exact_prices(query, bits, kind, catalogue.layout, hyper)
            if problem.rule.size:
                assert (values >= exact - 1e-9).all() and np.median(values - exact) < 2
            else:
                assert values[: len(exact)] == pytest.approx(exact, abs=1e-9)
        # the pair itself, with one rule taken out and put back: the log joint that a descent computes
        place = np.flatnonzero(
            (working.patterns[side][without] == np.pad(patterns, ((0, 0), (0, 2)), constant_values=-1)).all(axis=1)
        )
        again = exact_prices(queries[1], bits[place], kind[place], catalogue.layout, hyper)
        assert again == pytest.approx(_log_joint(working, included), rel=1e-9)


@in_float64
def _log_joint(working, included):
    from soar_jax.score.joint import log_joint
    from soar_jax.score.pair import pair_from

    problem, _ = working.on_device()
    pair = pair_from(problem, included)
    return float(log_joint(problem, pair.counts, pair.sizes))


@in_float64
def price(problem, bits, kind, queries, *, best_case):
    num_words = problem.bits.shape[1]
    page = make_page(bits, kind, num_words)
    stacked = jax.device_put(stack_queries(queries, num_words))
    return np.asarray(price_page(problem, page.bits, page.kind, stacked, best_case=best_case))[:, : len(bits)]


def test_protected_slots_stay_and_equal_patterns_come_in_once(make_table):
    catalogue, hyper, problem = prepare(make_table, 0, num_rows=400)
    working = WorkingPools(catalogue, hyper, problem)
    nothing = np.zeros((2, len(working)), bool)
    listed = catalogue.mined.items[catalogue.listed[0]]
    assert len(listed) > 40 + len(working)
    working.bring_in(0, listed[:40], nothing)
    working.bring_in(0, listed[:40], nothing)
    assert (working.kind[0] > 0).sum() == 40
    protected = nothing.copy()
    protected[0, :10] = True
    before = working.patterns[0, :10].copy()
    working.bring_in(0, listed[40:], protected)
    assert np.array_equal(working.patterns[0, :10], before)
    rows = {row.tobytes() for row in working.bits[0]}
    assert (working.kind[0] > 0).all() and len(rows) <= len(working)


def test_two_readings_are_kept_and_near_copies_merge():
    rng = np.random.default_rng(0)
    niches = Niches(num_bits=640)
    words = rng.integers(0, 1 << 63, (2, 10), dtype=np.uint64)
    included = np.zeros((2, 8), bool)
    niches.keep(Best(1.0, included, True), words)
    near = words.copy()
    near[0, 0] ^= np.uint64(7)
    niches.keep(Best(3.0, included, True), near)
    niches.keep(Best(2.0, included, True), words)
    assert [pair.log_joint for pair in niches.pairs] == [3.0]
    for i in range(20):
        niches.keep(Best(-float(i), included, True), rng.integers(0, 1 << 63, (2, 10), dtype=np.uint64))
    assert [pair.log_joint for pair in niches.pairs] == [3.0, 0.0, *(-float(i) for i in range(1, NUM_NICHES - 1))]


def test_kicks_use_patterns_only_and_keep_forbidden_literals_out():
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 12, (2, 30, 3))
    is_pattern = np.arange(30)[None] < np.array([[20], [25]])
    included = (rng.random((2, 30)) < 0.2) & is_pattern
    others = [(rng.random((2, 30)) < 0.2) & is_pattern for _ in range(3)]
    seen = set()
    for _ in range(500):
        start = kicks.kick(included, others, patterns, is_pattern, rng)
        assert not (start.included & ~is_pattern).any()
        seen.add((len(start.forbidden) > 0, start.thinning < 1))
        if len(start.forbidden):
            assert not np.isin(patterns[start.included], start.forbidden).any()
            assert not start.allowed(patterns)[start.included & ~start.allowed(patterns)].any()
    assert seen == {(False, False), (True, False), (False, True)}


def make_dnf(seed, num_rows, num_columns=20):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (num_rows, num_columns)), columns=[f"x{i}" for i in range(num_columns)])
    y = (X["x0"] & X["x1"] & X["x2"] & X["x3"] & X["x4"]) | (X["x5"] & (1 - X["x6"]))
    return X.astype(str), y.to_numpy()


def test_a_conjunction_longer_than_mining_reaches_is_grown():
    X, y = make_dnf(0, 1200)
    model = SOARClassifier(n_rounds=4).fit(X, y)
    assert max(model.rules_["length"]) == 5 and model.certificate_.grown_to == 6 and model.certificate_.longest == 3
    assert "x0 = 1 and x1 = 1 and x2 = 1 and x3 = 1 and x4 = 1" in [str(r) for r in model.positive_rules_]
    fresh, truth = make_dnf(1, 2000)
    assert (model.predict(fresh) == truth).all()
    short = SOARClassifier(n_rounds=4, max_length=3).fit(X, y)
    assert max(short.rules_["length"]) <= 3 and short.certificate_.grown_to == 3
    assert short.gain_ < model.gain_


def test_four_seeds_reach_the_same_score():
    X, y = datasets.load_synthetic(seed=0)
    gains = [SOARClassifier(random_state=seed).fit(X, y).gain_ for seed in range(4)]
    assert gains == pytest.approx([gains[0]] * 4, abs=1e-6)


def test_the_same_seed_gives_the_same_fit_and_pages_need_not_be_kept(make_table, monkeypatch):
    X, y = make_table(3, num_rows=300)
    one = SOARClassifier(n_rounds=2, random_state=5).fit(X, y)
    monkeypatch.setattr(pages, "MAX_KEPT_BYTES", 0)
    two = SOARClassifier(n_rounds=2, random_state=5).fit(X, y)
    assert one.score_ == two.score_ and one.describe() == two.describe()
    assert one.history_.drop(columns="seconds").equals(two.history_.drop(columns="seconds"))


def test_a_search_without_free_slots_still_ends_with_a_certificate(make_table, monkeypatch):
    monkeypatch.setattr(explore, "WORKING_SIZE", 8)
    X, y = make_table(1, num_rows=300)
    model = SOARClassifier(n_rounds=2).fit(X, y)
    assert model.certificate_
    monkeypatch.undo()
    assert model.score_ >= SOARClassifier().fit(X, y).score_ - 1e-6


def test_an_interrupt_keeps_the_best_so_far(make_table, monkeypatch):
    def stop(self, number):
        raise KeyboardInterrupt

    monkeypatch.setattr(explore.Explorer, "round", stop)
    X, y = make_table(0, num_rows=300)
    with pytest.warns(UserWarning, match="give it more time_budget"):
        model = SOARClassifier().fit(X, y)
    assert len(model.rules_) and not model.certificate_ and "Not certified" in str(model.certificate_)
    assert len(model.history_) == 0


def test_an_interrupt_while_programs_compile_leaves_the_empty_pair(make_table, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(explore.Explorer, "begin", stop)
    X, y = make_table(0, num_rows=300)
    with pytest.warns(UserWarning, match="give it more time_budget"):
        model = SOARClassifier().fit(X, y)
    assert not len(model.rules_) and not model.certificate_ and model.gain_ == pytest.approx(0, abs=1e-9)
    assert "stopped" in model.conclude()


def test_certificates_say_of_how_many_patterns_they_speak(make_table):
    X, y = make_table(0, num_rows=200)
    full = SOARClassifier(n_rounds=1, max_patterns=10).fit(X, y)
    assert full.num_frequent_patterns_ >= full.certificate_.num_patterns > 20
    assert f"all {full.certificate_.num_patterns:,} mined patterns of up to 3 literals" in str(full.certificate_)
    assert "grown" in str(full.certificate_)
    annealed = SOARClassifier(search="annealing", n_iter=50, n_restarts=1, max_patterns=10).fit(X, y)
    assert "all 20 candidates" in str(annealed.certificate_) and "grown" not in str(annealed.certificate_)


def test_growing_needs_a_prior_that_counts_what_is_grown(make_table):
    X, y = make_table(0)
    with pytest.raises(InputError, match="grow_to"):
        SOARClassifier(grow_to=5, rule_prior=RulePrior(1, 100)).fit(X, y)
    model = SOARClassifier(n_rounds=1, rule_prior=RulePrior(1, 100)).fit(X, y)
    assert model.certificate_.grown_to == model.certificate_.longest


@pytest.mark.parametrize("search", ["full", "annealing"])
def test_a_pair_must_be_worth_more_than_no_rules_and_the_doubt_about_any(make_table, search):
    """Doubt just below a pair's gain lets it stand, just above it no rules lead, and stand, too."""
    X, y = make_table(2, num_rows=60)
    how = {"search": search, "n_rounds": 2, "n_restarts": 2, "n_iter": 100, "max_length": 2}
    free = SOARClassifier(rule_prior=SearchedRules(doubt=1), **how).fit(X, y)
    assert 1 < free.gain_ < 40 and len(free.rules_)
    stands = SOARClassifier(rule_prior=SearchedRules(doubt=np.exp(free.gain_ - 0.1)), **how).fit(X, y)
    assert stands.rules_["rule"].tolist() == free.rules_["rule"].tolist() and stands.certificate_
    assert stands.gain_ == pytest.approx(0.1) and stands.score_ == pytest.approx(free.score_)
    with pytest.warns(NothingFoundWarning):
        falls = SOARClassifier(rule_prior=SearchedRules(doubt=np.exp(free.gain_ + 0.1)), **how).fit(X, y)
    assert not len(falls.rules_) and falls.certificate_ and falls.gain_ == 0
    assert falls.score_ == pytest.approx(free.score_ - 0.1)


def test_wide_tables_get_an_answer():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (300, 2000)), columns=[f"g{i}" for i in range(2000)]).astype(str)
    y = (X["g7"] == "1") & (rng.random(300) < 0.95)
    with pytest.warns(UserWarning, match="too many to mine them all"):
        model = SOARClassifier(n_rounds=1).fit(X, y)
    assert [str(rule) for rule in model.positive_rules_] == ["g7 = 1"]
    assert model.certificate_.longest == 2 and model.certificate_.num_paired > 0


@pytest.mark.parametrize("num_rows", [120, 2600])
def test_a_pair_that_a_mined_pattern_improves_is_not_certified(make_table, num_rows):
    catalogue, hyper, _ = prepare(make_table, 0, num_rows=num_rows, grow_to=0)
    explorer = explore.Explorer(catalogue, hyper, single=False, seed=0, clock=Clock(None), mesh=None)
    explorer.working = WorkingPools(catalogue, hyper, explorer.pages._problem)  # nothing is at hand yet
    assert not explorer.certify() and (explorer.working.kind > 0).any()
    assert explorer.keep(explorer.descend(explorer.best.included))
    explorer.executor.shutdown()


@pytest.mark.parametrize("seed", [0, 3])
def test_what_a_small_pool_leaves_out_is_added_up_over_all_mined_patterns(make_table, seed):
    """Against the log joints of all neighbours of all readings, one by one on the host, in a pool of everything."""
    X, y = make_table(seed, num_rows=300)
    small, full = (SOARClassifier(max_patterns=size, grow_to=0).fit(X, y).fitted_pair_ for size in (6, 10**6))
    assert full.log_joint == pytest.approx(small.log_joint, rel=1e-12) and full.left_out == 0
    known = [set(map(frozenset, pool.patterns)) for pool in small.target.pools]
    readings = [full, *(replace(full, included=one) for one in full.starts.readings)]
    expected = np.average(
        [rules_left_out(full, pair, known) for pair in readings],
        weights=np.exp([pair.log_joint - full.log_joint for pair in readings]),
    )
    assert small.left_out == pytest.approx(expected, abs=1e-5) and expected > 0


def rules_left_out(full, pair, known):
    expected = 0.0
    for side, pool in enumerate(full.target.pools):
        for place in (None, *pair.members[side]):
            included = pair.included.copy()
            if place is not None:
                included[side, place] = False
            free = [i for i in range(len(pool)) if not included[side, i]]
            weight = np.empty(len(free))
            for k, i in enumerate(free):
                with_it = included.copy()
                with_it[side, i] = True
                weight[k] = np.exp(replace(full, included=with_it).log_joint - pair.log_joint)
            outside = [frozenset(pool.patterns[i]) not in known[side] for i in free]
            expected += weight[outside].sum() / (weight.sum() + (place is None))
    return expected
