"""``soar sample``: fit, then sample the posterior and judge the chains."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from soar_jax._base import InputError
from soar_jax._files import check_target, write_text_atomically
from soar_jax._names import short_name
from soar_jax.cli.files import STANDARD, check_out, out_suffix, save_model, stage
from soar_jax.cli.formats import MODEL, REPORT, suffix_of
from soar_jax.cli.interrupts import Interrupts
from soar_jax.cli.options import (
    add_training_options,
    check_holdout,
    make_model,
    share_held_out,
    source_of,
    training_table,
)
from soar_jax.cli.parsers import add_json, new_command
from soar_jax.cli.wording import as_options, options_of
from soar_jax.sampling import settings

SHOWN_RULES = 12
EXAMPLE = """\
soar sample --dataset car --report car.html
soar sample patients.csv --target outcome --save-to run --out posterior.json"""


def add_parser(commands: Any) -> None:
    """Describe the command."""
    sample = new_command(
        commands,
        "sample",
        "fit, then sample the posterior and judge the chains",
        EXAMPLE,
        "It says whether the draws can be trusted, and in how many of them each rule is: how sure one can be of it. "
        "Given the table and options of a soar fit, it samples around the same rules.",
    )
    add_training_options(sample)
    group = sample.add_argument_group("sampling")
    add = group.add_argument
    add("--draws", type=int, metavar="N", help="draws per chain (default: until they can be trusted)")
    add("--warmup", type=int, metavar="N", help="draws left out before (default: half of --draws, else 200 or more)")
    add(
        "--chains", type=int, default=settings.NUM_CHAINS, metavar="N", help="independent chains (default: %(default)s)"
    )
    add(
        "--temperatures", type=int, metavar="N", help="length of the ladder (default: by the pair's gain over no rules)"
    )
    add("--thin", type=int, default=1, metavar="N", help="rounds per draw (default: 1)")
    add(
        "--sampling-budget",
        type=float,
        metavar="SECONDS",
        help=f"keep the draws made by then (default: {settings.TIME_BUDGET:.0f}, none with --draws)",
    )
    output = sample.add_argument_group("output")
    output.add_argument("--out", metavar="FILE.json", help="write verdict and frequencies here")
    output.add_argument("--committee", metavar="FILE.json", help="write the averaged model here, for soar predict")
    output.add_argument(
        "--report", metavar="FILE.html", help="write a page (or a .md card) that says how sure the rules are"
    )
    output.add_argument("--save-to", metavar="FOLDER", help="save blocks here; a run that was ended goes on from them")
    add_json(output)
    sample.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fit, sample, judge and print; an interrupt keeps the fit, or the draws so far."""
    from soar_jax._base import BetterPairWarning
    from soar_jax.posterior.diagnosis import UntrustedPosteriorWarning

    _check_files(args)
    with stage(args, f"Reading {source_of(args)}"):
        X, y = training_table(args)
    with Interrupts() as interrupts:
        with stage(args, f"Learning rules from {len(X):,} rows"):
            model = make_model(args).set_params(holdout=share_held_out(args.holdout, y)).fit(X, y)
        if interrupts.came:  # the search returned its best pair so far
            raise KeyboardInterrupt(f"while learning; {_keep_fit(model, args)}")
        # both are printed above the frequencies, so that the warnings would only repeat them
        warnings.simplefilter("ignore", UntrustedPosteriorWarning)
        warnings.simplefilter("ignore", BetterPairWarning)
        try:
            with stage(args, "Sampling the posterior"):
                _draw(model, args)
        except KeyboardInterrupt:
            interrupts.came = interrupts.is_keeping = True
            if not hasattr(model, "posterior_"):
                raise KeyboardInterrupt(f"before there were draws; {_keep_fit(model, args)}") from None
        was_cut, interrupts.is_keeping = interrupts.came, True
        _write(model, X, y, args)
        if was_cut:
            sys.stdout.flush()
            raise KeyboardInterrupt(f"while drawing; {_kept_draws(model.posterior_, args)}")
    return 0


def _draw(model: Any, args: argparse.Namespace) -> None:
    model.sample_posterior(
        args.draws,
        args.chains,
        num_warmup=args.warmup,
        num_temperatures=args.temperatures,
        thin=args.thin,
        random_state=args.seed,
        time_budget=args.sampling_budget,
        progress=model.progress,
        save_to=args.save_to,
    )


def _write(model: Any, X: Any, y: Any, args: argparse.Namespace) -> None:
    post, held = model.posterior_, model.held_out_
    rows = {"rows": len(X) - len(held), "rows_held_out": len(held)}
    with stage(args, "Judging the chains"):
        text = json.dumps({**_summary(post), **rows}, ensure_ascii=False, default=str, allow_nan=False)
        if args.committee:
            post.committee().save(args.committee)
    if args.report:
        with stage(args, "Writing the report"):
            _report(model, X, y, args.report)
    if args.out and args.out != STANDARD:
        write_text_atomically(args.out, text + "\n")
    if args.json or args.out == STANDARD:
        print(text)
    else:
        _show(post, rows, args)


def _report(model: Any, X: Any, y: Any, path: str) -> None:
    """Write the report of the sampled model, tested on the rows that were held out, as ``soar report`` would be."""
    held = model.held_out_
    if len(held):
        X, y = X.iloc[held], y.iloc[held]
    model.report(path, X, y, fresh=len(held) > 0)


# -- interrupted ----------------------------------------------------------------------------------


def _keep_fit(model: Any, args: argparse.Namespace) -> str:
    """Save the fitted model beside what was asked for, or print its rules, and say so."""
    place = _place_of_fit(args)
    if place is not None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            save_model(model, check_out(str(place), args))
        except (InputError, OSError) as error:
            return f"the fitted model could not be saved: {error} {_go_on(args)}"
        return f"the fitted model is in {place}, soar show prints it. {_go_on(args)}"
    if args.json or args.out == STANDARD:  # whoever reads that waits for draws
        return f"nothing saved, as no file is named for it. {_go_on(args)}"
    print(model.describe(), flush=True)
    return f"the rules found are printed, nothing is saved. {_go_on(args)}"


def _place_of_fit(args: argparse.Namespace) -> Path | None:
    """Choose a file that the user will find; those named for draws are left as they are."""
    for given in (args.committee, args.out, args.report):
        if given and given != STANDARD and check_target(given) is not None:
            return Path(given).with_suffix(".fit.json")
    return Path(args.save_to) / "fit.json" if args.save_to else None


def _kept_draws(post: Any, args: argparse.Namespace) -> str:
    files = [name for name in (args.committee, args.out, args.report) if name and name != STANDARD]
    where = "in " + " and ".join(files) if files else "printed"
    return f"the {post.num_draws:,} draws of each chain until then are judged and {where}. {_go_on(args)}"


def _go_on(args: argparse.Namespace) -> str:
    if args.save_to:
        return f"The same command goes on from the blocks that are finished in {args.save_to}."
    return "The same command starts anew; with --save-to FOLDER it could go on from there."


def _check_files(args: argparse.Namespace) -> None:
    check_holdout(args)
    out_suffix(args, MODEL, "Verdict and frequencies are written")
    for given, known, what in (
        (args.committee, MODEL, "A committee is saved"),
        (args.report, REPORT, "A report is written"),
    ):
        if given:
            suffix_of(given, known, what)
            check_out(given, args)
    if args.out and args.committee and os.path.realpath(args.out) == os.path.realpath(args.committee):
        raise InputError("--out and --committee name the same file; give each its own.")


def _summary(post: Any) -> dict[str, Any]:
    return {
        "verdict": post.diagnose().to_dict(),
        "chains": post.num_chains,
        "draws": post.num_draws,
        "power": post.power,
        "better_by": _better_by(post),
        "log_evidence": [value if math.isfinite(value) else None for value in post.log_evidence],
        "inclusion": json.loads(post.inclusion.to_json(orient="records")),
        "families": json.loads(post.families.to_json(orient="records")),
        "rates": json.loads(post.rates.to_json(orient="index")),
    }


def _better_by(post: Any) -> float | None:
    """By how many nats the best pair among the draws beats the one that was fitted, if it does."""
    return None if post.better_pair is None else float(post.better_pair.log_joint - post.fitted.log_joint)


def _show(post: Any, used: dict[str, int], args: argparse.Namespace) -> None:
    from soar_jax.cli import screen

    inclusion = post.inclusion
    verdict = as_options(str(post.diagnose()), options_of(args), time_budget="--sampling-budget")
    held = f"; {used['rows_held_out']:,} held out" if used["rows_held_out"] else ", none held out"
    parts: list[Any] = [
        screen.paragraph(
            f"{source_of(args)}: learned from {screen.plural(used['rows'], 'row')}{held}. "
            f"{post.num_chains} chains of {post.num_draws:,} draws in {post.seconds:.0f} s."
        ),
        screen.heading("Can these draws be trusted?"),
        *screen.lines(verdict.splitlines()),
    ]
    better_by = _better_by(post)
    if better_by is not None:
        parts.append(
            screen.paragraph(
                f"The draws met a pair that scores {better_by:.2f} nats better than the one that was fitted: "
                "give the search more --rounds."
            )
        )
    is_open = False
    for side in dict.fromkeys(inclusion["side"]):
        mine = inclusion[inclusion["side"] == side]
        label = short_name(mine["class"].iloc[0])
        rows = []
        for row in mine.head(SHOWN_RULES).itertuples():
            error = "always" if row.status == "always" else f"± {row.monte_carlo_error:.3f}"
            is_open |= not row.settled
            rows.append((f"{row.probability:.3f}", error + ("" if row.settled else " ?"), str(row.rule)))
        parts.append(screen.heading(f"Rules for {label}, by posterior inclusion probability"))
        parts.append(screen.table([("share", "right"), ("error", "left"), ("rule", "wrap")], rows))
        if len(mine) > SHOWN_RULES:
            parts.append(screen.paragraph(f"and {len(mine) - SHOWN_RULES:,} more; --json lists them", style="dim"))
    legend = "share: of the draws that have the rule. error: standard error of that share (Monte Carlo)"
    parts.append(screen.paragraph(legend + (", ? not settled yet." if is_open else "."), style="dim"))
    if args.out:
        parts.append(screen.paragraph(f"Verdict and frequencies written to {args.out}."))
    if args.report:
        parts.append(screen.paragraph(f"Report written to {args.report}."))
    if args.committee:
        parts.append(screen.heading(f"Averaged model written to {args.committee}. Next:"))
        parts.append(
            screen.commands(
                [
                    ("print it", ["soar", "show", args.committee]),
                    ("label new rows", ["soar", "predict", args.committee, "NEW.csv", "--out", "labels.csv"]),
                ]
            )
        )
    screen.show(*parts)
