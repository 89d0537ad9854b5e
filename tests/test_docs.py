"""Pages of the documentation: blocks run and print what the page says, nothing is left out, claims are of results."""

import doctest
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

import soar_jax
from docs.tools.pages import DOCS, ROOT, agree, all_pages, blocks_of, run_blocks

SLOW = {"tutorials/posterior.md", "howto/arviz.md", "howto/numpyro.md"}  # they sample
RESULTS = ROOT / "experiments" / "results"


def name_of(page: Path) -> str:
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] * (name_of(page) in SLOW)) for page in all_pages()],
)
def test_the_blocks_of_a_page_run_and_print_what_it_says(page):
    for block, printed in run_blocks(blocks_of(page.read_text(encoding="utf-8"))):
        if block.expected is not None:
            assert agree(block.expected, printed), f"\n{block.code}\nprints now:\n{printed}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "module",
    [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "soar_jax").rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ],
)
def test_the_examples_of_docstrings_run(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted and not result.failed


def test_outputs_agree_when_words_are_equal_and_numbers_close():
    assert agree("age > 30: 1,210 rows, 0.996\n", "age > 30:  1,211 rows, 0.997")
    assert not agree("age > 30: 0.996", "age > 30: 0.5")
    assert not agree("age > 30", "sex > 30")
    assert not agree("x1 = 0 and x2 = 1", "x1 = 0 and x3 = 1")
    assert not agree("one 1", "one 1 2")


def test_every_block_that_is_not_run_gives_a_reason():
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        skipped = re.findall(r"<!-- not run(.*?)-->\s*\n```", text)
        assert all(re.fullmatch(r": \S.{10,} ", reason) for reason in skipped), page


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page():
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", configuration.split("\nnav:\n")[1], flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} <= set(listed)
    assert all((DOCS / entry).is_file() or (ROOT / entry).is_file() for entry in listed)


def test_the_reference_has_every_public_name_and_every_method_of_the_estimator():
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))
    assert sorted(re.findall(r"^::: soar_jax\.(\w+)$", text, flags=re.MULTILINE)) == sorted(soar_jax.__all__)
    listed = set(re.findall(r"^ +- (\w+)$", (DOCS / "api" / "estimators.md").read_text(), flags=re.MULTILINE))
    inherited = {"get_metadata_routing", "get_params", "set_params", "score"}  # scikit-learn's own
    own = {name for name in dir(soar_jax.SOARClassifier) if not re.match(r"_|set_\w+_request", name)} - inherited
    assert listed == own


def test_links_of_the_readme_lead_somewhere():
    pattern = r"(?:\]\(|src=\"|href=\")(?!\w+:|#)([^)\s#\"]+)"
    for target in re.findall(pattern, (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_the_comparison_in_words_follows_from_its_tables():
    """docs/peers.md, "In short", and docs/limits.md."""
    rows = {}
    for line in (RESULTS / "rule_learners.md").read_text().split("## Error")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 11 and cells[1].isdigit():
            rows[cells[0]] = {"error": float(cells[9]), "log_loss": float(cells[10]), "rules": float(cells[6] or "nan")}
    soar, averaged = rows["SOAR"], rows["SOAR, averaged"]
    rule_learners = ("RuleFit", "FIGS", "RIPPER", "CLASSY", "tree of 16 leaves")
    assert all(rows[name]["log_loss"] > soar["log_loss"] for name in rule_learners)
    assert all(rows[name]["rules"] > soar["rules"] for name in rule_learners)
    assert rows["RuleFit"]["error"] < soar["error"] and rows["RuleFit"]["rules"] > 3 * soar["rules"]
    assert all(rows[name]["error"] > soar["error"] for name in rule_learners[1:])
    for name in ("random forest", "explainable boosting"):
        assert rows[name]["error"] < averaged["error"] < soar["error"]
        assert rows[name]["log_loss"] < averaged["log_loss"] < soar["log_loss"]
    defaults = (RESULTS / "defaults_study.md").read_text()
    assert re.search(r"^\| sklearn diabetes \|.*\| 1\.0 \+ 1\.0 \|$", defaults, flags=re.MULTILINE)
    claims = dict(re.findall(r"^\| ([\w ]+) \|.*\| (0\.\d+) \| [\d.]+ \+ [\d.]+ \|$", defaults, flags=re.MULTILINE))
    assert max(claims, key=lambda table: float(claims[table])) == "german_credit"
    assert json.loads((RESULTS / "rule_learners.json").read_text())["about"]


def test_figures_of_the_readme_are_those_of_the_results():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    index = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    tables, fits = re.search(r"(\d+) tables of noise\. default: any rule in (\d+) fits", index).groups()
    assert f"in {tables} tables of noise any rule in {fits} " in readme
    seconds = re.search(
        r"cold fit with imports\*\* \| \*\*([\d.]+) s\*\* \| \*\*([\d.]+) s", (DOCS / "speed.md").read_text()
    )
    adult, car = (round(float(value)) for value in seconds.groups())
    assert f"a cold fit of Car in {car} s, of Adult in {adult} s" in readme
