"""The verdict: each thing that can be wrong, alone, is found, and the advice names what would mend it."""

import numpy as np
import pandas as pd
import pytest

from soar_jax.posterior.diagnosis import Figures, figures_of, judge
from soar_jax.score.target import Agreement


def figures(**changes):
    table = pd.DataFrame(
        {"mean": 0.0, "mcse": 0.01, "ess_bulk": 900.0, "ess_tail": 800.0, "r_hat": 1.002},
        index=["log joint", "literals"],
    )
    good = dict(
        table=table,
        family_spread=0.02,
        inclusion_error=0.02,
        num_unsettled=0,
        no_rules=0.0,
        log_odds=12.3,
        power=1.0,
        agreement=Agreement(3, 2, 7.5),
        contested="",
        left_out=0.02,
        arrivals=[9, 12],
        least_swap_probability=0.5,
        num_temperatures=10,
        num_chains=4,
        num_draws=1000,
        thin=1,
        was_stopped=False,
        num_candidates=100,
        num_rows=500,
    )
    cells = changes.pop("cells", {})
    for (row, column), value in cells.items():
        table.loc[row, column] = value
    return Figures(**{**good, **changes})


def test_a_good_run_is_trusted_without_advice():
    verdict = judge(figures())
    assert verdict.is_trusted and not verdict.problems and not verdict.advice
    assert "worst R-hat 1.002, at least 800 effective draws" in str(verdict)
    assert "favour rules over none by 12.3 nats" in str(verdict)
    assert "2 of 3 independent searches found this reading of the table; it leads the next one by 7.5" in str(verdict)
    assert "do not speak for any rule (P(no rules) 0.80)" in str(judge(figures(no_rules=0.8)))
    assert judge(figures(agreement=None)).is_trusted  # not known, after annealing


def test_a_low_power_is_named_and_never_said_to_be_the_rows_word():
    assert "12.3 nats at power 0.25 (P" in str(judge(figures(power=0.25)))
    nothing = str(judge(figures(power=0.25, no_rules=0.8)))
    assert "for any rule at power 0.25" in nothing and "A higher power may find rules" in nothing


@pytest.mark.parametrize(
    ("changes", "problem", "advice"),
    [
        (dict(cells={("literals", "r_hat"): 1.02}), "R-hat above 1.01 for literals", "num_draws=4000"),
        (dict(cells={("literals", "ess_tail"): 399.0}), "fewer than 400 effective draws of literals", "thin=4"),
        (dict(num_unsettled=2, inclusion_error=0.11), "2 rules or families is not settled", "num_draws=4000"),
        (dict(num_chains=1), "single chain", "num_chains=4"),
        (dict(num_chains=2), "2 chains may agree by chance", "num_chains=4"),
        (dict(num_temperatures=1, arrivals=[]), "without tempering 4 chains", "leave num_temperatures out"),
        (dict(num_draws=3), "3 draws per chain cannot be judged", "num_draws=12"),
        (dict(arrivals=[2, 9], least_swap_probability=0.1), "only 2 replicas", "num_temperatures=20"),
        (dict(left_out=0.11), "about 0.11 rules of a draw", "larger max_patterns"),
        (dict(agreement=Agreement(4, 1, 0.7)), "searches do not agree: 1 of 4", "power=0.5"),
        (dict(contested="'a = 1'"), "nearly always have the rule 'a = 1'", "num_draws=4000"),
    ],
)
def test_each_problem_alone_is_found_and_named(changes, problem, advice):
    verdict = judge(figures(**changes))
    assert not verdict.is_trusted and len(verdict.problems) == 1
    assert problem in verdict.problems[0]
    assert any(advice in line for line in verdict.advice)
    assert problem in str(verdict) and "Do NOT use" in str(verdict)


def test_advice_follows_the_run():
    bad = {("literals", "r_hat"): 1.5}
    stopped = judge(figures(cells=bad, was_stopped=True))
    assert any("stopped early" in line for line in stopped.problems)
    assert any("time_budget" in line for line in stopped.advice) and not any("num_draws" in a for a in stopped.advice)
    assert any("max_patterns" in line for line in judge(figures(cells=bad, num_candidates=201)).advice)
    assert any('power="auto"' in line for line in judge(figures(cells=bad, num_rows=10_001)).advice)
    assert not any("power" in line for line in judge(figures(cells=bad, num_rows=10_001, power=0.1)).advice)
    assert len(judge(figures(left_out=0.2)).advice) == 1  # a longer run would not help
    assert not any("num_temperatures" in a for a in judge(figures(arrivals=[2, 9])).advice)  # swaps are fine


def test_constant_functionals_are_no_problem():
    verdict = judge(figures(table=figures_of({"size": np.ones((4, 100)), "other": np.zeros((4, 100))})))
    assert verdict.is_trusted and "one and the same pair" in str(verdict)
    assert verdict.to_dict()["functionals"]["size"]["r_hat"] is None


def test_figures_agree_with_arviz_and_mark_disagreeing_chains():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(4, 500))
    table = figures_of({"good": good, "bad": good + np.arange(4)[:, None]})
    assert table.loc["good", "r_hat"] < 1.01 and table.loc["bad", "r_hat"] > 1.5
    assert 1500 < table.loc["good", "ess_bulk"] < 2600
    assert table.loc["good", "mcse"] == pytest.approx(good.std() / np.sqrt(2000), rel=0.2)
