"""Fits to tables that stay in DuckDB, of ten thousand to a hundred million rows: seconds by query, groups, bytes, memory.

DuckDB makes the table as Parquet files: five numbers (two with as many values as rows), a date, three categories of 4 to
12 levels and one of 5,000, and a label with planted rules and noise. The engine gets 2 threads and 2 GB. Each fit is a
process of its own, and cold. Files are made once, in the folder for temporary files, and stay there.

Run: python -m experiments.benchmarks.database [--quick]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.study import RESULTS, Study, table

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
QUICK = (10_000, 100_000)
ENGINE = {"memory_limit": "2GB", "threads": "2"}
SEED = 17
MOST_GROUPS = 200_000
PAPER_ROWS = (10**9, 10**10, 10**11)
PAPER_THREADS = (2, 64, 1024)

MAKE = """
COPY (
  WITH u AS (SELECT i, {uniforms} FROM range({start}, {stop}) AS r(i)),
  x AS (
    SELECT
      18 + CAST(FLOOR(73 * u1 * (0.5 + 0.5 * u2)) AS INTEGER) AS age,
      EXP(10 + 1.6 * (u3 + u4 + u5 - 1.5)) AS income,
      SQRT(-2 * LN(u6 + 1e-12)) * COS(2 * PI() * u7) AS balance,
      CAST(FLOOR(40 * u8 * u8) AS INTEGER) AS visits,
      CASE WHEN u9 < 0.05 THEN NULL ELSE ROUND(100 * u10, 1) END AS score,
      DATE '2015-01-01' + CAST(FLOOR(3650 * u11) AS INTEGER) AS opened,
      'region ' || CAST(FLOOR(12 * u12) AS INTEGER) AS region,
      ['cash', 'card', 'loan', 'lease', 'none'][1 + CAST(FLOOR(5 * u13 * u13) AS INTEGER)] AS product,
      ['web', 'phone', 'branch', 'agent'][1 + CAST(FLOOR(4 * u14) AS INTEGER)] AS channel,
      'merchant ' || CAST(FLOOR(5000 * u15 * u15 * u15) AS INTEGER) AS merchant,
      u16
    FROM u
  )
  SELECT * EXCLUDE (u16), u16 < CASE
      WHEN age > 55 AND product = 'loan' THEN 0.7
      WHEN income > 40000 AND channel = 'web' THEN 0.5
      WHEN visits <= 3 AND balance > 0 THEN 0.02
      WHEN score IS NULL THEN 0.25
      ELSE 0.12 END AS late
  FROM x
) TO '{path}' (FORMAT parquet)
"""
PART = 10_000_000


def make(folder: Path, num_rows: int) -> float:
    """Write the files; seconds."""
    import duckdb

    start = time.perf_counter()
    con = duckdb.connect(config=ENGINE)
    uniforms = ", ".join(f"(hash(i * 16 + {k}, {SEED}) % 1000000007) / 1000000007.0 AS u{k}" for k in range(1, 17))
    for begin in range(0, num_rows, PART):
        path, stop = folder / f"part{begin // PART}.parquet", min(begin + PART, num_rows)
        con.execute(MAKE.format(uniforms=uniforms, start=begin, stop=stop, path=path))
    return time.perf_counter() - start


def fit(folder: str, max_groups: int) -> dict:
    """Fit once, in this process."""
    import ibis

    from experiments.benchmarks.common import peak_megabytes
    from soar_jax import SOARClassifier

    con = ibis.duckdb.connect(**ENGINE, temp_directory=folder)
    rows = con.read_parquet(f"{folder}/*.parquet")
    before = peak_megabytes()
    start = time.perf_counter()
    model = SOARClassifier().fit_table(rows, "late", max_groups=max_groups)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    drift = model.monitor(rows)
    queries = model.queries_
    groups = queries[queries["what"].str.startswith("count the rows of each group")]
    return {
        "seconds": seconds,
        "query_seconds": float(queries["seconds"].sum()),
        "bytes": int(queries["bytes"].sum()),
        "groups": int(groups["lines"].sum()),
        "sampled": model.certificate_.num_sampled,
        "bits_a_pattern": int(model.fitted_pair_.target.layout.num_words * 64),
        "peak_mb": peak_megabytes(),
        "before_mb": before,
        "monitor_seconds": time.perf_counter() - start,
        "has_drifted": drift.has_drifted,
        "rules": model.rules_["rule"].tolist(),
        "score": model.score_,
        "certificate": str(model.certificate_),
        "stages": {name: round(value, 2) for name, value in model.stage_seconds_.items()},
        "queries": queries.to_dict(orient="records"),
    }


def files(num_rows: int) -> tuple[Path, float]:
    """Folder with the table, made unless it is there, and the seconds that making it took."""
    folder = Path(tempfile.gettempdir()) / "soar_database" / str(num_rows)
    done = folder / "made.txt"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done.write_text(str(make(folder, num_rows)))
    return folder, float(done.read_text())


def model(results: list[dict]) -> dict:
    """Seconds of all queries as a constant and a rate per row, from the smallest and the largest table."""
    small, large = results[0], results[-1]
    rate = (large["query_seconds"] - small["query_seconds"]) / (large["rows"] - small["rows"])
    return {"fixed": small["query_seconds"] - rate * small["rows"], "per_row": rate, "threads": int(ENGINE["threads"])}


def predicted(cost: dict, rows: int, threads: int) -> float:
    """Seconds of all queries by the model, if they share the threads evenly."""
    return cost["fixed"] + cost["per_row"] * rows * cost["threads"] / threads


def main(argv=None) -> dict:
    study = Study("database", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    results = []
    for size in QUICK if study.quick else SIZES:
        folder, seconds = files(size)
        load = os.getloadavg()[0]
        command = [sys.executable, "-m", "experiments.benchmarks.database", "--fit", str(folder), str(MOST_GROUPS)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        megabytes = sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e6
        found = {"rows": size, "make_seconds": seconds, "parquet_mb": megabytes, "load": load}
        results.append(found | json.loads(run.stdout.strip().splitlines()[-1]))
        study.say(f"{size:,} rows: {results[-1]['seconds']:.1f} s, of it queries {results[-1]['query_seconds']:.1f} s")
    cost = model(results)
    last = results[-1]
    lines = [
        f"DuckDB with {ENGINE['threads']} threads and {ENGINE['memory_limit']}; at most {MOST_GROUPS:,} groups, beyond which patterns are "
        "mined on a sample and counted on all rows. *Load* is the number of processes that wanted one of the machine's cores when the fit "
        "began: seconds with a load far above 2 are of a machine that had other work.",
        "",
        *table(
            ["rows", "Parquet MB", "seconds", "of it queries", "model", "groups", "sampled rows", "MB moved", "peak MB", "monitor s", "rules", "load"],
            [
                [f"{r['rows']:,}", f"{r['parquet_mb']:.0f}", f"{r['seconds']:.1f}", f"{r['query_seconds']:.1f}",
                 f"{predicted(cost, r['rows'], cost['threads']):.1f}", f"{r['groups']:,}", f"{r['sampled']:,}", f"{r['bytes'] / 1e6:.1f}",
                 f"{r['peak_mb']:.0f}", f"{r['monitor_seconds']:.1f}", str(len(r["rules"])), f"{r['load']:.0f}"]
                for r in results
            ],
        ),
        "",
        f"**Queries of {last['rows']:,} rows**",
        "",
        *table(
            ["query", "seconds", "lines", "bytes"],
            [[q["what"], f"{q['seconds']:.2f}", f"{q['lines']:,}", f"{q['bytes']:,}"] for q in last["queries"]],
        ),
        "",
        f"Rules found in {last['rows']:,} rows: " + "; ".join(f"`{rule}`" for rule in last["rules"]) + f". {last['certificate']}",
        "",
        f"**Cost model.** All queries together take {cost['fixed']:.2f} s and {1e9 * cost['per_row']:.0f} ns per row on {cost['threads']} "
        "threads, from the smallest and the largest table above; what moves and what the search costs depends on groups, not on rows. "
        "On paper, if the threads of a cluster share the work evenly and nothing was measured:",
        "",
        *table(
            ["rows", *(f"{threads:,} threads" for threads in PAPER_THREADS)],
            [[f"{rows:,}", *(f"{predicted(cost, rows, t):,.0f} s" for t in PAPER_THREADS)] for rows in PAPER_ROWS],
        ),
    ]  # fmt: skip
    return study.save({"results": results, "model": cost, "engine": ENGINE}, "Tables that stay in DuckDB", lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        print(json.dumps(fit(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
