"""Many at once, and machines that have had enough: equal answers, or one clear line and nothing half-written."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from soar_jax import SOARClassifier
from tests.conftest import random_table

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and devices are those of Linux")
MODEL = Path(__file__).parent / "files" / "model.json"


def new_rows(num_rows):
    X, _ = random_table(3, num_rows=num_rows)
    days = pd.to_datetime("2021-03-01") + pd.to_timedelta(np.arange(num_rows) % 90, unit="D")
    return X.assign(day=days, dose=np.arange(num_rows) % 9)


# limits are set once all is imported: memory is then what the table may take
UNDER_LIMITS = """
import resource, runpy, sys
import jax, pandas, pyarrow, sklearn.utils.validation
import soar_jax.estimators.load, soar_jax.cli.predict
file_size, memory = (int(word) for word in sys.argv[1:3])
if file_size:
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
if memory:
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
sys.argv = ["soar", *sys.argv[3:]]
runpy.run_module("soar_jax", run_name="__main__")
"""


def soar(*words, file_size=0, memory=0):
    """Start the command in a process of its own, under limits of the system."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SOAR_PROGRAMS": "off"}
    command = [sys.executable, "-c", UNDER_LIMITS, str(file_size), str(memory), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def told(process):
    out, error = process.communicate(timeout=300)
    return process.returncode, out, error


def test_eight_threads_that_fit_and_predict_at_once_get_what_one_gets():
    tables = [random_table(seed, num_rows=150) for seed in (0, 1)]

    def fit(i):
        return SOARClassifier(max_length=2, grow_to=0, n_rounds=1, max_patterns=60).fit(*tables[i % 2])

    alone = [fit(0), fit(1)]
    states = [model.predict_state(X).tolist() for model, (X, _) in zip(alone, tables, strict=True)]

    def work(i):
        if i % 4 < 2:
            return alone[i % 2].predict_state(tables[i % 2][0]).tolist() == states[i % 2]
        model = fit(i)
        return model.score_ == alone[i % 2].score_ and model.rules_.equals(alone[i % 2].rules_)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


@pytest.mark.slow
def test_eight_processes_that_predict_at_once_write_what_one_writes(tmp_path):
    new_rows(2000).to_csv(tmp_path / "rows.csv", index=False)
    running = [soar("predict", MODEL, tmp_path / "rows.csv", "--out", tmp_path / f"{i}.csv") for i in range(8)]
    assert [told(process)[0] for process in running] == [0] * 8
    assert len({(tmp_path / f"{i}.csv").read_bytes() for i in range(8)}) == 1


@linux
def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path):
    """The limit on the size of a file stands for a disk that is full half-way."""
    new_rows(3000).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "predictions.csv"
    out.write_text("what was here before\n")
    words = "predict", MODEL, tmp_path / "rows.csv", "--out", out
    code, _, error = told(soar(*words, file_size=4096))
    assert code == 2 and error.splitlines()[-1] == f"soar: error: File too large: {out}", error
    assert "Traceback" not in error
    assert out.read_text() == "what was here before\n"
    assert [path.name for path in out.parent.iterdir()] == ["predictions.csv"]


@pytest.mark.slow
@linux
def test_a_device_that_is_full_is_one_line(tmp_path):
    new_rows(50).to_csv(tmp_path / "rows.csv", index=False)
    code, _, error = told(soar("predict", MODEL, tmp_path / "rows.csv", "--out", "/dev/full"))
    assert code == 2 and error == "soar: error: No space left on device: /dev/full\n", error


@pytest.mark.slow
@linux
def test_a_table_larger_than_memory_is_one_line(tmp_path):
    table = tmp_path / "rows.csv"
    chunk = new_rows(4000).to_csv(index=False, header=False)
    header = ",".join(new_rows(1).columns) + "\n"
    table.write_text(header + chunk * 50)  # 200,000 rows, 7 MB on disk, several times that as objects
    out = tmp_path / "predictions.csv"
    words = "predict", MODEL, table, "--out", out
    code, _, error = told(soar(*words, memory=60 << 20))
    assert code in (1, 2) and error.count("\n") == 1 and "memory" in error, error[-1000:]
    assert not out.exists() and [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
