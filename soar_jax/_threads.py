"""Wait for threads so that an interrupt from the keyboard is seen at once.

A main thread that waits for a lock sees a signal only where the system call is broken off. Other libraries may ask the
system to go on with such calls instead; then Ctrl-C would be noticed when the work is over. Waits in short steps come
back to the interpreter, which looks for signals, and cost nothing that can be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_SECONDS = 0.2


def result_of(future: Future[R]) -> R:
    """Give the result, or raise what the work raised."""
    while not wait([future], timeout=_SECONDS).done:
        pass
    return future.result()


def map_in(executor: Executor, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Do all the work in the executor's threads; results in order. What has not begun when one fails is not begun."""
    futures = [executor.submit(work, item) for item in items]
    try:
        return [result_of(future) for future in futures]
    finally:
        for future in futures:
            future.cancel()
