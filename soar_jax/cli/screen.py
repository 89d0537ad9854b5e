"""Text for people: paragraphs, tables and commands to copy, in colour on a terminal and plain elsewhere.

A terminal gets its own width, at most 100 columns; anything else gets 80 columns and no colours, so that what a script
keeps is always the same. ``NO_COLOR`` is obeyed.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from soar_jax._hundred import fixed
from soar_jax._names import LONGEST_NAME, short_names, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH, WIDEST = 80, 100
_GAP = 2


def show(*parts: Any) -> None:
    """Print texts and tables, one under the other, without blanks at the ends of lines."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a sign that the terminal lacks is no reason to fail
    sys.stdout.write(text(*parts))


def text(*parts: Any, is_plain: bool = False) -> str:
    """Set texts and tables for standard output, or plain as for a file."""
    console = _console(is_plain=is_plain)
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=getattr(part, "no_wrap", None) is True)
    lines = captured.get().strip("\n").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def width_of_output() -> int:
    """How many columns a line may have."""
    return min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDEST) if sys.stdout.isatty() else WIDTH


def fold(said: str, width: int) -> str:
    """Wrap each line of a text, what follows a little to the right of where the line begins."""
    folded = []
    for line in map(visible, said.splitlines()):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        folded.append(
            textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        )
    return "\n".join(folded)


def _console(*, is_plain: bool) -> Console:
    from rich.console import Console

    is_terminal = sys.stdout.isatty() and not is_plain
    width = width_of_output() if is_terminal else WIDTH
    plain: dict[str, Any] = {} if is_terminal else {"color_system": None, "force_terminal": False}
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False, **plain)


def heading(text: str) -> Text:
    """Begin a section."""
    from rich.text import Text

    return Text(f"\n{visible(text)}", style="bold")


def paragraph(text: str, style: str = "") -> Any:
    """Set a text, wrapped, a little to the right."""
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(visible(text), style=style), (0, 0, 0, 2))


def lines(texts: Iterable[str]) -> list[Any]:
    """Set texts one under the other, each wrapped; those that begin with a dash or an arrow hang by it."""
    parts = []
    for text in texts:
        stripped = text.strip()
        if stripped[:2] in ("- ", "> "):
            parts.append(table([("", "left"), ("", "wrap")], [(stripped[0], stripped[2:])]))
        else:
            parts.append(paragraph(stripped))
    return parts


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> Any:
    """Set rows under headings; a column is its heading and "left", "right" or "wrap", the one that gives way first.

    No word is broken: where the columns have no room for their longest words, each row is a list of its cells.
    """
    from rich.padding import Padding

    names = [visible(name) for name, _ in columns]
    return Padding(
        _Rows(names, [place for _, place in columns], [list(map(visible, row)) for row in rows]), (0, 0, 0, 2)
    )


class _Rows(NamedTuple):
    """A table that is set when the width of the screen is known."""

    names: list[str]
    places: list[str]
    rows: list[list[str]]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        widths = self._widths(options.max_width)
        if widths is None:
            for row in self.rows:
                cells = [f"{name}: {cell}".removeprefix(": ") for name, cell in zip(self.names, row, strict=True)]
                yield from (Padding(Text(cell), (0, 0, 0, 2 * (i > 0))) for i, cell in enumerate(cells))
            return
        made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=any(self.names))
        for name, place, width in zip(self.names, self.places, widths, strict=True):
            justify: Any = "right" if place == "right" else "left"
            made.add_column(Text(name, style="dim"), justify=justify, width=width, overflow="fold")
        for row in self.rows:
            made.add_row(*map(Text, row))
        yield made

    def _widths(self, room: int) -> list[int] | None:
        """Width of each column, none below that of its longest word; None where there is no room for these."""
        from rich.cells import cell_len

        columns = list(zip(self.names, *self.rows, strict=True))
        full = [max(map(cell_len, cells)) for cells in columns]
        least = [max(cell_len(word) for cell in cells for word in ["", *cell.split()]) for cells in columns]
        room -= _GAP * (len(columns) - 1)
        widths = [least[i] if place == "wrap" else full[i] for i, place in enumerate(self.places)]
        if sum(widths) > room:
            widths = list(least)
        if sum(widths) > room:
            return None
        for _ in range(min(room, sum(full)) - sum(widths)):
            widths[min((w, i) for i, w in enumerate(widths) if w < full[i])[1]] += 1
        return widths


def commands(pairs: Iterable[tuple[str, Sequence[str]]]) -> Any:
    """List what a command would do, and the command, which is never broken so that it can be copied."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ignore")
    for i, (what, words) in enumerate(pairs):
        text.append(f"{'' if i == 0 else chr(10)}  {what:<24}", style="dim")
        text.append(visible(shlex.join(words)))
    return text


def label_of(model: Any, side: int, longest: int = LONGEST_NAME) -> str:
    """Name the class of a side, cut short so that the two classes still differ."""
    return short_names([model._label(0), model._label(1)], longest)[side]


def percent(share: float, sign: str = "%") -> str:
    """Write a share; only what is exactly none or all is written as 0 or 100."""
    whole = 100 * share
    if whole in (0.0, 100.0):
        return f"{whole:.0f}{sign}"
    if 1 <= whole <= 99:  # noqa: PLR2004
        return f"{fixed(whole, 0)}{sign}"
    text = fixed(whole, 1)
    return f"{'below 0.1' if text == '0.0' else 'above 99.9' if text == '100.0' else text}{sign}"


def plural(count: int, what: str) -> str:
    """Count things: 1 rule, 2 rules."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
