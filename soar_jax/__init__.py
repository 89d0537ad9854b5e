"""SOAR: Simultaneous Or-of-And Rules.

Two small sets of if-then rules, one for each class, with a Bayesian score. Public names are loaded
on first use, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. A module of the same name stands for the module itself.
_WHERE = {
    "Audit": "control.audit",
    "BOAClassifier": "estimators.boa",
    "BetterPairWarning": "_base",
    "Certificate": "search.certificate",
    "Committee": "posterior.committee",
    "Contrasts": "reasons.contrasts",
    "Costs": "control.costs",
    "DataWarning": "_base",
    "Diagnosis": "posterior.diagnosis",
    "EditedModelWarning": "_base",
    "ErrorRatio": "score.priors",
    "ExpectedRules": "score.rule_priors",
    "Explanation": "reasons.explanation",
    "Explanations": "reasons.explain",
    "IdentifierWarning": "_base",
    "InputError": "_base",
    "LeakWarning": "_base",
    "LevelOrderWarning": "_base",
    "Literal": "data.literals",
    "Loss": "control.choose",
    "NoiseCheck": "estimators.noise_check",
    "NothingFoundWarning": "_base",
    "Opinion": "score.priors",
    "Posterior": "posterior.posterior",
    "Precision": "score.priors",
    "Rule": "rules",
    "RulePrior": "score.rule_priors",
    "RuleSet": "rules",
    "SOARClassifier": "estimators.soar",
    "SOARKernel": "sampling.numpyro_kernel",
    "SearchedRules": "score.rule_priors",
    "TableCheck": "data.check",
    "UnreadableValuesWarning": "_base",
    "UnseenLevelsWarning": "_base",
    "UntrustedPosteriorWarning": "posterior.diagnosis",
    "datasets": "datasets",
    "keep_programs": "programs",
    "metrics": "posterior.metrics",
    "plots": "posterior.plots",
    "row_mesh": "score.devices",
    "soar_model": "score.numpyro_model",
    "taxonomy_cross": "states",
    "use_mesh": "score.devices",
}
__all__ = [
    "Audit",
    "BOAClassifier",
    "BetterPairWarning",
    "Certificate",
    "Committee",
    "Contrasts",
    "Costs",
    "DataWarning",
    "Diagnosis",
    "EditedModelWarning",
    "ErrorRatio",
    "ExpectedRules",
    "Explanation",
    "Explanations",
    "IdentifierWarning",
    "InputError",
    "LeakWarning",
    "LevelOrderWarning",
    "Literal",
    "Loss",
    "NoiseCheck",
    "NothingFoundWarning",
    "Opinion",
    "Posterior",
    "Precision",
    "Rule",
    "RulePrior",
    "RuleSet",
    "SOARClassifier",
    "SOARKernel",
    "SearchedRules",
    "TableCheck",
    "UnreadableValuesWarning",
    "UnseenLevelsWarning",
    "UntrustedPosteriorWarning",
    "datasets",
    "keep_programs",
    "metrics",
    "plots",
    "row_mesh",
    "soar_model",
    "taxonomy_cross",
    "use_mesh",
]

if TYPE_CHECKING:
    from soar_jax import datasets as datasets
    from soar_jax._base import BetterPairWarning as BetterPairWarning
    from soar_jax._base import DataWarning as DataWarning
    from soar_jax._base import EditedModelWarning as EditedModelWarning
    from soar_jax._base import IdentifierWarning as IdentifierWarning
    from soar_jax._base import InputError as InputError
    from soar_jax._base import LeakWarning as LeakWarning
    from soar_jax._base import LevelOrderWarning as LevelOrderWarning
    from soar_jax._base import NothingFoundWarning as NothingFoundWarning
    from soar_jax._base import UnreadableValuesWarning as UnreadableValuesWarning
    from soar_jax._base import UnseenLevelsWarning as UnseenLevelsWarning
    from soar_jax.control.audit import Audit as Audit
    from soar_jax.control.choose import Loss as Loss
    from soar_jax.control.costs import Costs as Costs
    from soar_jax.data.check import TableCheck as TableCheck
    from soar_jax.data.literals import Literal as Literal
    from soar_jax.estimators.boa import BOAClassifier as BOAClassifier
    from soar_jax.estimators.noise_check import NoiseCheck as NoiseCheck
    from soar_jax.estimators.soar import SOARClassifier as SOARClassifier
    from soar_jax.posterior import metrics as metrics
    from soar_jax.posterior import plots as plots
    from soar_jax.posterior.committee import Committee as Committee
    from soar_jax.posterior.diagnosis import Diagnosis as Diagnosis
    from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning as UntrustedPosteriorWarning
    from soar_jax.posterior.posterior import Posterior as Posterior
    from soar_jax.programs import keep_programs as keep_programs
    from soar_jax.reasons.contrasts import Contrasts as Contrasts
    from soar_jax.reasons.explain import Explanations as Explanations
    from soar_jax.reasons.explanation import Explanation as Explanation
    from soar_jax.rules import Rule as Rule
    from soar_jax.rules import RuleSet as RuleSet
    from soar_jax.sampling.numpyro_kernel import SOARKernel as SOARKernel
    from soar_jax.score.devices import row_mesh as row_mesh
    from soar_jax.score.devices import use_mesh as use_mesh
    from soar_jax.score.numpyro_model import soar_model as soar_model
    from soar_jax.score.priors import ErrorRatio as ErrorRatio
    from soar_jax.score.priors import Opinion as Opinion
    from soar_jax.score.priors import Precision as Precision
    from soar_jax.score.rule_priors import ExpectedRules as ExpectedRules
    from soar_jax.score.rule_priors import RulePrior as RulePrior
    from soar_jax.score.rule_priors import SearchedRules as SearchedRules
    from soar_jax.search.certificate import Certificate as Certificate
    from soar_jax.states import taxonomy_cross as taxonomy_cross


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_WHERE[name]}", __name__)
    return module if module.__name__.endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
