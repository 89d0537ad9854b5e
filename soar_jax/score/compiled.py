"""Compiled programs, so many and no more: a process that fits tables of ever new shapes must not fill up with them.

Each program takes memory maps of the process, of which Linux allows 65,530: a descent about 130, a page of prices 40, a
block of sampling 1,200. JAX keeps them for ever. Here each function says how many of its programs may be kept; before a
search or a sampling run those with more are emptied. Users' own programs are never touched.
"""

from __future__ import annotations

from typing import Any, TypeVar

F = TypeVar("F")

_bounded: list[tuple[Any, int]] = []


def at_most(limit: int, program: F) -> F:
    """Keep no more than ``limit`` shapes of a function that `jax.jit` made."""
    _bounded.append((program, limit))
    return program


def num_kept() -> int:
    """Count the programs that are kept now."""
    return sum(program._cache_size() for program, _ in _bounded)


def drop_surplus() -> None:
    """Empty the functions that have too many programs: what is needed again is compiled again."""
    for program, limit in _bounded:
        if program._cache_size() > limit:
            program.clear_cache()
