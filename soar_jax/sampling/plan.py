"""Which kernels there are, and how many steps of each make a round."""

from __future__ import annotations

from soar_jax.sampling.kernel import Kernel
from soar_jax.sampling.kernels.exchange import EXCHANGE
from soar_jax.sampling.kernels.flip import FLIP
from soar_jax.sampling.kernels.heal import HEAL
from soar_jax.sampling.kernels.informed import INFORMED
from soar_jax.sampling.kernels.jump import JUMP
from soar_jax.sampling.kernels.replace import REPLACE

KERNELS = (FLIP, EXCHANGE, HEAL, INFORMED, JUMP, REPLACE)
"""Every kernel; the tests of detailed balance and enumeration go through this list."""

Plan = tuple[tuple[Kernel, int], ...]
"""Kernels and their steps in one round, in order; part of the compiled program."""

DEFAULT_PLAN: Plan = ((FLIP, 200), (EXCHANGE, 20), (HEAL, 8), (JUMP, 4), (REPLACE, 3))
