"""Nothing leaves the machine: import, fit, predict, save, load, explain, report and the command open no socket."""

import os
import subprocess
import sys

# an audit hook sees every socket of this process, whoever opens it, and cannot be taken off again
PREAMBLE = """
import sys
NETWORK = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
           "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request", "http.client.connect"}
def refuse(event, arguments):
    if event in NETWORK:
        raise PermissionError(f"the network was asked for: {event} {arguments[-1]}")
sys.addaudithook(refuse)
"""

WORK = """
import warnings
import numpy as np
import pandas as pd
import soar_jax
from soar_jax import SOARClassifier, datasets
from soar_jax.cli.main import main

X, y = datasets.load_car()
X, y = X.iloc[::4], y.iloc[::4]
model = SOARClassifier(max_length=1, grow_to=0, n_rounds=1).fit(X, y)
model.predict(X), model.predict_proba(X), model.explain(X.head(3)).to_frame(), model.audit(X, y, by="persons")
model.save("model.json")
loaded = SOARClassifier.load("model.json")
assert np.array_equal(loaded.predict_state(X), model.predict_state(X))
X.to_csv("car.csv", index=False)
X.assign(good=y).to_csv("labelled.csv", index=False)
for words in (
    ["predict", "model.json", "car.csv", "--out", "out.csv"],
    ["show", "model.json"],
    ["model", "check", "model.json"],
    ["export", "model.json", "--out", "model.sql", "--dialect", "sqlite", "--table", "cars"],
    ["report", "model.json", "labelled.csv", "--target", "good", "--out", "report.html"],
    ["doctor"],
):
    assert main(words) == 0, words
print("worked without a network")
"""


def run(code, folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SOAR_PROGRAMS": "off"}
    return subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_guard_stops_what_would_reach_the_network(tmp_path):
    for code in (
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')",
        "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    ):
        assert "the network was asked for" in run(code, tmp_path).stderr


def test_import_fit_predict_save_load_explain_report_and_the_command_ask_for_no_network(tmp_path):
    found = run(WORK, tmp_path)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.endswith("worked without a network\n")
