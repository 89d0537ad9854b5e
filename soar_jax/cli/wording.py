"""Advice in the words of the command: the package speaks of parameters in Python, a shell knows options."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

_OTHER_NAMES = {
    "n_iter": "--iterations",
    "n_restarts": "--restarts",
    "n_rounds": "--rounds",
    "num_chains": "--chains",
    "num_draws": "--draws",
    "num_temperatures": "--temperatures",
    "num_warmup": "--warmup",
    "random_state": "--seed",
}
# a name with an underscore, or before an equals sign, is a parameter; any other word may be a word
_PARAMETER = re.compile(r"(?<![\w'\"-])(?:([a-z]+(?:_[a-z]+)+)(?:=([\w.+-]*\w))?|([a-z]+)=([\w.+-]*\w))(?![\w'\"(])")


def as_options(text: str, options: Collection[str], **renamed: str) -> str:
    """Name options in place of parameters, where the command has them.

    Examples
    --------
    >>> as_options("use num_chains=4 or raise max_patterns", {"--chains", "--max-patterns"})
    'use --chains 4 or raise --max-patterns'
    """

    def replace(found: re.Match[str]) -> str:
        name, value = found[1] or found[3], found[2] or found[4]
        option = renamed.get(name) or _OTHER_NAMES.get(name) or "--" + name.replace("_", "-")
        return found[0] if option not in options else f"{option} {value}" if value else option

    return _PARAMETER.sub(replace, text)


def as_interrupted(text: str) -> str:
    """Say of a search that an interrupt ended it, where it is known that this was no time budget.

    Examples
    --------
    >>> as_interrupted("The search was stopped before it found a rule; give it more time_budget.")
    'The search was interrupted before it found a rule.'
    """
    said = re.sub(r"search was stopped(, by its time budget or an interrupt,)?", "search was interrupted", text)
    return said.replace("; give it more time_budget", "")


def options_of(args: Any) -> Collection[str]:
    """List the options of the command that is run."""
    parsers = getattr(args, "parsers", {})
    command = parsers.get(getattr(args, "command", None))
    return () if command is None else command._option_string_actions
