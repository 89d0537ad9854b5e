"""How far long work is, and when it must end: reports, a clock, and a bar."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for a progress bar or a log."""

    phase: str
    done: int
    total: int
    score: float | None = None
    num_rules: tuple[int, int] = (0, 0)
    note: str = ""

    def __str__(self) -> str:
        """Say where it stands, but for the count."""
        if self.score is None or math.isnan(self.score):  # there is no pair yet
            return self.note
        text = f"score {self.score:.1f}, {self.num_rules[0]} + {self.num_rules[1]} rules"
        return f"{text}, {self.note}" if self.note else text


def announce(progress: Callable[[Progress], None] | None, phase: str, total: int) -> None:
    """Report that work has begun, before anything is compiled or known."""
    if progress is not None:
        progress(Progress(phase, 0, total))


class Clock:
    """Says when to stop: at the end of the budget or after an interrupt."""

    def __init__(self, budget: float | None) -> None:
        self._budget = budget
        self.deadline = None if budget is None else time.perf_counter() + budget
        self.stopped = False

    def reserve(self, seconds: float) -> None:
        """End earlier, so that there is time for what must follow, by a third of the budget at most."""
        if self.deadline is not None and self._budget is not None:
            self.deadline -= min(seconds, self._budget / 3)

    def has_room_for(self, seconds: float) -> bool:
        """Say whether work of that length would end in time, or a tenth of the budget later; if not, stop."""
        if self.deadline is not None and self._budget is not None:
            late = time.perf_counter() + seconds - self.deadline
            self.stopped |= late > 0.1 * self._budget
        return not self.is_over()

    def is_over(self) -> bool:
        """Look at the time."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.stopped = True
        return self.stopped

    def share_left(self) -> float:
        """Share of the budget that is left; 1 where there is none."""
        if self.deadline is None or not self._budget:
            return 1.0
        return max(0.0, (self.deadline - time.perf_counter()) / self._budget)


class Stage:
    """Say on standard error what is being done and for how long, until it is done; use as a context manager.

    For work whose length is not known. A `ProgressBar` inside it takes its place as soon as there is something to
    count.
    """

    def __init__(self, text: str, is_shown: bool = True) -> None:
        self._text = text
        self._is_shown = is_shown
        self._display: Any = None

    def __enter__(self) -> Stage:
        """Show the text at once, before the slow imports of what follows."""
        if self._is_shown:
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            text = TextColumn("{task.description}", markup=False)
            self._display = _display([SpinnerColumn(), text, TimeElapsedColumn()], is_transient=True)
            self._display.add_task(self._text, total=None)
            self._display.start()
            _stages.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Take the text away."""
        if self._display is not None:
            _stages.remove(self)
            self._display.stop()
            self._display = None

    def pause(self) -> None:
        """Make room for a bar."""
        self._display.stop()

    def resume(self) -> None:
        """Take the room back."""
        self._display.start()


_stages: list[Stage] = []
"""Stages on the screen, the innermost last."""
_UNITS = {"annealing": "steps", "polishing": "tries", "searching": "rounds", "preparing": "stages", "permuted": "fits"}


def _display(columns: list[Any], is_transient: bool) -> Any:
    from rich.console import Console
    from rich.progress import Progress as Display

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    # what is printed meanwhile belongs to standard output, and must stay there
    return Display(*columns, console=console, transient=is_transient, refresh_per_second=4, redirect_stdout=False)


class ProgressBar:
    """Show `Progress` reports on standard error, with the time left; use as a context manager.

    Inside a `Stage` the bars are taken away at the end; elsewhere they stay on the screen.
    """

    def __init__(self) -> None:
        self._display: Any = None
        self._task: Any = None
        self._phase = ""
        self._stage: Stage | None = None
        self._is_transient = False

    def __enter__(self) -> ProgressBar:
        """Show that work has begun; the first report, which comes after compiling, draws a bar."""
        self._is_transient = bool(_stages)
        if not _stages:
            self._stage = Stage("preparing").__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave or take away what is finished."""
        if self._display is not None:
            self._display.stop()
            self._display = None
            if _stages and self._stage is None:
                _stages[-1].resume()
        if self._stage is not None:
            self._stage.__exit__()
            self._stage = None

    def _begin(self) -> None:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

        if _stages:
            _stages[-1].pause()
        self._display = _display(
            [
                TextColumn("{task.description:9s}", markup=False),
                BarColumn(bar_width=14),
                TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}", markup=False),
                TimeRemainingColumn(compact=True, elapsed_when_finished=True),
                TextColumn("{task.fields[note]}", markup=False),
            ],
            self._is_transient,
        )
        self._display.start()

    def __call__(self, report: Progress) -> None:
        """Draw one report."""
        if self._display is None:
            self._begin()
        fields = {"total": report.total, "note": str(report)}
        if report.phase != self._phase:
            self._phase = report.phase
            unit = _UNITS.get(report.phase, "draws")
            self._task = self._display.add_task(report.phase, unit=unit, **fields)
        # the total may move: a run without a given length looks one judgement ahead
        self._display.update(self._task, completed=report.done, **fields)
