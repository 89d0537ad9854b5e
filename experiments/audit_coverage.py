"""Do the intervals of an audit cover? Known groups, known gaps, and how often 90 % intervals hold them.

Part one: a fitted pair, fresh rows drawn from a population whose every figure is known, intervals from rows. The plain
Bayesian bootstrap (no half rows) is shown beside it. Part two: pairs drawn from the prior, the posterior of the pair
listed exactly, intervals from its draws and fresh rows; the truth is the share of rows in each state of the drawn pair.

Run: python -m experiments.audit_coverage [--quick]
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.study import Study, table
from soar_jax import SOARClassifier
from soar_jax.candidates.coverage import NEGATIVE_SHIFT, lay_out
from soar_jax.candidates.pools import Pool
from soar_jax.control.audit import Judged, make_audit
from soar_jax.control.costs import IS_AMBIGUOUS
from soar_jax.control.figures import FIGURES
from soar_jax.data.literals import Literal
from soar_jax.data.table import GroupedRows
from soar_jax.posterior.posterior import Posterior
from soar_jax.sampling.draws import Draws
from soar_jax.score.host import host_log_joint
from soar_jax.score.priors import Hyperparameters
from soar_jax.score.rates import as_positive, draw_rates
from soar_jax.score.target import FittedPair, Target
from soar_jax.states import states_of

LEVEL = 0.9
NUM_DRAWS = 2000


SIGNS = pd.DataFrame({"p": ["yes", "no", "yes", "no"], "q": ["no", "yes", "yes", "no"]})


@dataclass(frozen=True)
class Population:
    """Rows as nature draws them: a group, then the signs p and q (what the rules read), then the label."""

    name: str
    num_rows: int
    shares: tuple[float, ...]
    signs: tuple[tuple[float, float, float, float], ...]  # by group: only p, only q, both, neither
    rates: tuple[tuple[float, float, float, float], ...]  # by group: P(positive) in each

    def draw(self, rng, num_rows=None):
        size = self.num_rows if num_rows is None else num_rows
        group = rng.choice(len(self.shares), size, p=self.shares)
        cell = (rng.random(size)[:, None] > np.cumsum(self.signs, axis=1)[group][:, :3]).sum(axis=1)
        y = rng.random(size) < np.array(self.rates)[group, cell]
        frame = pd.DataFrame(
            {
                "p": np.where(np.isin(cell, (0, 2)), "yes", "no"),
                "q": np.where(np.isin(cell, (1, 2)), "yes", "no"),
                "group": np.array([f"g{k}" for k in range(len(self.shares))])[group],
            }
        )
        return frame, y.astype(int)

    def figures(self, model, members):
        """Every figure of the model among some groups, from the population's own probabilities."""
        state, says = model.predict_state(SIGNS), model.predict(SIGNS) == 1
        weight = np.array([self.shares[k] for k in members])
        mass = (weight / weight.sum())[:, None] * np.array([self.signs[k] for k in members])
        rate = np.array([self.rates[k] for k in members])
        positive, negative = (mass * rate).sum(axis=0), (mass * (1 - rate)).sum(axis=0)
        cell = positive + negative
        clear = np.isin(state, ["positive", "negative"])
        wrong = np.where(state == "positive", negative, positive)
        return {
            "base rate": positive.sum(),
            **{f"share {name}": cell[state == name].sum() for name in ("positive", "negative", "active", "passive")},
            "no answer": cell[~clear].sum(),
            "consensus error": wrong[clear].sum() / cell[clear].sum(),
            "error": np.where(says, negative, positive).sum(),
            "selection rate": cell[says].sum(),
            "true-positive rate": positive[says].sum() / positive.sum(),
            "false-positive rate": negative[says].sum() / negative.sum(),
        }

    def association(self, fires):
        """Cramer's V between a rule that fires in some cells and the group."""
        rates, shares = np.array(self.signs)[:, fires].sum(axis=1), np.array(self.shares)
        mean = (rates * shares).sum()
        return float(np.sqrt((shares * (rates - mean) ** 2).sum() / (mean * (1 - mean))))


ALIKE = (0.30, 0.35, 0.15, 0.20)
RATES = (0.93, 0.06, 0.55, 0.40)
POPULATIONS = (
    Population("two groups, no gap", 600, (0.5, 0.5), (ALIKE, ALIKE), (RATES, RATES)),
    Population(
        "two groups, gaps",
        600,
        (0.65, 0.35),
        ((0.40, 0.30, 0.15, 0.15), (0.20, 0.35, 0.15, 0.30)),
        ((0.95, 0.05, 0.55, 0.40), (0.85, 0.12, 0.50, 0.35)),
    ),
    Population(
        "three groups, one small",
        1000,
        (0.55, 0.37, 0.08),
        ((0.40, 0.30, 0.10, 0.20), (0.25, 0.40, 0.15, 0.20), (0.15, 0.30, 0.25, 0.30)),
        ((0.95, 0.05, 0.60, 0.40), (0.88, 0.08, 0.55, 0.30), (0.80, 0.15, 0.50, 0.35)),
    ),
    Population(
        "two groups, 150 rows",
        150,
        (0.5, 0.5),
        ((0.45, 0.25, 0.15, 0.15), (0.20, 0.40, 0.20, 0.20)),
        ((0.93, 0.07, 0.55, 0.40), (0.85, 0.15, 0.55, 0.35)),
    ),
)
SETTING = dict(consensus=None, max_length=1, max_patterns=20)


class Coverage:
    """How many intervals were looked at, and how many of them hold the truth."""

    def __init__(self):
        self.found = {}

    def add(self, key, low, high, truth):
        if np.isfinite(low):
            hits, tries = self.found.get(key, (0, 0))
            self.found[key] = hits + bool(low - 1e-12 <= truth <= high + 1e-12), tries + 1

    def share(self, *keys):
        hits, tries = np.array([self.found[key] for key in (keys or self.found) if key in self.found]).sum(axis=0)
        return float(hits / tries)


def fitted_model(population):
    """Fit once, on many rows; the rules read the signs."""
    X, y = population.draw(np.random.default_rng(11), 6000)
    model = SOARClassifier(**SETTING).fit(X[["p", "q"]], y)
    if not (len(model.positive_rules_) and len(model.negative_rules_)):
        raise RuntimeError(f"{population.name}: the fit found {model.describe()}")
    return model


def plain_gap(rng, hits, rows):
    """Interval of a gap by the Bayesian bootstrap without half rows."""
    drawn = []
    for k, n in zip(hits, rows, strict=True):
        x, y = rng.standard_gamma(k, NUM_DRAWS), rng.standard_gamma(n - k, NUM_DRAWS)
        drawn.append(x / np.maximum(x + y, 1e-300))
    return np.quantile(drawn[0] - drawn[1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])


def from_rows(population, number, study):
    """Audit fresh rows again and again: coverage of groups' figures, gaps and associations."""
    model = fitted_model(population)
    names = [f"g{k}" for k in range(len(population.shares))]
    everyone = list(range(len(names)))
    own = [population.figures(model, [k]) for k in everyone]
    rest = [population.figures(model, [j for j in everyone if j != k]) for k in everyone]
    both = (*model.positive_rules_, *model.negative_rules_)
    strength = {str(rule): population.association(rule.fires(SIGNS)) for rule in both}
    groups, gaps, plain, rules = Coverage(), Coverage(), Coverage(), Coverage()
    for seed in range(number):
        rng = np.random.default_rng([3, seed])
        X, y = population.draw(rng)
        audit = model.audit(X, y, by="group", level=LEVEL, num_draws=NUM_DRAWS, random_state=seed)
        for row in audit.groups.itertuples():
            groups.add(row.figure, row.low, row.high, own[names.index(row.group)][row.figure])
        counts = audit.groups.set_index(["group", "figure"])[["hits", "rows"]]
        for row in audit.gaps.itertuples():
            k = names.index(row.group)
            truth = own[k][row.figure] - rest[k][row.figure]
            gaps.add(row.figure, row.low, row.high, truth)
            mine = counts.loc[(row.group, row.figure)]
            others = counts.xs(row.figure, level="figure").sum() - mine
            if mine["rows"] and others["rows"]:
                ends = plain_gap(rng, (mine["hits"], others["hits"]), (mine["rows"], others["rows"]))
                plain.add(row.figure, *ends, truth)
        for row in audit.rules.itertuples():
            rules.add(row.rule, row.low, row.high, strength[row.rule])
    study.say(f"{population.name}: groups {groups.share():.3f}, gaps {gaps.share():.3f}, plain {plain.share():.3f}")
    return groups, gaps, plain, rules, strength


# -- part two -------------------------------------------------------------------------------------

NUM_TRAINING, NUM_FRESH, EACH = 100, 300, 4
STATE_FIGURES = tuple(name for name in FIGURES if name.startswith("share ") or name == "no answer")


def draw_signs(rng, size, sign_rates):
    """Groups of a third and two thirds, and eight signs that are more or less frequent in them."""
    group = (rng.random(size) < 1 / 3).astype(int)
    return group, rng.random((size, 2 * EACH)) < sign_rates[group]


ALL_SIGNS = np.array(list(itertools.product([False, True], repeat=2 * EACH)))
# no side without a rule: a share of exactly nothing is covered by every interval that begins there
SUBSETS = np.array(list(itertools.product([False, True], repeat=EACH)))[1:]


def states_under(signs, positive, negative):
    return states_of((signs[:, :EACH] & positive).any(axis=1), (signs[:, EACH:] & negative).any(axis=1))


def draw_side(rng):
    """Draw the rules of one side from the prior, until there is one."""
    while True:
        rules = rng.random(EACH) < rng.beta(2.0, 3.0)
        if rules.any():
            return rules


def priors():
    kind = np.array([[-1, -1], [0, 0]])
    sizes = np.full((2, 1), EACH)
    return Hyperparameters(
        alpha=np.ones(4), beta=np.ones(4), low=np.array([0.7, 0.7, 0.3, 0.3]), high=np.array([1.0, 1.0, 0.7, 0.7]),
        kind=np.stack([kind, kind]), rule_alpha=np.full((2, 1), 2.0), rule_beta=np.full((2, 1), 3.0),
        searched=sizes.astype(float), pool_size=sizes,
    )  # fmt: skip


def exact_posterior(signs, y, hyper, rng, num_draws):
    """List the posterior of all pairs, and draw from it as a sampler would."""
    layout = lay_out(GroupedRows(np.arange(len(y))[:, None], y.astype(int), 1 - y.astype(int)))
    pools = []
    for side in (0, 1):
        cover = np.ascontiguousarray(signs[:, side * EACH : (side + 1) * EACH].T)
        bits = layout.pack(cover)
        patterns = tuple((Literal(f"s{side * EACH + j}", "==", 1),) for j in range(EACH))
        pools.append(
            Pool(patterns, ((),) * EACH, *layout.counts(bits), np.zeros(EACH), bits, np.zeros(EACH, dtype=np.int64))
        )
    target = Target((pools[0], pools[1]), layout, hyper)
    pairs, counts, log_joint = [], [], []
    for positive, negative in itertools.product(SUBSETS, SUBSETS):
        state = states_under(signs, positive, negative)
        p, n = (np.bincount(state[mask], minlength=4) for mask in (y, ~y))
        pairs.append(np.stack([positive, negative]))
        counts.append(p + (n.astype(np.int64) << NEGATIVE_SHIFT))
        log_joint.append(host_log_joint(p, n, np.array([[positive.sum()], [negative.sum()]]), hyper))
    weight = np.exp(np.array(log_joint) - max(log_joint))
    chosen = rng.choice(len(pairs), num_draws, p=weight / weight.sum())
    included = np.zeros((len(pairs), 2, target.num_slots), dtype=bool)
    included[:, :, :EACH] = pairs
    draws = Draws(
        packed=np.packbits(included[chosen], axis=-1)[None],
        num_slots=target.num_slots,
        counts=np.array(counts)[chosen][None],
        log_likelihood=np.array(log_joint)[chosen][None],
        log_prior=np.zeros((1, num_draws)),
        move_acceptance=np.zeros((1, num_draws, 0)),
        ladder_swaps=np.zeros((1, num_draws)),
        visits=included[chosen].sum(axis=0)[None],
        num_rounds=num_draws,
        ladder=np.ones(1),
        kernels=(),
        acceptance=np.zeros((0, 1)),
        swap_probability=np.zeros(0),
        arrivals=np.zeros(1, dtype=np.int64),
        log_evidence=np.nan,
        log_evidence_error=np.nan,
    )
    names = tuple(f"s{j}" for j in range(2 * EACH))
    best = FittedPair(target, included[int(np.argmax(log_joint))], np.array([0, 1]), 1, names, "SOARClassifier")
    return Posterior(best, draws, seconds=0.0, thin=1), pairs[int(np.argmax(log_joint))]


def from_draws(number, study):
    """Draw a pair and labels from the prior, and audit fresh rows with the exact posterior of the pair."""
    hyper, shares, gaps, fitted_only = priors(), Coverage(), Coverage(), Coverage()
    for seed in range(number):
        rng = np.random.default_rng([5, seed])
        truth = [draw_side(rng) for _ in (0, 1)]
        rho = as_positive(draw_rates(rng, hyper, np.zeros(4, dtype=int), np.zeros(4, dtype=int)))
        sign_rates = rng.uniform(0.05, 0.5, (2, 2 * EACH))
        _, signs = draw_signs(rng, NUM_TRAINING, sign_rates)
        y = rng.random(NUM_TRAINING) < rho[states_under(signs, *truth)]
        posterior, best = exact_posterior(signs, y, hyper, rng, 400)
        group, fresh = draw_signs(rng, NUM_FRESH, sign_rates)
        labels = rng.random(NUM_FRESH) < rho[states_under(fresh, *truth)]
        frame = pd.DataFrame(fresh.astype(int), columns=[f"s{j}" for j in range(2 * EACH)])
        judged = Judged(
            posterior.fitted.rule_sets, frame, labels, np.ones(NUM_FRESH, dtype=np.int64), np.array([True, False, True, False]), IS_AMBIGUOUS,
            states_under(fresh, *best),
        )  # fmt: skip
        state = states_under(ALL_SIGNS, *truth)
        # the population itself: every combination of signs with its probability in each group
        masses = [np.where(ALL_SIGNS, rates, 1 - rates).prod(axis=1) for rates in sign_rates]
        by_state = np.stack([np.bincount(state, mass, 4) for mass in masses])
        true = {
            **{f"share {n}": by_state[:, k] for k, n in enumerate(("positive", "negative", "active", "passive"))},
            "no answer": by_state[:, 2:].sum(axis=1),
        }
        how = dict(column=None, reference=None, level=LEVEL, num_draws=NUM_DRAWS, seed=seed)
        for basis, into in ((posterior, gaps), (None, fitted_only)):
            audit = make_audit(judged, pd.Series(group).map({0: "a", 1: "b"}), basis, **how)
            for row in audit.gaps[audit.gaps["figure"].isin(STATE_FIGURES)].itertuples():
                into.add(row.figure, row.low, row.high, true[row.figure][0] - true[row.figure][1])
            if basis is not None:
                for row in audit.groups[audit.groups["figure"].isin(STATE_FIGURES)].itertuples():
                    shares.add(row.figure, row.low, row.high, true[row.figure]["ab".index(row.group)])
        if seed % 200 == 0:
            study.say(f"pair {seed} of {number} drawn from the prior")
    return shares, gaps, fitted_only


def main(argv=None) -> dict:
    study = Study("audit_coverage", __doc__, argv)
    number = 40 if study.quick else 2000
    parts = {p.name: from_rows(p, number, study) for p in POPULATIONS}
    titles = ("groups", "gaps", "gaps, plain bootstrap")
    rows = [[figure, *(parts[p.name][k].share(figure) for p in POPULATIONS for k in range(3))] for figure in FIGURES]
    rows.append(["all figures", *(parts[p.name][k].share() for p in POPULATIONS for k in range(3))])
    shares, gaps, fitted_only = from_draws(number, study)
    draws = [[f, shares.share(f), gaps.share(f), fitted_only.share(f)] for f in STATE_FIGURES]
    draws.append(["all figures", shares.share(), gaps.share(), fitted_only.share()])
    associations = [
        [p.name, rule, strength, parts[p.name][3].share(rule)]
        for p in POPULATIONS
        for rule, strength in parts[p.name][4].items()
    ]
    pooled = {
        figure: float(
            sum(parts[p.name][1].found[figure][0] for p in POPULATIONS)
            / sum(parts[p.name][1].found[figure][1] for p in POPULATIONS)
        )
        for figure in FIGURES
    }
    record = {
        "number": number,
        "level": LEVEL,
        "gaps_by_figure": pooled,
        "rows": {
            p.name: {
                title: {figure: parts[p.name][k].share(figure) for figure in FIGURES}
                | {"all": parts[p.name][k].share()}
                for k, title in enumerate(titles)
            }
            for p in POPULATIONS
        },
        "draws": {
            row[0]: dict(zip(("groups", "gaps", "gaps of the fitted pair alone"), row[1:], strict=True))
            for row in draws
        },
        "associations": associations,
    }
    lines = [
        f"Share of {LEVEL:.0%} intervals that hold the truth, {number:,} repetitions; each share has a standard error of "
        f"about {np.sqrt(LEVEL * (1 - LEVEL) / number):.4f}. Wanted: 0.87 to 0.93.",
        "",
        "## From rows: a fitted pair on fresh rows",
        "",
        "`SOARClassifier` is fitted once per population, to 6,000 rows; `audit` sees fresh rows. *Plain*: the Bayesian bootstrap of "
        "the same rows without Jeffreys' half rows.",
        "",
        "### Gaps between groups",
        "",
        *table(["figure", *(p.name for p in POPULATIONS), "all populations"],
               [[r[0], *(r[2 + 3 * i] for i in range(len(POPULATIONS))), pooled.get(r[0], "")] for r in rows]),
        "",
        "### The same by the plain bootstrap",
        "",
        *table(["figure", *(p.name for p in POPULATIONS)],
               [[r[0], *(r[3 + 3 * i] for i in range(len(POPULATIONS)))] for r in rows]),
        "",
        "### Figures of single groups",
        "",
        *table(["figure", *(p.name for p in POPULATIONS)],
               [[r[0], *(r[1 + 3 * i] for i in range(len(POPULATIONS)))] for r in rows]),
        "",
        "### Association of a rule's firing with the group",
        "",
        *table(["population", "rule", "Cramer's V", "coverage"], associations),
        "",
        "Of no association at all only the lower end can be wrong, so that 0.95 is right there.",
        "",
        "## From draws: a pair drawn from the prior, its posterior listed exactly",
        "",
        f"{EACH} + {EACH} candidates, {NUM_TRAINING} training rows, {NUM_FRESH} fresh rows, two groups, at least one rule on each side; how frequent the signs are in each group is drawn anew. The truth is of the pair that made "
        "the labels; *fitted pair alone* is what intervals from rows would say of it.",
        "",
        *table(["figure", "groups", "gaps", "gaps, fitted pair alone"], draws),
    ]  # fmt: skip
    return study.save(record, "Coverage of audit intervals", lines)


if __name__ == "__main__":
    main()
