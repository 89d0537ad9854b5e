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
MAKE_TWO = "Make a column that says yes or no first, and name it with --target."
_ONLY_BINARY = (
    r"Only binary classification is supported\. The type of the target is [\w-]+, with (\d+) classes; for more classes "
    r"use sklearn\.multiclass\.OneVsRestClassifier\.(.*)"
)
_PHRASES: tuple[tuple[str, str, str], ...] = (
    # what the package says, the option that it is about, what the command says
    (_ONLY_BINARY, "--target", "The target column has \\1 labels; soar tells two classes apart.\\2 " + MAKE_TWO),
    (r'kinds=\{"(\w+)": "date (\S+)"\}', "--date", r"--date \1=\2"),
    (r'kinds=\{"(\w+)": "(text|number|date)"\}', "--text", r"--\2 \1"),
    (r"\bforbid (?=names column|rules column)", "--forbid", "--forbid "),
    (r"\bdirections (?=names column)", "--direction", "--direction "),
    (r"out of directions\b", "--direction", "out of --direction"),
    (
        r"\brequire has rules for the negative class",
        "--require-negative",
        "--require-negative has a rule for the negative class",
    ),
    (r"\brequire has (\d+) (positive|negative) rules", r"--require-positive", r"--require-\2 has \1 rules"),
    (r"\brequire (?=names column|has ')", "--require-positive", "a required rule "),
    (r"\bSearchedRules\.(strictness|doubt)\b", "--strictness", r"--\1"),
    (r"\bPrecision\.rate\b", "--precision", "--precision"),
    (r"\bErrorRatio\.ratio\b", "--error-ratio", "--error-ratio"),
    (r"\bOpinion\.(rate|share)\b", "--worth", "--worth"),
    (r"\bpositive=(?=')", "--positive", "--positive "),
    (r" or None(?=, got)", "--time-budget", ""),
)
"""What is no parameter's name alone."""
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

    for pattern, option, said in _PHRASES:
        if option in options:
            text = re.sub(pattern, said, text)
    return _PARAMETER.sub(replace, text)


def name_declarations(text: str, args: Any) -> str:
    """Name the options in place of ``kinds``: those of them that were given."""
    given = [f"--{name}" for name in ("text", "number", "date") if getattr(args, name, None)]
    return re.sub(r"\bkinds (?=names column)", f"{' or '.join(given)} ", text) if given else text


def options_of(args: Any) -> Collection[str]:
    """List the options of the command that is run."""
    parsers = getattr(args, "parsers", {})
    command = parsers.get(getattr(args, "command", None))
    return () if command is None else command._option_string_actions
