"""Progress goes to standard error, shows the time left, and leaves standard output alone."""

import os
import pty
import re
import subprocess
import sys

from soar_jax._progress import Progress, ProgressBar, Stage

SCRIPT = """
import time
from soar_jax._progress import Progress, ProgressBar, Stage
with Stage("Reading a[red]b.csv"):
    time.sleep(0.4)
with Stage("Learning rules"):
    time.sleep(0.3)
    with ProgressBar() as bar:
        for i in range(5):
            bar(Progress("searching", i + 1, 8, 12.34, (2, 3)))
            time.sleep(0.3)
print("result")
"""


def in_terminal(code):
    """Run Python with standard error on a terminal of 80 columns and standard output on a pipe."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=writer, env=environment)
    os.close(writer)
    shown = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # Linux says so at the end
            break
        if not part:
            break
        shown += part
    out = process.stdout.read().decode()
    process.stdout.close()
    assert process.wait() == 0
    os.close(reader)
    return out, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def test_stages_and_bars_are_shown_on_standard_error_only():
    out, shown = in_terminal(SCRIPT)
    assert out == "result\n"
    assert "Reading a[red]b.csv" in shown and "Learning rules" in shown
    assert "5/8 rounds" in shown and "score 12.3, 2 + 3 rules" in shown
    assert re.search(r"rounds\s+0?0:0\d", shown)  # the time left


def test_nothing_is_drawn_where_there_is_no_terminal(capsys):
    with Stage("Reading"):
        pass
    with Stage("Reading", is_shown=False), ProgressBar() as bar:
        bar(Progress("sampling", 10, 20, 1.0, (1, 1), "R-hat 1.0"))
    shown = capsys.readouterr()
    assert shown.out == "" and "Reading" not in shown.err


def test_a_bar_of_its_own_ends_with_what_was_reached(capsys):
    with ProgressBar() as bar:
        bar(Progress("warm-up", 50, 50, 1.0, (1, 1)))
        bar(Progress("sampling", 20, 20, 1.0, (1, 1), "R-hat 1.001"))
        bar(Progress("sampling", 40, 40, 1.0, (1, 1), "R-hat 1.001"))
    shown = capsys.readouterr().err
    assert "50/50 draws" in shown and "40/40 draws" in shown and "20/20" not in shown
