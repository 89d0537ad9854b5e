import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from soar_jax import BOAClassifier, InputError, Literal, Rule, RulePrior, SOARClassifier
from soar_jax.control.edits import with_kind
from soar_jax.control.hand_written import read_rule, rule_key
from soar_jax.states import TAXONOMY
from tests.conftest import coverage, log_joint_of_cover, random_table

QUICK = dict(n_rounds=1, max_patterns=20, max_length=2)
SIDES = ("positive", "negative")
WHY = "a domain expert says so"


class Recounted:
    """A pair on raw training rows: covers, log joint and states, from literals and ``priors_`` alone."""

    def __init__(self, model, X, y, weights):
        self.X, self.weights, self.priors = X, weights, model.priors_
        self.y = np.asarray(y) == model.positive_rules_.label
        self.sets = [[rule.literals for rule in rules] for rules in (model.positive_rules_, model.negative_rules_)]
        self.covers = [coverage(X, mine).any(axis=0) for mine in self.sets]

    def log_joint(self, num_cuts):
        """``num_cuts(literals)`` says how many of a rule's cuts were placed by the labels."""
        sizes = []
        for side, mine in zip(SIDES, self.sets, strict=True):
            rule = self.priors["rules"][side]
            size = np.zeros(len(rule["kind"]), int)
            for literals in mine:
                size[self.kind(rule, len(literals), num_cuts(literals))] += 1
            sizes.append(size)
        return log_joint_of_cover(*self.covers, self.y, self.weights, sizes, self.priors)

    @staticmethod
    def kind(rule, length, cuts):
        """Index of the kind by its name; the dearest where that was not searched."""
        name = f"{length} literal{'s' * (length > 1)}" + (f", {cuts} cut{'s' * (cuts > 1)}" if cuts else "")
        whole = f"{length} literal{'s' * (length > 1)}"
        for wanted in (name, whole):
            if wanted in rule["kind"]:
                return rule["kind"].index(wanted)
        return int(np.argmax(rule["searched"]))

    def states(self):
        plus, minus = self.covers
        return np.select([plus & ~minus, minus & ~plus, plus & minus], [0, 1, 2], 3)


def bounds(literals):
    """Cuts of a rule where every numeric cut is placed by the labels."""
    return sum(op in ("<=", ">") for _, op, _ in literals)


def check(before, after, X, y, weights=None, num_cuts=bounds):
    """The last entry of the log against the oracle, and the new model against its rows."""
    weights = np.ones(len(X), dtype=np.int64) if weights is None else weights
    old, new = Recounted(before, X, y, weights), Recounted(after, X, y, weights)
    entry = after.edits_.iloc[-1]
    assert -before.score_ == pytest.approx(old.log_joint(num_cuts), rel=1e-8)
    assert -after.score_ == pytest.approx(new.log_joint(num_cuts), rel=1e-8)
    change = new.log_joint(num_cuts) - old.log_joint(num_cuts)
    assert entry["log_joint_change"] == pytest.approx(change, abs=1e-6)
    moved = old.states() != new.states()
    assert entry["rows_changed"] == weights[moved].sum() == sum(entry["moves"].values())
    for text, number in entry["moves"].items():
        here, there = (("positive", "negative", "active", "passive").index(s) for s in text.split(" to "))
        assert number == weights[(old.states() == here) & (new.states() == there)].sum()
    for model, column in ((before, "taxonomy_before"), (after, "taxonomy_after")):
        state, truth = Recounted(model, X, y, weights).states(), old.y
        names = np.array([["CTP", "CFP"], ["CFN", "CTN"], ["AAP", "AAN"], ["PAP", "PAN"]])[state, (~truth).astype(int)]
        found = {name: int(weights[names == name].sum()) for name in TAXONOMY}
        assert entry[column] == found
    assert after.training_taxonomy_.to_dict() == entry["taxonomy_after"]


@pytest.fixture(scope="module")
def fitted():
    X, y = random_table(0, num_rows=200)
    return X, y, SOARClassifier(**QUICK).fit(X, y)


def new_rules(model):
    """A candidate that is out, and a conjunction of two known literals that is no candidate, for each side."""
    pools = model.pools_
    for name, rules in zip(SIDES, (model.positive_rules_, model.negative_rules_), strict=True):
        inside = {rule.literals for rule in rules}
        mine = pools[pools["side"] == name]
        yield name, next(z for z in mine["literals"] if z not in inside)


def test_price_of_removals_candidates_and_exchanges_is_that_of_the_oracle(fitted):
    X, y, model = fitted
    for letter, rules in zip("PN", (model.positive_rules_, model.negative_rules_), strict=True):
        for i in range(len(rules)):
            check(model, model.without_rule(f"{letter}{i + 1}", reason=WHY), X, y)
    for side, literals in new_rules(model):
        added = model.with_rule(literals, side, reason=WHY)
        check(model, added, X, y)
        assert literals in set(added.rules_["literals"])
        swapped = model.replace_rule("PN"[SIDES.index(side)] + "1", Rule.from_literals(literals), reason=WHY)
        check(model, swapped, X, y)


@pytest.mark.parametrize(
    "literals",
    [
        [("c0", "==", "a"), ("c1", "==", "c")],
        [("c2", "==", "a"), ("c0", "==", "b"), ("c1", "==", "a")],
        [("c2", "==", "b"), ("c0", "==", "b"), ("c1", "==", "b")],
    ],
)
@pytest.mark.parametrize("side", SIDES)
def test_rules_of_known_literals_need_no_rows(fitted, literals, side):
    X, y, model = fitted
    known = set(model._known.literals)
    assert all(Literal(*literal) in known for literal in literals)
    check(model, model.with_rule(literals, side, reason=WHY), X, y)


@pytest.mark.parametrize(
    "literals",
    [
        [("n", ">", 0.123)],
        [("n", ">", -0.5), ("n", "<=", 0.77), ("c0", "==", "a")],
        [("c0", "==", "nowhere")],
        [("c1", "missing", None)],
        [("c0", "!=", "a"), ("c1", "==", "b"), ("c2", "==", "a"), ("n", "<=", 1.5)],
    ],
)
def test_other_rules_are_counted_on_the_table_that_is_given_again(fitted, literals):
    X, y, model = fitted
    with pytest.raises(InputError, match=r"did not count the literal .* give X= and y="):
        model.with_rule(literals, "positive", reason=WHY)
    edited = model.with_rule(literals, "positive", reason=WHY, X=X, y=y)
    check(model, edited, X, y)
    again = edited.without_rule(literals, reason="no")
    assert again.score_ == pytest.approx(model.score_, rel=1e-9) and len(again.edits_) == 2
    assert again.edits_["log_joint_change"].sum() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "num_cuts"),
    [
        (dict(rule_prior=RulePrior(1.0, 50.0)), bounds),
        (dict(cuts="quantile"), lambda literals: 0),
        (dict(search="annealing", n_iter=100, n_restarts=2), bounds),
        (dict(class_weight={1: 2}), bounds),
    ],
)
def test_prices_hold_under_other_settings(settings, num_cuts):
    X, y = random_table(0, num_rows=200)
    weights = 1 + np.arange(200) % 2
    model = SOARClassifier(**{**QUICK, **settings}).fit(X, y.astype(int), weights)
    full = weights * np.where(y & ("class_weight" in settings), 2, 1)
    rows = dict(X=X, y=y.astype(int), sample_weight=weights)
    for literals in ([("n", "<=", 0.4321)], [("c0", "==", "b"), ("c2", "==", "a")]):
        edited = model.with_rule(literals, "negative", reason=WHY, **rows)
        check(model, edited, X, y.astype(int), full, num_cuts)
    check(model, model.without_rule("P1", reason=WHY), X, y.astype(int), full, num_cuts)


@pytest.mark.parametrize("settings", [dict(holdout=0.3), dict(honest=True), dict(holdout=0.3, honest=True)])
def test_rows_set_aside_by_the_fit_are_not_counted(settings):
    X, y = random_table(0, num_rows=400)
    model = SOARClassifier(**QUICK, **settings).fit(X, y)
    edited = model.with_rule([("n", ">", 0.123)], "positive", reason=WHY, X=X, y=y)
    rows = 400 * (0.7 if "holdout" in settings else 1) * (0.5 if "honest" in settings else 1)
    assert sum(edited.edits_.iloc[-1]["taxonomy_after"].values()) == pytest.approx(rows, abs=2)
    assert not hasattr(edited, "fresh_states_") and "fresh_precision" not in edited.rules_


def test_the_one_class_method_has_one_side():
    X, y = random_table(0, num_rows=200)
    model = BOAClassifier(**QUICK).fit(X, y)
    check(model, model.with_rule([("c2", "==", "a"), ("c0", "==", "a")], "positive", reason=WHY), X, y)
    with pytest.raises(InputError, match="no negative side"):
        model.with_rule([("c0", "==", "b")], "negative", reason=WHY)


def test_a_longer_rule_is_priced_as_the_dearest_kind(fitted):
    X, y, model = fitted
    literals = [("c0", "==", "a"), ("c1", "==", "a"), ("c2", "==", "a"), ("n", ">", 0.0001), ("n", "<=", 1.0001)]
    edited = model.with_rule(literals, "negative", reason=WHY, X=X, y=y)
    check(model, edited, X, y)
    hyper = with_kind(model._hyper, 1, 9, 2)
    assert hyper.kind[1, 9, 2] == np.argmax(hyper.searched[1]) and hyper.kind.shape == (2, 10, 10)
    assert np.array_equal(hyper.kind[:, :3, :3], model._hyper.kind[:, :3, :3])


def test_the_old_model_is_untouched_and_the_new_one_is_whole(fitted, tmp_path):
    X, y, model = fitted
    before = (model.describe(), model.score_, model.predict_proba(X).tolist(), model.rules_.to_json())
    (side, literals), _ = new_rules(model)
    edited = model.with_rule(literals, side, reason="  because ü  ")
    assert before == (model.describe(), model.score_, model.predict_proba(X).tolist(), model.rules_.to_json())
    assert not len(model.edits_) and model.certificate_ == model.certificate_
    assert not edited.certificate_ and not edited.is_local_optimum_ and "by hand" in str(edited.certificate_)
    assert edited.gain_ == pytest.approx(model.gain_ + edited.edits_["log_joint_change"].iloc[0], abs=1e-9)
    assert str(Rule.from_literals(literals)) in edited.describe()
    assert edited.taxonomy(X, y).to_dict() == edited.edits_.iloc[0]["taxonomy_after"]
    entry = edited.edits_.iloc[0]
    assert entry["reason"] == "  because ü  " and entry["action"] == "add" and entry["side"] == side
    assert pd.Timestamp(entry["time"]).tzinfo is not None
    shown = str(edited.edits_)
    assert f"added '{Rule.from_literals(literals)}'" in shown and "because ü" in shown and "change state" in shown
    assert str(model.edits_) == "No rule was changed by hand." and isinstance(edited.edits_, pd.DataFrame)
    assert edited.edits_._repr_html_().startswith("<div>") and str(edited.edits_[["reason"]])
    for again in (_saved(edited, tmp_path), pickle.loads(pickle.dumps(edited))):
        assert again.describe() == edited.describe() and again.score_ == edited.score_
        assert np.array_equal(again.predict_proba(X), edited.predict_proba(X))
        pd.testing.assert_frame_equal(again.edits_, edited.edits_)
    assert not len(clone(edited).fit(X, y).edits_) and clone(edited).fit(X, y).describe() == model.describe()


def _saved(model, tmp_path):
    model.save(tmp_path / "edited.json")
    return type(model).load(tmp_path / "edited.json")


def test_a_loaded_model_is_edited_with_its_table_and_keeps_its_log(fitted, tmp_path):
    X, y, model = fitted
    loaded = _saved(model.without_rule("P1", reason="first"), tmp_path)
    with pytest.raises(InputError, match=r"loaded model .* X= and y="):
        loaded.without_rule("N1", reason="second")
    edited = loaded.with_rule([("n", ">", 0.5)], "positive", reason="second", X=X, y=y)
    check(loaded, edited, X, y)
    assert edited.edits_["reason"].tolist() == ["first", "second"]
    third = _saved(edited, tmp_path).replace_rule("n > 0.5", [("n", ">", 0.75)], reason="third", X=X, y=y)
    check(edited, third, X, y)
    assert len(_saved(third, tmp_path).edits_) == 3 and not hasattr(third, "fitted_pair_")
    kept = dict(zip(loaded.rules_["literals"], loaded.rules_["aliases"], strict=True))
    assert all(kept.get(z, ()) == a for z, a in zip(edited.rules_["literals"], edited.rules_["aliases"], strict=True))
    with pytest.raises(InputError, match="not the rows"):
        loaded.without_rule("N1", reason="x", X=X.iloc[:-1], y=y[:-1])
    with pytest.raises(InputError, match="columns or labels differ"):
        loaded.without_rule("N1", reason="x", X=X.drop(columns="c2"), y=y)


def test_taking_every_rule_out_leaves_the_base_rate(fitted):
    X, y, model = fitted
    while len(model.rules_):
        name = "P1" if len(model.positive_rules_) else "N1"
        model, before = model.without_rule(name, reason="all of them"), model
        check(before, model, X, y)
    assert model.gain_ == pytest.approx(0, abs=1e-9) and "taken out by hand" in model.conclude()
    assert (model.predict_state(X) == "passive").all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_edited_model_can_be_sampled_and_has_no_draws_of_the_old_one(fitted):
    X, y, model = fitted
    short = dict(num_draws=50, num_chains=2, num_warmup=25, num_temperatures=1)
    model = pickle.loads(pickle.dumps(model))
    model.sample_posterior(**short)
    edited = model.with_rule([("n", ">", 0.123)], "positive", reason=WHY, X=X, y=y)
    assert not hasattr(edited, "posterior_") and hasattr(model, "posterior_")
    post = edited.sample_posterior(**short)
    assert "n > 0.123" in {str(Rule(p)) for p in post.pools[0].patterns}


def test_rules_are_found_by_id_text_literals_or_themselves(fitted):
    _, _, model = fitted
    rule = model.negative_rules_[0]
    texts = {model.without_rule(which, reason=WHY).describe() for which in ("N1", str(rule), rule, rule.literals)}
    assert len(texts) == 1
    for wrong in ("N99", "nonsense", [("c0", "==", "zzz")]):
        with pytest.raises(InputError, match="has no rule"):
            model.without_rule(wrong, reason=WHY)
    with pytest.raises(InputError, match="already has"):
        model.with_rule(rule, "negative", reason=WHY)
    both = model.with_rule(rule, "positive", reason=WHY)
    with pytest.raises(InputError, match="Both sets"):
        both.without_rule(str(rule), reason=WHY)


def test_spellings_of_a_value_name_one_rule():
    assert rule_key(read_rule([("a", "==", 2)], "ab")) == rule_key(read_rule([("a", "==", "2.0")], "ab"))
    day = [("a", ">", v) for v in ("2021-03-01", "2021-03-01 00:00:00", pd.Timestamp("2021-03-01"))]
    assert len({rule_key(read_rule([z], "a")) for z in day}) == 1
    assert len(read_rule([("a", ">", 1), ("a", ">", 1.0)], "a")) == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ([("c00", "==", "a")], "Did you mean 'c0'"),
        ([], "at least one literal"),
        ([("c0", "~", "a")], "not a rule"),
        ([("n", ">", "many")], "finite number"),
        ([("n", ">", np.nan)], "finite number"),
        ([("n", ">", None)], "needs a value"),
        (7, "not a rule"),
    ],
)
def test_rules_that_cannot_be_read_are_refused(fitted, rule, message):
    with pytest.raises(InputError, match=message):
        fitted[2].with_rule(rule, "positive", reason=WHY)


def test_edits_need_a_reason_a_side_and_both_of_a_table(fitted):
    X, _, model = fitted
    rule = [("c0", "==", "b"), ("c2", "==", "a")]
    for reason in ("", "  ", None):
        with pytest.raises(InputError, match="Say why"):
            model.with_rule(rule, "positive", reason=reason)
    with pytest.raises(InputError, match="side must be"):
        model.with_rule(rule, "left", reason=WHY)
    with pytest.raises(InputError, match="both X= and y="):
        model.with_rule(rule, "positive", reason=WHY, X=X)
    assert model.with_rule(rule, model.positive_rules_.label, reason=WHY).edits_["side"].tolist() == ["positive"]


@pytest.mark.skipif(not hasattr(Rule, "parse"), reason="rules cannot be read from text here")
def test_rules_as_text_are_the_rules_that_they_print(fitted):
    _, _, model = fitted
    literals = [("c0", "==", "b"), ("c2", "==", "a")]
    by_text = model.with_rule(str(Rule.from_literals(literals)), "positive", reason=WHY)
    assert by_text.describe() == model.with_rule(literals, "positive", reason=WHY).describe()
    with pytest.raises(InputError, match="c00"):
        model.with_rule("c00 = b", "positive", reason=WHY)


@pytest.fixture(scope="module")
def required():
    X, y = random_table(1, num_rows=150)
    given = {"positive": ["c0 = a and n > 0.123"], "negative": ["c2 = a"]}
    return SOARClassifier(**QUICK, require=given).fit(X, y), X, y


def test_a_required_rule_is_not_taken_out_by_an_edit(required, tmp_path):
    model, X, y = required
    model.save(tmp_path / "model.json")
    for one in (model, SOARClassifier.load(tmp_path / "model.json")):
        how = dict(reason=WHY, X=X, y=y)
        with pytest.raises(InputError, match=r"c2 = a is required \(require\).* fit again"):
            one.without_rule("c2 = a", **how)
        with pytest.raises(InputError, match="is required"):
            one.replace_rule([("n", ">", 0.123), ("c0", "==", "a")], "c1 = b", **how)
    changed = model.with_rule("c1 = b and n > 0.77", "positive", reason=WHY, X=X, y=y)
    with pytest.raises(InputError, match="is required"):
        changed.without_rule("c0 = a and n > 0.123", reason=WHY)


def test_edits_of_a_model_with_required_rules_do_not_charge_for_them(required, tmp_path):
    """In memory, counted again and loaded, an edit and its undoing cost the same and end where they began."""
    model, X, y = required
    model.save(tmp_path / "model.json")
    prices = []
    for one in (model, SOARClassifier.load(tmp_path / "model.json")):
        for rule in ("c1 = b and n > 0.77", "c1 = b"):
            changed = one.with_rule(rule, "negative", reason=WHY, X=X, y=y)
            back = changed.without_rule(rule, reason=WHY, X=X, y=y)
            price = changed.edits_["log_joint_change"].iloc[-1]
            assert back.edits_["log_joint_change"].iloc[-1] == pytest.approx(-price, abs=1e-6)
            assert back.score_ == pytest.approx(model.score_, abs=1e-6)
            prices.append(price)
    assert prices[:2] == pytest.approx(prices[2:], abs=1e-6)
