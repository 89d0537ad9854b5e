"""MAP search over everything that was mined, and over longer conjunctions grown on the way.

Descents move within small working pools. Each round sets out from kicked copies of the best pairs of several readings
(`soar_jax.search.niches`); before it descends, all patterns are priced against those starts and the best brought in.
When the leader improves, all are priced against it and against it without each of its rules. After some rounds without
success the search sets out anew, until two searches have found the best reading (`soar_jax.search.ends`). At the end
comes the certificate: no addition, removal or exchange among all mined patterns improves the pair.
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
from soar_jax._progress import Clock, Progress, announce
from soar_jax._threads import result_of
from soar_jax.candidates.catalogue import NO_PATTERNS, Catalogue
from soar_jax.candidates.patterns import pack
from soar_jax.candidates.pools import empty_pool
from soar_jax.score.compiled import drop_surplus
from soar_jax.score.joint import host_log_likelihood, host_log_prior
from soar_jax.score.pricing import PAGE_SLOTS, QUERIES_AT_ONCE, Query, exact_prices
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.problem import make_problem
from soar_jax.score.target import Agreement
from soar_jax.search.anneal import check_clock
from soar_jax.search.checkpoint import Checkpoint
from soar_jax.search.descent import Best, better
from soar_jax.search.descents import Errand, descents_for
from soar_jax.search.ends import End, compare
from soar_jax.search.gather import candidates
from soar_jax.search.grow import Grower
from soar_jax.search.kicks import THINNINGS, Start, kick, thin
from soar_jax.search.niches import Niches
from soar_jax.search.pages import Pages, Priced
from soar_jax.search.resume import Standing, about_explorer, arrays_of_explorer, put_back_explorer
from soar_jax.search.working import WorkingPools

WORKING_SIZE = 256
"""Patterns per side that descents move within; smaller pools with more refills found better pairs per second."""
KICKS_PER_ROUND = 16
POLISHED_PER_ROUND = 8
BROUGHT_PER_KICK = 16
MAX_PATIENCE = 24
MIN_PATIENCE = 4
"""Rounds without success after which a search ends; fewer for large tables, and half where one page holds all."""
NUM_AGREEING = 2
MAX_SEARCHES = 4
"""Searches follow one another until so many of them have found the best reading, or there were so many."""
MAX_ROUNDS = 3
"""Rounds altogether, as a multiple of that."""
_FULL_PATIENCE_WORK = 1 << 22
_SCORING_WORDS = 40
"""To score a pattern costs as much as to count so many words of it."""
_SHARE_FROM_LEADER = 0.25
_GROW_EVERY = 3
_GROWN_PER_QUERY = 8
_TOLERANCE = 1e-9


@dataclass
class ExploreResult:
    """What a search over all patterns found.

    Attributes
    ----------
    patterns : (2,) tuple of (num_patterns, longest) int64
        Candidates around the best pair, for each side: literal indices, padded with -1.
    included : (2,) tuple of (num_patterns,) bool
        Which of them are its rules.
    readings : list of (2,) tuple of (num_patterns,) bool
        The same of the other readings that chains should know, best first.
    agreement : Agreement, optional
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
    readings: list[tuple[BoolArray, BoolArray]]
    agreement: Agreement | None
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
        self.catalogue, self.hyper, self.clock = catalogue, hyper, clock
        # a rule of any kind that was searched may come in; whether the leader is worth more than no rules at all and
        # the doubt about any is asked at the end, so that doubt does not stand in the way of pairs of several rules
        open_hyper = hyper._replace(
            pool_size=np.minimum(hyper.searched, 1 << 30).astype(np.int64), log_doubt=np.float64(0.0)
        )
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
        self.ends: list[End] = []
        """What the searches before this one ended in."""
        self.search, self.is_final = 0, False
        self.least = self.working.required
        self.pass_seconds = 0.0
        """How long it takes to price all patterns against the leader and its neighbours."""
        # an interrupt while programs compile leaves the empty pair, or what must be in
        counts = np.asarray(self.working.query(self.least, 0).counts)
        sizes = np.zeros(problem.prior.shape[:2], dtype=np.int64)
        sizes[:, 0] = positive, negative
        of_least = float(hyper.power) * host_log_likelihood(problem, counts) + host_log_prior(problem, sizes)
        self.best = self._first_best = Best(of_least, self.least, False)
        self.nothing = Best(of_least + float(hyper.log_doubt), self.least, False)
        """No rules, or those alone that must be in, with the doubt about any."""
        # every process of a mesh must start its programs in the same order
        self.executor = ThreadPoolExecutor(1 if mesh is not None else max(2, os.cpu_count() or 2))
        self.descents = descents_for(self.working, clock, mesh, self.executor)
        self._first = {side: catalogue.first(side, WORKING_SIZE) for side in self.sides}
        for side in self.sides:
            self.working.bring_in(side, self._first[side], self.least)

    def begin(self) -> None:
        """Descend from two empty rule sets, or what must be in; all programs compile, side by side."""
        queries = [self.working.query(self.least, side) for side in self.sides[:1]]
        cases = (False, True) if self.is_growing else (False,)
        waiting = [self.executor.submit(self.pages.compile, q, best_case=case) for q in queries for case in cases]
        self.keep(self.descend(self.least))
        for compiled in waiting:
            result_of(compiled)

    # -- descents -----------------------------------------------------------------------------

    def descend(self, included: BoolArray) -> Best:
        """Descend in the working pools."""
        return self.descents.one(Errand(included))

    def keep(self, found: Best) -> bool:
        """Take a pair in; say whether it is the new leader."""
        self.niches.keep(found, self.working.cover(found.included))
        before, self.best = self.best, better(self.best, found)
        return self.best.log_joint > before.log_joint + _TOLERANCE * (1 + abs(before.log_joint))

    def try_all(self, starts: Sequence[Start]) -> bool:
        """Descend from every start, with exchanges from the best new pairs; say whether there is a new leader.

        Exchanges are most of the work, and a kicked pair often falls back to where it came from.
        """
        patterns = self.working.patterns
        errands = [Errand(s.included, s.allowed(patterns) if s.has_detour else None) for s in starts]
        sketches = sorted(self.descents.sketch(errands), key=lambda pair: -pair.log_joint)
        known = {pair.included.tobytes() for pair in self.niches.pairs}
        new = {pair.included.tobytes(): pair.included for pair in sketches}
        polished = [Errand(included) for key, included in new.items() if key not in known][:POLISHED_PER_ROUND]
        return any([self.keep(pair) for pair in self.descents.polish(polished)])

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

    def neighbours(self, included: BoolArray | None = None) -> list[Query]:
        """Ask what could be added to a pair, the leader if not given, and what could replace each of its rules."""
        included = self.best.included if included is None else included
        adding = [self.working.query(included, side) for side in self.sides]
        return adding + [
            self.working.query(included, side, int(slot))
            for side in self.sides
            for slot in np.flatnonzero(included[side] & ~self.least[side])
        ]

    # -- the search ---------------------------------------------------------------------------

    def settle(self) -> None:
        """Improve the leader until the best patterns of all for it, and for each rule's place, do not help."""
        while self.sides and not self.clock.is_over():
            queries = self.neighbours()
            count = max(BROUGHT_PER_KICK, WORKING_SIZE // (2 * len(queries)))
            started = time.perf_counter()
            self.refill(queries, count, self._protected())
            self.pass_seconds = max(self.pass_seconds, time.perf_counter() - started)
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

    def beats_doubt(self) -> bool:
        """Say whether the leader is worth more than no rules and the doubt about any; if not, these lead from now on.

        A leader without rules that stood, stands with doubt as well.
        """
        if self.best.log_joint > self.nothing.log_joint:
            return True
        was_nothing = self.best.included.tobytes() == self.nothing.included.tobytes()
        self.best = self.nothing
        return was_nothing

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

    def set_out(self) -> None:
        """Improve the first pair, and look once from thinned pools; a later search has the latter only."""
        if self.search == 0:
            self.settle()
        shape = self.working.kind.shape
        shares = self.generator.choice(THINNINGS, KICKS_PER_ROUND)
        thinned = [thin((shape[0], shape[1]), float(share), self.generator) for share in shares]
        if self.try_all([start._replace(included=start.included | self.least) for start in thinned]):
            self.settle()

    def end_search(self) -> None:
        """Note what this search ended in; set out anew or, where searches agree, take the readings of all in."""
        self._note_ends()
        found = self.agreement
        self.is_final = found is None or found.num_agreeing >= NUM_AGREEING or self.search == MAX_SEARCHES
        if self.is_final:
            self._recall()
        else:
            for side in self.sides:
                self.working.bring_in(side, self._first[side], self.least)
            self.set_out()

    def wrap_up(self) -> None:
        """End a search that has no time left, and take the readings of all in."""
        if not self.is_final:
            self._note_ends()
            self._recall()

    def _note_ends(self) -> None:
        for pair in {id(pair): pair for pair in [self.best, *self.niches.pairs]}.values():
            rules = pair.included & ~self.least
            positive, negative = (self.working.patterns[side][rules[side]] for side in (0, 1))
            self.ends.append(End(pair.log_joint, (positive, negative), self.working.cover(pair.included), self.search))
        self.search += 1
        self.niches.found, self.best = [], self._first_best

    @property
    def agreement(self) -> Agreement | None:
        """How far the searches agree that have ended; None where there is nothing to search."""
        return None if not self.sides else compare(self.ends, self.catalogue.layout)[1]

    def _recall(self) -> None:
        """Take the readings of all searches in: first the one that leads, then the others, best first."""
        leader, first = compare(self.ends, self.catalogue.layout)[0], None
        for end in [leader, *sorted(self.ends, key=lambda end: -end.log_joint)]:
            included = self.least.copy()
            for side, patterns in enumerate(end.patterns):
                included[side, self.working.hold(side, patterns, self._protected(included))] = True
            has_room = (included.sum(axis=1) == [len(p) for p in end.patterns] + self.least.sum(axis=1)).all()
            if has_room:
                self.keep(Best(end.log_joint, included, False))
                first = self.best if end is leader and first is None else first
        self.best = self.best if first is None else first
        self.settle()

    def run(
        self,
        patience: int,
        report: Callable[[int, Best], None],
        log: list[dict[str, Any]],
        checkpoint: Checkpoint | None = None,
    ) -> bool:
        """Search until ``patience`` rounds in a row bring nothing and searches agree; say whether the leader stands."""
        saved = None if checkpoint is None else checkpoint.load()
        if saved is None:
            self.set_out()
            failures, number, before = 0, 0, 0.0
        else:
            failures, number, before, lines = put_back_explorer(self, saved)
            log.extend(lines)
        self.clock.reserve(2 * self.pass_seconds)  # for the candidates around the leader, and what lies beyond them
        started = time.perf_counter() - before
        while not self.clock.is_over():
            if failures >= patience or number >= MAX_ROUNDS * patience:
                if not self.is_final:
                    self.end_search()
                    failures, number = (patience, number) if self.is_final else (0, 0)
                    continue
                if not self.clock.has_room_for(self.pass_seconds):
                    break
                leader = self.best
                if self.certify() and (self.beats_doubt() or self.certify()):
                    return True
                self.settle()
                if self.best is leader:  # no slot was free for what improves it
                    self.niches.keep_only(self.best)
                failures = patience // 2  # it was not the end after all
                continue
            is_new = self.round(number)
            if is_new:
                self.settle()
            failures, number = 0 if is_new else failures + 1, number + 1
            seconds = time.perf_counter() - started
            log.append(
                {
                    "round": number,
                    "best_score": -self.best.log_joint,
                    "readings": len(self.niches.pairs),
                    "seconds": seconds,
                }
            )
            if checkpoint is not None and not self.clock.is_over():  # a round cut short is not one to go on from
                standing = Standing(failures, number, seconds, tuple(log))
                checkpoint.keep(about_explorer(self, standing), lambda: arrays_of_explorer(self))
            report(failures, self.best)
        return False


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
    checkpoint: Checkpoint | None = None,
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
        Candidates per side to give back around the readings, at most.
    patience : int, optional
        Rounds without success after which the search ends.
    time_budget : float, optional
        Seconds; afterwards, and after an interrupt from the keyboard, the best so far is returned.
    progress : callable, optional
        Called at once, and after each round.
    mesh : Mesh, optional
        Spread the rows of descents over these devices; see `soar_jax.score.devices`.
    max_rules : (int, int)
        Rules of each side at most.
    checkpoint : Checkpoint, optional
        Where to save what the next round depends on, and from where to go on.
    """
    check_clock(mesh, time_budget)
    drop_surplus()
    started = time.perf_counter()
    clock = Clock(time_budget)
    patience = default_rounds(catalogue) if patience is None else patience
    announce(progress, "searching", patience)
    explorer = Explorer(catalogue, hyper, single=single, seed=seed, clock=clock, mesh=mesh, max_rules=max_rules)
    log: list[dict[str, Any]] = []

    def report(failures: int, best: Best) -> None:
        if progress is not None:
            sizes = best.included.sum(axis=1)
            note = f"search {explorer.search + 1}"
            progress(Progress("searching", failures, patience, -best.log_joint, (int(sizes[0]), int(sizes[1])), note))

    is_optimal, begun = False, started
    try:
        explorer.begin()
        begun = time.perf_counter()
        is_optimal = explorer.run(patience, report, log, checkpoint) if explorer.sides else True
    except KeyboardInterrupt:
        clock.stopped = True
    explorer.wrap_up()
    explorer.beats_doubt()
    searched = time.perf_counter()
    (patterns, included, readings), beyond = candidates(explorer, max_patterns)
    explorer.executor.shutdown()
    return ExploreResult(
        patterns,
        included,
        readings,
        explorer.agreement,
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
        beyond,
    )
