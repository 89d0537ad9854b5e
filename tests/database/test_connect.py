"""Tables by name, and the command: clear errors, files that are there whole, exit codes for a scheduler."""

import json
import re
import shutil
import signal
import subprocess
import sys
from argparse import Namespace

import ibis
import numpy as np
import pandas as pd
import pytest

from soar_jax import InputError, SOARClassifier
from soar_jax.cli.database import address_of
from soar_jax.cli.main import main
from soar_jax.database.connect import open_table
from tests.database.tables import frame_table, planted

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("database")
    con = ibis.duckdb.connect(folder / "rows.db")
    frame_table(planted(300), con, "patients")
    con.raw_sql("DROP VIEW IF EXISTS frame_to_copy")
    con.disconnect()
    planted(300, seed=1).to_parquet(folder / "part0.parquet")
    planted(300, seed=2).to_parquet(folder / "part1.parquet")
    (folder / "broken.parquet.txt").write_text("no parquet")
    return folder


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"database": "duckdb:///{}/none.db", "table": "t"}, "no database file"),
        ({"database": "duckdb:///{}/broken.parquet.txt", "table": "t"}, "could not open"),
        ({"database": "duckdb:///{}/rows.db", "table": "patient"}, "did you mean 'patients'"),
        ({"database": "duckdb:///{}/rows.db", "table": "xyzzy"}, "no table 'xyzzy'; it has patients"),
        ({"database": "postgres://nobody:secret@127.0.0.1:1/none", "table": "t"}, "127.0.0.1:1/none cannot be reached"),
        ({"database": "postgres://127.0.0.1:1/none?password=secret&x=1", "table": "t"}, r"none\?password=\*\*\*&x=1 "),
        ({"database": "postgres://u:secret/a@127.0.0.1:1/none", "table": "t"}, "database 127.0.0.1:1/none cannot"),
        (
            {"database": "foo://u:secret@127.0.0.1:1/none", "table": "t"},
            "begin with duckdb://, sqlite:// or postgres://",
        ),
        ({"database": "mysql://u:secret@127.0.0.1:1/none", "table": "t"}, r"pip install 'ibis-framework\[mysql\]'"),
        ({"database": "sqlite:///{}/none.sqlite", "table": "t"}, r"no database file .*none\.sqlite"),
        ({"database": "sqlite:none.sqlite", "table": "t"}, r"no database file none\.sqlite"),
        ({"database": "sqlite:///", "table": "t"}, "no database file /"),
        ({"database": "sqlite://", "table": "t"}, "which file of SQLite"),
        ({"parquet": "{}/none*.parquet"}, "No file matches"),
        ({"parquet": "{}/broken.parquet.txt"}, "as Parquet"),
        ({"database": "duckdb:///{}/rows.db"}, "Say which table"),
        ({"table": "t"}, "Say in which database"),
        ({"database": "a", "spark": "b", "table": "t"}, "not both"),
    ],
)
def test_what_cannot_be_opened_is_named(folder, how, message):
    given = {name: text.replace("{}", str(folder)) for name, text in how.items()}
    with pytest.raises(InputError, match=message) as raised:
        open_table(**given)
    assert "secret" not in str(raised.value)
    assert not list(folder.glob("none*"))


def test_a_driver_that_is_not_installed_is_named(monkeypatch):
    def fail(address):
        raise ModuleNotFoundError("No module named 'psycopg'")

    monkeypatch.setattr(ibis, "connect", fail)
    for scheme in ("postgres", "postgresql"):
        with pytest.raises(InputError, match=r"driver is not installed; pip install 'ibis-framework\[postgres\]'"):
            open_table(database=f"{scheme}://u:secret@host/name", table="t")


def test_a_file_of_sqlite_opens_by_a_relative_and_by_a_whole_path(tmp_path, monkeypatch):
    con = ibis.sqlite.connect(tmp_path / "x.sqlite")
    con.raw_sql("CREATE TABLE t AS SELECT 1 AS a")
    con.con.commit()
    con.disconnect()
    monkeypatch.chdir(tmp_path)
    for address in ("sqlite:///x.sqlite", "sqlite://x.sqlite", f"sqlite:///{tmp_path}/x.sqlite"):
        assert open_table(database=address, table="t").count().execute() == 1
    with pytest.raises(InputError, match="did you mean 't'"):
        open_table(database=address, table="tt")


def test_commands_to_be_typed_next_hold_no_password():
    args = Namespace(
        database="postgres://me:secret@host/claims?sslpassword=secret&port=1", spark=None, parquet=None, table_name="t"
    )
    assert address_of(args) == ["--database", "postgres://me@host/claims?port=1", "--table", "t"]
    args.database = "duckdb:///claims.db?memory_limit=2GB&threads=2"
    assert address_of(args) == ["--database", args.database, "--table", "t"]


def test_a_suggested_name_works_as_it_is_given(tmp_path):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    con.raw_sql("CREATE SCHEMA s2")
    for name in ("main.here", "s2.only2", '"do.tted"'):
        con.raw_sql(f"CREATE TABLE {name} AS SELECT 1 AS a")
    con.disconnect()
    address = f"duckdb:///{tmp_path}/x.db"
    meant = {"only2": "s2.only2", "s3.only2": "s2.only2", "s2.here": "here", "onyl2": "s2.only2", "do.ted": "do.tted"}
    for typed, name in meant.items():
        with pytest.raises(InputError, match=re.escape(f"did you mean {name!r}?")):
            open_table(database=address, table=typed)
        assert open_table(database=address, table=name).count().execute() == 1
    with pytest.raises(InputError, match=r"it has do\.tted, here, s2\.only2\."):
        open_table(database=address, table="xyzzy")


def test_tables_and_parquet_files_open(folder):
    shutil.copy(folder / "rows.db", folder / "copy.db")  # one process opens a file with one set of settings
    assert open_table(database=f"duckdb:///{folder}/copy.db?threads=1", table="patients").count().execute() == 300
    assert open_table(database=f"{folder}/rows.db", table="main.patients").count().execute() == 300
    assert open_table(parquet=f"{folder}/part*.parquet").count().execute() == 600


def test_the_command_fits_predicts_and_monitors_in_the_database(folder, capsys, monkeypatch):
    monkeypatch.setenv("SOAR_PROGRAMS", "off")
    model, base = str(folder / "model.json"), ["--database", f"duckdb:///{folder}/rows.db", "--table", "patients"]
    fit = ["fit", *base, "--target", "label", "--out", model, "--rounds", "1", "--max-length", "1", "--grow-to", "1"]
    assert main([*fit, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["training"]["rows"] == 300 and said["queries"]["lines"] < 2000 and said["positive_rules"]
    assert main(["predict", model, *base, "--out-table", "judged", "--keep", "größe"]) == 0
    found = open_table(database=f"duckdb:///{folder}/rows.db", table="judged").to_pandas()
    assert list(found.columns) == ["größe", "prediction", "probability", "state", "rules"] and len(found) == 300
    assert main(["predict", model, *base, "--out-table", "judged"]) == 2
    assert "already; give another name, or add --overwrite" in capsys.readouterr().err
    assert main(["predict", model, *base, "--out-table", "patients", "--overwrite"]) == 2
    assert "is read here" in capsys.readouterr().err
    assert main(["predict", model, *base, "--out-table", ""]) == 2
    assert "--out-table needs a name" in capsys.readouterr().err
    assert main(["predict", model, "--parquet", f"{folder}/part*.parquet", "--out", f"{folder}/out.parquet"]) == 0
    assert len(pd.read_parquet(folder / "out.parquet")) == 600
    capsys.readouterr()
    assert main(["monitor", model, "--parquet", f"{folder}/part*.parquet"]) == 0
    assert capsys.readouterr().out.startswith("No drift")
    changed = planted(600, seed=3).assign(kinder=4, aktiv=True)
    changed.to_csv(folder / "changed.csv", index=False)
    assert main(["monitor", model, str(folder / "changed.csv"), "--plot", str(folder / "drift.png"), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["has_drifted"] and (folder / "drift.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "x.csv", "--database", "d", "--table", "t", "--target", "y"], "not both"),
        (["fit", "--database", "d", "--table", "t", "--target", "y", "--holdout", "0.2"], "--holdout needs rows"),
        (["fit", "--database", "d", "--table", "t"], "--target"),
        (["fit", "--database", "d", "--table", "t", "--target", "y", "--na", "?"], "a database has NULL"),
        (["fit", "x.csv", "--target", "y", "--weight", "w"], "--weight is for a table of a database"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("pattern", ["in.parquet", "./in.parquet", "*.parquet", "**/*.parquet"])
def test_predictions_never_replace_the_files_that_they_are_made_from(pattern, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    planted(20).to_parquet("in.parquet")
    (tmp_path / "link.parquet").symlink_to("in.parquet")
    before = (tmp_path / "in.parquet").read_bytes()
    for out in ("in.parquet", "link.parquet", str(tmp_path / "in.parquet")):
        assert main(["predict", "m.json", "--parquet", pattern, "--keep", "farbe", "--out", out]) == 2
        assert f"{out} is read by this command" in capsys.readouterr().err
    assert (tmp_path / "in.parquet").read_bytes() == before


def test_the_command_weighs_rows_by_a_column(tmp_path, capsys):
    con = ibis.duckdb.connect(tmp_path / "x.db")
    con.raw_sql("CREATE TABLE t AS SELECT i % 3 AS a, i % 3 = 1 AS y, i % 4 AS w FROM range(120) s(i)")
    con.disconnect()
    table = ["--database", f"duckdb:///{tmp_path}/x.db", "--table", "t", "--target", "y"]
    quick = ["--rounds", "1", "--grow-to", "1", "--out", str(tmp_path / "m.json"), "--json"]
    assert main(["fit", *table, "--weight", "w", *quick]) == 0
    assert json.loads(capsys.readouterr().out)["training"]["rows"] == sum(i % 4 for i in range(120))
    assert main(["fit", *table, "--weight", "ww", *quick]) == 2
    assert "Did you mean 'w'" in capsys.readouterr().err


def slow_view(con, name):
    """A view that takes minutes to read."""
    con.raw_sql(
        f"CREATE VIEW {name} AS SELECT a.range AS id, hash(a.range * b.range) % 3 AS a, a.range % 2 = 0 AS y "
        "FROM range(1000000) a, range(1000000) b"
    )


INTERRUPTED = """
import os, signal, sys, threading
from soar_jax.cli.main import main
from ibis.backends.duckdb import Backend

number = getattr(signal, sys.argv[1])
for name in ("execute", "to_parquet", "create_table"):  # the signal comes while the engine works
    def call(self, *args, _work=getattr(Backend, name), **how):
        threading.Timer(1.0, lambda: os.kill(os.getpid(), number)).start()
        return _work(self, *args, **how)
    setattr(Backend, name, call)
sys.exit(main(sys.argv[2:]))
"""


SLOW = ["--database", "duckdb:///rows.db?threads=1", "--table", "slow"]  # more threads of DuckDB look up seldom


def run_and_send(name, folder, *command):
    """Run a command that is sent a signal once the engine works."""
    given = [sys.executable, "-c", INTERRUPTED, name, *map(str, command)]
    try:
        return subprocess.run(given, cwd=folder, check=False, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:  # seen with DuckDB alone, too, on a machine with much else to do
        pytest.skip("the engine did not look up from its work within a minute")


@pytest.fixture
def slow_folder(tmp_path):
    folder = tmp_path
    con = ibis.duckdb.connect(folder / "rows.db")
    slow_view(con, "slow")
    con.disconnect()
    frame = pd.DataFrame({"a": np.arange(90) % 3})
    SOARClassifier(n_rounds=1, grow_to=1).fit(frame, frame["a"] == 1).save(folder / "m.json")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "--target", "y", "--out", "x.json"),
        ("predict", "m.json", "--out-table", "judged"),
        ("predict", "m.json", "--out", "judged.parquet"),
    ],
)
def test_an_interrupt_while_the_engine_works_ends_the_command_as_any_interrupt(slow_folder, command):
    name, *rest = command
    run = run_and_send("SIGINT", slow_folder, name, *rest, *SLOW)
    assert run.returncode == 130 and "interrupted" in run.stderr and "went away" not in run.stderr
    assert sorted(path.name for path in slow_folder.iterdir()) == ["m.json", "rows.db"]
    con = ibis.duckdb.connect(slow_folder / "rows.db")
    assert con.raw_sql("SELECT table_name FROM information_schema.tables").fetchall() == [("slow",)]
    con.disconnect()


@pytest.mark.parametrize("out", [("--out-table", "judged"), ("--out", "judged.parquet")])
def test_a_command_that_is_told_to_end_takes_what_it_began_to_write_away(slow_folder, out):
    run = run_and_send("SIGTERM", slow_folder, "predict", "m.json", *out, *SLOW)
    assert run.returncode == -signal.SIGTERM
    assert sorted(path.name for path in slow_folder.iterdir()) == ["m.json", "rows.db"]
