import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import HMC, MCMC, DiscreteHMCGibbs, Predictive
from numpyro.infer.util import log_density
from scipy.special import logsumexp
from scipy.stats import beta as beta_law

from soar_jax import SOARKernel, soar_model
from soar_jax._base import in_float64
from soar_jax.sampling.plan import EXCHANGE, FLIP, HEAL
from tests.oracles import log_beta_integral
from tests.problems import are_allowed, constrain, enumerate_log_joints, tiny_target

SHORT = ((FLIP, 8), (EXCHANGE, 2), (HEAL, 1))


@pytest.fixture(
    scope="module",
    params=[(False, 1.0), (True, 1.0), (True, 0.5)],
    ids=["opinions", "bounds", "bounds, power one half"],
)
def tiny(request):
    target, covers, weights = tiny_target(*request.param)
    pools, hyper = target.pools, target.hyper
    values, subsets = enumerate_log_joints(covers, weights, pools, hyper)
    row = np.concatenate([np.repeat(np.arange(30), weights[0]), np.repeat(np.arange(30), weights[1])])
    labels = np.repeat([1, 0], [weights[0].sum(), weights[1].sum()])
    kinds = tuple(hyper.kinds_of(side, pool.length, pool.num_cuts) for side, pool in enumerate(pools))
    arguments = (tuple(cover[:, row] for cover in covers), kinds, hyper, labels)
    return target, values, subsets, arguments


@in_float64
def test_marginal_of_the_model_is_the_collapsed_log_joint(tiny):
    """p(y, z) = p(y, z, p, rho) / p(p, rho | y, z) at any p and rho; the denominator is conjugate."""
    target, values, subsets, arguments = tiny
    hyper = target.hyper
    covers, kinds, _, labels = arguments
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, 8, (12, 2)):
        z = subsets[0][i], subsets[1][j]
        p = rng.uniform(0.05, 0.95, (2, hyper.rule_alpha.shape[1]))
        rho = hyper.low + (hyper.high - hyper.low) * rng.uniform(0.05, 0.95, 4)
        site = {
            "p_positive": p[0],
            "p_negative": p[1],
            "z_positive": z[0].astype(int),
            "z_negative": z[1].astype(int),
            "rho": rho,
        }
        joint = float(log_density(soar_model, arguments, {}, {k: jnp.asarray(v) for k, v in site.items()})[0])
        conditional = 0.0
        fires = [covers[s][z[s]].any(axis=0) for s in (0, 1)]
        states = [fires[0] & ~fires[1], fires[1] & ~fires[0], fires[0] & fires[1], ~fires[0] & ~fires[1]]
        for s, mask in enumerate(states):
            hits, misses = ((labels[mask] == (s in (0, 2))).sum(), (labels[mask] != (s in (0, 2))).sum())
            a, b = hits + hyper.alpha[s], misses + hyper.beta[s]
            whole, between = log_beta_integral(a, b, 0, 1), log_beta_integral(a, b, hyper.low[s], hyper.high[s])
            conditional += beta_law.logpdf(rho[s], a, b) + whole - between  # cut off at the bounds
        for side in (0, 1):
            for kind in range(hyper.rule_alpha.shape[1]):
                inside = z[side][np.asarray(kinds[side]) == kind].sum()
                outside = hyper.searched[side, kind] - inside
                a, b = hyper.rule_alpha[side, kind], hyper.rule_beta[side, kind]
                conditional += beta_law.logpdf(p[side, kind], inside + a, outside + b)
        assert joint - conditional == pytest.approx(values[i, j], abs=1e-8)


@in_float64
def test_prior_predictive_works(tiny):
    arguments = tiny[3]
    draws = Predictive(soar_model, num_samples=20)(jax.random.key(0), *arguments[:3])
    assert draws["label"].shape == (20, len(arguments[3])) and set(np.unique(draws["state"])) <= {0, 1, 2, 3}


@in_float64
def test_what_must_be_in_is_in_and_pairs_beyond_the_limit_have_no_density(tiny):
    """With p and rho fixed the model differs from the free one by the price of the required rule alone."""
    target, _, subsets, (covers, _, _, labels) = tiny
    target = constrain(target, (1, 0), (2, 1))
    hyper = target.hyper
    kinds = tuple(hyper.kinds_of_pool(side, pool) for side, pool in enumerate(target.pools))
    assert kinds[0][0] == -1 and (kinds[1] >= 0).all()
    rates = np.full((2, hyper.rule_alpha.shape[1]), 0.25)
    site = {"p_positive": rates[0], "p_negative": rates[1], "rho": (hyper.low + hyper.high) / 2}

    def density(i, j, kinds, **limits):
        z = {"z_positive": subsets[0][i].astype(int), "z_negative": subsets[1][j].astype(int)}
        given = {name: jnp.asarray(value) for name, value in (site | z).items()}
        return float(log_density(soar_model, (covers, kinds, hyper, labels), limits, given)[0])

    paid = tuple(hyper.kinds_of(side, pool.length, pool.num_cuts) for side, pool in enumerate(target.pools))
    is_allowed = are_allowed(target, subsets)
    for i, j in np.ndindex(8, 8):
        value = density(i, j, kinds, max_rules=target.max_rules)
        assert np.isfinite(value) == is_allowed[i, j]
        if is_allowed[i, j]:
            # beside what must be in no rules at all are as probable as the doubt about any makes them
            doubt = hyper.log_doubt if (i, j) == (1, 0) else 0.0
            assert value == pytest.approx(density(i, j, paid) - np.log(0.25) + doubt, abs=1e-9)
    drawn = Predictive(soar_model, num_samples=50)(jax.random.key(0), covers, kinds, hyper)
    assert np.asarray(drawn["z_positive"])[:, 0].all()


@pytest.mark.parametrize("ladder", [[1.0], [0.0, 0.2, 1.0]])
@in_float64
def test_kernel_in_numpyro_mcmc_samples_the_enumerated_posterior(tiny, ladder):
    """16 vectorised chains of 400 draws; five standard errors between chains."""
    target, values, subsets, _ = tiny
    kernel = SOARKernel(target, ladder=target.hyper.power * np.array(ladder), plan=SHORT)
    mcmc_run = MCMC(
        kernel, num_warmup=100, num_samples=400, num_chains=16, chain_method="vectorized", progress_bar=False
    )
    mcmc_run.run(jax.random.key(0))
    draws = mcmc_run.get_samples(group_by_chain=True)
    exact = np.exp(values - logsumexp(values))
    for side, name in enumerate(("include_positive", "include_negative")):
        truth = exact.sum(axis=1 - side) @ subsets[side]
        by_chain = np.asarray(draws[name])[:, :, :3].mean(axis=1)
        error = by_chain.std(axis=0, ddof=1) / np.sqrt(16)
        assert (np.abs(by_chain.mean(axis=0) - truth) < 5 * error + 1e-6).all()
    energy = np.asarray(mcmc_run.get_extra_fields()["potential_energy"])
    assert energy.min() >= -values.max() - 1e-9


@pytest.mark.slow
@in_float64
def test_generic_discrete_sampler_of_numpyro_agrees_with_enumeration_and_with_the_kernel(tiny):
    """DiscreteHMCGibbs on `soar_model`, 8 chains of 1,000; five standard errors between chains."""
    target, values, subsets, arguments = tiny
    generic = MCMC(
        DiscreteHMCGibbs(HMC(soar_model, num_steps=4, trajectory_length=None), modified=True),
        num_warmup=200,
        num_samples=1000,
        num_chains=8,
        chain_method=jax.vmap,
        progress_bar=False,
    )
    generic.run(jax.random.key(0), *arguments)
    ours = MCMC(
        SOARKernel(target, ladder=[1.0], plan=SHORT),
        num_warmup=100,
        num_samples=1000,
        num_chains=8,
        chain_method="vectorized",
        progress_bar=False,
    )
    ours.run(jax.random.key(1))
    exact = np.exp(values - logsumexp(values))
    for side, name in enumerate(("positive", "negative")):
        truth = exact.sum(axis=1 - side) @ subsets[side]
        means, errors = [], []
        for run, site in ((generic, f"z_{name}"), (ours, f"include_{name}")):
            by_chain = np.asarray(run.get_samples(group_by_chain=True)[site])[:, :, :3].mean(axis=1)
            means.append(by_chain.mean(axis=0))
            errors.append(by_chain.std(axis=0, ddof=1) / np.sqrt(8))
            assert (np.abs(means[-1] - truth) < 5 * errors[-1]).all()
        assert (np.abs(means[0] - means[1]) < 5 * np.hypot(*errors)).all()


def test_kernel_can_be_made_from_a_fitted_estimator():
    from soar_jax import SOARClassifier
    from tests.conftest import random_table

    X, y = random_table(0, num_rows=200)
    model = SOARClassifier(n_rounds=2, max_patterns=20, max_length=2).fit(X, y)
    with jax.enable_x64(True):
        kernel = SOARKernel.from_estimator(model, ladder=[1.0], plan=((FLIP, 3),))
        run = MCMC(kernel, num_warmup=5, num_samples=10, progress_bar=False)
        run.run(jax.random.key(0))
    assert run.get_samples()["include_positive"].shape == (10, kernel.context.problem.num_slots)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # NumPyro's R-hat of a constant site
@in_float64
def test_sequential_chains_thinning_continuing_and_summary_work(tiny, capsys):
    target = tiny[0]
    kernel = SOARKernel(target, ladder=[target.hyper.power], plan=((FLIP, 3),))
    run = MCMC(kernel, num_warmup=10, num_samples=20, thinning=2, num_chains=2, progress_bar=False,
               chain_method="sequential")  # fmt: skip
    start = {
        name: jnp.zeros((2, target.problem.num_slots), jnp.int8) for name in ("include_positive", "include_negative")
    }
    run.run(jax.random.key(1), init_params=start)
    run.post_warmup_state = run.last_state
    run.run(jax.random.key(2))
    assert run.get_samples()["include_positive"].shape[0] == 20
    run.print_summary()
    assert "include_positive" in capsys.readouterr().out


def test_kernel_refuses_32_bit_types(tiny):
    with pytest.raises(ValueError, match="64-bit"):
        SOARKernel(tiny[0]).init(jax.random.key(0), 0, None, (), {})


@in_float64
def test_draws_of_the_kernel_have_what_must_be_in_and_no_more_than_may_be():
    target = constrain(tiny_target()[0], (1, 0), (2, 1))
    mcmc = MCMC(
        SOARKernel(target, ladder=[0.0, 0.3, 1.0], plan=SHORT), num_warmup=20, num_samples=300, progress_bar=False
    )
    mcmc.run(jax.random.key(0))
    positive, negative = (np.asarray(mcmc.get_samples()[f"include_{side}"]) for side in ("positive", "negative"))
    assert positive[:, 0].all() and set(positive.sum(axis=1)) == {1, 2}
    assert set(negative.sum(axis=1)) == {0, 1}
