"""Learners behind one call: fit, then answer for the rows held out; each can run in a process of its own with a limit.

CLASSY's package (rulelist 0.2.0) is older than today's NumPy and pandas: four calls that they dropped are put back.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from experiments.tables import forest_ready

NUM_LEAVES = 16


class Failed(Exception):
    """A fit that raised or took too long, in one line."""


@dataclass(frozen=True)
class Answer:
    """What a learner says of the rows held out, and what it took."""

    predicted: np.ndarray
    probability: np.ndarray
    """P(positive)."""
    rules: tuple[int, ...]
    """Number of rules, by side where there are two; empty for a learner that has none."""
    seconds: float
    """Of the fit alone, without imports."""
    refit_seconds: float | None = None
    """Of the same fit again, in which nothing is compiled."""
    states: np.ndarray | None = None
    is_trusted: bool | None = None
    """Whether the draws that were averaged passed their diagnosis."""


@dataclass(frozen=True)
class Learner:
    """A function from training rows, labels, rows held out and seed to an answer, and the package it needs."""

    answer: Callable[..., Answer]
    package: str = "scikit-learn"
    module: str = "sklearn"

    def is_installed(self) -> bool:
        return find_spec(self.module) is not None


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = fit()
    return result, time.perf_counter() - start


def together(step: Callable[[pd.DataFrame], pd.DataFrame], X: pd.DataFrame, X_out: pd.DataFrame):
    """Take the step with both tables at once, so that they get the same columns."""
    both = step(pd.concat([X, X_out]))
    return both.iloc[: len(X)], both.iloc[len(X) :]


def filled(X: pd.DataFrame) -> pd.DataFrame:
    """Text as objects, with a value of its own for missing: a level of text, less than the least number."""
    parts = {}
    for name, values in X.items():
        if pd.api.types.is_numeric_dtype(values):
            parts[name] = values.fillna(values.min() - 1)
        else:
            parts[name] = values.astype(object).where(values.notna(), "(missing)")
    return pd.DataFrame(parts, index=X.index)


def soar(X, y, X_out, seed, **parameters) -> Answer:
    from soar_jax import SOARClassifier

    model, seconds = timed(lambda: SOARClassifier(random_state=seed, **parameters).fit(X, y))
    _, refit_seconds = timed(lambda: SOARClassifier(random_state=seed, **parameters).fit(X, y))
    rules = (len(model.positive_rules_), len(model.negative_rules_))
    states = np.asarray(model.predict_state(X_out), dtype=str)
    return Answer(model.predict(X_out), model.predict_proba(X_out)[:, 1], rules, seconds, refit_seconds, states)


def soar_averaged(X, y, X_out, seed, *, budget: float) -> Answer:
    """Average over draws of the posterior, also where their diagnosis does not trust them; the answer says which."""
    from soar_jax import SOARClassifier

    def fit():
        model = SOARClassifier(random_state=seed).fit(X, y)
        return model, model.sample_posterior(random_state=seed, time_budget=budget)

    (model, posterior), seconds = timed(fit)
    p = posterior.predict_proba(X_out)[:, 1]
    rules = (len(model.positive_rules_), len(model.negative_rules_))
    return Answer((p > 0.5).astype(int), p, rules, seconds, is_trusted=bool(posterior.diagnose().is_trusted))


def ripper(X, y, X_out, seed) -> Answer:
    import wittgenstein

    A, B = together(filled, X, X_out)
    model = wittgenstein.RIPPER(random_state=seed)
    _, seconds = timed(lambda: model.fit(A.assign(label=y), class_feat="label", pos_class=1))
    predicted = np.array(model.predict(B)).astype(int)
    return Answer(predicted, model.predict_proba(B)[:, 1], (len(model.ruleset_.rules),), seconds)


def rulefit(X, y, X_out, seed) -> Answer:
    """Rules are terms of the logistic model that are not zero: rules and columns.

    Labels and probabilities are those of the logistic model that was fitted; the package's own put its score f into
    softmax(1 - f, f), which is another model's.
    """
    from imodels import RuleFitClassifier

    A, B = (part.to_numpy(float) for part in together(forest_ready, X, X_out))
    model, seconds = timed(lambda: RuleFitClassifier(random_state=seed).fit(A, y))
    score = np.asarray(model._predict_continuous_output(B), dtype=float)
    return Answer((score > 0).astype(int), expit(score), (int(np.count_nonzero(model.coef)),), seconds)


def figs(X, y, X_out, seed) -> Answer:
    """Rules are splits, over all trees of the sum."""
    from imodels import FIGSClassifier

    A, B = (part.to_numpy(float) for part in together(forest_ready, X, X_out))
    model, seconds = timed(lambda: FIGSClassifier(random_state=seed).fit(A, y))
    predicted = np.asarray(model.predict(B)).astype(int)
    return Answer(predicted, model.predict_proba(B)[:, 1], (int(model.complexity_),), seconds)


def _repair_rulelist() -> None:
    """Put back what rulelist 0.2.0 calls and NumPy 2 and pandas 2 no longer have."""
    np.NINF = -np.inf  # noqa: NPY201
    pd.DataFrame.iteritems = pd.DataFrame.items
    from rulelist.datastructure.attribute import nominal_attribute, numeric_attribute

    def find_levels(self) -> None:
        self.categories = pd.unique(self.values)
        self.items, self.cardinality_operator = self.create_items()

    def find_cuts(values, num_cuts):
        quantiles = np.nanquantile(values, np.arange(1, num_cuts + 1) / (num_cuts + 1), method="midpoint")
        return np.unique(quantiles), len(np.unique(quantiles))

    nominal_attribute.NominalAttribute.__post_init__ = find_levels
    numeric_attribute.find_cutpoints = find_cuts


def _two_values_as_text(X: pd.DataFrame) -> pd.DataFrame:
    """Columns of two values as levels: cut points between quantiles cannot tell 0 from 1 both ways."""
    X = filled(X)
    return X.astype({name: object for name in X.columns if X[name].nunique() <= 2}).rename(columns=str)


def classy(X, y, X_out, seed) -> Answer:
    """Fit the rule list of least description length by beam search; it has no seed."""
    del seed
    _repair_rulelist()
    from rulelist.rulelist import RuleList

    A, B = (part.reset_index(drop=True) for part in together(_two_values_as_text, X, X_out))
    with contextlib.redirect_stdout(io.StringIO()):
        model, seconds = timed(lambda: RuleList("categorical", "prediction").fit(A, pd.DataFrame({"label": y})))
    column = list(pd.unique(y)).index(1)
    p = np.asarray(model.predict_proba(B), dtype=float)[:, column]
    return Answer(np.asarray(model.predict(B)).astype(int), p, (int(model.number_rules),), seconds)


def small_tree(X, y, X_out, seed) -> Answer:
    from sklearn.tree import DecisionTreeClassifier

    A, B = together(forest_ready, X, X_out)
    model, seconds = timed(lambda: DecisionTreeClassifier(max_leaf_nodes=NUM_LEAVES, random_state=seed).fit(A, y))
    return Answer(model.predict(B), model.predict_proba(B)[:, 1], (int(model.get_n_leaves()),), seconds)


def random_forest(X, y, X_out, seed) -> Answer:
    from sklearn.ensemble import RandomForestClassifier

    A, B = together(forest_ready, X, X_out)
    model, seconds = timed(lambda: RandomForestClassifier(300, random_state=seed, n_jobs=2).fit(A, y))
    return Answer(model.predict(B), model.predict_proba(B)[:, 1], (), seconds)


def boosting(X, y, X_out, seed) -> Answer:
    from interpret.glassbox import ExplainableBoostingClassifier

    A, B = together(filled, X, X_out)
    model, seconds = timed(lambda: ExplainableBoostingClassifier(random_state=seed, n_jobs=1).fit(A, y))
    return Answer(np.asarray(model.predict(B)).astype(int), model.predict_proba(B)[:, 1], (), seconds)


LEARNERS = {
    "SOAR": Learner(soar, "soar-jax", "soar_jax"),
    "SOAR, annealing": Learner(partial(soar, search="annealing"), "soar-jax", "soar_jax"),
    "RuleFit": Learner(rulefit, "imodels", "imodels"),
    "FIGS": Learner(figs, "imodels", "imodels"),
    "RIPPER": Learner(ripper, "wittgenstein", "wittgenstein"),
    "CLASSY": Learner(classy, "rulelist", "rulelist"),
    f"tree of {NUM_LEAVES} leaves": Learner(small_tree),
    "random forest": Learner(random_forest),
    "explainable boosting": Learner(boosting, "interpret-core", "interpret"),
}


def installed(learners: dict[str, Learner]) -> tuple[dict[str, Learner], list[str]]:
    """Learners that can run here, and a line on the packages: versions, and what was left out for want of one."""
    present = {name: learner for name, learner in learners.items() if learner.is_installed()}
    versions = {p: version(p) for p in dict.fromkeys(learner.package for learner in present.values())}
    lines = ["Packages: " + ", ".join(f"{package} {number}" for package, number in versions.items()) + "."]
    absent = [f"{name} ({learner.package})" for name, learner in learners.items() if name not in present]
    if absent:
        lines.append(f"Not installed, so left out: {', '.join(absent)}.")
    return present, lines


def _work(pipe, function, arguments) -> None:
    try:
        warnings.simplefilter("ignore")
        pipe.send((True, function(*arguments)))
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = (str(error).splitlines() or [""])[0]
        pipe.send((False, f"{type(error).__name__}: {message[:90]} (in {last.name})"))


def limited(function: Callable[..., Any], arguments: tuple, limit: float) -> Any:
    """Return the function's result, from a process of its own; raise ``Failed`` when it raises or takes too long."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        is_good, result = mine.recv() if mine.poll(limit) else (False, f"stopped after {limit:.0f} s")
    except EOFError:
        is_good, result = False, "the process died"
    process.kill()
    process.join()
    if not is_good:
        raise Failed(result)
    return result
