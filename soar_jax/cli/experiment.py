"""``soar experiment``: rerun a study of the experiments folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from soar_jax._base import InputError


def add_parser(commands: Any) -> None:
    """Describe the command."""
    experiment = commands.add_parser("experiment", help="rerun a study of the experiments folder, from a checkout")
    experiment.add_argument("name", metavar="NAME", nargs="?", help="which one; leave out for a list")
    experiment.add_argument("rest", nargs=argparse.REMAINDER, metavar="...", help="its options, such as --quick")
    experiment.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Find the study and run it."""
    from importlib import import_module
    from importlib.util import find_spec

    sys.path.insert(0, "")
    spec = find_spec("experiments")
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    if not any((folder / "study.py").is_file() for folder in folders):
        raise InputError("There is no experiments folder here: run this in a checkout of soar_jax.")
    names = sorted(
        ".".join(file.relative_to(folder).with_suffix("").parts)
        for folder in folders
        for file in [*folder.glob("*.py"), *folder.glob("benchmarks/*.py")]
        if "def main(argv" in file.read_text(encoding="utf-8")
    )
    if args.name is None:
        print("\n".join(names))
        return 0
    if args.name not in names:
        raise InputError(f"There is no experiment {args.name!r}; there are {', '.join(names)}.")
    import_module(f"experiments.{args.name}").main(args.rest)
    return 0
