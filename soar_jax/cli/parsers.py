"""Parsers of the commands: grouped help with an example, mistakes in one line, the options that all commands share."""

from __future__ import annotations

import argparse
import difflib
import re
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from soar_jax._names import visible

WIDTH = 78


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that suggests the option which was meant."""

    def error(self, message: str) -> NoReturn:
        """End with one line and exit code 2; the usage of a command with forty options would bury it."""
        said = _nearest_choice(message) or message
        self.exit(2, f"{self.prog}: error: {visible(said)} (see {self.prog} --help)\n")

    def suggest(self, unknown: Sequence[str]) -> str:
        """Say which arguments are not known, and what may have been meant."""
        known = [option for action in self._actions for option in action.option_strings]
        said = f"there is no argument {' '.join(unknown[:3])}"
        near = difflib.get_close_matches(unknown[0].split("=")[0], known, 1)
        return f"{said}; did you mean {near[0]}?" if near else said


def _nearest_choice(message: str) -> str | None:
    """Replace a list of choices by the one that was probably meant."""
    found = re.fullmatch(r"(.*)invalid choice: '(.*)' \(choose from (.*)\)", message)
    near = difflib.get_close_matches(found[2], found[3].replace("'", "").split(", "), 1) if found else []
    return f"{found[1]}there is no {found[2]!r}; did you mean {near[0]!r}?" if found and near else None


def new_command(commands: Any, name: str, summary: str, example: str, about: str = "") -> Parser:
    """Make the parser of a command; ``example`` is one line or more that can be typed."""
    text = summary[0].upper() + summary[1:] + "."
    return commands.add_parser(
        name,
        help=summary,
        description=textwrap.fill(f"{text} {about}".strip(), WIDTH),
        epilog="example:\n" + textwrap.indent(example, "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_model(group: Any) -> None:
    """Let a command read a saved model."""
    group.add_argument("model", metavar="MODEL.json", help="a model saved by soar fit")


def add_table(group: Any, **how: Any) -> None:
    """Let a command read a table that a model is applied to."""
    group.add_argument("table", metavar="TABLE", help="CSV or Parquet file; only the rules' columns are needed", **how)


def add_json(group: Any, what: str = "print one JSON object instead of text") -> None:
    """Let a command answer in JSON."""
    group.add_argument("--json", action="store_true", help=what)


def add_shared(command: argparse.ArgumentParser) -> None:
    """Add the options that every command has, and a usage of one line: forty options in it help no one."""
    command.usage = command.usage or _usage(command)
    shared = command.add_argument_group("in general")
    shared.add_argument("--quiet", action="store_true", help="no progress on standard error")
    shared.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,  # so that it can stand before the command too
        help="show where an error comes from (or set SOAR_DEBUG=1)",
    )


def _usage(command: argparse.ArgumentParser) -> str:
    words = []
    for action in command._actions:
        value = action.metavar if isinstance(action.metavar, str) else ""
        if action.choices is not None and not value:
            value = "|".join(map(str, action.choices))
        if not action.option_strings:
            words.append(f"[{value}]" if action.nargs in ("?", "...") else value)
        elif action.required:
            words.append(f"{action.option_strings[0]} {value}".strip())
    return " ".join(["%(prog)s", *words, "[options]"])
