"""One sentence or two on each page of results, made from its record; `experiments.collect` puts them together."""

from __future__ import annotations

import statistics


def pair(figures, name):
    f = figures[name]
    return f"{f['misclassified']:.4f} / {f['ambiguous']:.4f}"


def synthetic(r):
    f = r["figures"]
    return (
        f"Misclassified / ambiguous over {r['num_data_sets']} data sets: SOAR {pair(f, 'SOAR')} (paper 0 / 0.25), forced "
        f"{pair(f, 'SOAR forced')} (0.005 / 0.07; rows that truly satisfy neither set: {r['true_passive_share']:.4f}), BOA "
        f"{f['BOA']['misclassified']:.4f} (0.05), random forest {f['random forest']['misclassified']:.4f} (0.05). All 26 pure "
        f"combinations right in {r['data_sets_with_all_pure_right']} of {r['num_data_sets']}."
    )


def car(r):
    f = r["figures"]
    return (
        f"SOAR {pair(f, 'SOAR')} (paper 0.006 / 0.242), forced {pair(f, 'SOAR forced')} (0.009 / 0.235), BOA "
        f"{f['BOA']['misclassified']:.4f} (0.153), random forest {f['random forest']['misclassified']:.4f} (0.013); giving every row "
        f"a label {f['SOAR predict']['misclassified']:.4f}."
    )


def adult(r):
    f, c = r["figures"], r["cautious_figures"]
    return (
        f"Cautious setting: SOAR {pair(c, 'SOAR')} (paper 0.034 / 0.432). Defaults: SOAR {pair(f, 'SOAR')}, giving every row a label "
        f"{f['SOAR predict']['misclassified']:.4f} (paper's forced 0.174 with 0.044 open), averaged over draws (first split) "
        f"{r['averaged_error']:.4f}, BOA {f['BOA']['misclassified']:.4f} (0.297), random forest {f['random forest']['misclassified']:.4f} "
        f"(0.159)."
    )


def adult_rules(r):
    parts = [
        f"{x['rule']}: {x['already_covered']:.0%} of its rows covered already, score {x['score_change']:+.1f}"
        for x in r["rules"]
    ]
    return "Adding the paper's leading rules to our pair would make it worse: " + "; ".join(parts) + "."


def tradeoff(r):
    adult = [p for p in r["points"] if p["table"] == "adult"]
    better = [p for p in adult if p["misclassified"] <= 0.034 and p["ambiguous"] <= 0.432]
    return f"{len(better)} of {len(adult)} Adult fits lie left of and below the paper's point (0.034 / 0.432)."


def convergence(r):
    seeds, tables = r["seeds"], r["tables"]
    refused = ", ".join(run["label"] for run in tables if not run["is_trusted"])
    return (
        f"Default fits, `sample_posterior()` without arguments: Car trusted with {sum(run['is_trusted'] for run in seeds)} of "
        f"{len(seeds)} seeds, slowest {max(run['seconds'] for run in seeds):.0f} s with compilation; of {len(tables)} tables "
        f"{sum(run['is_trusted'] for run in tables)} trusted" + (f", refused: {refused}." if refused else ".")
    )


def ingredients(r):
    parts = [f"{name} {c['points'][-1]['r_hat']:.3f}" for name, c in r["curves"].items() if c["points"]]
    return "Worst R-hat after as many seconds: " + "; ".join(parts) + "."


def passes(r):
    first, rival, sorted_rival = r["layouts"][0]["ms"], r["layouts"][-2]["ms"], r["layouts"][-1]["ms"]
    slopes = "; ".join(
        f"{name} {s['pass']:.2f} bare, {s['pass_and_scores']:.2f} scored" for name, s in r["exponents"].items()
    )
    return (
        f"Four counts of 2,000 patterns x 25,000 rows: {first:.2f} ms, {rival / first:.1f} times as fast as NumPy "
        f"({sorted_rival / first:.1f} times when NumPy's rows are sorted by class too); fitted "
        f"exponents of growth: {slopes}."
    )


def flips(r):
    best = {
        rows: max(f["flips_a_second"] for f in r["flips"] if f["rows"] == rows and f["chains"] >= 64)
        for rows in dict.fromkeys(f["rows"] for f in r["flips"])
    }
    return (
        "Metropolis flips per second, 64 chains or more: "
        + ", ".join(f"{v:,.0f} at {n:,} rows" for n, v in best.items())
        + "."
    )


def steps(r):
    parts = []
    for name in ("adult", "car"):
        found, by = r[name], {run["restarts"]: run for run in r[name]["ours"]}
        packed, dense = found["rivals"]["packed NumPy"], found["rivals"]["dense NumPy"]
        parts.append(
            f"{name.capitalize()}: one restart {by[1]['steps_a_second'] / packed:.1f} x packed NumPy "
            f"({by[1]['steps_a_second'] / found['rivals']['packed NumPy that remembers']:.1f} x one that remembers) and "
            f"{by[1]['steps_a_second'] / dense:,.0f} x dense, 32 restarts {by[32]['steps_a_second'] / packed:.1f} x packed; 100 restarts cost "
            f"{by[100]['seconds'] / by[1]['seconds']:.1f} times one"
        )
    return "; ".join(parts) + "."


def fit(r):
    return (
        "Cold default fit with imports and compilation, median: "
        + ", ".join(
            f"{name.capitalize()} {statistics.median(r[name]['cold fit with imports']):.2f} s (refit {r[name]['seconds']['warm refit']:.2f} s, "
            f"peak {r[name]['peak_megabytes_above_imports']:.0f} MB above the imports)"
            for name in ("adult", "car")
        )
        + "."
    )


def rows(r):
    large = [x for x in r["results"] if x["rows"] >= 1_000_000 and "failure" not in x]
    return (
        "Cold fits: "
        + ", ".join(
            f"{x['rows']:,} {x['kind']} rows {x['seconds']:.0f} s and {x['peak_mb'] / 1000:.1f} GB" for x in large
        )
        + "."
    )


def explain(r):
    parts = [f"{x['rows']:,} rows ({x['kind']}) {x['frame_s']:.2f} s" for x in r["results"] if x["rows"] >= 100_000]
    found = r["contrast"]
    return (
        f"`explain(X).to_frame()` of Adult, {r['rules'][0]} + {r['rules'][1]} rules, one core: {', '.join(parts)}. `contrast` per row: "
        f"median {found['median_ms']:.0f} ms, worst {found['worst_ms']:.0f} ms."
    )


def gpu(r):
    parts = [f"{name} {f['launches']}" for name, f in r["programs"].items()]
    return "Launches on an A100, compiled without one, loops as turns x (launches): " + "; ".join(parts) + "."


def pricing(r):
    last = r["results"][-1]
    return (
        f"{last['mined patterns']:,} mined patterns x 10,000 rows: {last['one pass, s']:.2f} s for one pass that prices all of them "
        f"against eight pairs, {last['whole fit, s']:.0f} s for a whole fit, at most {last['peak MB of the fit']:,.0f} MB."
    )


def sbc(r):
    least = min(r["tests"].items(), key=lambda item: item[1]["p_value"])
    return f"{r['num_data_sets']} data sets; least chi-square p {least[1]['p_value']:.3f} ({least[0]})."


def calibration(r):
    means = ", ".join(f"{name} {f['ece']:.4f} / {f['error']:.4f}" for name, f in r["means"].items())
    worst = max(r["rows"], key=lambda row: row["figures"]["averaged"]["ece"])
    return (
        f"Calibration error / error, means over {len(r['rows'])} tables: {means}; worst calibration error of the average "
        f"{worst['figures']['averaged']['ece']:.4f} ({worst['table']})."
    )


def uncertainty(r):
    return (
        f"A fitted rule comes back in {sum(r['name_match']) / len(r['name_match']):.2f} of bootstraps by name; by coverage its best "
        f"match has similarity {sum(r['coverage_match']) / len(r['coverage_match']):.2f}. Chains differ by at most {r['chain_spread']:.3f} "
        f"in a family's inclusion."
    )


def peers(r):
    ours = {(p["table"], p["seed"]): p.get("error") for p in r["results"] if p["peer"] == "soar_jax"}
    means = {}
    for p in r["results"]:
        if "error" in p:
            means.setdefault((p["table"], p["peer"]), []).append(p["error"])
    parts = []
    for name in dict.fromkeys(key[0] for key in ours):
        shown = ", ".join(f"{peer} {sum(v) / len(v):.4f}" for (t, peer), v in means.items() if t == name)
        parts.append(f"{name}: {shown}")
    return "Test error. " + "; ".join(parts) + "."


def samplers(r):
    shown = [f"{name} {v['ess_a_second']:.1f}" for name, v in r["results"].items() if "ess_a_second" in v]
    return "Effective samples per second of the number of positive rules, Car, 100 per side: " + ", ".join(shown) + "."


def noise(r):
    parts = [
        f"{name}: any rule in {f['fits_with_rules']} fits, {f['falsely_claimed']:.4f} of fresh rows falsely claimed"
        for name, f in r["total"].items()
        if isinstance(f, dict)
    ]
    above = f"{r['posterior_above_half']} of {len(r['posterior'])}"
    return f"{r['total']['tables']} tables of noise. {'; '.join(parts)}. P(no rules) above one half on {above} tables."


def power(r):
    parts = [
        f"{name}: {f['recovered']:.3f} of planted rules recovered, {f['false_per_fit']:.2f} false rules per fit"
        for name, f in r["total"].items()
        if isinstance(f, dict)
    ]
    return f"{r['total']['tables']} tables with planted rules. {'; '.join(parts)}."


def defaults_study(r):
    s = r["settings"]["default"]
    return (
        f"Error above a random forest {s['gap']:+.4f} on average, claims of consensus off by {s['claim_gap']:.4f} "
        f"({s['claim_gap_large']:.4f} on tables above 5,000 rows), misclassified {s['misclassified']:.4f} where a forest that "
        f"rejects as many rows has {s['rejecting_forest']:.4f}, ambiguous {s['ambiguous']:.3f}, {s['rules']:.1f} rules."
    )


def seeds(r):
    parts = [
        f"{t['table']}: {t['summary']['same']} of {t['summary']['seeds']} seeds within 0.01 nat of the best known, worst gap "
        f"{t['summary']['worst_gap']:.2f}, {t['summary']['seconds_median']:.1f} s"
        for t in r["tables"]
    ]
    return "; ".join(parts) + "."


def dnf(r):
    parts = [
        f"{name} {f['error']:.4f} ({f['exact']} of {f['tables']} without error)"
        for name, f in r["means"].items()
        if f["tables"]
    ]
    return "Error on formulas without noise: " + ", ".join(parts) + "."


def rule_learners(r):
    parts = [
        f"{name} {f['error']:.4f} / {f['log_loss']:.4f} on {f['tables']} tables (SOAR {f['error_of_ours']:.4f} / {f['log_loss_of_ours']:.4f})"
        for name, f in r["learners"].items()
        if f["tables"]
    ]
    return "Error / log loss, and SOAR's on the same tables: " + ", ".join(parts) + "."


def merging(r):
    first, last = r["variants"]["raw, integrated"], r["variants"]["merged, looked up"]
    return (
        f"Adult, {r['rows']:,} rows, merged rows and looked-up tails against neither: annealing "
        f"{last['anneal_steps_per_second'] / first['anneal_steps_per_second']:.1f} x, descents "
        f"{first['descent_seconds'] / last['descent_seconds']:.1f} x, sampling rounds "
        f"{last['rounds_per_second_150'] / first['rounds_per_second_150']:.1f} x among 150 candidates per side and "
        f"{last['rounds_per_second_1000'] / first['rounds_per_second_1000']:.1f} x among 1,000."
    )


def verdict(r):
    return (
        f"{len(r['runs'])} runs on posteriors that can be listed: {r['trusted']} trusted, of these {r['trusted_wrong']} with an inclusion "
        f"more than 0.1 off; {r['refused_good']} good runs refused; default settings trusted in {r['default_trusted']} of {r['default_runs']}."
    )


def audit_coverage(r):
    gaps = [part["gaps"]["all"] for part in r["rows"].values()]
    single = [share for part in r["rows"].values() for name, share in part["gaps"].items() if name != "all"]
    return (
        f"Share of {r['level']:.0%} intervals of gaps that hold the truth, {r['number']:,} repetitions: {min(gaps):.3f} to {max(gaps):.3f} by "
        f"population, {min(single):.3f} to {max(single):.3f} by figure and population; from exact posterior draws "
        f"{r['draws']['all figures']['gaps']:.3f}, where the fitted pair alone has "
        f"{r['draws']['all figures']['gaps of the fitted pair alone']:.3f}."
    )


def database(r):
    last = r["results"][-1]
    return (
        f"{last['rows']:,} rows of ten columns in Parquet, fitted where they lie by DuckDB with 2 threads and 2 GB: {last['seconds']:.0f} s, "
        f"of it queries {last['query_seconds']:.0f} s; {last['bytes'] / 1e6:.1f} MB of counts moved, peak {last['peak_mb']:.0f} MB of this "
        f"process (load of the machine at the start: {last['load']:.0f})."
    )


def kill_and_resume(r):
    kills = ", ".join(f"{number} of {phase}" for phase, number in r["kills"].items())
    return (
        f"Kills by SIGKILL at random moments: {kills}; {r['runs_finished']} runs were let through, {r['mismatches']} differ from the run "
        f"that was never killed, {r['failures']} failed; {r['broken_files']} files were not whole after a kill."
    )


def many_fits(r):
    return (
        f"{r['num_fits']:,} fits and {r['num_samplings']} samplings of random shapes in one process: at most {r['most_maps']:,} "
        f"memory maps (of 65,530), {r['maps_at_end']:,} at the end; resident memory {r['megabytes_at_half']:,} MB half-way, "
        f"{r['megabytes_at_end']:,} MB at the end."
    )


def memory(r):
    return (
        f"{r['seconds']:.0f} s of sampling Car in one process, {r['num_draws']:,} draws: resident memory {r['megabytes_at_half']:,.0f} MB "
        f"half-way, {r['megabytes_at_end']:,.0f} MB at the end, {r['megabytes_per_minute']:+.2f} MB per minute over the second half "
        f"({r['megabytes_of_draws']:.1f} MB of draws are kept)."
    )


def wide(r):
    each = "; ".join(f"{one['table']} {one['cold']:.1f} s cold, {one['again']:.1f} s again" for one in r["results"])
    return f"{r['num_columns']:,} columns x {r['num_rows']:,} rows: {each}."


def evidence(r):
    lines = r["lines"]
    out = {}
    for line in lines:
        out.setdefault(line["candidate"], []).extend([line["table"]] * line["is_out"])
    parts = [f"{candidate}: {', '.join(tables) if tables else 'none'}" for candidate, tables in out.items()]
    return "Tables on which each candidate for the default power is out: " + "; ".join(parts) + "."


def one_answer(r):
    parts = []
    if "seeds" in r:
        adult = r["seeds"][0]
        parts.append(
            f"Adult, 25,000 rows: states of fresh rows equal in {adult['equal']:.3f} over seeds and orders of the rows (worst "
            f"{adult['equal_worst']:.3f}), {adult['rules'][0]} to {adult['rules'][1]} rules, search {adult['search']:.1f} s"
        )
    if "halves" in r:
        equal = [line["equal"] for line in r["halves"] if line["table"] == "adult"]
        parts.append(f"disjoint halves {', '.join(f'{share:.3f}' for share in equal)}")
    for name, where in (("posteriors", "the default power"), ("full", "power 1")):
        if name in r:
            runs = r[name]["runs"]
            parts.append(
                f"posteriors at {where} trusted after {sum(run['is_trusted'] for run in runs)} of {len(runs)} seeds, inclusions "
                f"within {r[name]['inclusion']:.3f}"
            )
    return "; ".join(parts) + "."


def two_readings(r):
    two, one = ([run for run in r["runs"] if run["readings"] == k] for k in (2, 1))
    trusted = [run for run in two if run["is_trusted"]]
    alone = sum(run["least_share"] < 0.25 for run in trusted)
    return (
        f"Tables with two equal readings: {len(trusted)} of {len(two)} trusted, {alone} of them with one reading alone; their "
        f"twins with one reading: {sum(run['is_trusted'] for run in one)} of {len(one)} trusted."
    )


def search_ingredients(r):
    lines = r["lines"]
    gaps = {}
    for line in lines:
        gaps.setdefault(line["variant"], []).append(line["gap"])
    return (
        "Mean gap to the best score found: "
        + ", ".join(f"{variant} {statistics.mean(found):.2f}" for variant, found in gaps.items())
        + " nats."
    )


def coarse_prior(r):
    mean = {}
    for line in r["lines"]:
        mean.setdefault(line["strictness"], []).append((line["wrong"], line["log_loss"], line["rules"]))
    parts = [
        f"{strictness:g}: {statistics.mean(e for e, *_ in found):.4f} / {statistics.mean(x for _, x, _ in found):.4f} with "
        f"{statistics.mean(n for *_, n in found):.1f} rules"
        for strictness, found in mean.items()
    ]
    return "Error / log loss by strictness at the default power: " + "; ".join(parts) + "."


HEADLINES = {
    "evidence": evidence,
    "one_answer": one_answer,
    "two_readings": two_readings,
    "search_ingredients": search_ingredients,
    "coarse_prior": coarse_prior,
    "noise": noise,
    "power": power,
    "defaults_study": defaults_study,
    "synthetic": synthetic,
    "car": car,
    "adult": adult,
    "adult_rules": adult_rules,
    "tradeoff": tradeoff,
    "posterior_convergence": convergence,
    "ingredients": ingredients,
    "sbc": sbc,
    "verdict": verdict,
    "calibration": calibration,
    "uncertainty": uncertainty,
    "audit_coverage": audit_coverage,
    "peers": peers,
    "rule_learners": rule_learners,
    "seeds": seeds,
    "dnf": dnf,
    "kill_and_resume": kill_and_resume,
    "benchmarks/fit": fit,
    "benchmarks/pricing": pricing,
    "benchmarks/steps": steps,
    "benchmarks/passes": passes,
    "benchmarks/flips": flips,
    "benchmarks/rows": rows,
    "benchmarks/samplers": samplers,
    "benchmarks/merging": merging,
    "benchmarks/explain": explain,
    "benchmarks/gpu": gpu,
    "benchmarks/database": database,
    "benchmarks/many_fits": many_fits,
    "benchmarks/memory": memory,
    "benchmarks/wide": wide,
}
