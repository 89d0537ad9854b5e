"""Rules changed by hand, and what that costs: the pair with the change, its price in nats, and an entry for the log."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, Plain, WordArray
from soar_jax.candidates.build import Candidates
from soar_jax.candidates.catalogue import Catalogue
from soar_jax.candidates.pools import Pool, impurity
from soar_jax.control.hand_written import as_rule, literal_key, rule_key
from soar_jax.data.literals import Literal
from soar_jax.rules import Rule, RuleSet, rule_ids
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.target import FittedPair, Target
from soar_jax.states import STATES, state_masks, taxonomy_from_counts

COLUMNS = (
    "time",
    "action",
    "side",
    "removed",
    "added",
    "reason",
    "log_joint_change",
    "rows_changed",
    "moves",
    "taxonomy_before",
    "taxonomy_after",
)
"""What an entry of the log tells; it also holds the literals of both rules, as ``removed_literals`` and
``added_literals``."""


class Cover(NamedTuple):
    """A rule on the training rows: its packed rows, and how many of its cuts count as placed by the labels."""

    bits: WordArray
    num_cuts: int


class KnownLiterals(NamedTuple):
    """The literals of a fit on its training rows.

    Attributes
    ----------
    literals : tuple of Literal
    bits : (num_literals, num_words) uint64
    is_cut : (num_literals,) bool
        Whether the labels placed the cut.
    """

    literals: tuple[Literal, ...]
    bits: WordArray
    is_cut: BoolArray

    def cover(self, rule: Rule) -> Cover | None:
        """Rows of a rule, if all of its literals are known."""
        place = {literal_key(literal): i for i, literal in enumerate(self.literals)}
        keys = [literal_key(condition) for condition in rule.conditions]
        if not all(key in place for key in keys):
            return None
        found = [place[key] for key in keys]
        return Cover(np.bitwise_and.reduce(self.bits[found], axis=0), int(self.is_cut[found].sum()))


def known_literals(candidates: Candidates) -> KnownLiterals | None:
    """Keep what is needed to count rules that were no candidates; a screened search keeps nothing."""
    source = candidates.source
    if not isinstance(source, Catalogue):
        return None
    return KnownLiterals(source.items.literals, source.item_bits, source.items.choices > 1)


def place_in(pool: Pool, rule: Rule) -> int | None:
    """Which candidate of a pool a rule is, if any."""
    key = rule_key(rule)
    return next((i for i, pattern in enumerate(pool.patterns) if rule_key(Rule(pattern)) == key), None)


def find_rule(sets: Sequence[RuleSet], which: Any, orders: Mapping[str, Sequence[Plain]]) -> tuple[int, Rule]:
    """Find a rule of a pair by its id (P1, N2), its text, or itself: side and rule."""
    rules = [(side, rule) for side, mine in enumerate(sets) for rule in mine]
    ids = rule_ids(sets)
    if isinstance(which, str):
        found = [i for i, name in enumerate(ids) if name == which]
        found = found or [i for i, (_, rule) in enumerate(rules) if str(rule) == which]
    else:
        key = rule_key(as_rule(which, orders))
        found = [i for i, (_, rule) in enumerate(rules) if rule_key(rule) == key]
    if len(found) > 1:
        both = " and ".join(ids[i] for i in found)
        raise InputError(f"Both sets have that rule, as {both}; say which one by its id.")
    if not found:
        near = difflib.get_close_matches(str(which), [*ids, *(str(rule) for _, rule in rules)], 1)
        hint = f" Did you mean {near[0]!r}?" if near else f" It has {', '.join(ids) or 'no rules'}."
        raise InputError(f"The model has no rule {str(which)!r}.{hint}")
    return rules[found[0]]


@dataclass(frozen=True)
class Change:
    """One edit: a rule out, a rule in, or both, on one side."""

    side: int
    removed: Rule | None
    added: Rule | None

    @property
    def action(self) -> str:
        """Say it in a word."""
        if self.removed is None:
            return "add"
        return "remove" if self.added is None else "replace"


def with_kind(hyper: Hyperparameters, side: int, length: int, num_cuts: int) -> Hyperparameters:
    """Give a price to rules of so many literals and cuts.

    A kind that the fit searched has its prior already. One that it did not search, because the rule is longer or has
    more cuts, is counted among the kind of which most was searched, where a rule is dearest.
    """
    beyond = max(length, num_cuts) + 1 - hyper.kind.shape[1]
    kind = np.pad(hyper.kind, [(0, 0), (0, max(beyond, 0)), (0, max(beyond, 0))], constant_values=-1)
    if kind[side, length, num_cuts] < 0:
        kind[side, length, num_cuts] = int(np.argmax(hyper.searched[side]))
    return hyper._replace(kind=kind)


def with_candidate(target: Target, side: int, rule: Rule, cover: Cover, screen: str) -> Target:
    """Add a rule to a side's candidates, counted among the patterns that were searched."""
    pool, layout = target.pools[side], target.layout
    positives, negatives = layout.counts(cover.bits[None])
    bigger = Pool(
        (*pool.patterns, rule.conditions),
        (*pool.aliases, ()),
        np.append(pool.positives, positives),
        np.append(pool.negatives, negatives),
        np.append(pool.impurity, impurity(positives, negatives, layout.num_positives, layout.num_negatives, screen)),
        np.concatenate([pool.bits, cover.bits[None]]),
        np.append(pool.num_cuts, cover.num_cuts),
        pool.num_required,
    )
    hyper = with_kind(target.hyper, side, len(rule), cover.num_cuts)
    pool_size = hyper.pool_size.copy()
    pool_size[side, hyper.kind[side, len(rule), cover.num_cuts]] += 1
    # a candidate is one of the patterns that could be chosen, also where all that was searched was already in
    hyper = hyper._replace(pool_size=pool_size, searched=np.maximum(hyper.searched, pool_size))
    pools = (bigger, target.pools[1]) if side == 0 else (target.pools[0], bigger)
    return replace(target, pools=pools, hyper=hyper)


def change_pair(fitted: FittedPair, change: Change, cover: Cover | None, screen: str) -> FittedPair:
    """Make the change in a pair. ``cover`` is of the added rule, where it is no candidate yet."""
    target, side = fitted.target, change.side
    members = [set(mine.tolist()) for mine in fitted.members]
    if change.removed is not None:
        members[side].discard(place_in(target.pools[side], change.removed))
    if change.added is not None:
        place = place_in(target.pools[side], change.added)
        if place in members[side]:
            raise InputError(f"The {STATES[side]} rule set already has the rule {change.added}.")
        if place is None:
            assert cover is not None
            place = len(target.pools[side])
            target = with_candidate(target, side, change.added, cover, screen)
        members[side].add(place)
    included = np.zeros((2, target.num_slots), dtype=bool)
    for of_side, mine in zip(included, members, strict=True):
        of_side[sorted(mine)] = True
    return replace(fitted, target=target, included=included)


def _masks(pair: FittedPair) -> WordArray:
    """Packed training rows of each state: (4, num_words)."""
    positive, negative = (
        np.bitwise_or.reduce(pool.bits[members], axis=0)
        for pool, members in zip(pair.target.pools, pair.members, strict=True)
    )
    return state_masks(positive, negative, pair.target.layout.everything())


def log_entry(before: FittedPair, after: FittedPair, change: Change, reason: str) -> dict[str, Any]:
    """Write down what was done and what it costs, as plain data. Both pairs are of the same rows."""
    layout, old, new = before.target.layout, _masks(before), _masks(after)
    moves = {}
    for i, here in enumerate(STATES):
        for j, there in enumerate(STATES):
            number = int(sum(count[0] for count in layout.counts((old[i] & new[j])[None])))
            if i != j and number:
                moves[f"{here} to {there}"] = number

    def taxonomy(pair: FittedPair) -> dict[str, int]:
        return {str(name): int(rows) for name, rows in taxonomy_from_counts(*pair.state_counts).items()}

    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "action": change.action,
        "side": STATES[change.side],
        "removed": None if change.removed is None else str(change.removed),
        "added": None if change.added is None else str(change.added),
        "removed_literals": None if change.removed is None else [list(z) for z in change.removed.literals],
        "added_literals": None if change.added is None else [list(z) for z in change.added.literals],
        "reason": reason,
        "log_joint_change": after.log_joint - before.log_joint,
        "rows_changed": sum(moves.values()),
        "moves": moves,
        "taxonomy_before": taxonomy(before),
        "taxonomy_after": taxonomy(after),
    }


class EditLog(pd.DataFrame):
    """Entries of a log as a data frame, one line each, that prints as sentences."""

    def __str__(self) -> str:
        """Say what was done, why, and what it costs."""
        if not len(self):
            return "No rule was changed by hand."
        return "\n".join(f"{i}. {_sentence(entry)}" for i, (_, entry) in enumerate(self.iterrows(), start=1))

    __repr__ = __str__


def _sentence(entry: pd.Series) -> str:
    done = {
        "add": f"added {entry['added']!r}",
        "remove": f"removed {entry['removed']!r}",
        "replace": f"replaced {entry['removed']!r} by {entry['added']!r}",
    }[entry["action"]]
    moves = ", ".join(f"{what} {number:,}" for what, number in entry["moves"].items())
    before, after = entry["taxonomy_before"], entry["taxonomy_after"]
    cases = ", ".join(f"{name} {before[name]:,} to {after[name]:,}" for name in before if before[name] != after[name])
    return (
        f"{entry['time']} {done}, {entry['side']} side: {entry['reason']}\n"
        f"   log joint {entry['log_joint_change']:+.3f} nats; {entry['rows_changed']:,} training rows change state"
        + (f" ({moves})\n   {cases}" if moves else "")
    )


def log_table(entries: Sequence[dict[str, Any]]) -> EditLog:
    """List the entries of a log, oldest first."""
    table = EditLog([{name: entry[name] for name in COLUMNS} for entry in entries], columns=list(COLUMNS))
    for name in ("removed", "added"):
        table[name] = table[name].astype(object)
    return table
