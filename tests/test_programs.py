"""Compiled programs are kept between processes, and nothing else is touched."""

import os
import subprocess
import sys
import tempfile

from soar_jax import keep_programs


def run(folder):
    code = "import sys; from soar_jax.cli.main import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["fit", "--dataset", "synthetic", "--rounds", "1", "--max-length", "1"]
    environment = {**os.environ, "SOAR_PROGRAMS": str(folder)}
    with tempfile.TemporaryDirectory() as there:  # the command saves its model where it runs
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, env=environment, cwd=there, check=True, capture_output=True, text=True)


def test_a_second_command_compiles_nothing_anew_and_prints_the_same(tmp_path):
    first = run(tmp_path)
    kept = {path.name for path in tmp_path.rglob("*-cache")}
    assert kept
    second = run(tmp_path)
    assert {path.name for path in tmp_path.rglob("*-cache")} == kept
    assert second.stdout == first.stdout


def test_a_folder_that_jax_was_told_of_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "told"))
    assert keep_programs() == tmp_path / "told"
    assert not (tmp_path / "told").exists()


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("")
    assert keep_programs(tmp_path / "file") is None


def test_the_command_can_be_told_to_keep_nothing(tmp_path):
    (tmp_path / "cache").mkdir()
    environment = {**os.environ, "SOAR_PROGRAMS": "off", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    code = "from soar_jax.programs import keep_programs_of_command as keep; keep()"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert not any((tmp_path / "cache").iterdir())
