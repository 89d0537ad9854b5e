"""Why the rows of a table got their labels: the whole table at once, and row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from soar_jax import __version__
from soar_jax._base import BoolArray, FloatArray, IntArray
from soar_jax.data.columns import TableValues, plain_value
from soar_jax.reasons.explanation import Explanation, NearMiss
from soar_jax.reasons.facts import RuleFacts, RuleModel
from soar_jax.reasons.near import NOT_NEAR, distinct_rows, truths_of
from soar_jax.reasons.open_states import open_states, state_names
from soar_jax.reasons.wording import cell_text, html_table, plain_cell, state_text
from soar_jax.states import STATES

FORMAT = "soar-jax explanations"
FORMAT_VERSION = 1
SHOWN_ROWS = 10
_BETWEEN = "; "


class Explanations(Sequence[Explanation]):
    """Reasons of every row of a table; made by ``explain``.

    A sequence of `Explanation`, one per row. ``to_frame`` has all rows as a table, ``to_json`` as data, and printing it
    says the first rows in sentences.

    Parameters
    ----------
    model : RuleModel
    frame : DataFrame
        A table that has the columns which the rules read.
    max_reasons : int, optional
        Most rules, and most near misses, to show per row.

    Attributes
    ----------
    probability : (num_rows,) float64
        Of the positive class.
    """

    def __init__(self, model: RuleModel, frame: pd.DataFrame, max_reasons: int | None = None) -> None:
        self.model = model
        self.frame = frame
        self.max_reasons = max_reasons
        self._values = TableValues(frame)
        self._read: dict[str, tuple[IntArray, list[str]]] = {}
        self._truths = truths_of(model.rules, self._values)
        self._states = model.states_of(self._truths.fired)

    @property
    def state(self) -> np.ndarray:
        """State of each row, as ``predict_state`` gives it."""
        return np.array(STATES, dtype=object)[self._states]

    @property
    def probability(self) -> FloatArray:
        """Probability of the positive class."""
        return self.model.rates[self._states]

    @property
    def prediction(self) -> np.ndarray:
        """Label of each row, as ``predict`` gives it."""
        return self.model.labels_of(self._states)

    @cached_property
    def _open(self) -> np.ndarray:
        return open_states(self._truths, self.model.num_positive, self._states)

    # -- row by row ---------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def __getitem__(self, index: Any) -> Any:
        """Explain the row at a position, counted from 0; a slice gives a tuple."""
        if isinstance(index, slice):
            return tuple(self._explain(i) for i in range(len(self))[index])
        return self._explain(range(len(self))[index])

    def _explain(self, i: int) -> Explanation:
        model, truths = self.model, self._truths
        shown, left_out = self._strongest(np.flatnonzero(truths.fired[i]))
        near, near_left_out = self._strongest(np.flatnonzero(truths.near[i] != NOT_NEAR))
        literals = [truths.literals[truths.near[i, r]] for r in near]
        matters = truths.missing[i] & truths.reads[truths.live[i]].any(axis=0)
        state = int(self._states[i])
        return Explanation(
            self.frame.index[i],
            model.labels_of(self._states[i : i + 1])[0],
            float(model.rates[state]),
            STATES[state],
            state_text(model, state),
            model.label(0),
            tuple(model.facts[r] for r in shown),
            tuple(model.facts[r].id for r in left_out),
            tuple(
                NearMiss(model.facts[r], z, plain_cell(self._values[z.column].series.iloc[i]))
                for r, z in zip(near, literals, strict=True)
            ),
            len(near_left_out),
            state_names(int(self._open[i])),
            tuple(truths.columns[k] for k in np.flatnonzero(matters)),
        )

    def _strongest(self, rules: IntArray) -> tuple[IntArray, IntArray]:
        """Rules to show, in their order, and those left out."""
        if self.max_reasons is None or len(rules) <= self.max_reasons:
            return rules, rules[:0]
        ranked = self._rank[rules]
        shown = ranked < np.sort(ranked)[self.max_reasons]
        return rules[shown], rules[~shown]

    @cached_property
    def _rank(self) -> IntArray:
        """Place of each rule by strength, the strongest 0."""
        return np.argsort(self.model.by_strength)

    # -- the whole table ----------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One line per row, with the index of the table.

        Columns: ``prediction``, ``probability`` (of the positive class), ``state``; ``rules``, the ids of all rules
        that fire, with a space between; ``positive_rules``, ``negative_rules``, the same as text; ``near_misses``; and
        ``possible_states``, with a space between. With ``max_reasons`` the text has that many reasons at most, and
        ``left_out`` counts the rules that fire but are not among them.
        """
        facts, num_positive = self.model.facts, self.model.num_positive
        first, inverse = distinct_rows(self._truths.fired)
        fired = [np.flatnonzero(self._truths.fired[i]) for i in first]
        shown = [self._strongest(rules)[0] for rules in fired]

        def column(words: Callable[[int], str]) -> np.ndarray:
            return np.array([words(k) for k in range(len(first))], dtype=object)[inverse]

        table = {
            "prediction": self.prediction,
            "probability": self.probability,
            "state": self.state,
            "rules": column(lambda k: " ".join(facts[r].id for r in fired[k])),
            "positive_rules": column(lambda k: _joined(facts[r] for r in shown[k] if r < num_positive)),
            "negative_rules": column(lambda k: _joined(facts[r] for r in shown[k] if r >= num_positive)),
            "near_misses": self._near_texts(),
            "possible_states": np.array([" ".join(state_names(bits)) for bits in range(16)], dtype=object)[self._open],
        }
        if self.max_reasons is not None:
            left_out = np.array([len(f) - len(s) for f, s in zip(fired, shown, strict=True)], dtype=np.int64)
            table["left_out"] = left_out[inverse]
        return pd.DataFrame(table, index=self.frame.index)

    def _near_texts(self) -> np.ndarray:
        """Say what each row nearly fires; a text is made once for rows that say the same."""
        truths, facts = self._truths, self.model.facts
        codes = np.full((len(self), len(facts)), -1, dtype=np.int32)
        texts: list[str] = []
        for r, fact in enumerate(facts):
            for place in np.unique(truths.near[:, r]):
                if place == NOT_NEAR:
                    continue
                literal = truths.literals[place]
                rows = np.flatnonzero(truths.near[:, r] == place)
                value_codes, values = self._distinct_texts(literal.column)
                used, mine = np.unique(value_codes[rows], return_inverse=True)
                codes[rows, r] = len(texts) + mine
                said = f"{fact.id} fails on {literal}"
                texts += [f"{said} ({values[code]})" for code in used.tolist()]
        first, inverse = distinct_rows(codes)
        codes = codes[first]
        shown = self._shown(codes >= 0)
        num_shown = shown.sum(axis=1)
        more = ((codes >= 0).sum(axis=1) - num_shown).tolist()
        words = np.array(texts, dtype=object)[codes[shown]].tolist()
        lines = [
            _BETWEEN.join([*words[start:end], f"and {left} more"] if left else words[start:end])
            for (start, end), left in zip(pairwise([0, *np.cumsum(num_shown).tolist()]), more, strict=True)
        ]
        return np.array(lines, dtype=object)[inverse]

    def _shown(self, near: BoolArray) -> BoolArray:
        """Which of the rules of each row to show: the strongest."""
        if self.max_reasons is None or self.max_reasons >= near.shape[1]:
            return near
        ranks = np.where(near, self._rank, near.shape[1])
        worst = np.partition(ranks, self.max_reasons - 1, axis=1)[:, self.max_reasons - 1]
        return near & (ranks <= worst[:, None])

    def _distinct_texts(self, column: str) -> tuple[IntArray, list[str]]:
        """Code of each row's value in a column, and the text behind each code; -1 is the last, missing."""
        if column not in self._read:
            codes, values = self._values[column].levels
            self._read[column] = (codes, [*(cell_text(value) for value in values), "missing"])
        return self._read[column]

    def to_json(self, indent: int | None = None) -> str:
        """JSON text: format and version, the rules with their figures, and one record per row."""
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "soar_jax_version": __version__,
            "positive_class": plain_value(self.model.label(0)),
            "verdict": self.model.verdict,
            "rules": [fact.to_dict() for fact in self.model.facts],
            "rows": [self._record(i) for i in range(len(self))],
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)

    def _record(self, i: int) -> dict[str, Any]:
        record = self._explain(i).to_dict()
        return record | {"fired": [fact["id"] for fact in record["fired"]]}

    # -- printing -----------------------------------------------------------------------------

    def __str__(self) -> str:
        """Say the first rows in sentences."""
        parts = [str(explanation) for explanation in self[:SHOWN_ROWS]]
        if len(self) > SHOWN_ROWS:
            parts.append(f"... and {len(self) - SHOWN_ROWS:,} more rows; to_frame() has them all.")
        if self.model.verdict is not None:
            parts.append(self.model.verdict)
        return "\n".join(parts) or "(no rows)"

    def __repr__(self) -> str:
        """Show the sentences, which is what a reader wants at the prompt."""
        return f"Explanations of {len(self):,} rows:\n{self}"

    def _repr_html_(self) -> str:
        head = Explanations(self.model, self.frame.iloc[:SHOWN_ROWS], self.max_reasons).to_frame()
        lines = zip(head.index, head.to_numpy(), strict=True)
        rows = [[str(index), *(_short(cell) for cell in line)] for index, line in lines]
        shown = f"first {len(head)} of {len(self):,} rows" if len(self) > len(head) else f"{len(self):,} rows"
        return html_table(["row", *head.columns], rows, f"Reasons: {shown}")


def _joined(facts: Iterable[RuleFacts]) -> str:
    return _BETWEEN.join(str(fact.rule) for fact in facts)


def _short(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
