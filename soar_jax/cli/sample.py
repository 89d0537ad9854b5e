"""``soar sample``: fit, then sample the posterior and judge the chains."""

from __future__ import annotations

import argparse
import json
import math
import textwrap
import warnings
from typing import Any

from soar_jax._files import write_text_atomically
from soar_jax.cli.files import check_out
from soar_jax.cli.options import add_training_options, make_model, training_table
from soar_jax.sampling import settings

WIDTH = 79


def add_parser(commands: Any) -> None:
    """Describe the command."""
    sample = commands.add_parser("sample", help="fit, then sample the posterior and judge the chains")
    add_training_options(sample)
    sample.add_argument("--out", metavar="FILE.json", help="write verdict and frequencies here")
    sample.add_argument("--committee", metavar="FILE.json", help="write the averaged model here, for soar predict")
    sample.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="draws per chain (default: until they can be trusted)",
    )
    sample.add_argument(
        "--warmup", type=int, metavar="N", help="draws left out before (default: half of --draws, else 200 or more)"
    )
    sample.add_argument(
        "--chains", type=int, default=settings.NUM_CHAINS, metavar="N", help="independent chains (default: %(default)s)"
    )
    sample.add_argument(
        "--temperatures",
        type=int,
        metavar="N",
        help="length of the ladder (default: by the pair's gain over no rules)",
    )
    sample.add_argument("--thin", type=int, default=1, metavar="N", help="rounds per draw (default: 1)")
    sample.add_argument("--power", type=float, default=1.0, help="raise the likelihood to this power (default: 1)")
    sample.add_argument(
        "--sampling-budget",
        type=float,
        metavar="SECONDS",
        help=f"keep the draws made by then (default: {settings.TIME_BUDGET:.0f}, none with --draws)",
    )
    sample.add_argument("--save-to", metavar="FOLDER", help="save blocks here; a killed run goes on from them")
    sample.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fit, sample, judge and print."""
    from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning

    for path in (args.out, args.committee):
        if path:
            check_out(path)
    X, y = training_table(args)
    model = make_model(args).fit(X, y)
    # the verdict is printed above every frequency, so that the warnings would only repeat it
    warnings.simplefilter("ignore", UntrustedPosteriorWarning)
    post = model.sample_posterior(
        args.draws,
        args.chains,
        num_warmup=args.warmup,
        num_temperatures=args.temperatures,
        thin=args.thin,
        power=args.power,
        random_state=args.seed,
        time_budget=args.sampling_budget,
        progress=model.progress,
        save_to=args.save_to,
    )
    verdict = post.diagnose()
    inclusion, families = post.inclusion, post.families
    summary = {
        "verdict": verdict.to_dict(),
        "chains": post.num_chains,
        "draws": post.num_draws,
        "power": post.power,
        "log_evidence": [value if math.isfinite(value) else None for value in post.log_evidence],
        "inclusion": json.loads(inclusion.to_json(orient="records")),
        "families": json.loads(families.to_json(orient="records")),
        "rates": json.loads(post.rates.to_json(orient="index")),
    }
    text = json.dumps(summary, ensure_ascii=False, default=str, allow_nan=False)
    if args.out:
        write_text_atomically(args.out, text + "\n")
    if args.committee:
        post.committee().save(args.committee)
    if args.json:
        print(text)
        return 0
    said = "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="    ") for line in str(verdict).splitlines())
    print(f"{post.num_chains} chains of {post.num_draws} draws in {post.seconds:.0f} s\n\n{said}\n")
    for side in dict.fromkeys(inclusion["side"]):
        label = inclusion.loc[inclusion["side"] == side, "class"].iloc[0]
        print(f"rules for {label} by posterior inclusion probability:")
        for row in inclusion[inclusion["side"] == side].head(12).itertuples():
            error = "always" if row.status == "always" else f"± {row.monte_carlo_error:.3f}"
            error += "" if row.settled else " ?"
            print(f"  {row.probability:.3f} {error:>8}  {row.rule}")
        print()
    if args.out:
        print(f"verdict and frequencies written to {args.out}")
    if args.committee:
        print(f"averaged model written to {args.committee}")
    return 0
