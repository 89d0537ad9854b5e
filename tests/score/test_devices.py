"""Rows spread over devices and processes: the same pair, counts and history as on one device."""

import json
import os
import socket
import subprocess
import sys

import pytest

FIT = """
import json, sys
import numpy as np
from soar_jax import SOARClassifier
from soar_jax.score.devices import row_mesh, use_mesh
from tests.conftest import random_table

def fit():
    X, y = random_table(0, num_rows=300)
    model = SOARClassifier(n_rounds=2, max_patterns=20, max_length=2).fit(X, y)
    return {
        "rules": model.rules_["rule"].tolist(),
        "score": model.score_,
        "taxonomy": model.training_taxonomy_.tolist(),
        "history": model.history_["best_score"].tolist(),
    }
"""
DEVICES = (
    FIT
    + """
import jax
one = fit()
with use_mesh(row_mesh()):
    many = fit()
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None
)
with use_mesh(row_mesh()):
    fit()
recompiled = len(compiled)
with use_mesh(row_mesh(jax.devices()[:3])):
    three = fit()
print(json.dumps({"devices": len(jax.devices()), "one": one, "many": many, "three": three, "recompiled": recompiled}))
"""
)
PROCESSES = (
    "import jax, sys\n"
    'jax.config.update("jax_cpu_collectives_implementation", "gloo")\n'
    "jax.distributed.initialize(sys.argv[1], num_processes=2, process_id=int(sys.argv[2]))\n"
    + FIT
    + """
with use_mesh(row_mesh()):
    many = fit()
print(json.dumps({"processes": jax.process_count(), "devices": len(jax.devices()), "many": many}))
"""
)


def environment(num_devices):
    return {
        **os.environ,
        "PYTHONPATH": ".",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={num_devices}",
        "JAX_PLATFORMS": "cpu",
    }


def last_line(text):
    return json.loads(text.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def eight():
    run = subprocess.run(
        [sys.executable, "-c", DEVICES], env=environment(8), capture_output=True, text=True, check=True, timeout=300
    )
    return last_line(run.stdout)


def test_eight_devices_give_the_pair_of_one(eight):
    assert eight["devices"] == 8
    assert eight["many"] == eight["one"] and eight["three"] == eight["one"]
    assert eight["recompiled"] == 0


@pytest.mark.slow
def test_two_processes_give_the_pair_of_one(eight):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-c", PROCESSES, address]
    both = [
        subprocess.Popen([*command, str(i)], env=environment(1), stdout=subprocess.PIPE, text=True) for i in range(2)
    ]
    found = [last_line(process.communicate(timeout=300)[0]) for process in both]
    for result in found:
        assert result["processes"] == 2 and result["devices"] == 2
        assert result["many"] == eight["one"]
