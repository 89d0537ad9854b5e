"""``soar doctor`` sees versions, devices and kept programs, and fails on nothing."""

import json

import jax

import soar_jax
from soar_jax.cli import doctor
from soar_jax.cli.main import main
from soar_jax.programs import clear_programs, keep_programs, kept_programs


def test_the_doctor_says_versions_devices_and_programs(capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["soar_jax"] == soar_jax.__version__ and found["packages"]["jax"] == jax.__version__
    assert len(found["devices"]["devices"]) == len(jax.devices())
    assert found["cache"] == {"folder": None, "programs": 0, "bytes": 0}  # the tests keep none
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "none are kept" in shown and "Everything that soar needs is there" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_missing_packages_and_broken_drivers_are_said_not_raised(capsys, monkeypatch):
    def broken():
        raise RuntimeError("no driver")

    monkeypatch.setattr(jax, "devices", broken)
    monkeypatch.setattr(doctor, "PACKAGES", ("jax", "no-such-package"))
    monkeypatch.setattr(doctor, "EXTRAS", {"no-such-extra": "pictures: pip install it"})
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "none: RuntimeError: no driver" in shown and "MISSING: no-such-package" in shown
    assert "not there; pictures" in shown


def test_clearing_takes_kept_programs_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOAR_PROGRAMS", str(tmp_path))
    for name in ("0123456789abcdef", "photos"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jit_f-1-cache").write_bytes(b"x" * 1000)
        (tmp_path / name / "jit_f-1-atime").write_bytes(b"x" * 8)
    (tmp_path / "0123456789abcdef" / "mine.txt").write_text("keep")
    (tmp_path / "thesis.txt").write_text("keep")
    assert kept_programs() == (tmp_path, 1, 1008)
    assert main(["doctor", "--clear-cache", "--json"]) == 0
    cache = json.loads(capsys.readouterr().out)["cache"]
    assert (cache["programs"], cache["cleared_programs"], cache["cleared_bytes"]) == (0, 1, 1008)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["0123456789abcdef/mine.txt", "photos/jit_f-1-atime", "photos/jit_f-1-cache", "thesis.txt"]
    assert clear_programs().num_programs == 0


def test_the_folder_seen_is_the_folder_used(tmp_path, monkeypatch):
    code = "from soar_jax.programs import keep_programs, kept_programs; import sys\n"
    code += "place = keep_programs(sys.argv[1]); (place / 'f-cache').write_bytes(b'x' * 10)\n"
    import os
    import subprocess
    import sys

    environment = {**os.environ, "SOAR_PROGRAMS": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=environment)
    monkeypatch.setenv("SOAR_PROGRAMS", str(tmp_path))
    assert kept_programs() == (tmp_path, 1, 10)
    assert callable(keep_programs)
