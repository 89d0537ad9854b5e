"""What users install: the wheel has the whole package, its licence, its data with attribution, and nothing else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The folder of a wheel built from a copy of the sources; a build leaves files beside them."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(TOP / "soar_jax", folder / "source" / "soar_jax", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(TOP / name, folder / "source")
    subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=folder / "source", capture_output=True, text=True, check=True
    )
    return folder


def check(folder):
    return subprocess.run(
        [sys.executable, str(TOP / ".ci" / "check_wheel.py"), str(folder)], capture_output=True, text=True, check=False
    )


def test_the_wheel_has_the_package_its_licence_and_data_with_attribution_and_nothing_else(wheels):
    found = check(wheels)
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_wheel_with_a_file_too_many_or_too_few_is_found_out(wheels, tmp_path):
    import zipfile

    (whole,) = wheels.glob("*.whl")
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / whole.name, "w") as new:
        for name in old.namelist():
            if not name.endswith(("licenses/LICENSE", "datasets/README.md")):
                new.writestr(name, old.read(name))
        new.writestr("tests/secret.py", "")
    found = check(tmp_path)
    assert found.returncode == 1
    for problem in ("README.md is not in", "tests/secret.py should not be", "the licence is not in"):
        assert problem in found.stdout
