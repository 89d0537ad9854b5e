"""The command line: one module per command, found here; `soar_jax.cli.errors` has the exit codes."""

from __future__ import annotations

import argparse
import os
import sys
import warnings

from soar_jax import __version__
from soar_jax.cli import (
    audit,
    completion,
    contrast,
    doctor,
    edit,
    experiment,
    explain,
    export,
    fit,
    model,
    monitor,
    predict,
    report,
    sample,
    show,
)
from soar_jax.cli.errors import EXIT_CODES, exit_code_of, warnings_as_lines
from soar_jax.cli.parsers import Parser, add_shared

COMMANDS = (
    fit,
    show,
    predict,
    monitor,
    explain,
    contrast,
    sample,
    audit,
    edit,
    report,
    export,
    model,
    doctor,
    completion,
    experiment,
)
EXAMPLES = """\
start here:
  soar fit --dataset car --out car.json
  soar fit patients.csv --target outcome --positive sick --out model.json
  soar COMMAND --help

"""


def build_parser() -> Parser:
    """Describe the commands; imports nothing heavy, so that ``--help`` answers at once."""
    parser = Parser(
        prog="soar",
        description="Learn two sets of if-then rules, one for each class, and predict with them.",
        epilog=EXAMPLES + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"soar-jax {__version__}")
    parser.add_argument("--debug", action="store_true", help="show where an error comes from (or set SOAR_DEBUG=1)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for command in COMMANDS:
        command.add_parser(commands)
    for one in commands.choices.values():
        add_shared(one)
    parser.set_defaults(parsers=commands.choices)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command; errors a user can mend print one line and give exit code 2."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as in soar show m.json >&-
            setattr(sys, name, open(os.devnull, "w"))
    args, unknown = build_parser().parse_known_args(argv)
    if unknown:
        command = args.parsers[args.command]
        command.error(command.suggest(unknown))
    with warnings.catch_warnings():
        warnings_as_lines(args)
        try:
            code = int(args.run(args))
            sys.stdout.flush()  # while a reader that has gone can still be told apart
        except (Exception, KeyboardInterrupt) as error:
            return exit_code_of(error, args)
        return code
