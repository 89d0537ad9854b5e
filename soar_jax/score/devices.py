"""Rows spread over several devices: the same kernels, with counts summed across the mesh.

Inside `shard_rows` each device holds some words of every pattern's coverage and of every row set. Everything else,
from memberships to scores, is computed on every device alike, so that only counts travel. Counts are whole numbers:
results do not depend on how many devices there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from soar_jax._base import InputError

ROWS = "rows"
_is_sharded: ContextVar[bool] = ContextVar("is_sharded", default=False)
_mesh: ContextVar[Mesh | None] = ContextVar("mesh", default=None)


def spec(*axes: str | None) -> Any:
    """Say along which axis of an array the rows lie, if any."""
    return PartitionSpec(*axes)  # type: ignore[no-untyped-call]


def row_mesh(devices: Any = None) -> Mesh:
    """Make a mesh over the given devices, or all there are: one axis, along the rows.

    Parameters
    ----------
    devices : sequence of jax.Device, optional
        All of ``jax.devices()`` when not given; after ``jax.distributed.initialize`` those of all processes.
    """
    return Mesh(np.asarray(jax.devices() if devices is None else devices), (ROWS,))


@contextmanager
def use_mesh(mesh: Mesh) -> Iterator[None]:
    """Fit with rows spread over a mesh made by `row_mesh`.

    Every process of a `jax.distributed` run must fit the same table with the same settings. Counts are whole numbers,
    so that the pair is that of a single device, to the bit.

    Parameters
    ----------
    mesh : jax.sharding.Mesh
        Made by `row_mesh`.
    """
    if mesh.axis_names != (ROWS,):
        raise InputError(f"The mesh must have the one axis {ROWS!r}, got {mesh.axis_names}; make it by row_mesh().")
    token = _mesh.set(mesh)
    try:
        yield
    finally:
        _mesh.reset(token)


def current_mesh() -> Mesh | None:
    """Return the mesh in use, if any."""
    return _mesh.get()


def sum_over_devices(counts: jax.Array) -> jax.Array:
    """Add up counts of the rows on each device; nothing to do on a single one."""
    return jax.lax.psum(counts, ROWS) if _is_sharded.get() else counts  # type: ignore[no-untyped-call]


def shard_rows(function: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    """Compile a function of row-sharded arrays; inside, `sum_over_devices` sums across the mesh."""

    def on_one_device(*args: Any) -> Any:
        token = _is_sharded.set(True)
        try:
            return function(*args)
        finally:
            _is_sharded.reset(token)

    return jax.jit(jax.shard_map(on_one_device, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False))


def place(tree: Any, specs: Any, mesh: Mesh) -> Any:
    """Put host arrays, equal in every process, on the mesh."""

    def put(leaf: Any, spec: PartitionSpec) -> jax.Array:
        host = np.asarray(leaf)
        return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda index: host[index])

    return jax.tree.map(put, tree, specs)
