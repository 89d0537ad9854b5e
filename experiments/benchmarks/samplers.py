"""Effective samples per second of the number of positive rules on Car, 100 candidates a side, against peers' samplers.

The same log joint (collapsed, with opinions and a rule prior as published: rates without bounds, whose integral every
rival can write as a beta function) is given to PyMC's BinaryGibbsMetropolis, to
BlackJAX's random-walk Metropolis and to NumPyro's DiscreteHMCGibbs. Compilation is timed apart. Peers walk at one
temperature and start from the fitted pair, so what they report is the mixing of the mode they are in. BlackJAX's
walk and ours run as many chains side by side; PyMC's and NumPyro's run four.

Run: pip install 'soar-jax[peers]', then python -m experiments.benchmarks.samplers
"""

from __future__ import annotations

import time
import warnings
from importlib.metadata import PackageNotFoundError, version

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import betaln
from sklearn.model_selection import train_test_split

from experiments.study import RESULTS, Study, table
from soar_jax import Opinion, RulePrior, SOARClassifier, datasets
from soar_jax.posterior.diagnosis import figures_of
from soar_jax.sampling.plan import FLIP
from soar_jax.sampling.run import run

NUM_CHAINS = 4
MANY_CHAINS = 64


OURS = f"soar_jax, flips at one temperature, {MANY_CHAINS} chains"


def setting():
    X, y = datasets.load_car()
    X, _, y, _ = train_test_split(X, y, train_size=1200, random_state=0)
    model = SOARClassifier(
        max_patterns=100,
        min_support=0.02,
        max_length=3,
        search="annealing",
        consensus=Opinion(0.95, share=0.05),
        ambiguous=Opinion(0.5, share=0.5),
        rule_prior=RulePrior(1, 100),
    ).fit(X, y)
    table = model.pools_
    from soar_jax.rules import Rule

    covers = [
        np.array([Rule.from_literals(literals).fires(X) for literals in table.loc[table["side"] == side, "literals"]])
        for side in ("positive", "negative")
    ]
    lengths = [table.loc[table["side"] == side, "length"].to_numpy() for side in ("positive", "negative")]
    return model, covers, lengths, y.to_numpy().astype(bool)


def dense_log_joint(numeric, model, covers, lengths, y, log_beta):
    """The log joint of a vector of 0/1, written for a dense matrix in NumPy's vocabulary."""
    hyper = model.fitted_pair_.target.hyper
    split = len(lengths[0])

    def log_joint(z):
        parts = z[:split], z[split:]
        fires = [numeric.minimum(numeric.dot(part, cover), 1.0) for part, cover in zip(parts, covers, strict=True)]
        plus, minus = fires
        states = [plus * (1 - minus), (1 - plus) * minus, plus * minus, (1 - plus) * (1 - minus)]
        total = 0.0
        for k, state in enumerate(states):
            positives, negatives = numeric.dot(state, y), numeric.dot(state, 1 - y)
            hits, misses = (positives, negatives) if k in (0, 2) else (negatives, positives)
            total = total + log_beta(hits + hyper.alpha[k], misses + hyper.beta[k])
        for side in (0, 1):
            for length, size in enumerate(hyper.searched[side], start=1):
                if size:
                    n = numeric.dot(parts[side], (lengths[side] == length).astype(float))
                    a, b = hyper.rule_alpha[side, length - 1], hyper.rule_beta[side, length - 1]
                    total = total + log_beta(n + a, size - n + b)
        return total

    return log_joint


def effective(sizes, seconds):
    figures = figures_of({"positive rules": np.asarray(sizes, dtype=float)}).iloc[0]
    return {
        "ess": figures["ess_bulk"],
        "r_hat": figures["r_hat"],
        "seconds": seconds,
        "ess_a_second": figures["ess_bulk"] / seconds,
    }


def ours(model, num_draws):
    fitted = model.fitted_pair_

    def sample(seed, draws, warmup, **more):
        return run(fitted.target, seed=seed, num_draws=draws, num_warmup=warmup, starts=fitted.included[None], **more)

    results = {}
    for name, more in {
        "soar_jax, default: 4 chains of 20 temperatures": dict(num_chains=NUM_CHAINS, num_temperatures=20),
        OURS: dict(num_chains=MANY_CHAINS, num_temperatures=1, plan=((FLIP, 100),), dispersed=False),
    }.items():
        start = time.perf_counter()
        sample(0, 25, 25, **more)
        first = time.perf_counter() - start
        sample(1, 25, 200, **more)
        start = time.perf_counter()
        found = sample(2, num_draws, 200, **more)
        seconds = time.perf_counter() - start
        sizes = found.included[:, :, 0].sum(axis=-1)
        results[name] = {**effective(sizes, seconds), "compile_seconds": first}
    return results


def with_pymc(model, covers, lengths, y, fitted, num_draws):
    import pymc as pm
    import pytensor.tensor as pt

    covers = [cover.astype(float) for cover in covers]
    log_beta = lambda a, b: pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)
    log_joint = dense_log_joint(pt, model, covers, lengths, y.astype(float), log_beta)
    split = len(lengths[0])
    with pm.Model():
        z = pm.Bernoulli("z", 0.5, shape=split + len(lengths[1]))
        pm.Potential("joint", log_joint(z.astype("float64")))
        step = pm.BinaryGibbsMetropolis([z])
        start = time.perf_counter()
        pm.sample(2, tune=0, chains=1, step=step, progressbar=False, compute_convergence_checks=False)
        first = time.perf_counter() - start
        start = time.perf_counter()
        data = pm.sample(
            num_draws,
            tune=200,
            chains=NUM_CHAINS,
            cores=2,
            step=step,
            initvals={"z": fitted.astype(int)},
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
        seconds = time.perf_counter() - start
    draws = data.posterior["z"].values
    return {**effective(draws[:, :, :split].sum(axis=-1), seconds), "compile_seconds": first}


def jax_log_joint(model, covers, lengths, y):
    from jax.scipy.special import betaln as jax_betaln

    covers = [jnp.asarray(cover, jnp.float64) for cover in covers]
    return dense_log_joint(jnp, model, covers, lengths, jnp.asarray(y, jnp.float64), jax_betaln)


def with_blackjax(model, covers, lengths, y, fitted, num_draws):
    import blackjax

    log_joint = jax_log_joint(model, covers, lengths, y)
    total, split = sum(map(len, lengths)), len(lengths[0])

    def flip_one(key, position):
        return jnp.zeros_like(position).at[jax.random.randint(key, (), 0, total)].set(1.0)

    def propose(key, position):
        return jnp.abs(position - flip_one(key, position))

    kernel = blackjax.rmh(log_joint, propose)

    @jax.jit
    def run(key, start):
        def advance(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position[:split].sum()

        return jax.lax.scan(advance, kernel.init(start), jax.random.split(key, num_draws))[1]

    many = jax.jit(jax.vmap(run))
    starts = jnp.tile(jnp.asarray(fitted), (MANY_CHAINS, 1))
    start = time.perf_counter()
    many(jax.random.split(jax.random.key(0), MANY_CHAINS), starts).block_until_ready()
    first = time.perf_counter() - start
    start = time.perf_counter()
    sizes = np.asarray(many(jax.random.split(jax.random.key(1), MANY_CHAINS), starts))
    seconds = time.perf_counter() - start
    return {**effective(sizes[:, num_draws // 10 :], seconds), "compile_seconds": max(0.0, first - seconds)}


def with_numpyro(model, covers, lengths, y, fitted, num_draws):
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import HMC, MCMC, DiscreteHMCGibbs

    log_joint = jax_log_joint(model, covers, lengths, y)
    total, split = sum(map(len, lengths)), len(lengths[0])

    def target():
        numpyro.sample("unused", dist.Normal())  # the sampler insists on a continuous site
        with numpyro.plate("patterns", total):
            z = numpyro.sample("z", dist.Bernoulli(0.5))
        numpyro.factor("joint", log_joint(z.astype(jnp.float64)))

    def make(draws):
        return MCMC(
            DiscreteHMCGibbs(HMC(target, num_steps=1), modified=True),
            num_warmup=20,
            num_samples=draws,
            num_chains=NUM_CHAINS,
            chain_method=jax.vmap,
            progress_bar=False,
        )

    run = make(num_draws)
    begin = {"z": jnp.tile(jnp.asarray(fitted, jnp.int64), (NUM_CHAINS, 1)), "unused": jnp.zeros(NUM_CHAINS)}
    start = time.perf_counter()
    run.run(jax.random.key(0), init_params=begin)
    whole = time.perf_counter() - start
    start = time.perf_counter()
    run.run(jax.random.key(1), init_params=begin)
    seconds = time.perf_counter() - start
    sizes = np.asarray(run.get_samples(group_by_chain=True)["z"])[:, :, :split].sum(axis=-1)
    return {**effective(sizes, seconds), "compile_seconds": max(0.0, whole - seconds)}


def main(argv=None) -> dict:
    study = Study("samplers", __doc__, argv, RESULTS.parent / "benchmarks" / "results")
    warnings.simplefilter("ignore")
    model, covers, lengths, y = setting()
    study.say(f"{len(lengths[0])} + {len(lengths[1])} candidates")
    # all four rivals must score the same pair alike
    fitted = model.fitted_pair_.included
    z = np.concatenate([fitted[side, : len(lengths[side])] for side in (0, 1)]).astype(float)
    log_joint = dense_log_joint(np, model, [c.astype(float) for c in covers], lengths, y.astype(float), betaln)
    hyper = model.fitted_pair_.target.hyper
    is_used = hyper.searched > 0
    constant = betaln(hyper.alpha, hyper.beta).sum() + betaln(hyper.rule_alpha, hyper.rule_beta)[is_used].sum()
    if abs(log_joint(z) - constant + model.score_) > 1e-8 * abs(model.score_):
        raise RuntimeError(f"the rivals' log joint {log_joint(z) - constant} is not ours, {-model.score_}")
    with jax.enable_x64(True):
        results = ours(model, 200 if study.quick else 1000)
        study.say("soar_jax done")
        rivals = {
            "PyMC BinaryGibbsMetropolis": (with_pymc, 50 if study.quick else 300, "pymc"),
            "BlackJAX random walk": (with_blackjax, 2000 if study.quick else 20_000, "blackjax"),
            "NumPyro DiscreteHMCGibbs": (with_numpyro, 20 if study.quick else 200, "numpyro"),
        }
        installed = {}
        for name, (function, draws, package) in rivals.items():
            try:
                installed[package] = version(package)
                results[name] = function(model, covers, lengths, y, z, draws)
            except (ImportError, PackageNotFoundError) as error:
                results[name] = {"error": f"{type(error).__name__}: {error}"}
            study.say(f"{name}: {results[name]}")
    best = results[OURS]["ess_a_second"]
    lines = [
        f"Car, 1,200 rows, {len(lengths[0])} + {len(lengths[1])} candidates, one process, one "
        f"after the other; peers: {', '.join(f'{k} {v}' for k, v in installed.items())}. Bulk effective sample size of "
        "the number of positive rules; seconds hold warm-up but no compilation.",
        "",
        *table(
            ["sampler", "ESS", "s", "ESS per second", "soar_jax (second line) is faster by", "R-hat", "compilation s"],
            [
                [name, r["error"], "", "", "", "", ""]
                if "error" in r
                else [
                    name,
                    f"{r['ess']:.0f}",
                    f"{r['seconds']:.1f}",
                    f"{r['ess_a_second']:.1f}",
                    f"{best / r['ess_a_second']:.1f} x",
                    f"{r['r_hat']:.3f}",
                    f"{r['compile_seconds']:.1f}",
                ]
                for name, r in results.items()
            ],
        ),
    ]
    return study.save({"peers": installed, "results": results}, "Samplers, effective samples per second", lines)


if __name__ == "__main__":
    main()
