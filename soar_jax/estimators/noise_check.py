"""How the rules of a fit compare with what the same search finds when the labels mean nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soar_jax._base import FloatArray, IntArray
from soar_jax._progress import Progress
from soar_jax.palette import LIGHT


@dataclass(frozen=True)
class NoiseCheck:
    """A fit beside fits to permuted labels.

    Attributes
    ----------
    gain : float
        By how many nats the rows favour the fitted rules over none.
    num_rules : int
    noise_gains : (repeats,) float64
        The same for permuted labels.
    noise_rules : (repeats,) int64
        Rules found in them.
    """

    gain: float
    num_rules: int
    noise_gains: FloatArray
    noise_rules: IntArray

    @property
    def p_value(self) -> float:
        """Chance that noise gives as much: (1 + fits to noise with as large a gain) / (1 + fits to noise)."""
        return float((1 + (self.noise_gains >= self.gain).sum()) / (1 + len(self.noise_gains)))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "gain": self.gain,
            "num_rules": self.num_rules,
            "p_value": self.p_value,
            "noise_gains": self.noise_gains.tolist(),
            "noise_rules": self.noise_rules.tolist(),
        }

    def __str__(self) -> str:
        """Say what was found."""
        with_rules = int((self.noise_rules > 0).sum())
        repeats = len(self.noise_gains)
        if not self.num_rules:
            return "No rule was found, so there is nothing to compare with noise."
        return (
            f"{self.num_rules} rules, which the rows favour over none by {self.gain:.1f} nats. With the labels "
            f"permuted {repeats} times, {with_rules} fits found any rule and the largest gain was "
            f"{self.noise_gains.max(initial=0.0):.1f} nats: p = {self.p_value:.3f}."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the gains of noise as a histogram and that of the fit as a line."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(6, 3), layout="constrained")[1]
        ax.hist(
            self.noise_gains, bins=20, color=LIGHT["line"], label=f"{len(self.noise_gains)} permutations of the labels"
        )
        ax.axvline(self.gain, color=LIGHT["yes"], linewidth=2, label="this fit")
        ax.set_xlabel("gain over no rules, in nats")
        ax.set_ylabel("fits")
        ax.set_title(f"p = {self.p_value:.3f}", fontsize=10, loc="left")
        ax.legend(frameon=False)
        return ax


def check_noise(
    gain: float,
    num_rules: int,
    refit: Any,
    labels: np.ndarray,
    repeats: int,
    seed: int,
    progress: Callable[[Progress], None] | None = None,
) -> NoiseCheck:
    """Refit on permuted labels; ``refit(labels)`` gives the gain and the number of rules."""
    generator = np.random.default_rng(seed)
    found: list[tuple[float, int]] = []
    for i in range(repeats):
        found.append(refit(labels[generator.permutation(len(labels))]))
        if progress is not None:
            largest = max(one[0] for one in found)
            progress(Progress("permuted", i + 1, repeats, note=f"largest gain so far {largest:.1f}"))
    gains = np.array([one[0] for one in found], dtype=np.float64)
    return NoiseCheck(gain, num_rules, gains, np.array([one[1] for one in found], dtype=np.int64))
