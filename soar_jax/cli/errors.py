"""What the command says when something is wrong: one line, never a cell of the table, and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from typing import Any

from soar_jax._base import InputError
from soar_jax._names import visible
from soar_jax.cli.wording import as_options, name_declarations, options_of

DONE, UNFORESEEN, WRONG_INPUT, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141
EXIT_CODES = """\
exit codes:
  0    done
  1    an error that was not foreseen; --debug shows where it comes from
  2    wrong use or bad input: the message says what, and what to do
  3    soar monitor: the new rows have drifted
  130  interrupted from the keyboard; the message says what was kept
  141  whoever read the output has gone (as in soar predict ... | head)"""
LONGEST = 1000
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")


def exit_code_of(error: BaseException, args: Any) -> int:
    """Say in one line what went wrong, and choose the exit code."""
    if wants_traceback(args):
        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # Python flushes it at exit
        return READER_GONE
    text, code = _told(error, args)
    _say(text, args)
    return code


def _told(error: BaseException, args: Any) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted {error}" if error.args else "interrupted, nothing saved", INTERRUPTED
    if isinstance(error, InputError):
        return f"error: {error}", WRONG_INPUT
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename is not None else ""
        return f"error: {error.strerror or error}{where}", WRONG_INPUT
    if isinstance(error, ValueError):  # what scikit-learn or pyarrow say of bad input
        return f"error: {without_cells(error)}", WRONG_INPUT
    if isinstance(error, MemoryError):
        return "error: not enough memory for this table; give fewer rows, columns or --max-patterns.", UNFORESEEN
    name = type(error).__name__
    return f"unforeseen error: {name}; run the command again with --debug, and please report it.", UNFORESEEN


def without_cells(error: BaseException) -> str:
    """Leave out what other packages quote: it may be a cell of the table."""
    return _QUOTED.sub("'...'", str(error))


def wants_traceback(args: Any) -> bool:
    """Whether the user asked to see where errors come from."""
    return bool(getattr(args, "debug", False)) or os.environ.get("SOAR_DEBUG", "") not in ("", "0")


def warnings_as_lines(args: Any) -> None:
    """Show warnings as lines of the command, each once; those for programmers are left out."""
    said = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning) and str(message) not in said:
            said.add(str(message))
            _say(f"warning: {message}", args)

    warnings.showwarning = show


def _say(text: str, args: Any) -> None:
    said = name_declarations(" ".join(text.split()), args)
    line = visible(as_options(said, options_of(args)))
    cut = line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
    print(f"soar: {cut}", file=sys.stderr)
