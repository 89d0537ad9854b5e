"""Quick variants of the studies run, keep their structure and stay within loose bounds; the index is generated."""

import json
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from experiments import (
    adult,
    audit_coverage,
    calibration,
    car,
    collect,
    dnf,
    ingredients,
    posterior_convergence,
    rule_learners,
    sbc,
    seeds,
    synthetic,
    tradeoff,
    uncertainty,
    verdict,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def run(module, tmp_path):
    record = module.main(["--quick", "--out", str(tmp_path)])
    name = module.__name__.rsplit(".", maxsplit=1)[-1]
    assert json.loads((tmp_path / f"{name}.json").read_text())["about"]["command"].endswith("--quick")
    assert (tmp_path / f"{name}.md").read_text().startswith("# ")
    return record


def test_index_of_results_is_generated_from_the_committed_files():
    assert (Path(collect.__file__).parent / "README.md").read_text() == collect.page()
    assert (Path(collect.__file__).parent / "benchmarks" / "README.md").read_text() == collect.benchmarks()
    page = collect.SPEED.read_text()
    assert page == collect.with_speed(page)


@pytest.mark.slow
def test_synthetic_quick(tmp_path):
    record = run(synthetic, tmp_path)
    assert record["figures"]["SOAR"]["misclassified"] <= 0.02
    assert record["figures"]["SOAR"]["ambiguous"] <= 0.25
    assert min(record["pure_combinations_right"]) >= 24
    assert len(record["truth"]) == 32 and record["truth"].count("active") == 3 and record["truth"].count("passive") == 3
    assert (tmp_path / "synthetic.png").stat().st_size > 5000


def test_car_quick(tmp_path):
    record = run(car, tmp_path)
    assert record["figures"]["SOAR"]["misclassified"] <= 0.01 and record["figures"]["SOAR"]["ambiguous"] <= 0.242
    assert {example["state"] for example in record["examples"]} == {"active", "passive"}
    assert sum(record["taxonomy"].values()) == 528


@pytest.mark.slow
def test_adult_quick(tmp_path):
    record = run(adult, tmp_path)
    assert record["cautious_figures"]["SOAR"]["misclassified"] <= 0.06
    assert record["figures"]["SOAR predict"]["misclassified"] <= 0.2
    assert len(record["examples"]) >= 3 and set(record["cross"]) == {"TP", "TN", "FN", "FP"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        tradeoff,
        calibration,
        posterior_convergence,
        ingredients,
        sbc,
        uncertainty,
        seeds,
        dnf,
        rule_learners,
        audit_coverage,
        verdict,
    ],
)
def test_other_studies_quick(module, tmp_path):
    run(module, tmp_path)
