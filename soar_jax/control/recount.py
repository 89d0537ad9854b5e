"""The training rows once more: a pair on a table that is given again, where the fit did not keep what is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, IntArray, WordArray
from soar_jax.candidates.coverage import BitLayout, lay_out
from soar_jax.candidates.pools import Pool, impurity
from soar_jax.control.edits import Cover
from soar_jax.control.hand_written import literal_key, rule_key
from soar_jax.data.columns import TableValues
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows, describe_column
from soar_jax.rules import Rule, RuleSet
from soar_jax.score.target import FittedPair

_AGREEMENT = 1e-6


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a fit counted.

    Attributes
    ----------
    frame : DataFrame
    is_true : (num_rows,) bool
    weights : (num_rows,) int64
    """

    frame: pd.DataFrame
    is_true: BoolArray
    weights: IntArray


class Recount:
    """Literals evaluated on raw training rows, packed as a fit packs them.

    Rows on which all of the literals agree become one, as in a fit.
    """

    def __init__(self, rows: TrainingRows, rules: Sequence[Rule]) -> None:
        values = TableValues(rows.frame)
        conditions = {literal_key(z): z for rule in rules for z in rule.conditions}
        self._place = {key: i for i, key in enumerate(conditions)}
        truth = np.array([z.holds(values[z.column]) for z in conditions.values()], dtype=bool)
        truth = truth.reshape(len(conditions), len(rows.frame))
        _, first, group = np.unique(np.packbits(truth.T, axis=1), axis=0, return_index=True, return_inverse=True)
        counts = [
            np.bincount(group.reshape(-1), rows.weights * mask, len(first)).astype(np.int64)
            for mask in (rows.is_true, ~rows.is_true)
        ]
        self.layout: BitLayout = lay_out(GroupedRows(np.arange(len(first))[:, None], counts[0], counts[1]))
        self._bits: WordArray = self.layout.pack(truth[:, first])

    def bits(self, rule: Rule) -> WordArray:
        """Packed rows of a rule: (num_words,)."""
        return np.bitwise_and.reduce(self._bits[[self._place[literal_key(z)] for z in rule.conditions]], axis=0)


def counts_as_cut(rows: TrainingRows, max_bins: int, cuts: str, *, honest: bool) -> Callable[[Literal], bool]:
    """Say of a literal whether its cut counts as placed by the labels, as in the fit that these rows were given to.

    A cut at a point of its own counts as those of its column do: it is one of the points the labels chose among.
    """
    values, found = TableValues(rows.frame), dict[str, bool]()

    def is_cut(literal: Literal) -> bool:
        if honest or not literal.kind.is_bound:
            return False
        if literal.column not in found:
            column = describe_column(
                values[literal.column], rows.is_true, rows.weights, lambda p, n: p + n > 0, max_bins, cuts
            )
            found[literal.column] = column.choices > 1
        return found[literal.column]

    return is_cut


def pool_of(
    rules: Sequence[Rule],
    num_cuts: Sequence[int] | IntArray,
    recount: Recount,
    screen: str,
    num_required: int,
    like: Pool | None = None,
) -> Pool:
    """Make a pool of some rules on the recounted rows; ``like`` says what other names they have."""
    layout = recount.layout
    bits = np.stack([recount.bits(rule) for rule in rules]) if rules else np.zeros((0, layout.num_words), np.uint64)
    positives, negatives = layout.counts(bits)
    return Pool(
        tuple(rule.conditions for rule in rules),
        ((),) * len(rules) if like is None else like.aliases,
        positives,
        negatives,
        impurity(positives, negatives, layout.num_positives, layout.num_negatives, screen),
        bits,
        np.asarray(num_cuts, dtype=np.int64),
        num_required,
    )


def recount_pair(fitted: FittedPair, rows: TrainingRows, added: Rule | None, screen: str) -> tuple[FittedPair, Recount]:
    """Take a fitted pair and its candidates to the same rows, read again, so that another rule can be counted too."""
    of_sides = [[Rule(pattern) for pattern in pool.patterns] for pool in fitted.target.pools]
    recount = Recount(rows, [*of_sides[0], *of_sides[1], *([added] if added else [])])
    positive, negative = (
        pool_of(rules, pool.num_cuts, recount, screen, pool.num_required, like=pool)
        for rules, pool in zip(of_sides, fitted.target.pools, strict=True)
    )
    target = replace(fitted.target, pools=(positive, negative), layout=recount.layout)
    return replace(fitted, target=target), recount


def pools_of_sets(
    sets: tuple[RuleSet, RuleSet],
    required: Sequence[Sequence[Rule]],
    rows: TrainingRows,
    added: Rule | None,
    is_cut: Callable[[Literal], bool],
    screen: str,
) -> tuple[tuple[Pool, Pool], Recount]:
    """Make pools of the rules of a pair and nothing else: what a loaded model knows.

    ``required`` are the rules of each side that must be in: they come first, and no prior charges for them.
    """
    recount = Recount(rows, [*sets[0], *sets[1], *([added] if added else [])])

    def pool(side: int) -> Pool:
        must = {rule_key(rule) for rule in required[side]}
        rules = sorted(sets[side], key=lambda rule: rule_key(rule) not in must)
        num_required = sum(rule_key(rule) in must for rule in rules)
        return pool_of(rules, [sum(map(is_cut, rule.conditions)) for rule in rules], recount, screen, num_required)

    return (pool(0), pool(1)), recount


def cover_of(rule: Rule, recount: Recount, is_cut: Callable[[Literal], bool]) -> Cover:
    """Rows and cuts of a rule that was counted with the others."""
    return Cover(recount.bits(rule), sum(map(is_cut, rule.conditions)))


def agrees(pair: FittedPair, score: float, taxonomy: pd.Series) -> bool:
    """Whether a recounted pair has the score and the eight counts that the fit wrote down."""
    from soar_jax.states import taxonomy_from_counts

    same_rows = taxonomy_from_counts(*pair.state_counts).tolist() == taxonomy.tolist()
    return same_rows and abs(pair.log_joint + score) <= _AGREEMENT * max(1.0, abs(score))
