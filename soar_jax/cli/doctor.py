"""``soar doctor``: versions, devices, memory, kept programs, and what is missing; it never fails on a missing piece."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from soar_jax import __version__
from soar_jax.cli.files import stage
from soar_jax.cli.parsers import add_json, new_command

PACKAGES = ("jax", "jaxlib", "numpyro", "numpy", "pandas", "scikit-learn", "scipy", "arviz", "mlxtend", "rich")
EXTRAS = {
    "pyarrow": "Parquet tables: pip install 'soar-jax[parquet]'",
    "matplotlib": "pictures (soar_jax.plots): pip install matplotlib",
    "duckdb": "running exported SQL here: pip install duckdb",
}
_MEGABYTE = 1 << 20


def add_parser(commands: Any) -> None:
    """Describe the command."""
    doctor = new_command(
        commands,
        "doctor",
        "show versions, devices, memory and kept programs, and what is missing",
        "soar doctor\nsoar doctor --clear-cache",
    )
    output = doctor.add_argument_group("output")
    output.add_argument("--clear-cache", action="store_true", help="delete the compiled programs that soar keeps")
    add_json(output)
    doctor.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Look around and print."""
    from soar_jax.programs import clear_programs

    cleared = clear_programs() if args.clear_cache else None
    with stage(args, "Asking JAX for its devices"):
        found = examine()
    if cleared is not None:
        found["cache"]["cleared_programs"], found["cache"]["cleared_bytes"] = cleared.num_programs, cleared.num_bytes
    if args.json:
        print(json.dumps(found))
    else:
        _show(found)
    return 0


def examine() -> dict[str, Any]:
    """Look at everything that a report of a problem should say."""
    from soar_jax.programs import kept_programs

    kept = kept_programs()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "soar_jax": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": cores,
        "memory": _memory(),
        "packages": {name: _version(name) for name in PACKAGES},
        "extras": {name: _version(name) for name in EXTRAS},
        "devices": _devices(),
        "cache": {
            "folder": None if kept.folder is None else str(kept.folder),
            "programs": kept.num_programs,
            "bytes": kept.num_bytes,
        },
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown" if find_spec(name.replace("-", "_")) else None


def _devices() -> dict[str, Any]:
    """Ask JAX; whatever it raises is part of the answer."""
    try:
        import jax

        devices = [f"{one.platform}:{one.id} {one.device_kind}".strip() for one in jax.devices()]
        return {"backend": jax.default_backend(), "devices": devices, "problem": None}
    except Exception as error:  # a broken driver raises anything
        return {"backend": None, "devices": [], "problem": f"{type(error).__name__}: {' '.join(str(error).split())}"}


def _memory() -> dict[str, int | None]:
    """Bytes in the machine and bytes free, as far as the system says."""
    found: dict[str, int | None] = {"total": None, "available": None}
    names = {"MemTotal": "total", "MemAvailable": "available"}
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                name, _, rest = line.partition(":")
                if name in names:
                    found[names[name]] = int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found["total"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return found


def _show(found: dict[str, Any]) -> None:
    from soar_jax.cli import screen

    memory, cache, devices = found["memory"], found["cache"], found["devices"]
    parts = [
        screen.heading("Machine"),
        screen.table(
            [("", "left"), ("", "wrap")],
            [
                ("soar-jax", found["soar_jax"]),
                ("Python", f"{found['python']} ({sys.executable})"),
                ("system", found["system"]),
                ("cores", str(found["cores"])),
                ("memory", f"{_size(memory['total'])}, {_size(memory['available'])} free"),
                ("devices", ", ".join(devices["devices"]) or f"none: {devices['problem']}"),
            ],
        ),
        screen.heading("Packages"),
        screen.table([("", "left"), ("", "wrap")], [(n, v or "MISSING") for n, v in found["packages"].items()]),
        screen.heading("Optional"),
        screen.table(
            [("", "left"), ("", "wrap")], [(n, v or f"not there; {EXTRAS[n]}") for n, v in found["extras"].items()]
        ),
        screen.heading("Compiled programs, kept so that the next command starts at once"),
    ]
    if cache["folder"] is None:
        parts.append(screen.paragraph("none are kept: SOAR_PROGRAMS=off."))
    else:
        text = f"{screen.plural(cache['programs'], 'program')}, {cache['bytes'] / _MEGABYTE:,.1f} MB, in "
        parts.append(screen.paragraph(text + cache["folder"]))
        if "cleared_programs" in cache:
            text = f"cleared {screen.plural(cache['cleared_programs'], 'program')}, "
            parts.append(screen.paragraph(text + f"{cache['cleared_bytes'] / _MEGABYTE:,.1f} MB."))
        else:
            parts.append(screen.paragraph("soar doctor --clear-cache deletes them; SOAR_PROGRAMS=off keeps none."))
    missing = [name for name, found_version in found["packages"].items() if found_version is None]
    said = f"MISSING: {', '.join(missing)}; pip install soar-jax" if missing else "Everything that soar needs is there."
    parts += [screen.heading(said)]
    screen.show(*parts)


def _size(num_bytes: int | None) -> str:
    return "unknown" if num_bytes is None else f"{num_bytes / (1 << 30):.1f} GB"
