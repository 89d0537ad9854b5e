"""What every study shares: options, a clock, and results as JSON, Markdown and a figure."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("soar-jax", "jax", "numpyro", "numpy", "scikit-learn", "arviz")


class Study:
    """One run of a study: parsed options, elapsed time, and where results go."""

    def __init__(self, name: str, doc: str, argv: Sequence[str] | None, results: Path = RESULTS) -> None:
        parser = argparse.ArgumentParser(prog=f"soar experiment {name}", description=doc)
        parser.add_argument("--quick", action="store_true", help="a smoke run: fewer seeds and draws")
        parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: the results folder)")
        options = parser.parse_args(argv)
        self.name, self.quick = name, options.quick
        # a smoke run must not overwrite the results of a real one
        self.folder = options.out or (results / "quick" if self.quick else results)
        self.folder.mkdir(parents=True, exist_ok=True)
        module = "experiments.benchmarks" if results != RESULTS else "experiments"
        self.command = f"python -m {module}.{name}" + (" --quick" if self.quick else "")
        self._start = time.perf_counter()

    def say(self, text: str) -> None:
        """Report progress."""
        print(f"[{time.perf_counter() - self._start:7.1f} s] {text}", flush=True)

    def save(self, record: dict[str, Any], title: str, lines: Iterable[str], figure: Any = None) -> dict[str, Any]:
        """Write NAME.json, NAME.md and, with a figure, NAME.png."""
        seconds = time.perf_counter() - self._start
        about = {
            "command": self.command,
            "seconds": round(seconds, 1),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "versions": {name: version(name) for name in PACKAGES},
        }
        full = {"about": about, **record}
        versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
        head = f"`{self.command}`: {seconds:.0f} s on {about['cores']} cores; {versions}."
        text = [f"# {title}", "", head, "", *lines]
        if figure is not None:
            figure.savefig(self.folder / f"{self.name}.png", dpi=110)
            text += ["", f"![{title}]({self.name}.png)"]
        (self.folder / f"{self.name}.json").write_text(json.dumps(full, indent=1, default=plain) + "\n")
        (self.folder / f"{self.name}.md").write_text("\n".join(text) + "\n")
        self.say(f"written to {self.folder / self.name}.md")
        return full


def plain(value: Any) -> Any:
    """Numbers of NumPy as JSON can hold them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
