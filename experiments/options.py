"""A study with options of its own, beside those that every study has."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from experiments.study import Study


def study_with_options(
    name: str, doc: str, argv: Sequence[str] | None, options: dict[str, dict[str, Any]]
) -> tuple[Study, argparse.Namespace]:
    """Parse a study's own options, leave the others to ``Study``, and keep both in the command it writes down."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog=f"soar experiment {name}", description=doc, epilog="--quick and --out FOLDER work as in every study."
    )
    for flag, settings in options.items():
        parser.add_argument(flag, **settings)
    chosen, rest = parser.parse_known_args(given)
    study = Study(name, doc, rest)
    own = [word for word in given if word not in rest]
    study.command = " ".join([study.command, shlex.join(own)] if own else [study.command])
    return study, chosen
