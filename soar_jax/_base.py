"""Type aliases, the error users see, and the float64 boundary."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from numbers import Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

P = ParamSpec("P")
R = TypeVar("R")

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
WordArray = npt.NDArray[np.uint64]
Plain = str | int | float | bool
"""What a literal's value may be: JSON can hold it unchanged."""


Leaf = Any
"""An array: of JAX on the device, of NumPy on the host."""


class InputError(ValueError):
    """Something the user gave cannot be used; the message says what, why and what to do."""


class NothingFoundWarning(UserWarning):
    """No rule is worth its price: the fit found nothing that beats the base rate."""


class BetterPairWarning(UserWarning):
    """Posterior draws met a pair that scores better than the fitted one."""


class DataWarning(UserWarning):
    """Something in a table is not as it should be; the parent of the warnings about data."""


class UnseenLevelsWarning(DataWarning):
    """Most values of a column that rules read are levels that the model never saw."""


class UnreadableValuesWarning(DataWarning):
    """Values that cannot be read as their column's kind are treated as missing."""


class LevelOrderWarning(DataWarning):
    """A table orders the levels of a category otherwise than the table of the fit; the order of the fit is used."""


class IdentifierWarning(DataWarning):
    """A column has another value in every row: it names rows, and says nothing of later ones."""


class LeakWarning(DataWarning):
    """One column alone tells the label: it may have been written down after the outcome was known."""


class EditedModelWarning(UserWarning):
    """A model file was changed by hand since it was saved."""


_jax: dict[str, bool] = {"has_run": False, "is_forked": False}


def _note_fork() -> None:
    """Note, in a forked child, that JAX had run in its parent: its threads are not here, and calls would hang."""
    backends = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    _jax["is_forked"] = _jax["is_forked"] or _jax["has_run"] or bool(backends)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def check_not_forked() -> None:
    """Raise at once where JAX would hang for ever."""
    if _jax["is_forked"]:
        raise InputError(
            "This process was forked after JAX had run in its parent, and JAX cannot go on in it. Start workers by "
            "multiprocessing's 'spawn' or 'forkserver', or by joblib, to fit or sample in them; predicting works."
        )
    _jax["has_run"] = True


def in_float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run ``function`` with 64-bit JAX types, whatever the caller's global flag is.

    Log-gamma differences decide acceptance and float32 is off by 0.07 nat at Adult's size. The
    context is per thread and local, so importing this package never changes a user's own JAX code.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        check_not_forked()
        import jax

        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapper


NUM_PLANES = 6
MAX_RULES = (1 << NUM_PLANES) - 1
"""Rules per side at most: how many of them cover a row has `NUM_PLANES` binary digits (`soar_jax.score.pair`)."""


def round_up_to_bucket(size: int, minimum: int = 8) -> int:
    """Pad a dimension so that tables of like size share one compilation.

    Buckets are an eighth of a power of two apart: at most 12.5 % of a padded array is padding.
    """
    size = max(size, minimum)
    step = max(minimum, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step


def slots_for(num_patterns: int) -> int:
    """Places for that many candidates, padded so that tables of like size share one compilation."""
    return round_up_to_bucket(num_patterns, 64)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {options}, got {value!r}.")


def check_seconds(name: str, value: Any) -> None:
    """Raise unless ``value`` is a positive number of seconds, or None for no limit."""
    if value is not None and not (isinstance(value, Real) and float(value) > 0):
        raise InputError(f"{name} must be a positive number of seconds or None, got {value!r}.")


def check_whole(name: str, value: Any, minimum: int) -> None:
    """Raise unless ``value`` is an integer of at least ``minimum``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < minimum:
        raise InputError(f"{name} must be a whole number of at least {minimum}, got {value!r}.")


def draw_seed(random_state: Any) -> int:
    """Draw one seed as scikit-learn reads ``random_state``."""
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise InputError(
            "random_state must be a whole number from 0 to 4294967295, a numpy.random.RandomState or None, got "
            f"{random_state!r}."
        ) from None


def number_of(text: str) -> float | int:
    """Read a whole number as int, any other as float."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)
