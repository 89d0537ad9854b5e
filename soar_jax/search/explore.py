"""MAP search over everything that was mined, and over longer conjunctions grown on the way.

Descents move within small working pools. Each round sets out from kicked copies of the best pairs of several readings
(`soar_jax.search.niches`); before it descends, all patterns are priced against those starts and the best brought in.
When the leader improves, all are priced against it and against it without each of its rules. At the end this is the
certificate: no addition, removal or exchange among all mined patterns improves the pair.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from jax.sharding import Mesh

from soar_jax._base import MAX_RULES, BoolArray, FloatArray, IntArray, in_float64
from soar_jax._progress import Clock, Progress
from soar_jax.candidates.catalogue import NO_PATTERNS, Catalogue, hash_coverage
from soar_jax.candidates.patterns import pack
from soar_jax.candidates.pools import empty_pool
from soar_jax.score.joint import host_log_likelihood
from soar_jax.score.pricing import PAGE_SLOTS, QUERIES_AT_ONCE, Query, exact_prices
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import make_problem
from soar_jax.search.anneal import check_clock, programs_for
from soar_jax.search.descent import Best, better, descend
from soar_jax.search.grow import Grower
from soar_jax.search.kicks import THINNINGS, Start, kick, thin
from soar_jax.search.niches import Niches
from soar_jax.search.pages import Pages, Priced
from soar_jax.search.working import WorkingPools

WORKING_SIZE = 256
"""Patterns per side that descents move within; smaller pools with more refills found better pairs per second."""
KICKS_PER_ROUND = 16
POLISHED_PER_ROUND = 8
BROUGHT_PER_KICK = 16
MAX_PATIENCE = 48
MIN_PATIENCE = 8
"""Rounds without success after which a search ends; fewer for large tables, and half where one page holds all."""
MAX_ROUNDS = 3
"""Rounds altogether, as a multiple of that."""
_FULL_PATIENCE_WORK = 1 << 22
_SCORING_WORDS = 40
"""To score a pattern costs as much as to count so many words of it."""
_SHARE_FROM_LEADER = 0.25
_GROW_EVERY = 3
_GROWN_PER_QUERY = 8
_TOLERANCE = 1e-9
_NEGLIGIBLE = 15.0
"""Nats below the leader at which a pattern's mass is no longer added up."""


@dataclass
class ExploreResult:
    """What a search over all patterns found.

    Attributes
    ----------
    patterns : (2,) tuple of (num_patterns, longest) int64
        Candidates around the best pair, for each side: literal indices, padded with -1.
    included : (2,) tuple of (num_patterns,) bool
        Which of them are its rules.
    log_joint : float
    is_local_optimum : bool
        No addition, removal or exchange of a rule among all mined patterns improves the pair.
    was_stopped : bool
        The time budget or an interrupt ended the search early.
    niche_log_joints : (num_niches,) float64
        The best of each reading of the table, best first.
    history : dict of arrays
        One entry per round.
    seconds : dict
    grown_to : int
        Most literals of conjunctions that were grown; 0 for none.
    left_out : float
        Rules among all mined patterns but not among those given back that a draw around the pair would have; an
        estimate, from above on large tables.
    """

    patterns: tuple[IntArray, IntArray]
    included: tuple[BoolArray, BoolArray]
    log_joint: float
    is_local_optimum: bool
    was_stopped: bool
    niche_log_joints: FloatArray
    history: dict[str, np.ndarray]
    seconds: dict[str, float]
    grown_to: int
    left_out: float


def default_rounds(catalogue: Catalogue) -> int:
    """Choose after how many rounds without success a search ends: fewer where patterns and rows are many."""
    most = max(len(listed) for listed in catalogue.listed)
    longest = MAX_PATIENCE if most > PAGE_SLOTS else MAX_PATIENCE // 2
    work = sum(len(listed) for listed in catalogue.listed) * (catalogue.layout.num_words + _SCORING_WORDS)
    return int(np.clip(MAX_PATIENCE * _FULL_PATIENCE_WORK // max(1, work), MIN_PATIENCE, longest))


class Explorer:
    """One search: working pools, pages of all patterns, readings found so far."""

    def __init__(
        self,
        catalogue: Catalogue,
        hyper: Hyperparameters,
        *,
        single: bool,
        seed: int,
        clock: Clock,
        mesh: Mesh | None,
        max_rules: tuple[int, int] = (MAX_RULES, MAX_RULES),
    ) -> None:
        self.catalogue, self.hyper, self.clock, self.mesh = catalogue, hyper, clock, mesh
        # a rule of any kind that was searched may come in
        open_hyper = hyper._replace(pool_size=np.minimum(hyper.searched, 1 << 30).astype(np.int64))
        none = empty_pool(catalogue.layout.num_words)
        positive, negative = (len(patterns) for patterns in catalogue.required)
        problem = make_problem(
            (none, none),
            catalogue.layout,
            open_hyper,
            single=single,
            num_slots=WORKING_SIZE,
            max_rules=max_rules,
            num_required=(positive, negative),
        )
        self.room = (max_rules[0] - positive, max_rules[1] - negative)
        self.sides = [side for side in (0, 1) if len(catalogue.listed[side]) and self.room[side] > 0]
        self.working = WorkingPools(catalogue, hyper, problem)
        self.pages = Pages(catalogue, hyper, problem)
        self.grower = Grower(catalogue, hyper, problem)
        mined_length = catalogue.mined.items.shape[1]
        beyond = hyper.kind[:, mined_length + 1 :]
        self.is_growing = any(
            hyper.searched[side][kinds[kinds >= 0]].any() for side, kinds in enumerate(beyond) if kinds.size
        )
        self.generator = np.random.Generator(np.random.Philox(key=[seed, 2]))
        self.niches = Niches(int(np.bitwise_count(catalogue.layout.everything()).sum()))
        self.least = self.working.required
        # an interrupt while programs compile leaves the empty pair, or what must be in
        counts = np.asarray(self.working.query(self.least, 0).counts)
        sizes = np.zeros(problem.prior.shape[:2], dtype=np.int64)
        sizes[:, 0] = positive, negative
        log_prior = float(np.take_along_axis(np.asarray(problem.prior), sizes[..., None], axis=-1)[..., 0].sum())
        self.best = Best(host_log_likelihood(problem, counts) + log_prior, self.least, False)
        # every process of a mesh must start its programs in the same order
        self.executor = ThreadPoolExecutor(1 if mesh is not None else max(2, os.cpu_count() or 2))
        for side in self.sides:
            self.working.bring_in(side, catalogue.first(side, WORKING_SIZE), self.least)

    def begin(self) -> None:
        """Descend from two empty rule sets, or what must be in; all programs compile, side by side."""
        queries = [self.working.query(self.least, side) for side in self.sides[:1]]
        cases = (False, True) if self.is_growing else (False,)
        waiting = [self.executor.submit(self.pages.compile, q, best_case=case) for q in queries for case in cases]
        self.keep(self.descend(self.least))
        for compiled in waiting:
            compiled.result()

    # -- descents -----------------------------------------------------------------------------

    @in_float64
    def descend(self, included: BoolArray) -> Best:
        """Descend in the working pools."""
        problem, pool = self.working.on_device()
        return descend(programs_for(problem, pool, self.mesh).descend, included, self.clock)

    @in_float64
    def sketch(self, start: Start) -> Best:
        """Descend by additions and removals alone, perhaps among some of the patterns first."""
        included = start.included
        if start.has_detour:
            problem, pool = self.working.restricted(start.allowed(self.working.patterns))
            included = descend(programs_for(problem, pool, self.mesh).descend, included, self.clock).included
        problem, pool = self.working.on_device()
        return descend(programs_for(problem, pool, self.mesh).descend, included, self.clock, with_exchanges=False)

    def keep(self, found: Best) -> bool:
        """Take a pair in; say whether it is the new leader."""
        self.niches.keep(found, self.working.cover(found.included))
        before, self.best = self.best, better(self.best, found)
        return self.best.log_joint > before.log_joint + _TOLERANCE * (1 + abs(before.log_joint))

    def try_all(self, starts: Sequence[Start]) -> bool:
        """Descend from every start, with exchanges from the best new pairs; say whether there is a new leader.

        Exchanges are most of the work, and a kicked pair often falls back to where it came from.
        """
        self.working.on_device()  # once, before the threads ask for it
        sketches = sorted(self.executor.map(self.sketch, starts), key=lambda pair: -pair.log_joint)
        known = {pair.included.tobytes() for pair in self.niches.pairs}
        new = {pair.included.tobytes(): pair.included for pair in sketches}
        polished = [included for key, included in new.items() if key not in known][:POLISHED_PER_ROUND]
        return any([self.keep(pair) for pair in self.executor.map(self.descend, polished)])

    # -- the working pools --------------------------------------------------------------------

    def _protected(self, *more: BoolArray) -> BoolArray:
        """Say which slots must stay: those of all readings, and some more."""
        return np.logical_or.reduce([self.best.included, *(pair.included for pair in self.niches.pairs), *more])

    def refill(self, queries: Sequence[Query], count: int, protected: BoolArray) -> None:
        """Bring in the best of all patterns for each query."""
        for side in self.sides:
            asked = [query for query in queries if int(query.side) == side]
            if asked:
                self.working.bring_in(side, _in_turn(self.pages.best(asked, count, self.executor)), protected)

    def grow(self, queries: Sequence[Query], protected: BoolArray) -> None:
        """Bring in longer conjunctions, grown for a few queries of one side."""
        count = 4 * _GROWN_PER_QUERY
        priced = [self.pages.best(queries, count, self.executor, best_case=case) for case in (False, True)]
        parents = _in_turn(priced[0] + priced[1])
        if len(parents):
            found = self.grower.grow(queries, parents, _GROWN_PER_QUERY)
            self.working.bring_in(int(queries[0].side), found.patterns[: WORKING_SIZE // 4], protected)

    def neighbours(self) -> list[Query]:
        """Ask what could be added to the leader, and what could take the place of each of its rules."""
        included = self.best.included
        adding = [self.working.query(included, side) for side in self.sides]
        return adding + [
            self.working.query(included, side, int(slot))
            for side in self.sides
            for slot in np.flatnonzero(included[side] & ~self.least[side])
        ]

    # -- the search ---------------------------------------------------------------------------

    def settle(self) -> None:
        """Improve the leader until the best patterns of all for it, and for each rule's place, do not help."""
        while not self.clock.is_over():
            queries = self.neighbours()
            count = max(BROUGHT_PER_KICK, WORKING_SIZE // (2 * len(queries)))
            self.refill(queries, count, self._protected())
            if not self.keep(self.descend(self.best.included)):
                return

    def certify(self) -> bool:
        """Check the leader against all mined patterns, exactly, and against what can be grown around it.

        Says whether it stood; if not, what improves it is in the working pools.
        """
        queries = self.neighbours()
        # twice what a descent asks for, so that rounding cannot make the two disagree for ever
        threshold = self.best.log_joint + 2 * _TOLERANCE * (1 + abs(self.best.log_joint))
        stood = True
        for query, priced in zip(queries, self.pages.above(queries, threshold, self.executor), strict=True):
            better_ones = self._improving(query, priced, threshold)
            if len(better_ones):
                stood = False
                self.working.bring_in(int(query.side), better_ones, self._protected())
        if stood and self.is_growing:
            for side in self.sides:
                asked = [query for query in queries if int(query.side) == side]
                for start in range(0, len(asked), QUERIES_AT_ONCE):
                    self.grow(asked[start : start + QUERIES_AT_ONCE], self._protected())
            stood = not self.keep(self.descend(self.best.included))
        return stood

    def _improving(self, query: Query, priced: Priced, threshold: float) -> IntArray:
        """Settle by exact integrals which of the patterns that came near do improve a pair."""
        if not len(priced.patterns):
            return priced.patterns
        patterns = priced.patterns
        kind = 1 + self.hyper.kinds_of(int(query.side), (patterns >= 0).sum(axis=1), self.catalogue.num_cuts(patterns))
        bits = pack(patterns, self.catalogue.item_bits)
        exact = exact_prices(query, bits, kind, self.catalogue.layout, self.hyper)
        return patterns[np.argsort(-exact, kind="stable")][: np.count_nonzero(exact > threshold)]

    def round(self, number: int) -> bool:
        """Kick, refill and descend; say whether there is a new leader."""
        pairs = [pair.included for pair in self.niches.pairs]
        is_pattern = self.working.kind > 0
        starts = [
            kick(
                self.niches.choose(self.generator.random() < _SHARE_FROM_LEADER),
                pairs,
                self.working.patterns,
                is_pattern,
                self.generator,
                self.room,
            )
            for _ in range(KICKS_PER_ROUND)
        ]
        starts = [start._replace(included=start.included | self.least) for start in starts]
        protected = self._protected(*(start.included for start in starts))
        asking = starts[::2]  # the others descend among what these brought in
        queries = [self.working.query(start.included, side) for side in self.sides for start in asking]
        self.refill(queries, BROUGHT_PER_KICK, protected)
        if self.is_growing and number % _GROW_EVERY == 0:
            side = self.sides[number // _GROW_EVERY % len(self.sides)]
            self.grow([query for query in queries if int(query.side) == side][:QUERIES_AT_ONCE], protected)
        return self.try_all(starts)

    def run(self, patience: int, report: Callable[[int, Best], None], log: list[dict[str, Any]]) -> bool:
        """Search until ``patience`` rounds in a row bring nothing; say whether the leader is certified."""
        self.settle()
        shape = self.working.kind.shape
        shares = self.generator.choice(THINNINGS, KICKS_PER_ROUND)
        thinned = [thin((shape[0], shape[1]), float(share), self.generator) for share in shares]
        if self.try_all([start._replace(included=start.included | self.least) for start in thinned]):
            self.settle()
        failures, number, started = 0, 0, time.perf_counter()
        while not self.clock.is_over():
            if failures >= patience or number >= MAX_ROUNDS * patience:
                before = self.best
                if self.certify():
                    return True
                self.settle()
                if self.best is before:  # no slot was free for what improves it
                    self.niches.keep_only(self.best)
                failures = patience // 2  # it was not the end after all
                continue
            is_new = self.round(number)
            if is_new:
                self.settle()
            failures, number = 0 if is_new else failures + 1, number + 1
            log.append(
                {
                    "round": number,
                    "best_score": -self.best.log_joint,
                    "readings": len(self.niches.pairs),
                    "seconds": time.perf_counter() - started,
                }
            )
            report(failures, self.best)
        return False

    # -- what is given back -------------------------------------------------------------------

    def surroundings(self, size: int) -> tuple[tuple[IntArray, IntArray], tuple[BoolArray, BoolArray]]:
        """Choose candidates around the leader: its rules, grown conjunctions at hand, and the best of all others."""
        patterns: list[IntArray] = []
        included: list[BoolArray] = []
        width = self.working.patterns.shape[2]
        for side in (0, 1):
            members = self.working.patterns[side][self.best.included[side]]
            at_hand = self.working.patterns[side][self.working.kind[side] > 0]
            grown = at_hand[(at_hand >= 0).sum(axis=1) > self.catalogue.mined.items.shape[1]]
            others = self._around(side, size, width) if side in self.sides else at_hand
            rest = self._new_coverage(np.concatenate([grown, others]), members)[: max(0, size - len(members))]
            chosen = np.concatenate([members, rest])
            patterns.append(chosen)
            included.append(np.arange(len(chosen)) < len(members))
        return (patterns[0], patterns[1]), (included[0], included[1])

    def left_out(self, chosen: Sequence[IntArray]) -> float:
        """Estimate how many rules a draw around the leader would have that are not among the chosen patterns.

        Given the other rules, the place of each rule, and one more place per side, goes to a pattern with a chance in
        proportion to the pair's density with it; places are added up as if they were independent.
        """
        queries, bits = self.neighbours(), self.catalogue.item_bits
        known = [hash_coverage(some, bits) for some in chosen]
        rules = [hash_coverage(self.working.patterns[side][self.best.included[side]], bits) for side in (0, 1)]
        found = self.pages.above(queries, self.best.log_joint - _NEGLIGIBLE, self.executor)
        expected = 0.0
        for query, priced in zip(queries, found, strict=True):
            # best first: patterns of one coverage count once, as a pool has them
            coverage, first = np.unique(hash_coverage(priced.patterns, bits), return_index=True)
            weight = np.exp(priced.values[first] - self.best.log_joint)
            # whoever has the place now, a rule or none, keeps it with weight 1
            is_other = ~np.isin(coverage, rules[int(query.side)])
            outside = is_other & ~np.isin(coverage, known[int(query.side)])
            expected += float(weight[outside].sum() / (1.0 + weight[is_other].sum()))
        return expected

    def _new_coverage(self, patterns: IntArray, taken: IntArray) -> IntArray:
        """Keep the first of those that cover the same rows, and none that covers the rows of one of ``taken``."""
        of_pattern, of_taken = (hash_coverage(some, self.catalogue.item_bits) for some in (patterns, taken))
        values, first = np.unique(of_pattern, return_index=True)
        return patterns[np.sort(first[~np.isin(values, of_taken)])]

    def _around(self, side: int, size: int, width: int) -> IntArray:
        """Rank mined patterns by the best pair that they lead to: added to the leader, or in place of a rule."""
        listed = self.catalogue.mined.items[self.catalogue.listed[side]]
        if len(listed) > size:
            queries = [query for query in self.neighbours() if int(query.side) == side]
            found = self.pages.best(queries, size, self.executor)
            patterns, values = (np.concatenate(part) for part in zip(*found, strict=True))
            listed = patterns[np.argsort(-values, kind="stable")]
        return np.pad(listed, ((0, 0), (0, width - listed.shape[1])), constant_values=-1)


def _in_turn(found: Sequence[Priced]) -> IntArray:
    """Give the best pattern of every query, then the second best, and so on; each once."""
    ranks = zip_longest(*(priced.patterns.tolist() for priced in found))
    patterns = dict.fromkeys(tuple(pattern) for rank in ranks for pattern in rank if pattern is not None)
    return np.array(list(patterns), dtype=np.int64) if patterns else NO_PATTERNS


@in_float64
def run(
    catalogue: Catalogue,
    hyper: Hyperparameters,
    *,
    single: bool,
    seed: int,
    max_patterns: int,
    patience: int | None = None,
    time_budget: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    mesh: Mesh | None = None,
    max_rules: tuple[int, int] = (MAX_RULES, MAX_RULES),
) -> ExploreResult:
    """Search over all patterns of a catalogue.

    Parameters
    ----------
    catalogue : Catalogue
    hyper : Hyperparameters
    single : bool
        One-class method: the negative rule set stays empty.
    seed : int
        One seed in [0, 2**31); the same seed gives the same result to the bit.
    max_patterns : int
        Candidates per side to give back around the best pair.
    patience : int, optional
        Rounds without success after which the search ends.
    time_budget : float, optional
        Seconds; afterwards, and after an interrupt from the keyboard, the best so far is returned.
    progress : callable, optional
        Called after each round.
    mesh : Mesh, optional
        Spread the rows of descents over these devices; see `soar_jax.score.devices`.
    max_rules : (int, int)
        Rules of each side at most.
    """
    check_clock(mesh, time_budget)
    started = time.perf_counter()
    clock = Clock(time_budget)
    patience = default_rounds(catalogue) if patience is None else patience
    explorer = Explorer(catalogue, hyper, single=single, seed=seed, clock=clock, mesh=mesh, max_rules=max_rules)
    log: list[dict[str, Any]] = []

    def report(failures: int, best: Best) -> None:
        if progress is not None:
            sizes = best.included.sum(axis=1)
            progress(Progress("searching", failures, patience, -best.log_joint, (int(sizes[0]), int(sizes[1]))))

    is_optimal, begun = False, started
    try:
        explorer.begin()
        begun = time.perf_counter()
        is_optimal = explorer.run(patience, report, log) if explorer.sides else True
    except KeyboardInterrupt:
        clock.stopped = True
    searched = time.perf_counter()
    patterns, included = explorer.surroundings(max_patterns)
    left_out = explorer.left_out(patterns) if explorer.sides else 0.0
    explorer.executor.shutdown()
    return ExploreResult(
        patterns,
        included,
        explorer.best.log_joint,
        is_optimal,
        clock.stopped,
        np.array([pair.log_joint for pair in explorer.niches.pairs]),
        {name: np.array([line[name] for line in log]) for name in (log[0] if log else {})},
        {
            "beginning": begun - started,
            "searching": searched - begun,
            "gathering": time.perf_counter() - searched,
        },
        explorer.grower.longest if explorer.is_growing else 0,
        left_out,
    )
