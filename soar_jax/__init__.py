"""SOAR: Simultaneous Or-of-And Rules.

Two small sets of if-then rules, one for each class, with a Bayesian score. Public names are loaded
on first use, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "SOARClassifier": "estimators",
    "SOARKernel": "numpyro_kernel",
    "soar_model": "model",
    "BOAClassifier": "estimators",
    "ExpectedRules": "priors",
    "InputError": "_base",
    "Literal": "items",
    "Opinion": "priors",
    "Rule": "rules",
    "RulePrior": "priors",
    "RuleSet": "rules",
    "taxonomy_cross": "taxonomy",
}
__all__ = [
    "BOAClassifier",
    "ExpectedRules",
    "InputError",
    "Literal",
    "Opinion",
    "Rule",
    "RulePrior",
    "RuleSet",
    "SOARClassifier",
    "SOARKernel",
    "datasets",
    "soar_model",
    "taxonomy_cross",
]

if TYPE_CHECKING:
    from . import datasets as datasets
    from ._base import InputError as InputError
    from .estimators import BOAClassifier as BOAClassifier
    from .estimators import SOARClassifier as SOARClassifier
    from .items import Literal as Literal
    from .model import soar_model as soar_model
    from .numpyro_kernel import SOARKernel as SOARKernel
    from .priors import ExpectedRules as ExpectedRules
    from .priors import Opinion as Opinion
    from .priors import RulePrior as RulePrior
    from .rules import Rule as Rule
    from .rules import RuleSet as RuleSet
    from .taxonomy import taxonomy_cross as taxonomy_cross


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
