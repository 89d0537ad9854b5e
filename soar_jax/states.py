"""The four states of a row, what each speaks for, and the eight-way taxonomy (Table 1 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray, InputError, IntArray, WordArray

STATES = ("positive", "negative", "active", "passive")
"""The four states in the order of every array in this package: C+, C-, active, passive."""
POSITIVE, NEGATIVE, ACTIVE, PASSIVE = range(4)
SPEAKS_POSITIVE = np.array([True, False, True, False])
"""Which label a state's rate is about (eq. 3): positive in C+ and active, negative in C- and passive."""
IS_AMBIGUOUS: BoolArray = np.array([False, False, True, True])
"""States in which two rule sets give no answer: active and passive."""
TAXONOMY = ("CTP", "CFP", "CTN", "CFN", "AAP", "AAN", "PAP", "PAN")
_LABELS = np.array([["CTP", "CFP"], ["CFN", "CTN"], ["AAP", "AAN"], ["PAP", "PAN"]])
_CROSS_ROWS = ("TP", "TN", "FN", "FP")
_CROSS_COLUMNS = ("CTP", "CTN", "CFN", "CFP", "AAN", "AAP", "PAN", "PAP")


def states_of(positive: BoolArray, negative: BoolArray) -> IntArray:
    """State of each row as an index into `STATES`, from which rule sets fire."""
    return np.select([positive & ~negative, negative & ~positive, positive & negative], [0, 1, 2], 3)


def state_masks(positive: WordArray, negative: WordArray, everything: WordArray) -> WordArray:
    """Packed rows of each state, from the packed rows that each rule set covers: (4, num_words)."""
    return np.stack(
        [positive & ~negative, negative & ~positive, positive & negative, everything & ~(positive | negative)]
    )


def hits_and_misses(positives: IntArray, negatives: IntArray) -> tuple[IntArray, IntArray]:
    """Rows whose label is what their state speaks for, and the others, from class counts by state: (..., 4) each."""
    return np.where(SPEAKS_POSITIVE, positives, negatives), np.where(SPEAKS_POSITIVE, negatives, positives)


def taxonomy_from_counts(positives: IntArray, negatives: IntArray) -> pd.Series:
    """Name the eight cases of class counts by state, in the paper's order."""
    cases = np.stack([positives, negatives], axis=1).astype(np.int64).ravel()
    return pd.Series(cases, index=_LABELS.ravel(), name="rows").reindex(TAXONOMY)


def counts_from_taxonomy(taxonomy: pd.Series) -> tuple[IntArray, IntArray]:
    """Class counts by state, from the eight cases."""
    counts = taxonomy[_LABELS.ravel()].to_numpy().reshape(_LABELS.shape)
    return counts[:, 0], counts[:, 1]


def taxonomy_labels(state: IntArray, y: BoolArray) -> np.ndarray:
    """Name each row's case: CTP, CFP, ..., PAN."""
    return _LABELS[state, (~np.asarray(y, dtype=bool)).astype(int)]


def taxonomy_counts(state: IntArray, y: BoolArray) -> pd.Series:
    """Count the eight cases, in the paper's order."""
    found = pd.Series(taxonomy_labels(state, y)).value_counts()
    return found.reindex(TAXONOMY, fill_value=0).astype(int).rename("rows")


def taxonomy_cross(soar: Any, boa: Any, X: Any, y: Any) -> pd.DataFrame:
    """Cross the one-class method's TP, TN, FN, FP with SOAR's taxonomy on the same rows.

    Parameters
    ----------
    soar : SOARClassifier
    boa : BOAClassifier
        Both fitted on the same classes.
    X, y
        Rows to compare on and their labels.

    Returns
    -------
    DataFrame
        Rows TP, TN, FN, FP; columns in the order of the paper's table.
    """
    if list(soar.classes_) != list(boa.classes_):
        raise InputError(f"The models know different classes: {list(soar.classes_)} and {list(boa.classes_)}.")
    positive = soar.positive_rules_.label
    if boa.positive_rules_.label != positive:
        raise InputError(f"The models disagree on the positive class: {positive!r} and {boa.positive_rules_.label!r}.")
    is_positive = np.asarray(y) == positive
    cases = taxonomy_labels(np.array([STATES.index(s) for s in soar.predict_state(X)]), is_positive)
    fires = boa.predict_state(X) == "positive"
    names = np.select([fires & is_positive, ~fires & ~is_positive, ~fires & is_positive], _CROSS_ROWS[:3], "FP")
    table = pd.crosstab(names, cases).reindex(index=_CROSS_ROWS, columns=_CROSS_COLUMNS, fill_value=0)
    return table.rename_axis(index="BOA", columns="SOAR")
