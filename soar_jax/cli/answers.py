"""What a model's answers are worth on some rows: how many get one, how often it is right, in figures and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soar_jax._base import IntArray
from soar_jax._hundred import share_in_two
from soar_jax.cli.screen import label_of, percent, plural
from soar_jax.control.costs import says_positive
from soar_jax.score.intervals import interval
from soar_jax.states import ACTIVE, IS_AMBIGUOUS, PASSIVE, counts_from_taxonomy


@dataclass(frozen=True)
class Answers:
    """Counts of rows.

    Attributes
    ----------
    rows : int
    answered : int
        Rows on which exactly one rule set fires; with a single rule set, all rows.
    right : int
        Of these, rows whose class is the one that is said.
    clashing, silent : int
        Rows without an answer: both rule sets fire, or none.
    right_if_all_labelled : int
        Rows whose label ``soar predict`` would give right; it gives one to every row.
    commoner : str
        The class that is commoner among the rows that the model learned from.
    commoner_rows : int
        Rows of that class.
    commoner_right : int
        Those among the rows that get an answer.
    """

    rows: int
    answered: int
    right: int
    clashing: int
    silent: int
    right_if_all_labelled: int
    commoner: str
    commoner_rows: int
    commoner_right: int

    @property
    def right_rate(self) -> tuple[float, float, float] | None:
        """Share of the answers that are right, with its 90 % interval; None where there is no answer."""
        if not self.answered:
            return None
        low, high = interval(self.right, self.answered)
        return self.right / self.answered, float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Give the counts and rates as plain data."""
        rate = self.right_rate or (None, None, None)
        return {
            "rows": self.rows,
            "answered": self.answered,
            "right": self.right,
            "right_rate": rate[0],
            "right_low": rate[1],
            "right_high": rate[2],
            "clashing": self.clashing,
            "silent": self.silent,
            "right_if_all_labelled": self.right_if_all_labelled,
            "commoner_class": self.commoner,
            "commoner_rows": self.commoner_rows,
            "commoner_right": self.commoner_right,
        }

    def sentences(self, where: str, is_fresh: bool) -> list[str]:
        """Say what it amounts to; ``where`` names the rows."""
        rate = self.right_rate
        if rate is None:
            return [f"No row gets an answer on {where}.", self._labels()]
        with_answer, clash, silent = in_a_hundred(self.answered, self.clashing, self.silent)
        aside = ", which the fit never saw," if is_fresh else ""
        right = f"On {where}{aside} it is right for {percent(rate[0])} of them"
        right += f" (90% interval: {percent(rate[1])} to {percent(rate[2])})." if is_fresh else "."
        always = (
            f"Always saying {self.commoner} would be right for {percent(self.commoner_rows / self.rows)} of all rows"
        )
        if self.answered < self.rows:
            always += f", and for {percent(self.commoner_right / self.answered)} of those with an answer"
        told = [f"{with_answer} of 100 rows get an answer. {right}", f"{always}."]
        reasons = [f"on {clash} of 100 the two rule sets clash (active)"] if self.clashing else []
        reasons += [f"on {silent} of 100 both rule sets are silent (passive)"] if self.silent else []
        if reasons:
            told.append(f"The others get none: {', '.join(reasons)}. {self._labels()}")
        return told

    def _labels(self) -> str:
        right = percent(self.right_if_all_labelled / self.rows)
        return f"If every row must have a label, soar predict gives one: right for {right} of all rows."


def answers_of(model: Any, positives: IntArray, negatives: IntArray) -> Answers:
    """Count the answers on rows, from how many there are of each class in each state."""
    rates = model.state_probabilities()
    right = np.where(says_positive(rates, model._positive_index), positives, negatives)
    is_answered = np.array([True, True, True, True]) if model._single else ~np.asarray(IS_AMBIGUOUS)
    rows = positives + negatives
    learned = [int(counts.sum()) for counts in counts_from_taxonomy(model.training_taxonomy_)]
    side = int(learned[1] > learned[0])
    of_commoner = negatives if side else positives
    return Answers(
        int(rows.sum()),
        int(rows[is_answered].sum()),
        int(right[is_answered].sum()),
        0 if model._single else int(rows[ACTIVE]),
        0 if model._single else int(rows[PASSIVE]),
        int(right.sum()),
        label_of(model, side),
        int(of_commoner.sum()),
        int(of_commoner[is_answered].sum()),
    )


def answers_in_words(model: Any, positives: IntArray, negatives: IntArray, is_fresh: bool) -> list[str]:
    """Say what a model's answers amount to on rows, from how many there are of each class in each state."""
    answers = answers_of(model, positives, negatives)
    told = answers.sentences(where_text(answers.rows, is_fresh), is_fresh)
    empty = [side for side, rules in enumerate((model.positive_rules_, model.negative_rules_)) if not len(rules)]
    if len(empty) == 1 and not model._single:
        told.append(f"There is no rule for {label_of(model, empty[0])}: no row gets that answer.")
    return told


def where_text(num_rows: int, is_fresh: bool) -> str:
    """Name the rows that figures are about."""
    rows = plural(num_rows, "row")
    return f"{rows} held out" if is_fresh else f"the {rows} that it learned from"


def in_a_hundred(answered: int, *others: int) -> list[str]:
    """Share a hundred out by counts, in whole numbers that add up; what is rare but there is said to be so."""
    (with_answer,), without = share_in_two([answered], others)
    parts = zip((answered, *others), (with_answer, *without), strict=True)
    return ["fewer than 1" if count and not part else f"{part}" for count, part in parts]
