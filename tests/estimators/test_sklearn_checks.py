import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from soar_jax import BOAClassifier, SOARClassifier

QUICK = dict(n_rounds=1, max_patterns=40)


# No check is expected to fail. Some fit noise, and hear that there is nothing in it.
@pytest.mark.filterwarnings("ignore::soar_jax._base.NothingFoundWarning")
@parametrize_with_checks([SOARClassifier(**QUICK)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::soar_jax._base.NothingFoundWarning")
@parametrize_with_checks([BOAClassifier(**QUICK)])
def test_scikit_learn_contract_of_one_rule_set(estimator, check):
    check(estimator)
