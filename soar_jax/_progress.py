"""How far long work is, and when it must end: reports, a clock, and a bar."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for a progress bar or a log."""

    phase: str
    done: int
    total: int
    score: float
    num_rules: tuple[int, int]
    note: str = ""


class Clock:
    """Says when to stop: at the end of the budget or after an interrupt."""

    def __init__(self, budget: float | None) -> None:
        self._budget = budget
        self.deadline = None if budget is None else time.perf_counter() + budget
        self.stopped = False

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


class ProgressBar:
    """Show `Progress` reports on standard error; use as a context manager."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._phase = ""

    def __enter__(self) -> ProgressBar:
        """Start without a bar; the first report draws it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the finished bar on the screen."""
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __call__(self, report: Progress) -> None:
        """Draw one report."""
        from tqdm import tqdm

        if report.phase != self._phase:
            self._close()
            self._phase = report.phase
            unit = {"annealing": "step", "polishing": "try", "searching": "round"}.get(report.phase, "draw")
            self._bar = tqdm(total=report.total, desc=f"{report.phase:9s}", unit=unit, leave=True)
        self._bar.total = report.total  # a run without a given length looks one judgement ahead
        note = f", {report.note}" if report.note else ""
        self._bar.set_postfix_str(
            f"score {report.score:.2f}, rules {report.num_rules[0]} + {report.num_rules[1]}{note}", refresh=False
        )
        self._bar.update(report.done - self._bar.n)
