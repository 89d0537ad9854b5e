"""Write experiments/README.md, and the tables of docs/speed.md, from the committed results: no figure is typed by hand.

Run: python -m experiments.collect
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from experiments.benchmarks.fit import STAGES
from experiments.headlines import HEADLINES
from experiments.study import RESULTS, table

FOLDER = Path(__file__).parent
SPEED = FOLDER.parent / "docs" / "speed.md"
HEAD = """# Studies and benchmarks

Run from the checkout, in an environment with the package installed (`pip install -e '.[peers]'` for the rivals). Each
study writes JSON, a Markdown page and mostly a figure under `results/`; `--quick` is a smoke run that writes to
`results/quick/`. `soar experiment NAME` is the same as `python -m experiments.NAME`, and `soar experiment` lists them.
This page is written by `python -m experiments.collect` from the results files; nothing in it is typed by hand.

The page `one_answer` is of the present defaults. All others were run before the likelihood was raised to a power and
before the fit searched until two searches agree; on tables of up to 4,000 effective rows their model is the present one.
The studies `evidence`, `two_readings`, `coarse_prior` and `search_ingredients` have no page yet: they were not run to
their end. The benchmark `many_fits` was not run to its end yet.
"""

BENCHMARKS_HEAD = """# Benchmarks

One script a question, each run as `python -m experiments.benchmarks.NAME`; ratios are within one run, rivals included, and
compilation is shown apart. The machine has 2 cores of an AMD EPYC (AVX2) and no GPU: nothing here was measured on one. This
page is written by `python -m experiments.collect` from the pages under `results/`.
"""


def page() -> str:
    """The README as it should be."""
    index, details = [], []
    for name, headline in HEADLINES.items():
        folder = RESULTS if "/" not in name else FOLDER / "benchmarks" / "results"
        file = folder / f"{name.rsplit('/', maxsplit=1)[-1]}.json"
        if not file.exists():
            continue
        record = json.loads(file.read_text())
        link = f"{folder.relative_to(FOLDER)}/{file.stem}.md"
        about = record["about"]
        index.append([f"`{about['command']}`", f"{about['seconds']:.0f}", f"[{name}]({link})"])
        details += [f"**[{name}]({link})** {headline(record)}", ""]
    versions = about["versions"]
    return "\n".join(
        [
            HEAD,
            *table(["command", "seconds", "results"], index),
            "",
            f"Versions of the last run: {', '.join(f'{k} {v}' for k, v in versions.items())}; {about['cores']} cores.",
            "",
            "## Headlines",
            "",
            *details,
            "The defaults study uses four tables that are not shipped; without the folder `../shared/data/tables` beside the",
            "checkout it runs on the other eight.",
            "",
        ]
    )


def benchmarks() -> str:
    """The benchmarks' own page: every table and plot."""
    parts = [BENCHMARKS_HEAD]
    for name in HEADLINES:
        file = FOLDER / "benchmarks" / "results" / f"{name.removeprefix('benchmarks/')}.md"
        if name.startswith("benchmarks/") and file.exists():
            text = file.read_text()
            parts.append(text.replace("\n## ", "\n### ").replace("# ", "## ", 1).replace("](", "](results/"))
    return "\n".join(parts)


def speed() -> str:
    """The tables of docs/speed.md, between its two markers."""
    results = FOLDER / "benchmarks" / "results"
    fits, races = (json.loads((results / f"{name}.json").read_text()) for name in ("fit", "steps"))
    names = {"adult": "Adult, 25,000 rows", "car": "Car, 1,200 rows"}
    rows = [
        [label, *(f"{sum(fits[n]['seconds'][part] for part in parts):.2f} s" for n in names)]
        for label, parts in STAGES.items()
    ]
    rows += [
        [
            "**cold fit with imports**",
            *(f"**{statistics.median(fits[n]['cold fit with imports']):.2f} s**" for n in names),
        ],
        ["refit of like shape", *(f"{fits[n]['seconds']['warm refit']:.2f} s" for n in names)],
        ["peak memory above the imports", *(f"{fits[n]['peak_megabytes_above_imports']:.0f} MB" for n in names)],
    ]
    rates = {
        n: {
            f"soar_jax, {r['restarts']:,} restart{'s' * (r['restarts'] > 1)}": r["steps_a_second"]
            for r in races[n]["ours"]
        }
        | races[n]["rivals"]
        for n in names
    }
    steps = [
        [label]
        + [
            cell
            for n in names
            for cell in (
                f"{rates[n][label]:,.0f}",
                f"{rates[n][label] / rates[n]['packed NumPy']:.1f} x",
                f"{rates[n][label] / rates[n]['packed NumPy that remembers']:.1f} x",
                f"{rates[n][label] / rates[n]['dense NumPy']:,.0f} x",
            )
        ]
        for label in rates["adult"]
    ]
    versions = fits["about"]["versions"]
    against = ["x packed NumPy", "x packed, remembering", "x dense, as published"]
    return "\n".join(
        [
            START,
            "",
            *table(["", *names.values()], rows),
            "",
            *table(["annealing steps per second", "Adult", *against, "Car", *against], steps),
            "",
            f"jax {versions['jax']}, numpy {versions['numpy']}; {fits['about']['cores']} cores.",
            "",
            END,
        ]
    )


START, END = "<!-- speed -->", "<!-- end of speed -->"


def with_speed(text: str) -> str:
    """Put the tables into the page's text."""
    before, rest = text.split(START)
    return before + speed() + rest.split(END)[1]


def main(argv=None) -> None:
    del argv
    (FOLDER / "README.md").write_text(page())
    (FOLDER / "benchmarks" / "README.md").write_text(benchmarks())
    SPEED.write_text(with_speed(SPEED.read_text()))


if __name__ == "__main__":
    main()
