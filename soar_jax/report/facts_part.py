"""How the pair was made: data, settings, seed, search, versions, and the log of changes by hand."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from soar_jax import __version__
from soar_jax.report.content import Basis, Edit, Fact
from soar_jax.report.numbers import MINUS, count, of_hundred
from soar_jax.report.subject import Subject
from soar_jax.report.words import Words
from soar_jax.score.power import power_in_words
from soar_jax.states import TAXONOMY, counts_from_taxonomy

_PACKAGES = ("jax", "numpyro", "numpy", "pandas", "scikit-learn")


def facts(
    subject: Subject, basis: Basis, words: Words, yes: str, no: str, measured_cases: Mapping[str, int] | None
) -> tuple[Fact, ...]:
    """List what someone needs who wants to make the pair again."""
    positives, negatives = counts_from_taxonomy(subject.training)
    rows, true = int(positives.sum() + negatives.sum()), int(positives.sum())
    read = list(dict.fromkeys(c for rule in subject.model.rules for c in rule.columns))
    found = [Fact("What it predicts", f"{yes}, or else {no}")]
    if words.data:
        found.append(Fact("Data", words.data))
    found += [
        Fact("Learned from", f"{count(rows)} {words.rows}, {of_hundred(true / max(rows, 1))} of them {yes}"),
        Fact("Tested on", "no other rows" if basis.kind == "training" else f"{count(basis.rows)} {words.rows}"),
        Fact("Columns in the table", ", ".join(subject.model.columns), is_code=True),
        Fact("Columns that rules read", ", ".join(read) or "none", is_code=bool(read)),
        Fact("Method", _method(subject)),
        Fact("Settings other than the default, and seed", _settings(subject), is_code=bool(subject.settings)),
        Fact("How good a pair it is", subject.certificate),
    ]  # fmt: skip
    if np.isfinite(subject.score):
        gain = f"; {subject.gain:.1f} nats better than no rules" if np.isfinite(subject.gain) else ""
        found.append(Fact("Score", f"{subject.score:.1f} (minus the log joint; lower is better){gain}"))
    if subject.power < 1:
        found.append(Fact("How much each row counted", power_in_words(subject.power, rows)))
    if measured_cases is not None:
        counts = ", ".join(
            f"{name} {measured_cases[name] if measured_cases[name] >= 0 else '< 10'}" for name in TAXONOMY
        )
        is_exact = not any(number < 0 for number in measured_cases.values())
        name = "Counts on the tested rows" if is_exact else "Counts on the tested rows, rounded to tens"
        found.append(Fact(name, counts, is_code=True))
    found.append(
        Fact("Ranges", "Jeffreys, 90 %: with another sample of the same size the figure would most likely fall there.")
    )
    found.append(Fact("Versions", _versions()))
    return (*found, Fact("This file", f"made on {datetime.now(UTC):%Y-%m-%d}, UTC; it loads nothing from any network"))


def _method(subject: Subject) -> str:
    kind = "one set of rules (BOA)" if subject.model.single else "two sets of rules, one for each outcome (SOAR)"
    return f"{kind}, found as the most probable given the rows ({subject.estimator} of soar-jax {__version__})"


def _settings(subject: Subject) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in subject.settings.items()) or "none"


def _versions() -> str:
    found = [f"soar-jax {__version__}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*found, f"Python {platform.python_version()}"])


def edit_log(log: tuple[Mapping[str, Any], ...], words: Words) -> tuple[Edit, ...]:
    """Say what was changed by hand, oldest first."""
    found = []
    for entry in log:
        out, into = entry.get("removed"), entry.get("added")
        what = (
            f"“{out}” was exchanged for “{into}”"
            if out and into
            else f"“{into}” was put in"
            if into
            else f"“{out}” was taken out"
        )
        change = entry.get("log_joint_change")
        price = "" if change is None else f"{change:+.1f} nats".replace("-", MINUS)
        moved = entry.get("rows_changed")
        if moved is not None:
            price += (
                f"; {count(int(moved)) if int(moved) >= 10 else 'fewer than 10'} training {words.rows} changed state"  # noqa: PLR2004
            )
        side = entry.get("side")
        found.append(
            Edit(
                str(entry.get("time", ""))[:16].replace("T", " "),
                f"{what} ({side} side)",
                str(entry.get("reason", "")),
                price,
            )
        )
    return tuple(found)
