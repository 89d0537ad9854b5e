"""What an A100 would be asked to do, compiled for its description: needs the CUDA plugin, but no device."""

import pytest

from soar_jax import SOARClassifier
from soar_jax._base import in_float64
from tests.conftest import random_table


@pytest.mark.slow
def test_reading_all_patterns_takes_a_few_kernels_and_no_wait_for_the_host():
    pytest.importorskip("jax_cuda12_plugin", reason="pip install jax-cuda12-plugin jax-cuda12-pjrt")
    from experiments.benchmarks import gpu

    X, y = random_table(0, num_rows=3000)
    fitted = SOARClassifier(n_rounds=1, max_patterns=200).fit(X, y).fitted_pair_
    place = gpu.sharding()
    programs = gpu.programs(fitted.target, fitted.included)
    costs = in_float64(lambda: {name: gpu.cost_of(gpu.compiled(*what, place)) for name, what in programs.items()})()
    assert costs["read the pool once"].kernels <= 4 and not costs["read the pool once"].loops
    assert costs["price a page for eight pairs"].kernels <= 12 and not costs["price a page for eight pairs"].loops
    # of a round's loops only a draw from the prior and a jump do not know their length
    assert costs["one sampling round, 4 chains x 20"].unknown_loops <= 2
    # every restart looks at all neighbours at once: no loop at all
    assert not costs["one annealing step, 64 restarts"].loops and costs["one annealing step, 64 restarts"].kernels <= 60
    assert not costs["best of all neighbours"].loops
    # a descent is one loop of passes, which ends by what it finds; many descents share it
    for name in ("descend from one pair", "descend from 16 pairs together"):
        assert costs[name].unknown_loops == 1 and costs[name].launches <= 70
