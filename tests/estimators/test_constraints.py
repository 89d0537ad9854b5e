"""Constraints at fit: what is claimed under them is checked by brute force, and what they forbid never appears."""

import json
import warnings
from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from soar_jax import BOAClassifier, InputError, Literal, Rule, SOARClassifier
from soar_jax.candidates.build import CandidateOptions, build_candidates
from soar_jax.candidates.searched import count_conjunctions
from soar_jax.cli.main import main
from tests.conftest import coverage, log_joint_of_cover, random_table

X, Y = random_table(1, num_rows=150)
X["b"] = (np.random.default_rng(3).random(len(X)) < 0.4).astype(int)
REQUIRED = {"positive": ["c0 = a and n > 0.123"], "negative": [Rule.parse("c2 = a"), [("c0", "!=", "a")]]}
CASES = {
    "columns": dict(forbid=["c0"]),
    "pairs": dict(forbid=[("c0", "n"), ("c1", "c2")]),
    "literals": dict(forbid=["c0 = a", ("c1", "==", "b")]),
    "directions": dict(directions={"n": "-", "b": "+"}),
    "limits": dict(max_rules=(1, 2)),
    "required": dict(require=REQUIRED),
    "everything": dict(
        forbid=["c1", ("c0", "c2")], require={True: ["n > 0.5"]}, directions={"n": "+"}, max_rules=2, pools="shared"
    ),
}
SEARCHES = {"full": dict(max_patterns=8), "annealing": dict(search="annealing", max_patterns=5, n_iter=100)}


@cache
def fitted(case, search="full", kind=SOARClassifier):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(n_rounds=2, n_restarts=1, **SEARCHES[search], **CASES[case]).fit(X, Y)


def plain(literals):
    return [(z.column, z.op, z.value) for z in literals]


def required_of(model):
    """Required rules of each side, as the tests read them."""
    sides = [[], []]
    for name, rules in (model.require or {}).items():
        for rule in rules:
            is_text = isinstance(rule, str)
            found = Rule.parse(rule) if is_text else rule if isinstance(rule, Rule) else Rule.from_literals(rule)
            sides[0 if name in ("positive", True) else 1].append(found)
    return sides


def is_allowed(model, literals, side):
    """Whether a pattern may be a rule of a side, written from the parameters alone."""
    columns = {z.column for z in literals}
    for entry in model.forbid or ():
        if entry in columns:
            return False
        if isinstance(entry, tuple) and len(entry) == 2 and set(entry) <= columns:
            return False
        if (isinstance(entry, tuple) and len(entry) == 3 and Literal(*entry) in literals) or (
            isinstance(entry, str) and "=" in entry and Rule.parse(entry).conditions[0] in literals
        ):
            return False
    for z in literals:
        if z.column in (model.directions or {}):
            wants_high = (model.directions[z.column] == "+") == (side == 0)
            if z.column == "b" and z.value != int(wants_high):
                return False
            if z.column == "n" and z.op != (">" if wants_high else "<="):
                return False
    return set(literals) not in [set(rule.conditions) for rule in required_of(model)[side]]


def limits_of(model):
    limit = model.max_rules if model.max_rules is not None else 63
    return limit if isinstance(limit, tuple) else (limit, limit)


@cache
def all_mined():
    """Everything mined without constraints: literals, covers, number of cuts and weight of each pattern."""
    model = SOARClassifier()
    options = CandidateOptions(**{name: getattr(model, name) for name in CandidateOptions.__dataclass_fields__})
    catalogue = build_candidates(X, Y, np.ones(len(Y), np.int64), options, single=False).source
    patterns = [catalogue.literals(p) for p in catalogue.mined.items]
    choices = catalogue.mined.per_literal(catalogue.items.choices, 1.0)
    return patterns, coverage(X, map(plain, patterns)), catalogue.num_cuts(catalogue.mined.items), choices.prod(axis=1)


@pytest.mark.parametrize("case", CASES)
def test_no_allowed_pattern_in_or_out_of_the_pools_improves_the_pair(case):
    model = fitted(case)
    assert model.certificate_ and model.certificate_.is_constrained
    assert "that the constraints allow" in str(model.certificate_)
    patterns, cover, cuts, _ = all_mined()
    hyper, ones, limits = model.fitted_pair_.target.hyper, np.ones(len(Y), np.int64), limits_of(model)
    required = required_of(model)
    rules = [list(model.positive_rules_), list(model.negative_rules_)]
    free = [[rule for rule in mine if rule not in must] for mine, must in zip(rules, required, strict=True)]
    assert all(rule in rules[side] for side in (0, 1) for rule in required[side])
    kind_of = {frozenset(p): (len(p), int(c)) for p, c in zip(patterns, cuts, strict=True)}
    rate = cover @ Y.astype(int) / cover.sum(axis=1)
    allowed = []
    for side in (0, 1):
        speaks = (rate > Y.mean()) if side == 0 else (rate < Y.mean())
        speaks = (speaks | (model.pools == "shared")) & (cover.sum(axis=1) < len(Y))
        allowed.append([i for i in np.flatnonzero(speaks) if is_allowed(model, patterns[i], side)])
    assert model.certificate_.num_patterns == sum(map(len, allowed))

    def log_joint(pairs):
        covered = [coverage(X, [plain(r) for r in mine]).any(axis=0) for mine in pairs]
        sizes = []
        for side, mine in enumerate(pairs):
            kinds = [hyper.kind[side][kind_of[frozenset(r)]] for r in mine if Rule(tuple(r)) not in required[side]]
            sizes.append(np.bincount(np.array(kinds, int), minlength=hyper.searched.shape[1]))
        return log_joint_of_cover(*covered, Y, ones, sizes, model.priors_)

    now = [[rule.conditions for rule in mine] for mine in rules]
    best = log_joint(now)
    assert -model.score_ == pytest.approx(best, rel=1e-9)
    tried = 0
    for side in (0, 1):
        for out, new in product([None, *free[side]], [None, *allowed[side]]):
            mine = [r for r in now[side] if out is None or Rule(r) != out] + ([] if new is None else [patterns[new]])
            if len(mine) > limits[side] or (out is None and new is None):
                continue
            tried += 1
            assert log_joint([mine, now[1]] if side == 0 else [now[0], mine]) <= best + 1e-8 * (1 + abs(best))
    assert tried > 20


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("case", CASES)
def test_candidates_rules_and_aliases_keep_to_the_constraints(case, search):
    model = fitted(case, search)
    must, limits = required_of(model), limits_of(model)
    pools = model.pools_
    for side, name in enumerate(("positive", "negative")):
        mine = pools[pools["side"] == name]
        for literals, kind, aliases in zip(mine["literals"], mine["kind"], mine["aliases"], strict=True):
            rule = Rule.from_literals(literals)
            assert (kind == "required") == (rule in must[side])
            assert rule in must[side] or is_allowed(model, rule.conditions, side)
            assert all(is_allowed(model, Rule.parse(alias).conditions, side) for alias in aliases)
        rules = (model.positive_rules_, model.negative_rules_)[side]
        assert len(rules) <= limits[side] and set(must[side]) <= set(rules)
        assert (mine["kind"] == "required").sum() == len(must[side])
        covers = coverage(X, mine["literals"])
        assert (covers.sum(axis=1) == mine["support"]).all()  # cut points of required rules are read exactly


@pytest.mark.parametrize(("case", "search"), [("limits", "full"), ("everything", "full"), ("required", "annealing")])
def test_every_draw_keeps_to_the_constraints(case, search):
    model = fitted(case, search)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = model.sample_posterior(50, num_chains=2, num_temperatures=3, num_warmup=25)
    target, limits = model.fitted_pair_.target, limits_of(model)
    included = posterior.draws.included
    assert (included.sum(axis=-1) <= limits).all() and included[..., target.required].all()
    assert included.reshape(100, -1).any(axis=0).sum() > target.required.sum()  # and they do move
    assert 0 <= posterior.diagnose().no_rules <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        always = posterior.inclusion.set_index(["side", "rule"])["status"]
    for side, rules in zip(("positive", "negative"), required_of(model), strict=True):
        for rule in rules:
            found = [r for s, r in always.index if s == side and Rule.parse(r) == rule]
            assert len(found) == 1 and always[side, found[0]] == "always"


@pytest.mark.parametrize("case", ["limits", "required", "everything"])
def test_among_few_candidates_the_best_of_all_allowed_pairs_is_found(case):
    """All pairs of a small pool, by the oracle; the fitted pair is the best of them."""
    model = fitted(case, "annealing")
    target, required, limits = model.fitted_pair_.target, required_of(model), limits_of(model)
    sides = []
    for side, pool in enumerate(target.pools):
        covers = coverage(X, map(plain, pool.patterns))
        kinds = target.hyper.kinds_of_pool(side, pool)
        must = np.array([Rule(p) in required[side] for p in pool.patterns])
        assert must.sum() == len(required[side])
        room = limits[side] - must.sum()
        free = np.flatnonzero(~must)
        subsets = [chosen for size in range(min(room, len(free)) + 1) for chosen in combinations(free, size)]
        listed = []
        for chosen in subsets:
            sizes = np.bincount(kinds[list(chosen)], minlength=target.hyper.searched.shape[1])
            listed.append((covers[[*np.flatnonzero(must), *chosen]].any(axis=0), sizes))
        sides.append(listed)
    ones = np.ones(len(Y), np.int64)
    best = max(log_joint_of_cover(a[0], b[0], Y, ones, (a[1], b[1]), model.priors_) for a, b in product(*sides))
    assert -model.score_ >= best - 1e-9 * abs(best)


@pytest.mark.parametrize("case", CASES)
def test_the_prior_counts_only_what_may_be_searched(case):
    model = fitted(case)
    patterns, _, cuts, weights = all_mined()
    hyper = model.fitted_pair_.target.hyper
    for side in (0, 1):
        expected = np.zeros(hyper.searched.shape[1])
        for pattern, num_cuts, weight in zip(patterns, cuts, weights, strict=True):
            if is_allowed(model, pattern, side):
                expected[hyper.kind[side, len(pattern), num_cuts]] += weight
        mined = np.unique(hyper.kind[side, : 3 + 1])
        mined = mined[mined >= 0]
        assert np.ceil(expected[mined]).tolist() == hyper.searched[side][mined].tolist()


def test_conjunctions_of_columns_kept_apart_are_counted_exactly():
    options = CandidateOptions(
        **{n: getattr(SOARClassifier(negations=True), n) for n in CandidateOptions.__dataclass_fields__}
    )
    frame = X.assign(d=X["c0"].to_numpy()[::-1], e=X["c2"].to_numpy()[::-1])
    items = build_candidates(frame, Y, np.ones(len(Y), np.int64), options, single=False).source.items
    rng = np.random.default_rng(0)
    columns = np.unique(items.column)
    pairs = list(combinations(columns.tolist(), 2))
    for _ in range(6):
        chosen = rng.choice(len(pairs), rng.integers(1, 8), replace=False)
        apart = replace(items, apart=tuple(pairs[i] for i in chosen))
        compatible, is_cut = apart.compatible(), items.choices > 1
        expected = np.zeros((4, 4))
        for length in range(4):
            for rule in combinations(range(len(items.literals)), length):
                if all(compatible[i, j] for i, j in combinations(rule, 2)):
                    expected[length, is_cut[list(rule)].sum()] += items.choices[list(rule)].prod()
        assert count_conjunctions(apart, 3) == pytest.approx(expected, rel=1e-12)


def test_a_grown_rule_that_is_required_is_not_counted_and_stays():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (400, 8)), columns=[f"x{i}" for i in range(8)]).astype(str)
    y = (frame[["x0", "x1", "x2", "x3"]] == "1").all(axis=1) | (frame["x5"] == "1")
    text = "x0 = 1 and x1 = 1 and x2 = 1 and x3 = 1 and x4 = 0"
    model = SOARClassifier(n_rounds=1, require={"positive": text}).fit(frame, y)
    plain_fit = SOARClassifier(n_rounds=1).fit(frame, y)
    assert Rule.parse(text) in model.positive_rules_ and max(model.rules_["length"]) == 5
    searched = [dict(zip(p["kind"], p["searched"], strict=True)) for m in (model, plain_fit)
                for p in [m.priors_["rules"]["positive"]]]  # fmt: skip
    assert searched[1]["5 literals"] - searched[0]["5 literals"] == 1
    assert {k: v for k, v in searched[0].items() if k != "5 literals"} == {
        k: v for k, v in searched[1].items() if k != "5 literals"
    }


def test_constraints_hold_for_one_rule_set_and_on_two_halves():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = BOAClassifier(n_rounds=1, max_rules=2, require={"positive": "n > 0.123"}, forbid="c0").fit(X, Y)
        halves = SOARClassifier(n_rounds=1, honest=True, holdout=0.2, require=REQUIRED, max_rules=3).fit(X, Y)
    assert 1 <= len(one.positive_rules_) <= 2 and Rule.parse("n > 0.123") in one.positive_rules_
    assert "c0" not in one.features_used_ and len(one.negative_rules_) == 0
    assert set(required_of(halves)[1]) <= set(halves.negative_rules_) and halves.certificate_.num_required == 3
    assert "over the required ones alone" in halves.conclude()


@pytest.mark.parametrize("search", SEARCHES)
def test_a_limit_of_columns_holds_for_the_pair_and_for_every_draw(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SOARClassifier(
            n_rounds=2, n_restarts=1, **SEARCHES[search], max_columns=2, require={"negative": "c1 is not b"}
        ).fit(X, Y)
        posterior = model.sample_posterior(25, num_chains=2, num_temperatures=2, num_warmup=25)
    chosen = model.certificate_.columns
    assert (
        len(chosen) == 2
        and "c1" in chosen
        and f"given the columns chosen first: {', '.join(chosen)}" in str(model.certificate_)
    )
    used = {z.column for pool in posterior.pools for pattern in pool.patterns for z in pattern}
    assert used <= set(chosen) and set(model.features_used_) <= set(chosen)


def test_the_most_telling_column_is_kept():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(["u", "v", "w"], (300, 5)), columns=list("vwxyz"))
    y = (frame["x"] == "u") | ((frame["z"] == "v") & (rng.random(300) < 0.9))
    model = SOARClassifier(n_rounds=1, max_columns=1).fit(frame, y)
    assert model.certificate_.columns == ("x",)
    wide = SOARClassifier(n_rounds=1, max_columns=4).fit(frame, y)
    assert len(wide.certificate_.columns) == 4 and {"x", "z"} <= set(wide.certificate_.columns)
    assert SOARClassifier(n_rounds=1, max_columns=9).fit(frame, y).score_ == pytest.approx(
        SOARClassifier(n_rounds=1).fit(frame, y).score_, rel=1e-12
    )


def test_required_levels_that_are_rare_and_literals_that_are_not_offered_are_read_exactly():
    frame = X.assign(rare=np.where(np.arange(len(X)) == 7, "only", "usual"), when=pd.date_range("2020", periods=len(X)))
    must = ["rare = only", "when > 2020-03-03 and c1 is missing", "c2 is not b and -0.5 < n <= 0.25"]
    model = SOARClassifier(n_rounds=1, require={"positive": must}).fit(frame, Y)
    rules = model.rules_[model.rules_["side"] == "positive"]
    for text in must:
        rule = Rule.parse(text)
        line = next(i for i, one in enumerate(model.positive_rules_) if one == rule)
        assert rules["support"].iloc[line] == rule.fires(frame).sum()
    others = [z for p in model.pools_["literals"] for z in p if Rule.from_literals(p) not in map(Rule.parse, must)]
    asked = {z for text in must for z in Rule.parse(text).literals}
    assert not asked - {("c2", "!=", "b")} & set(others)  # nobody else is offered what only they ask for


BAD = [
    (dict(forbid=["c00"]), r"forbid names column 'c00', which the table does not have\. Did you mean 'c0'\?"),
    (dict(forbid=[("c0", "m")]), "forbid names column 'm'"),
    (dict(forbid=[("c0", "c0")]), "pairs column 'c0' with itself"),
    (dict(forbid=["c0 = a and c1 = b"]), "which is 2 literals"),
    (dict(forbid=["n >= 3"]), "forbid names column"),
    (dict(forbid=["n = 3"]), "column 'n' is a number here; use a number after <= or >"),
    (dict(forbid=["c0 > 3"]), "column 'c0' is a category here; use = or is not"),
    (dict(forbid=[("c0", "~", 3)]), "op one of"),
    (dict(forbid=3), "must be a list"),
    (dict(forbid=[3.5]), "wants text such as"),
    (dict(forbid=list(X.columns)), "forbid names every column"),
    (dict(forbid=["c0", "c1", "n", "c2 = a", "c2 = b", "b = 0", "b = 1"]), "forbid every literal"),
    (dict(require=["c0 = a"]), "must say for which side"),
    (dict(require={"plus": ["c0 = a"]}), "names side 'plus'; give one of 'positive', 'negative', 'True', 'False'"),
    (dict(require={"positive": ["c9 = a"]}), "require names column 'c9'"),
    (dict(require={"positive": ["c0 = q"]}), "no row of the table has that level"),
    (dict(require={"positive": ["n > 2020-01-01"]}), "column 'n' is a number here"),
    (dict(require={"positive": ["n > 1 and n <= 0"]}), "can never be true"),
    (dict(require={"positive": ["c0 = a and c0 = b"]}), "can never be true"),
    (dict(require={"positive": 4}), "must be a list of rules"),
    (dict(require={"positive": [4]}), "wants text such as"),
    (dict(require={"positive": ["c0 >"]}), "Cannot read the rule"),
    (dict(require={"positive": ["c0 = a"]}, forbid=["c0"]), "forbid rules column 'c0' out"),
    (dict(require={"positive": ["c0 = a"]}, forbid=["c0 = a"]), "forbid rules 'c0 = a' out"),
    (dict(require={"positive": ["c0 = a and n > 0"]}, forbid=[("n", "c0")]), "keeps 'n' and 'c0' apart"),
    (dict(require={"negative": ["n > 0"]}, directions={"n": "+"}), "goes against"),
    (dict(require={"positive": ["b = 0"]}, directions={"b": "+"}), "goes against"),
    (dict(require={"positive": ["n > 0", "n > 1"]}, max_rules=1), "2 positive rules, but a side may have at most 1"),
    (
        dict(require={"positive": ["n > 0 and c0 = a"]}, max_columns=1),
        r"read 2 columns \(n, c0\), but max_columns is 1",
    ),
    (dict(directions={"N": "+"}), "directions names column 'N'"),
    (dict(directions={"n": 1}), r"must be '\+' or '-'"),
    (dict(directions={"c0": "+"}), "is a category: its levels have no order"),
    (dict(directions="n"), "must be a mapping"),
    (dict(max_rules=0), "max_rules must be a whole number of at least 1"),
    (dict(max_rules=(0, 0)), "no rule on either side"),
    (dict(max_rules=(1, 2, 3)), "pair of them"),
    (dict(max_rules=(1, -1)), "at least 0"),
    (dict(max_columns=0), "max_columns must be a whole number of at least 1"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD, ids=[str(p)[:60] for p, _ in BAD])
def test_what_cannot_be_met_is_refused_in_one_sentence(parameters, message):
    with pytest.raises(InputError, match=message) as caught:
        SOARClassifier(n_rounds=1, **parameters).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_one_rule_set_takes_no_negative_rules():
    for parameters, message in [
        (dict(require={"negative": ["n > 0"]}), "positive rules only"),
        (dict(max_rules=(1, 1)), "must be a whole number, got"),
    ]:
        with pytest.raises(InputError, match=message):
            BOAClassifier(**parameters).fit(X, Y)


def test_models_keep_their_constraints_in_files_and_clones(tmp_path):
    model = fitted("everything")
    model.save(tmp_path / "m.json")
    again = SOARClassifier.load(tmp_path / "m.json")
    assert again.forbid == ("c1", ("c0", "c2")) and again.require == {True: ("n > 0.5",)}
    assert again.directions == {"n": "+"} and again.max_rules == 2
    assert again.certificate_ == model.certificate_ and again.conclude() == model.conclude()
    values = fitted("required")
    values.save(tmp_path / "m.json")
    assert SOARClassifier.load(tmp_path / "m.json").require == {
        "positive": ("c0 = a and n > 0.123",),
        "negative": (Rule.parse("c2 = a"), (("c0", "!=", "a"),)),
    }
    assert clone(values).require == values.require
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_again = again.set_params(max_patterns=8).fit(X, Y)
    assert fit_again.score_ == model.score_


def test_the_command_takes_constraints(tmp_path, capsys):
    X.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    common = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--rounds", "1", "--quiet"]
    common += ["--out", str(tmp_path / "m.json")]
    given = ["--forbid", "c1", "--forbid", "c2 = a", "--forbid-pair", "c0", "c2", "--max-rules", "3"]
    given += ["--require-positive", "n > 0.5", "--require-negative", "c0 is not a", "--direction", "n=+"]
    assert main([*common, *given, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert "n > 0.5" in summary["positive_rules"] and "c0 is not a" in summary["negative_rules"]
    assert "that the constraints allow" in summary["certificate"]
    assert main([*common, "--max-columns", "1"]) == 0
    assert "given the columns chosen first" in " ".join(capsys.readouterr().out.split())
    assert main([*common, "--direction", "n"]) != 0 and main([*common, "--forbid", "c11"]) != 0
    assert "Did you mean" in capsys.readouterr().err
