"""Hooks of MkDocs: pages from outside docs/, tables of results, links that work here and in the repository, equations.

Pages link to files of the repository by relative paths, as any reader of the repository expects. What such a link
leads to becomes a page of the site, and the link is turned to it; a link that leads nowhere stops the build.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "experiments/README.md",
    "experiments/results/*.md",
    "experiments/results/*.png",
    "experiments/benchmarks/README.md",
    "experiments/benchmarks/results/*.md",
    "experiments/benchmarks/results/*.png",
    "soar_jax/datasets/README.md",
)
"""Files of the repository that the site shows; they keep their paths."""

LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)")
TABLE = re.compile(r"<!-- table: (?P<file>\S+), (?P<heading>.+?) -->")
EQUATION = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and pictures that lie outside docs/."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            uri = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Fill in tables, and turn links to files of the repository to pages of the site."""
    source = Path(page.file.abs_src_path).resolve()
    markdown = TABLE.sub(lambda match: table_under(ROOT / match["file"], match["heading"]), markdown)
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if i % 2 else turn_links(part, source, page.file.src_uri) for i, part in enumerate(parts))


def table_under(file: Path, heading: str) -> str:
    """Return the first table below a heading of a page."""
    text = file.read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}$.*?\n((?:\|[^\n]*\n)+)", text, flags=re.DOTALL | re.MULTILINE)
    if found is None:
        raise PluginError(f"{file.relative_to(ROOT)} has no table below the heading {heading!r}.")
    return found.group(1)


def turn_links(text: str, source: Path, uri: str) -> str:
    """Turn links that leave docs/, or come from outside it, to where the site has their target."""

    def turned(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / match.group(1)))
        if not target.is_relative_to(ROOT):
            return match.group(1)
        inside = target.relative_to(ROOT)
        if not target.exists():
            raise PluginError(f"{source.relative_to(ROOT)} links to {inside}, which does not exist.")
        if inside.parts[0] == "docs":
            inside = inside.relative_to("docs")
        elif not any(PurePosixPath(inside).match(pattern) for pattern in OUTSIDE):
            raise PluginError(f"{source.relative_to(ROOT)} links to {inside}, which is no page of the site.")
        return os.path.relpath(inside, Path(uri).parent)

    return LINK.sub(turned, text)


def on_page_content(content: str, page: Any, config: Any, files: Files) -> str:
    """Write equations as MathML: browsers draw it themselves, without a script or a font from elsewhere."""
    from latex2mathml.converter import convert

    def drawn(match: re.Match[str]) -> str:
        latex = html.unescape(match.group(2)).strip()[2:-2]  # between \( \) or \[ \]
        return convert(latex, display="block" if match.group(1) == "div" else "inline")

    return EQUATION.sub(drawn, content)
