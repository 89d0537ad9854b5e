"""Kill -9 at random moments: fits with a checkpoint, saved samplings, models and reports end as if nothing had happened.

A child process fits a table with ``checkpoint``, samples it with ``save_to``, saves the model again and again, and writes
reports. It is killed at a random moment of one of these phases, each in turn; the next child goes on in the same folder.
After every kill the model file and the report are absent or whole. After a few kills a child gets through: its rules,
score and draws are compared, to the bit, with those of a process that was never killed.

Run: python -m experiments.kill_and_resume [--quick]
"""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from experiments.study import Study, table

SEED = 0
NUM_KILLS = 60
PHASES = ("fit", "sampling", "saving", "report")
KILLS_PER_RUN = 6
NUM_SAVES, NUM_REPORTS = 60, 4


def work(folder: Path, seconds_between: float) -> dict:
    """Do all phases in a folder; the same command goes on where one was killed."""
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

    def enter(phase: str) -> None:
        (folder / "phase").write_text(phase)

    X, y = datasets.load_synthetic(seed=0)
    enter("fit")
    model = SOARClassifier(n_rounds=12, max_patterns=100).fit(X, y, checkpoint=folder / "fit")
    enter("sampling")
    post = model.sample_posterior(500, num_chains=2, num_temperatures=4, save_to=folder / "run")
    enter("saving")
    for _ in range(NUM_SAVES):
        model.save(folder / "out" / "model.json")
    enter("report")
    for _ in range(NUM_REPORTS):
        model.report(folder / "out" / "report.html", X, y)
    enter("end")
    draws = post.draws
    content = draws.packed.tobytes() + draws.log_likelihood.tobytes() + draws.visits.tobytes()
    return {
        "rules": model.rules_["rule"].tolist(),
        "score": float(model.score_).hex(),
        "draws": hashlib.sha256(content).hexdigest(),
    }


class Child:
    """One process at work in a folder."""

    def __init__(self, folder: Path) -> None:
        (folder / "out").mkdir(parents=True, exist_ok=True)
        (folder / "phase").write_text("start")
        self.folder = folder
        command = [sys.executable, "-m", "experiments.kill_and_resume", "--work", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    @property
    def phase(self) -> str:
        return (self.folder / "phase").read_text()

    def wait_for(self, phase: str) -> bool:
        """Wait until the phase is reached, or a later one; whether the process still runs."""
        order = ["start", *PHASES, "end"]
        # a file that is just being written reads as empty
        while self.process.poll() is None and (self.phase or "start") in order[: order.index(phase)]:
            time.sleep(0.002)
        return self.process.poll() is None

    def kill(self) -> str:
        """End it by SIGKILL; the phase that it was in."""
        self.process.kill()
        self.process.communicate()
        return self.phase

    def finish(self) -> dict | None:
        out, _ = self.process.communicate()
        return json.loads(out.strip().splitlines()[-1]) if self.process.returncode == 0 else None


def lengths_of_phases(child: Child) -> dict[str, float]:
    """Seconds that each phase takes when nobody disturbs it."""
    begun = {}
    for phase in (*PHASES, "end"):
        child.wait_for(phase)
        begun[phase] = time.perf_counter()
    return {phase: begun[after] - begun[phase] for phase, after in itertools.pairwise((*PHASES, "end"))}


def broken_files(folder: Path) -> int:
    """Outputs that are there and not whole."""
    from soar_jax import SOARClassifier

    broken = 0
    if (model := folder / "out" / "model.json").exists():
        try:
            SOARClassifier.load(model)
        except ValueError:
            broken += 1
    if (report := folder / "out" / "report.html").exists():
        broken += not report.read_text().rstrip().endswith("</html>")
    return broken


def main(argv=None) -> dict:
    if argv is None and sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(Path(sys.argv[2]), 0.0)))
        return {}
    study = Study("kill_and_resume", __doc__, argv)
    wanted = 4 if study.quick else NUM_KILLS
    rng = np.random.default_rng(SEED)
    kills = dict.fromkeys(PHASES, 0)
    finished = mismatches = failures = broken = 0
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        Child(root / "first").finish()  # fills the cache of programs
        child = Child(root / "whole")
        lengths = lengths_of_phases(child)
        whole = child.finish()
        if whole is None:
            raise SystemExit("The run that is not killed failed.")
        study.say(f"seconds of the phases: { {phase: round(seconds, 2) for phase, seconds in lengths.items()} }")
        turns = itertools.cycle(PHASES)
        for number in range(-(-wanted // KILLS_PER_RUN)):
            folder = root / f"run-{number}"
            for _ in range(min(KILLS_PER_RUN, wanted - sum(kills.values()))):
                child, phase = Child(folder), next(turns)
                if child.wait_for(phase):
                    time.sleep(float(rng.random()) * lengths[phase])
                if child.process.poll() is not None:
                    continue  # it was faster
                met = child.kill()
                kills[met if met in kills else phase] += 1
                broken += broken_files(folder)
            done = Child(folder).finish()
            failures += done is None
            finished += done is not None
            mismatches += done is not None and done != whole
            broken += broken_files(folder)
            study.say(
                f"{kills} kills, {finished} finished, {mismatches} mismatches, {failures} failures, {broken} broken"
            )
    record = {
        "kills": kills,
        "runs_finished": finished,
        "mismatches": mismatches,
        "failures": failures,
        "broken_files": broken,
        "seconds_of_phases": lengths,
        "seed": SEED,
    }
    text = [
        "Processes that fit, sample, save and report were killed by SIGKILL at random moments of each phase, up to "
        f"{KILLS_PER_RUN} times per folder, and then let through. A mismatch is a rule, a score or a draw that differs from a run "
        "that was never killed; a broken file is a model or a report that is there after a kill and not whole.",
        "",
        *table(
            [
                "kills while it fits",
                "samples",
                "saves",
                "reports",
                "got through",
                "mismatches",
                "failures",
                "broken files",
            ],
            [[*kills.values(), finished, mismatches, failures, broken]],
        ),
    ]
    return study.save(record, "Kill and resume", text)


if __name__ == "__main__":
    main()
