"""Kill -9 at random moments: fits with a checkpoint and saved samplings end as if nothing had happened.

A child process fits a table with ``checkpoint``, then samples it with ``save_to``, and is killed at a random moment of either;
the next child goes on. When a child gets through, its rules, score and draws are compared, to the bit, with those of a
process that was never killed.

Run: python -m experiments.kill_and_resume [--quick]
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from experiments.study import Study, table

SEED = 0
NUM_KILLS = 50


def work(folder: Path, seconds_between: float) -> dict:
    """Fit and sample in a folder; the same command goes on where one was killed."""
    import warnings

    from soar_jax import SOARClassifier, datasets
    from soar_jax.programs import keep_programs
    from soar_jax.sampling import saved_run
    from soar_jax.search import checkpoint

    warnings.simplefilter("ignore")
    keep_programs(folder.parent / "programs")
    for module, name in ((checkpoint, "CheckpointFolder"), (saved_run, "SavedRun")):
        # save after every round and block, so that kills meet saves
        getattr(module, name).__init__.__kwdefaults__["seconds_between"] = seconds_between
    X, y = datasets.load_synthetic(seed=0)
    model = SOARClassifier(n_rounds=12, max_patterns=100).fit(X, y, checkpoint=folder / "fit")
    (folder / "fitted").touch()
    post = model.sample_posterior(500, num_chains=2, num_temperatures=4, save_to=folder / "run")
    draws = post.draws
    content = draws.packed.tobytes() + draws.log_likelihood.tobytes() + draws.visits.tobytes()
    return {
        "rules": model.rules_["rule"].tolist(),
        "score": float(model.score_).hex(),
        "draws": hashlib.sha256(content).hexdigest(),
    }


def start(folder: Path) -> subprocess.Popen:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "experiments.kill_and_resume", "--work", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(child: subprocess.Popen) -> dict | None:
    out, _ = child.communicate()
    return json.loads(out.strip().splitlines()[-1]) if child.returncode == 0 else None


def main(argv=None) -> dict:
    if argv is None and sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(Path(sys.argv[2]), 0.0)))
        return {}
    study = Study("kill_and_resume", __doc__, argv)
    wanted = 3 if study.quick else NUM_KILLS
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        finish(start(root / "first"))  # fills the cache of programs
        begun = time.perf_counter()
        whole = finish(start(root / "whole"))
        if whole is None:
            raise SystemExit("The run that is not killed failed.")
        length = time.perf_counter() - begun
        study.say(f"a run that is not killed takes {length:.1f} s")
        kills = {"fit": 0, "sampling": 0}
        finished = mismatches = failures = number = 0
        while sum(kills.values()) < wanted:
            folder, done = root / f"run-{number}", None
            number += 1
            while done is None:
                child = start(folder)
                try:
                    begun = time.perf_counter()
                    child.wait(timeout=float(rng.uniform(0.1, 1.0)) * length if sum(kills.values()) < wanted else None)
                    length = min(length, time.perf_counter() - begun)  # the machine may have been busy before
                except subprocess.TimeoutExpired:
                    kills["sampling" if (folder / "fitted").exists() else "fit"] += 1
                    os.kill(child.pid, signal.SIGKILL)
                    child.wait()
                    continue
                done = finish(child)
                if done is None:
                    failures += 1
                    break
            finished += done is not None
            mismatches += done is not None and done != whole
            study.say(f"{kills} kills, {finished} finished, {mismatches} mismatches, {failures} failures")
    record = {
        "kills_of_fit": kills["fit"],
        "kills_of_sampling": kills["sampling"],
        "runs_finished": finished,
        "mismatches": mismatches,
        "failures": failures,
        "seconds_of_a_run": length,
        "seed": SEED,
    }
    text = [
        "Processes that fit and then sample were killed by SIGKILL at random moments and started again until they got through.",
        "",
        *table(
            ["kills in the fit", "kills in the sampling", "runs that got through", "mismatches", "failures"],
            [[kills["fit"], kills["sampling"], finished, mismatches, failures]],
        ),
    ]
    return study.save(record, "Kill and resume", text)


if __name__ == "__main__":
    main()
