"""Run the blocks of pages, and keep what they print in the pages.

Python blocks of a page run in order and share their names; of shell blocks the lines that call ``soar`` are run. A
block ``text`` right after one of them is what it prints. A block after ``<!-- not run: reason -->`` is left alone.
Blocks run in a folder of their own, where ``table.csv`` is the embedded Car data with its outcome in the column ``y``.

Run: python -m docs.tools.pages [PAGE ...]   # run pages (all, when none is given) and write their outputs
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
BLOCK = re.compile(
    r"(?P<skip><!-- not run: .+? -->\s*\n)?"
    r"^```(?P<language>python|sh)\b[^\n]*\n(?P<code>.*?)^```$"
    r"(?P<output>\n\s*^```text\n(?P<text>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?(?![\w])")
MAX_COLUMNS, WIDTH = 30, 110
FOLD_AT = 92


@dataclass(frozen=True)
class Block:
    """A block of code that is run, and what the page says that it prints (None where it does not say)."""

    language: str
    code: str
    expected: str | None
    span: tuple[int, int]
    """Where the expected text stands in the page."""


def blocks_of(text: str) -> list[Block]:
    """Find the blocks of a page that are run."""
    return [
        Block(match["language"], match["code"], match["text"], match.span("text"))
        for match in BLOCK.finditer(text)
        if not match["skip"]
    ]


def run_blocks(blocks: list[Block], pictures: Path | None = None) -> Iterator[tuple[Block, str]]:
    """Run blocks in order, in a folder of their own, and yield what each printed; keep pictures where told."""
    names: dict = {"__name__": "__page__"}
    with _in_a_folder(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                if block.language == "python":
                    exec(compile(block.code, "<block of a page>", "exec"), names)
                else:
                    _run_commands(block.code)
            yield block, "\n".join(map(_folded, printed.getvalue().strip("\n").splitlines())) + "\n"
        for picture in Path().glob("*.png") if pictures else ():
            shutil.copy(picture, pictures / picture.name)


def _folded(line: str) -> str:
    """Fold a long sentence; a line of a table, which has columns, stays as it is."""
    text = line.strip()
    if len(line) <= FOLD_AT or "  " in text:
        return line.rstrip()
    first = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(text, FOLD_AT, initial_indent=first, subsequent_indent=f"{first}    ", break_long_words=False)


def _run_commands(code: str) -> None:
    from soar_jax.cli.main import main

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0].removeprefix(".venv/bin/") == "soar":
            with contextlib.redirect_stderr(io.StringIO()) as complaints:
                status = main(words[1:])
            if status:
                raise RuntimeError(f"{line!r} ended with {status}: {complaints.getvalue()}")


@contextlib.contextmanager
def _in_a_folder() -> Iterator[None]:
    """Work in an empty folder, with tables printed as the pages show them and pictures drawn into files only."""
    import matplotlib
    import pandas as pd

    matplotlib.use("Agg")
    wide = ("display.width", WIDTH, "display.max_columns", MAX_COLUMNS, "display.max_colwidth", None)
    terminal = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    from soar_jax import datasets

    X, y = datasets.load_car()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), pd.option_context(*wide):
        X.assign(y=y).to_csv("table.csv", index=False)
        try:
            yield
        finally:
            matplotlib.pyplot.close("all") if hasattr(matplotlib, "pyplot") else None
            os.environ.pop("COLUMNS") if terminal is None else os.environ.update(COLUMNS=terminal)


def agree(expected: str, printed: str) -> bool:
    """Whether two outputs say the same: equal words, and numbers that differ by little.

    Another processor or version of a library may round a sum otherwise, and with it the last digit that is shown.
    """
    if NUMBER.sub("0", expected).split() != NUMBER.sub("0", printed).split():
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(printed), strict=True)
    return all(
        math.isclose(*(float(number.replace(",", "")) for number in pair), rel_tol=0.05, abs_tol=0.02) for pair in pairs
    )


def with_outputs(text: str) -> str:
    """Return a page with the outputs of its blocks as they are now."""
    parts, end = [], 0
    for block, printed in run_blocks(blocks_of(text), DOCS / "images"):
        if block.expected is not None:
            parts += [text[end : block.span[0]], printed]
            end = block.span[1]
    return "".join([*parts, text[end:]])


def all_pages() -> list[Path]:
    """Every page with a block to run, the README too."""
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in pages if blocks_of(page.read_text(encoding="utf-8"))]


def main(names: list[str]) -> None:
    """Write the outputs into pages, and the pictures that a page saves beside the others."""
    os.environ.setdefault("SOAR_PROGRAMS", "off")  # leave nothing in the user's cache
    for page in [Path(name).resolve() for name in names] or all_pages():
        text = page.read_text(encoding="utf-8")
        page.write_text(with_outputs(text), encoding="utf-8")
        sys.stdout.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
