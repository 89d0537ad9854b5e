"""Interrupts from the keyboard while a command has something to keep."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

_ANSWER = b"\nsoar: interrupted; keeping what there is, once more to leave it\n"


class Interrupts:
    """Note interrupts, so that a command can keep what it has; use as a context manager.

    The first one raises ``KeyboardInterrupt``, as ever, unless all work is done and only to be written. One that comes
    while things are kept would lose them, and people press the keys more than once: it is answered by a line. The next
    one raises. Where interrupts are ignored or handled by others, or in another thread, nothing is changed.

    Attributes
    ----------
    came : bool
        There was an interrupt, also where the work that it ended returned what it had.
    is_keeping : bool
        Set it before results are written.
    """

    def __init__(self) -> None:
        self.came = False
        self.is_keeping = False
        self._has_answered = False
        self._is_installed = False

    def __enter__(self) -> Interrupts:
        """Begin to listen."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._arrive)
            self._is_installed = True
        return self

    def __exit__(self, *_: object) -> None:
        """Leave interrupts to Python again."""
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _arrive(self, *_: Any) -> None:
        is_first, self.came = not self.came, True
        if (is_first and not self.is_keeping) or self._has_answered:
            raise KeyboardInterrupt
        self._has_answered = True
        os.write(2, _ANSWER)  # a handler may not print: the stream may be in the middle of a line
