"""Class counts of all patterns within some rows, by one pass over packed bits: the work that everything else waits for.

On a CPU a loop over words with a running count per pattern vectorises best. On other devices every turn of a loop with
traced bounds would be a kernel, a copy to the host and a wait: there all words are taken at once, which XLA fuses into
one reduction. Which of the two is compiled depends on the platform alone; the numbers are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from soar_jax.score.devices import sum_over_devices
from soar_jax.score.problem import Problem


def count_all(problem: Problem, side: jax.Array, masks: jax.Array) -> jax.Array:
    """Packed class counts of every pattern of a side within each mask: (num_masks, num_slots)."""

    def patterns_of(word: jax.Array) -> jax.Array:
        # gathering the side first would copy the pool
        start = (side, word, jnp.zeros((), jnp.int32))
        return jax.lax.dynamic_slice(problem.bits, start, (1, 1, problem.num_slots))[0]

    def by_words(masks: jax.Array) -> jax.Array:
        return count_by_words(problem, patterns_of, problem.num_slots, masks)

    def at_once(masks: jax.Array) -> jax.Array:
        return count_at_once(problem, problem.bits[side], masks)

    return sum_over_devices(jax.lax.platform_dependent(masks, cpu=by_words, default=at_once))


def count_page(problem: Problem, page: jax.Array, masks: jax.Array) -> jax.Array:
    """Packed class counts of every pattern of a page, (num_words, num_slots), within each mask."""

    def by_words(masks: jax.Array) -> jax.Array:
        return count_by_words(problem, lambda word: jax.lax.dynamic_slice_in_dim(page, word, 1), page.shape[1], masks)

    def at_once(masks: jax.Array) -> jax.Array:
        return count_at_once(problem, page, masks)

    return jax.lax.platform_dependent(masks, cpu=by_words, default=at_once)


def count_at_once(problem: Problem, patterns: jax.Array, masks: jax.Array) -> jax.Array:
    """Count by one reduction over all words of the patterns, (num_words, num_slots)."""
    # else what makes the masks is computed anew for every pattern
    masks = jax.lax.optimization_barrier(masks)  # type: ignore[no-untyped-call]
    found = jax.lax.population_count(patterns[None] & masks[:, :, None]) << problem.shift[None, :, None]
    return found.astype(jnp.int64).sum(axis=1)


def count_by_words(
    problem: Problem, patterns_of: Callable[[jax.Array], jax.Array], num_slots: int, masks: jax.Array
) -> jax.Array:
    """Count by a loop over words, given each word of the patterns, (1, num_slots).

    Words are scanned, and each adds its popcounts to a running number per pattern, a contiguous loop that vectorises
    over patterns. Words of equal weight lie together, so that shifts and 64-bit sums are needed once per stretch of
    words, not per word.
    """
    starts, shifts = problem.stretch_start[0], problem.stretch_shift[0]

    def add_stretch(i: jax.Array, total: jax.Array) -> jax.Array:
        def add_word(word: jax.Array, count: jax.Array) -> jax.Array:
            return count + jax.lax.population_count(patterns_of(word) & masks[:, word, None]).astype(jnp.uint32)

        zeros = jnp.zeros((masks.shape[0], num_slots), jnp.uint32)
        count = jax.lax.fori_loop(starts[i], starts[i + 1], add_word, zeros)
        return total + (count.astype(jnp.int64) << shifts[i])

    zeros = jnp.zeros((masks.shape[0], num_slots), jnp.int64)
    return jax.lax.fori_loop(0, shifts.shape[0], add_stretch, zeros)
