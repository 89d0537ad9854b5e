"""Choosing one pair for use: what a pair costs on average, weighed by all pairs that the draws visited.

The posterior says what is true of the labels; which pair to print and use also depends on what errors, silence and
reading cost. Let row i have weight w_i, and let p_i be the probability of its positive label under the posterior
predictive: the average, over all draws, of the rate of the row's state in the draw. A pair answers as
``predict(X, abstain="ambiguous")`` does. Its expected loss is

    sum_i w_i [ errors * P(label i is not the answer) * (row i is answered) + abstentions * (row i is not answered) ]
    -----------------------------------------------------------------------------------------------------------------
                                                    sum_i w_i
      + literals * (literals in both rule sets) + group_gap * (largest less smallest figure of the groups) ,

so that a pair is held to what all pairs together believe of the rows, not to its own belief.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, FloatArray, InputError, IntArray, check_choice
from soar_jax.candidates.merge import rows_of
from soar_jax.control.costs import says_positive
from soar_jax.control.figures import SMALL
from soar_jax.control.groups import pick_groups, read_groups
from soar_jax.data.columns import TableValues
from soar_jax.posterior.voting import CHUNK_ROWS
from soar_jax.states import IS_AMBIGUOUS, states_of

if TYPE_CHECKING:
    from soar_jax.posterior.posterior import Posterior

GAPS = ("selection rate", "no answer", "error")


@dataclass(frozen=True)
class Loss:
    """What a pair of rule sets costs in use; ``Posterior.choose`` takes the visited pair where that is least.

    Parameters
    ----------
    errors : float
        Cost of a wrong answer.
    abstentions : float, optional
        Cost of a row without an answer: one where both rule sets fire, or none. None: such rows get the pair's most
        probable label, as ``predict`` gives it.
    literals : float
        Cost of each literal to read, in units of the average loss per row.
    group_gap : float
        Cost of a gap of 1 between groups.
    by : str or array-like, optional
        The groups, as in ``audit``: a column of the rows given to ``choose``, or a value for each of them.
    gap_of : {"selection rate", "no answer", "error"}
        What the gap is measured in: share of rows that get the positive answer, share without an answer, expected share
        of wrong answers. The gap is that of the group with most less that of the group with least; groups of fewer
        than 30 rows are left out.

    Examples
    --------
    >>> Loss(errors=1, abstentions=0.3, literals=0.002)
    Loss(errors=1, abstentions=0.3, literals=0.002, group_gap=0.0, by=None, gap_of='selection rate')
    """

    errors: float = 1.0
    abstentions: float | None = 0.3
    literals: float = 0.001
    group_gap: float = 0.0
    by: Any = None
    gap_of: str = "selection rate"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("errors", "abstentions", "literals", "group_gap"):
            value = getattr(self, name)
            if name == "abstentions" and value is None:
                continue
            is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
            if not is_number or not math.isfinite(value) or value < 0:
                raise InputError(f"Loss.{name} must be a number of at least 0, got {value!r}.")
        check_choice("Loss.gap_of", self.gap_of, GAPS)
        if self.group_gap and self.by is None:
            raise InputError("Loss.group_gap needs groups: give by=, a column or a value for each row.")

    def expected(self, posterior: Posterior, X: Any = None) -> pd.DataFrame:
        """Weigh every visited pair, in the order of ``top_pairs``.

        Returns
        -------
        DataFrame
            ``share`` of the draws, ``score``, ``loss``, and its parts before they are priced: ``errors`` and
            ``abstentions`` per row, ``literals``, ``group_gap`` (NaN without groups).
        """
        if self.by is not None and X is None:
            raise InputError("Groups are those of given rows: call with X=, the table that has the column or its rows.")
        first, counts = posterior._visited_pairs()
        rules, included = posterior._sampled_rules
        has = (included[0][first], included[1][first])
        rates = posterior._positive_rates.reshape(-1, 4)[first]
        pairs = _Pairs(has, rates, counts / counts.sum(), says_positive(rates, posterior.fitted.positive_index))
        rows = _training_rows(posterior) if X is None else _given_rows(posterior, X, self.by)
        single = posterior.fitted.target.single
        gives_answer = np.ones(4, dtype=bool) if single or self.abstentions is None else ~IS_AMBIGUOUS
        errors, silent, gap = _weigh(pairs, rows, gives_answer, self.gap_of)
        literals = sum(mine @ np.array([len(r) for r in of], dtype=int) for mine, of in zip(has, rules, strict=True))
        loss = self.errors * errors + (self.abstentions or 0.0) * silent + self.literals * literals
        return pd.DataFrame(
            {
                "share": pairs.share,
                "score": -posterior.log_joint.reshape(-1)[first],
                "loss": loss + (self.group_gap * gap if self.group_gap else 0.0),
                "errors": errors,
                "abstentions": silent,
                "literals": literals,
                "group_gap": gap,
            }
        )


class _Pairs(NamedTuple):
    """Visited pairs: membership of a side's rules (num_pairs, num_rules), rates and answers (num_pairs, 4), shares."""

    has: tuple[BoolArray, BoolArray]
    rates: FloatArray
    share: FloatArray
    says: BoolArray


class _Rows(NamedTuple):
    """Rows: which rules of each side fire (num_rules, num_rows), weights, and groups where there are some."""

    fires: tuple[BoolArray, BoolArray]
    weights: FloatArray
    group: IntArray | None
    num_groups: int


def _training_rows(posterior: Posterior) -> _Rows:
    """Find the training rows, merged as far as no candidate tells them apart."""
    pools, layout = posterior.fitted.target.merged
    place, (positives, negatives) = rows_of(layout)
    fires = []
    for pool, members in zip(pools, posterior._members, strict=True):
        ever = np.flatnonzero(members.any(axis=(0, 1)))
        bits = np.ascontiguousarray(pool.bits[ever]).view(np.uint8).reshape(len(ever), 8 * layout.num_words)
        fires.append(np.unpackbits(bits, axis=1, bitorder="little")[:, place].astype(bool))
    return _Rows((fires[0], fires[1]), (positives + negatives).astype(np.float64), None, 0)


def _given_rows(posterior: Posterior, X: Any, by: Any) -> _Rows:
    frame = posterior._frame(X)
    values, rules = TableValues(frame), posterior._sampled_rules[0]
    positive, negative = (
        np.array([rule.fires(values) for rule in mine], dtype=bool).reshape(len(mine), len(frame)) for mine in rules
    )
    if not len(frame):
        raise InputError("X has no rows to average over.")
    if by is None:
        return _Rows((positive, negative), np.ones(len(frame)), None, 0)
    names, group = read_groups(pick_groups(frame, by)[0])
    return _Rows((positive, negative), np.ones(len(frame)), group, len(names))


def _weigh(
    pairs: _Pairs, rows: _Rows, gives_answer: BoolArray, gap_of: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find expected errors and rows without an answer, per row, and the gap between groups: (num_pairs,) each."""
    num_pairs, num_rows = len(pairs.share), len(rows.weights)
    has = [mine.astype(np.float32) for mine in pairs.has]
    errors, silent = np.zeros(num_pairs), np.zeros(num_pairs)
    by_group = np.zeros((num_pairs, rows.num_groups))
    for start in range(0, num_rows, CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        covered = [mine @ fires[:, part].astype(np.float32) > 0 for mine, fires in zip(has, rows.fires, strict=True)]
        states = states_of(covered[0], covered[1])
        predictive = pairs.share @ np.take_along_axis(pairs.rates, states, axis=1)
        says, answered = np.take_along_axis(pairs.says, states, axis=1), gives_answer[states]
        wrong = np.where(says, 1 - predictive, predictive) * answered
        errors += wrong @ rows.weights[part]
        silent += ~answered @ rows.weights[part]
        if rows.group is not None:
            figure = {"selection rate": says & answered, "no answer": ~answered, "error": wrong}[gap_of]
            by_group += figure @ (rows.group[part, None] == np.arange(rows.num_groups)).astype(np.float64)
    total = rows.weights.sum()
    return errors / total, silent / total, _gap(by_group, rows)


def _gap(by_group: FloatArray, rows: _Rows) -> FloatArray:
    if rows.group is None:
        return np.full(len(by_group), np.nan)
    sizes = np.bincount(rows.group, minlength=rows.num_groups)
    large = sizes >= SMALL
    if large.sum() < 2:  # noqa: PLR2004
        raise InputError(f"Fewer than two groups have {SMALL} rows or more, so that there is no gap between them.")
    shares = by_group[:, large] / sizes[large]
    return np.asarray(shares.max(axis=1) - shares.min(axis=1))
