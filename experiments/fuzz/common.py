"""Run a fuzz target for so many seconds in a process of its own, and say what came out.

A target is a function of bytes. Whatever it raises is a crash; the exceptions that a reader may raise are caught by the
target itself. Inputs that reach new code are kept in a folder that is thrown away; what is committed is a small
corpus to start from.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
Target = Callable[[bytes], None]


def main(name: str, make_target: Callable[[], Target]) -> int:
    """Fuzz, or, as the child process, run the target under libFuzzer; ``make_target`` imports what is fuzzed."""
    if "--child" in sys.argv:
        return _child(make_target, sys.argv[sys.argv.index("--child") + 1 :])
    parser = argparse.ArgumentParser(prog=f"python -m experiments.fuzz.{name}")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-len", type=int, default=4096, help="bytes of an input at most")
    parser.add_argument("--keep", type=Path, help="folder for inputs that reach new code, and for crashes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        (folder / "found").mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", f"experiments.fuzz.{name}", "--child"]
        command += [f"-max_total_time={given.seconds}", f"-seed={given.seed}", f"-max_len={given.max_len}"]
        command += ["-timeout=30", "-rss_limit_mb=4096", f"-artifact_prefix={folder}/", "-print_final_stats=1"]
        command += [str(folder / "found"), str(CORPUS / name)]
        environment = {**os.environ, "SOAR_PROGRAMS": "off"}
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment, check=False)
        answer = _summary(name, given.seconds, run, folder)
        print(json.dumps(answer))
        if answer["crashes"]:
            print(run.stderr[-4000:], file=sys.stderr)
        return bool(answer["crashes"])


def _summary(name: str, seconds: int, run: subprocess.CompletedProcess[str], folder: Path) -> dict[str, object]:
    executed = re.findall(r"number_of_executed_units:\s*(\d+)", run.stderr) or re.findall(r"^#(\d+)", run.stderr, re.M)
    features = re.findall(r"cov: (\d+)", run.stderr)
    artifacts = [path.name for kind in ("crash", "timeout", "oom") for path in folder.glob(f"{kind}-*")]
    return {
        "target": name,
        "seconds": seconds,
        "executions": int(executed[-1]) if executed else 0,
        "places_covered": int(features[-1]) if features else 0,
        "inputs_kept": len(list((folder / "found").iterdir())),
        "crashes": artifacts or ([f"exit code {run.returncode}"] if run.returncode else []),
    }


def _child(make_target: Callable[[], Target], arguments: list[str]) -> int:
    import warnings

    import atheris

    with atheris.instrument_imports(include=["soar_jax"]):
        target = make_target()
    warnings.simplefilter("ignore")
    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()
    return 0


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder in memory where there is one."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        yield Path(folder)
