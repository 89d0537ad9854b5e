"""The rules with their figures, what sets their rows apart, what they share, and where opposite ones clash."""

from __future__ import annotations

import numpy as np

from soar_jax.report.content import Difference, Dispute, Overlap, RuleEntry
from soar_jax.report.measured import Measured
from soar_jax.report.numbers import (
    LEAST_ROWS,
    LEAST_SHARED,
    Share,
    coarse,
    is_few,
    of_hundred,
    plain_share,
    share_of,
)
from soar_jax.report.phrases import phrase, rule_phrases
from soar_jax.report.subject import Subject
from soar_jax.report.words import Words
from soar_jax.states import ACTIVE

SHOWN_OVERLAPS = 6
SHOWN_DIFFERENCES = 5
SHOWN_DISPUTES = 10
MOST_IN_MAP = 6
"""Rules a side up to which the map has a box for every pair."""
_TELLING = 0.05
_HALF = 0.5
_OFTEN = 0.2


def rule_entries(
    subject: Subject, measured: Measured, words: Words, outcomes: tuple[str, str]
) -> tuple[RuleEntry, ...]:
    """Describe every rule."""
    counts, entries = measured.rules, []
    for r, fact in enumerate(subject.model.facts):
        is_positive = fact.side == "positive"
        right, unopposed, opposed = share_of(counts.hits[r], counts.rows[r]), None, None
        if counts.free_rows is not None and counts.free_hits is not None:
            unopposed = share_of(counts.free_hits[r], counts.free_rows[r])
            opposed = share_of(counts.hits[r] - counts.free_hits[r], counts.rows[r] - counts.free_rows[r])
            if is_few(counts.free_rows[r]) or is_few(counts.rows[r] - counts.free_rows[r]):
                right, unopposed, opposed = coarse(right), coarse(unopposed), coarse(opposed)
        overlaps, more = _overlaps(subject, measured, r)
        # a share of a side with few rows, or one that would tell how many rows of a rule with few are on its side
        of_side = measured.num_positives if is_positive else measured.num_rows - measured.num_positives
        has_reach = right.value is not None and of_side >= LEAST_SHARED
        entries.append(
            RuleEntry(
                fact.id,
                is_positive,
                rule_phrases(words, fact.rule),
                str(fact.rule),
                fact.rule.columns,
                right,
                unopposed,
                opposed,
                plain_share(float(counts.reach[r])) if has_reach else None,
                plain_share(float(counts.alone[r])) if has_reach else None,
                plain_share(fact.inclusion),
                _differences(subject, measured, words, r),
                overlaps,
                more,
                _use(right, opposed, words, outcomes[is_positive]),
            )
        )
    return tuple(entries)


def _use(right: Share, opposed: Share | None, words: Words, other: str) -> str:
    """Say what a rule is kept for that is wrong more often than right, and mostly disputed; nothing of other rules."""
    if right.high is None or right.high >= _HALF or opposed is None or not opposed.rows or not right.rows:
        return ""
    if opposed.rows <= _HALF * right.rows:
        return ""
    return (
        f"It is wrong more often than right. Most {words.rows} that it covers are also covered by a rule for {other}: "
        f"there it turns the answer “{other}” into “the rules disagree”, which is why it is kept."
    )


def _overlaps(subject: Subject, measured: Measured, r: int) -> tuple[tuple[Overlap, ...], int]:
    if measured.overlaps is None:
        return (), 0
    rows = measured.overlaps[r]
    others = [int(i) for i in np.argsort(-rows, kind="stable") if i != r and rows[i] >= LEAST_ROWS]
    found = [
        Overlap(subject.model.facts[i].id, int(rows[i]), round(float(rows[i] / max(rows[r], 1)), 3)) for i in others
    ]
    return tuple(found[:SHOWN_OVERLAPS]), len(found[SHOWN_OVERLAPS:])


def _differences(subject: Subject, measured: Measured, words: Words, r: int) -> tuple[Difference, ...]:
    """Find conditions of other rules that are much more or less common among the rows of this one."""
    rows = int(measured.rules.rows[r])
    if measured.literal_rows is None or measured.literal_shares is None or rows < LEAST_SHARED:
        return ()
    here = measured.literal_rows[r] / rows
    own = set(subject.model.rules[r].columns)
    found, seen = [], set()
    for i in np.argsort(-np.abs(here - measured.literal_shares), kind="stable"):
        literal = measured.literals[i]
        if literal.column in own or literal.column in seen or abs(here[i] - measured.literal_shares[i]) < _TELLING:
            continue
        seen.add(literal.column)
        found.append(
            Difference(phrase(words, literal), round(float(here[i]), 3), round(float(measured.literal_shares[i]), 3))
        )
    return tuple(found[:SHOWN_DIFFERENCES])


def disputes(subject: Subject, measured: Measured) -> tuple[Dispute, ...]:
    """Pairs of opposite rules that apply to the same rows: all of a small model, the largest of a large one."""
    if measured.disputes is None:
        return ()
    rows, positives = measured.disputes
    facts, num_positive = subject.model.facts, subject.model.num_positive
    pairs = [(int(i), int(j)) for i, j in np.argwhere(rows > 0)]
    pairs.sort(key=lambda pair: (-rows[pair], pair))
    if max(rows.shape, default=0) > MOST_IN_MAP:
        pairs = [pair for pair in pairs if rows[pair] >= LEAST_ROWS][:SHOWN_DISPUTES]
    found = []
    for i, j in pairs:
        share = share_of(positives[i, j], rows[i, j])
        ahead = None
        if share.low is not None and share.high is not None:
            plus, minus = facts[i].id, facts[num_positive + j].id
            ahead = plus if share.low > _HALF else minus if share.high < _HALF else ""
        found.append(Dispute(facts[i].id, facts[num_positive + j].id, share.rows, share, ahead))
    return tuple(found)


def dispute_lead(subject: Subject, measured: Measured, words: Words, yes: str) -> str:
    """Say which rule takes part in most disputes."""
    model = subject.model
    total = int(measured.states[ACTIVE])
    if model.single or not model.rules:
        return ""
    if total == 0:
        return f"No two rules of opposite sides apply to the same {words.row} of those counted."
    said = ""
    if measured.patterns:
        part = np.zeros(len(model.rules))
        for rules, (rows, _) in measured.patterns.items():
            if any(r < model.num_positive for r in rules) and any(r >= model.num_positive for r in rules):
                part[list(rules)] += rows
        # with one rule on a side that one is in all of them
        sides = [list(range(model.num_positive)), list(range(model.num_positive, len(model.rules)))]
        part[[r for side in sides if len(side) == 1 for r in side]] = 0
        top = int(np.argmax(part))
        if part[top]:
            said = f"Rule {model.facts[top].id} takes part in {of_hundred(float(part[top] / total))} disputes. "
    share = share_of(measured.state_positives[ACTIVE], total)
    if share.value is None:
        return f"{said}There are too few {words.rows} in dispute to say how they end."
    said += f"Of the {words.rows} in {'them' if said else 'dispute'} {of_hundred(share.value)} are in fact {yes}"
    is_open = _OFTEN < share.value < 1 - _OFTEN
    return f"{said}{', so that siding with either rule would often be wrong' if is_open else ''}."
