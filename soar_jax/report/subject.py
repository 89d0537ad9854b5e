"""What a report is about: a fitted pair with all that its estimator knows of it, and the rows to test it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from soar_jax._base import BoolArray
from soar_jax.data.contract import Contract
from soar_jax.reasons.conflicts import Counts
from soar_jax.reasons.facts import RuleModel

if TYPE_CHECKING:
    from soar_jax.control.audit import Audit
    from soar_jax.posterior.posterior import Posterior


@dataclass(frozen=True)
class Subject:
    """A fitted pair.

    Attributes
    ----------
    model : RuleModel
    contract : Contract
        What the columns were read as at the fit.
    estimator : str
        Name of the class that was fitted.
    rules : DataFrame
        The estimator's ``rules_``, in the order of `soar_jax.rules.rule_ids`.
    training : Series
        The eight counts of the training rows.
    conclusion : str
        What the fit found, in words.
    certificate : str
        Against what the pair stood, in words.
    score, gain : float
        NaN where not known.
    power : float
        To which the likelihood was raised when pairs were compared.
    settings : mapping
        Parameters that are not the default ones, and the seed.
    fresh_states : DataFrame, optional
        Rates of the states on rows that the fit never saw.
    disputes : Counts, optional
        Training rows in dispute, where they are kept.
    edits : tuple of dict
        Changes made by hand, oldest first.
    posterior : Posterior, optional
    """

    model: RuleModel
    contract: Contract
    estimator: str
    rules: pd.DataFrame
    training: pd.Series
    conclusion: str
    certificate: str
    score: float
    gain: float
    power: float
    settings: Mapping[str, Any]
    fresh_states: pd.DataFrame | None = None
    disputes: Counts | None = None
    edits: tuple[Mapping[str, Any], ...] = ()
    posterior: Posterior | None = None

    def resolution(self, name: str) -> str | None:
        """How fine the moments of a column were at the fit; None where it is not known."""
        column = self.contract.get(name)
        return None if column is None else column.resolution


@dataclass(frozen=True)
class Tested:
    """Rows to judge the pair on.

    Attributes
    ----------
    frame : DataFrame
    is_true : (num_rows,) bool
    target : str, optional
        Name of the outcome's column.
    is_fresh : bool, optional
        Whether the rules never saw them; None where nobody said.
    audits : tuple of Audit
    """

    frame: pd.DataFrame
    is_true: BoolArray
    target: str | None = None
    is_fresh: bool | None = None
    audits: tuple[Audit, ...] = ()


@dataclass(frozen=True)
class Wishes:
    """What the author wants of a report; see ``report``."""

    words: Any = None
    question: str | None = None
    contact: str | None = None
    notes: tuple[str, ...] = ()
    examples: int = 0
