"""The command line: one module per command, found here.

Exit codes: 0 done, 2 wrong use or bad input, 1 anything unforeseen, 130 interrupted before a result.
"""

from __future__ import annotations

import argparse
import sys

from soar_jax import __version__
from soar_jax.cli import audit, contrast, edit, experiment, explain, export, fit, predict, sample

COMMANDS = (fit, sample, predict, explain, contrast, audit, edit, export, experiment)


def build_parser() -> argparse.ArgumentParser:
    """Describe the commands; imports nothing heavy, so that ``--help`` answers at once."""
    parser = argparse.ArgumentParser(
        prog="soar", description="Learn two sets of if-then rules, one for each class, and predict with them."
    )
    parser.add_argument("--version", action="version", version=f"soar-jax {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command; errors a user can mend print one line and give exit code 2."""
    args = build_parser().parse_args(argv)
    try:
        return int(args.run(args))
    except (ValueError, OSError) as error:  # InputError, and what scikit-learn or pyarrow say of bad input
        print(f"soar: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = getattr(args, "save_to", None)
        what = f"finished blocks are in {kept}" if kept else "nothing saved"
        print(f"soar: interrupted, {what}", file=sys.stderr)
        return 130
