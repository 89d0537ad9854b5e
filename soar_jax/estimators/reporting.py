"""What estimators show to people who do not run Python: a page, a model card."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from soar_jax._base import InputError, check_whole
from soar_jax.data.labels import is_positive, label_array
from soar_jax.data.table import require_columns
from soar_jax.estimators.auditing import AuditingMixin
from soar_jax.estimators.judging import JudgingMixin
from soar_jax.estimators.reasons import ReasonsMixin

if TYPE_CHECKING:
    from soar_jax.report.content import Content
    from soar_jax.report.subject import Subject, Tested


class ReportingMixin(JudgingMixin, ReasonsMixin, AuditingMixin):
    """Give an estimator ``report``; a loaded model has it too."""

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        fresh: bool | None = None,
        examples: int = 0,
        sensitive: str | Sequence[str] | None = None,
        question: str | None = None,
        notes: str | Sequence[str] | None = None,
        contact: str | None = None,
        words: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    ) -> Content:
        """Write a report that people can read who do not run Python: one HTML page, or a Markdown model card.

        The page needs no network and no other file. It shows the rules with their figures, the states of the rows,
        where rules disagree, how far to trust it and when not to, and a form to try cases in. The form is computed in
        the page itself.

        Parameters
        ----------
        path : str or path
            File to write; ``.html`` gives the page, ``.md`` the card.
        X, y : optional
            Rows to test on and their labels: best rows that the fit never saw. Without them the figures are those that
            the model keeps of fresh rows (``holdout``, ``measure_fresh``), or else of its training rows, and the report
            says so.
        fresh : bool, optional
            Whether the rules never saw these rows. The report repeats what is said here. When nothing is, and X is the
            table that a fit with ``holdout`` was given, the rows that it held out are tested on, and no others;
            of any other table the report says that it cannot know.
        examples : int
            How many rows of X to show as examples. By default there is no row of any table in the file.
        sensitive : str or sequence of str, optional
            Columns of X to compare groups by; see `audit`.
        question, contact : str, optional
            What the model answers, and whom to ask.
        notes : str or sequence of str, optional
            What else readers must know before they trust it.
        words : mapping or path, optional
            Labels, units and levels in the readers' words: a dictionary, or a YAML file that holds it; see
            `soar_jax.report.words.SCHEMA`.

        Returns
        -------
        Content
            What the report says, as plain data.

        Notes
        -----
        Counts below 10 and shares of fewer than 30 rows are left out, from the page as from the data in it.
        """
        from soar_jax.report.build import build
        from soar_jax.report.subject import Wishes
        from soar_jax.report.write import check_path, write_report

        check_is_fitted(self, "classes_")
        target = check_path(path)
        check_whole("examples", examples, 0)
        if (X is None) != (y is None):
            raise InputError("Give X and y together: rows without labels cannot be tested on.")
        tested = None if X is None else self._tested(X, y, fresh, _names(sensitive))
        if X is None and (examples or sensitive):
            raise InputError("examples and sensitive need rows: give X and y.")
        wishes = Wishes(words, question, contact, _names(notes), int(examples))
        content = build(self._subject(), tested, wishes)
        write_report(content, target)
        return content

    def _tested(self, X: Any, y: Any, fresh: bool | None, sensitive: tuple[str, ...]) -> Tested:
        from soar_jax.report.subject import Tested

        frame = self._frame(X)
        require_columns(frame, sensitive, "sensitive names")
        name = getattr(y, "name", None)
        truth = is_positive(y, len(frame), self.classes_, self._label(0))
        held = None if fresh is not None else self._rows_held_out(frame, truth)
        if held is not None:
            frame, truth, y, fresh = frame.loc[held], truth[held], label_array(y)[held], True
        audits = tuple(self.audit(frame, y, by, use_draws=False) for by in sensitive)
        return Tested(frame, truth, None if name is None else str(name), fresh, audits)

    def _subject(self) -> Subject:
        from soar_jax.reasons.conflicts import counts_of_training
        from soar_jax.report.subject import Subject

        model = self._rule_model()
        counts = None
        if hasattr(self, "fitted_pair_"):
            counts = counts_of_training(model, self.fitted_pair_)
        rules = self.rules_
        ordered = pd.concat([rules[rules["side"] == side] for side in ("positive", "negative")])
        return Subject(
            model,
            self._contract,
            type(self).__name__,
            ordered,
            self.training_taxonomy_,
            self.conclude(),
            str(self.certificate_) if hasattr(self, "certificate_") else "Not known: the model file does not say.",
            float(getattr(self, "score_", np.nan)),
            float(self.gain_),
            self.power_,
            self._settings(),
            getattr(self, "fresh_states_", None),
            counts,
            tuple(self._edits),
            getattr(self, "posterior_", None),
        )

    def _settings(self) -> dict[str, Any]:
        """Parameters that are not the default ones, and the seed."""
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        usual = type(self)().get_params(deep=False)  # type: ignore[attr-defined]
        changed = {name: value for name, value in given.items() if repr(value) != repr(usual.get(name))}
        changed.pop("progress", None)
        return changed | {"random_state": given["random_state"]}


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(str(one) for one in given)
