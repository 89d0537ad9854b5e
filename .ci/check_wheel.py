"""Check what is in a wheel (and sdist): `python .ci/check_wheel.py FOLDER`, in a checkout.

The wheel must have every tracked file of the package, the licence, and nothing else. Standard library only.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

# named one by one, so that a change of what is tracked does not hide a loss
NEEDED = (
    "soar_jax/py.typed",
    "soar_jax/datasets/README.md",  # sources and licences of the data
    "soar_jax/datasets/adult.csv.xz",
    "soar_jax/datasets/car.csv.xz",
    "soar_jax/export/model.schema.json",
    "soar_jax/posterior/committee.schema.json",
    "soar_jax/report/assets/page.css",
    "soar_jax/report/templates/page.html.j2",
)


def tracked_files(folder: Path) -> set[str]:
    """Files of the package in the checkout that git knows, or all of them where there is no git."""
    run = subprocess.run(["git", "ls-files", "soar_jax"], cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode == 0 and run.stdout:
        return set(run.stdout.split())
    files = (path.relative_to(folder) for path in (folder / "soar_jax").rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


def problems_of_wheel(path: Path, tracked: set[str]) -> list[str]:
    """Sentences about what a wheel lacks or has too much."""
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        notes = [name for name in names if ".dist-info/" in name]
        metadata = archive.read(next(name for name in notes if name.endswith("/METADATA"))).decode()
        entries = archive.read(next(name for name in notes if name.endswith("/entry_points.txt"))).decode()
    found = [f"{name} is not in the wheel" for name in sorted((tracked | set(NEEDED)) - names)]
    found += [f"{name} should not be in the wheel" for name in sorted(names - tracked - set(notes))]
    if not any(name.endswith("/licenses/LICENSE") for name in notes):
        found.append("the licence is not in the wheel")
    if "License-Expression: Apache-2.0" not in metadata:
        found.append("the metadata do not name the licence")
    if "soar = soar_jax.cli.main:main" not in entries:
        found.append("the wheel does not install the command soar")
    return found


def problems_of_sdist(path: Path, tracked: set[str]) -> list[str]:
    """Sentences about what a source archive lacks."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = tracked | {"LICENSE", "README.md", "pyproject.toml"}
    return [f"{name} is not in the source archive" for name in sorted(wanted - names)]


def main() -> int:
    """Print what is wrong with each file of a folder."""
    top = Path(__file__).resolve().parents[1]
    tracked, folder = tracked_files(top), Path(sys.argv[1])
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    found = [] if wheels else [f"there is no wheel in {folder}"]
    for path in wheels:
        found += [f"{path.name}: {problem}" for problem in problems_of_wheel(path, tracked)]
    for path in sources:
        found += [f"{path.name}: {problem}" for problem in problems_of_sdist(path, tracked)]
    good = f"{len(wheels)} wheel, {len(sources)} source archive: {len(tracked)} files of the package in each\n"
    sys.stdout.write("".join(f"{problem}\n" for problem in found) or good)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
