"""What a report says, against counts made afresh from the raw rows; and what it does not say."""

import copy
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from soar_jax import BOAClassifier, DataWarning, InputError, SOARClassifier, datasets
from soar_jax._hundred import fixed, share_in_two, share_out
from soar_jax.data.learn import learn_contract
from soar_jax.report.numbers import of_hundred, per_cent, ratio, share_of, span, tenths
from tests.conftest import coverage
from tests.reasons.models import make_model
from tests.report import models


def content_of(model, tmp_path, *given, **options):
    return model.report(tmp_path / "report.html", *given, **options)


def recounted(model, X):
    """Which rules fire, by an oracle that shares no code with the library."""
    return [
        coverage(X.reset_index(drop=True), [r.literals for r in rules])
        for rules in (model.positive_rules_, model.negative_rules_)
    ]


@pytest.mark.parametrize("name", ["car", "adult", "sixty"])
def test_every_figure_of_states_and_rules_is_that_of_a_recount(name, tmp_path):
    model, X, y = getattr(models, name)()
    report = content_of(model, tmp_path, X, y, fresh=True)
    plus, minus = recounted(model, X)
    truth = np.asarray(y) == 1
    on, off = plus.any(axis=0), minus.any(axis=0)
    is_coarse = any(0 < n < 10 for n in np.bincount(2 * on + off, minlength=4))
    shown = (lambda n: round(int(n), -1)) if is_coarse else int
    for state, mask in zip(report.states, (on & ~off, off & ~on, on & off, ~on & ~off), strict=True):
        assert state.rows == (None if 0 < mask.sum() < 10 else shown(mask.sum()))
        assert state.share == round((5 if 0 < mask.sum() < 10 else mask.sum()) / len(mask), 3)
        hits, misses = (mask & truth).sum(), (mask & ~truth).sum()
        if mask.sum() >= 30:
            assert state.positive.value == tenths(hits / mask.sum())
            if hits and misses:
                ends = beta.ppf([0.05, 0.95], hits + 0.5, misses + 0.5)
                assert (state.positive.low, state.positive.high) == tuple(tenths(float(end)) for end in ends)
    own = [(cover, truth, off) for cover in plus] + [(cover, ~truth, on) for cover in minus]
    for rule, (cover, side, opposed) in zip(report.rules, own, strict=True):
        for found, mask in ((rule.right, cover), (rule.unopposed, cover & ~opposed), (rule.opposed, cover & opposed)):
            wanted = share_of((mask & side).sum(), mask.sum())
            assert (found.value, found.low, found.high) == (wanted.value, wanted.low, wanted.high)
            assert found.rows in (wanted.rows, None if wanted.rows is None else round(wanted.rows, -1))
        assert rule.reach == (tenths((cover & side).sum() / side.sum()) if cover.sum() >= 30 <= side.sum() else None)
    assert sum(sum(state.dots) for state in report.states) == 100
    for state in report.states:
        part = sum(state.dots)
        assert abs(part - 100 * state.share) < 1 and (state.of_hundred == str(part) or state.share < 0.01)
        if state.positive.value is None:
            assert state.dots == (0, 0, part)
        else:
            assert state.dots[0] == round(part * state.positive.value) and not state.dots[2]
    assert int(report.answered) == sum(sum(state.dots) for state in report.states[:2]) == 100 - int(report.unanswered)
    assert abs(int(report.answered) - 100 * (on ^ off).mean()) < 2
    assert report.right.value == tenths((((on & ~off) & truth) | ((off & ~on) & ~truth)).sum() / (on ^ off).sum())
    for line in report.disputes[:5]:
        i, j = int(line.positive[1:]) - 1, int(line.negative[1:]) - 1
        both = plus[i] & minus[j]
        assert line.share == share_of((both & truth).sum(), both.sum())
    for rule, cover in zip(report.rules, np.concatenate([plus, minus]), strict=True):
        for overlap in rule.overlaps:
            other = (plus if overlap.id[0] == "P" else minus)[int(overlap.id[1:]) - 1]
            assert overlap.rows == (cover & other).sum() >= 10


def test_embedded_counts_are_never_below_ten(tmp_path):
    """Cells, overlaps, disputes and patterns of a small table: rows that few share are not to be found in the file."""
    model, X, y = models.car()
    path = tmp_path / "small.html"
    rows = np.random.default_rng(1).permutation(len(X))[:120]
    report = model.report(path, X.iloc[rows], y.iloc[rows], sensitive=["doors"])
    data = models.embedded(path)
    counts = [pattern[0] for pattern in data["patterns"].values()] + [d[2] for d in data["disputes"]]
    counts += [state["rows"] for state in data["states"]]
    counts += [overlap.rows for rule in report.rules for overlap in rule.overlaps]
    counts += [share.rows for a in report.audits for line in a.lines for share in line.shares]
    counts += [share.rows for r in report.rules for share in (r.right, r.unopposed, r.opposed)]
    assert all(count is None or count == 0 or count >= 10 for count in counts)
    shares = [s for rule in report.rules for s in (rule.right, rule.unopposed)]
    assert all(s.value is None for s in shares if s.rows is None or s.rows < 30)
    assert any(count is None for count in counts)


def test_no_cell_of_the_table_is_in_the_file_unless_asked_for(tmp_path):
    """Text and numbers of every column: only levels and cuts of the rules may be found."""
    rng = np.random.default_rng(0)
    num = 400
    X = pd.DataFrame(
        {
            "ward": [f"ward-{i % 7}-zq" for i in range(num)],
            "name": [f"patient-{i}-zq" for i in range(num)],
            "dose": np.round(rng.uniform(1, 2, num), 7) + 1000,
        }
    )
    y = pd.Series(rng.random(num) < 0.5, name="died").astype(int)
    model = make_model(
        [[("ward", "==", "ward-1-zq")], [("dose", ">", 1001.5)]],
        [[("ward", "!=", "ward-1-zq")]],
        columns=list(X.columns),
    )
    for suffix in ("html", "md"):
        path = tmp_path / f"private.{suffix}"
        model.report(path, X, y)
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"ward-\d-zq|patient-\d+-zq", text)) == {"ward-1-zq"}
        assert set(re.findall(r"100[12]\.\d+", text)) == {"1001.5"}
        model.report(path, X, y, examples=2)
        assert len(set(re.findall(r"100[12]\.\d{4,}", path.read_text(encoding="utf-8")))) == 2


def test_a_misspelt_word_is_refused_with_the_nearest_name(tmp_path):
    model = models.car()[0]
    for words, found in (
        ({"colums": {}}, "columns"),
        ({"columns": {"safty": {"label": "x"}}}, "safety"),
        ({"columns": {"safety": {"lable": "x"}}}, "label"),
        ({"fixed": ["door"]}, "doors"),
        ({"outcome": {"yep": "x"}}, "yes"),
        ({"columns": {"safety": {"above": "older"}}}, r"\{\}"),
        (["safety"], "dictionary"),
        (tmp_path / "nothing.yaml", "no file"),
    ):
        with pytest.raises(InputError, match=found):
            content_of(model, tmp_path, words=words)


def test_words_of_a_file_reach_rules_states_and_form(tmp_path):
    """Also "yes" and "no" as keys, which YAML would take for truth values."""
    model = make_model([[("age", ">", 50), ("sex", "==", "f"), ("grade", ">", 2)]], [[("age", "<=", 30)]])
    (tmp_path / "words.yaml").write_text(
        "question: Will they pay?\nrows: loans\noutcome: {yes: paid back, no: not paid}\n"
        "columns:\n  age: {above: 'older than {}', at_most: '{} or younger'}\n"
        "  sex: {levels: {f: women}}\n  grade: {levels: {1: low, 2: middle, 3: high, 4: top}}\nfixed: [age]\n",
        encoding="utf-8",
    )
    report = content_of(model, tmp_path, words=tmp_path / "words.yaml", question="Will they pay it back?")
    assert report.rules[0].phrases == ("Older than 50", "women", "high or more")
    assert report.rules[1].phrases == ("30 or younger",)
    assert report.states[0].say == "The rules say: paid back"
    assert report.question == "Will they pay it back?"
    fields = {field["name"]: field for field in report.engine["columns"]}
    assert fields["age"]["fixed"] and ["4", "top"] in fields["grade"]["options"]


@pytest.mark.parametrize("suffix", [".txt", "", ".pdf"])
def test_other_suffixes_are_refused_before_any_work(suffix, tmp_path):
    with pytest.raises(InputError, match=r"\.html or \.md"):
        models.car()[0].report(tmp_path / f"report{suffix}")
    assert not list(tmp_path.iterdir())


def test_what_needs_rows_says_so(tmp_path):
    model, X, y = models.car()
    for given, options in (((X,), {}), ((), {"examples": 2}), ((), {"sensitive": "doors"})):
        with pytest.raises(InputError, match="X and y"):
            content_of(model, tmp_path, *given, **options)
    with pytest.raises(InputError, match="doors"):
        content_of(model, tmp_path, X, y, sensitive="dors")


def test_training_rows_are_called_by_their_name(tmp_path):
    """Rows with the counts of the training rows are not passed off as tested; fresh ones may be vouched for."""
    model, X, y = models.car()
    model = copy.copy(model)
    held = np.random.default_rng(0).random(len(X)) < 0.3
    model.training_taxonomy_ = model.taxonomy(X[~held], y[~held])
    again = content_of(model, tmp_path, X[~held], y[~held])
    assert again.basis.is_fresh is False and "flattering" in again.under
    unknown = content_of(model, tmp_path, X[held], y[held])
    assert unknown.basis.is_fresh is None and any("cannot know" in limit.text for limit in unknown.limits)
    fresh = content_of(model, tmp_path, X[held], y[held], fresh=True)
    assert "never seen" in fresh.under
    trained = content_of(model, tmp_path)
    assert trained.basis.kind == "training" and "learned from" in trained.under
    kept = content_of(model.measure_fresh(X[held], y[held]), tmp_path)
    assert kept.basis.kind == "kept" and kept.basis.rows == held.sum()
    assert [s.positive for s in kept.states] == [s.positive for s in fresh.states]
    assert [r.right.value for r in kept.rules] == [r.right.value for r in fresh.rules]


def test_changes_by_hand_are_listed_with_reason_and_price(tmp_path):
    model = copy.copy(models.car()[0])
    entry = {"time": "2026-01-02T03:04:05+00:00", "action": "remove", "side": "negative", "removed": "doors = 2"}
    model._edits = ({**entry, "added": None, "reason": "<b>law</b>", "log_joint_change": -3.21, "rows_changed": 4},)
    report = content_of(model, tmp_path)
    edit = report.edits[0]
    assert edit.when == "2026-01-02 03:04" and edit.what == "“doors = 2” was taken out (negative side)"
    assert edit.price.endswith("3.2 nats; fewer than 10 training rows changed state")
    assert any("by hand" in limit.text for limit in report.limits)
    assert "&lt;b&gt;law" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_models_of_no_rule_of_one_and_of_one_side_say_the_right_thing(tmp_path):
    X, y = datasets.load_car()
    nothing = content_of(make_model([], [], columns=list(X.columns)), tmp_path, X, y)
    assert "Nothing here beats the base rate" in nothing.verdict[0][0] and not nothing.engine["rules"]
    assert 'id="try"' not in (tmp_path / "report.html").read_text(encoding="utf-8")
    one = content_of(make_model([[("safety", "==", "high")]], [], columns=list(X.columns)), tmp_path, X, y)
    assert one.answered == f"{100 * (X['safety'] == 'high').mean():.0f}"
    single = make_model([[("safety", "==", "high")]], columns=list(X.columns), estimator="BOAClassifier")
    assert isinstance(single, BOAClassifier)
    boa = content_of(single, tmp_path, X, y)
    assert (boa.answered, boa.unanswered) == ("100", "0") and "which speaks for" in "".join(
        text for text, _ in boa.verdict
    )
    assert boa.states[3].say.startswith("No rule applies")


def test_a_page_needs_no_network_and_names_its_script(tmp_path):
    model, X, y = models.adult()
    path = tmp_path / "adult.html"
    model.report(path, X, y)
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    assert not re.search(r"""(?:src|href)=["'](?!#)|url\(|@import|https?://(?!www\.w3\.org/2000/svg)""", text)
    assert "default-src 'none'" in text.replace("&#39;", "'") and "script-src 'sha256-" in text.replace("&#39;", "'")


def test_figures_are_said_with_the_right_decimals():
    assert [of_hundred(x) for x in (0, 0.004, 0.306, 0.996, 1)] == [
        "0 of 100", "0.4 of 100", "31 of 100", "99.6 of 100", "100 of 100",
    ]  # fmt: skip
    assert [per_cent(x) for x in (0.0004, 0.084, 0.51, 0.994)] == ["< 0.1 %", "8.4 %", "51 %", "99.4 %"]
    assert sum(share_out([1, 1, 1])) == 100 and share_out([0, 0]) == [0, 0]
    assert share_out([999, 1]) == [100, 0]
    # what gets an answer is rounded as a whole: 68.4 is not 69, however the remainders fall
    assert share_in_two([140, 544], [103, 213]) == ([14, 54], [10, 22])
    # halves go up, as in the script of the page, and a range up to all is not said to be all
    assert [of_hundred(0.345), span(0.345, 0.385), span(0.996, 1.0, 1.0)] == [
        "35 of 100",
        "35\u201339",
        "99.6\u2013100.0",
    ]


def test_a_share_rounded_to_tenths_is_rounded_to_the_same_whole_per_cent():
    """Rounded twice, 81.465 would be said as 82 here and as 81 where it is rounded once."""
    shares = np.random.default_rng(0).uniform(0.1, 0.989, 5_000)
    assert tenths(0.81465) == 0.814 and tenths(0.66496) == 0.664
    for share in map(float, shares):
        assert fixed(100 * tenths(share), 0) == fixed(100 * share, 0) and abs(tenths(share) - share) < 0.0011
    assert ratio(0.225) == "23 : 77" and ratio(0.345) == "35 : 65"


def test_few_disputes_are_said_to_be_few_and_not_none(tmp_path):
    """Of 174 rows 155 get an answer and two rule sets disagree on 2: a few are taken for 5."""
    a, b = np.repeat([1, 0, 1, 0], [80, 75, 2, 17]), np.repeat([0, 1, 1, 0], [80, 75, 2, 17])
    X = pd.DataFrame({"a": a, "b": b})
    model = make_model([[("a", ">", 0)]], [[("b", ">", 0)]], columns=["a", "b"])
    report = content_of(model, tmp_path, X, a, fresh=True)
    said = "".join(text for text, _ in report.verdict)
    assert "Fewer than 10 of the 174 rows get" in said and "never" not in said
    assert report.answered == "about 88" and report.unanswered == "about 12"
    many = content_of(model, tmp_path, pd.concat([X] * 10), np.tile(a, 10), fresh=True)
    assert (many.answered, many.unanswered) == ("89", "11")
    none = content_of(model, tmp_path, X[a + b < 2], a[a + b < 2], fresh=True)
    assert "They never disagree" in "".join(text for text, _ in none.verdict)


@pytest.mark.parametrize(
    ("silent", "rows", "answered"), [(3, 100, "about 95"), (9, 100, "about 95"), (3, 2000, "99.8")]
)
def test_28_4_the_headline_does_not_count_a_state_of_few_rows_as_none(tmp_path, silent, rows, answered):
    a, b = (np.r_[np.tile(side, (rows - silent) // 2 + 1), np.zeros(silent)] for side in ((0, 1), (1, 0)))
    X = pd.DataFrame({"a": a[-rows:], "b": b[-rows:]}).astype(int)
    model = make_model([[("a", ">", 0)]], [[("b", ">", 0)]], columns=["a", "b"])
    report = content_of(model, tmp_path, X, X["a"].to_numpy(), fresh=True)
    said = "".join(text for text, _ in report.verdict)
    assert report.answered == answered and f"For {answered} of 100 rows" in said
    assert f"for fewer than 10 of the {rows:,} rows no rule speaks" in said
    assert report.unanswered not in ("0", "about 0") and sum(report.states[3].dots) <= 10


def test_28_6_the_form_offers_times_of_day_where_the_column_had_them_and_choices_by_place(tmp_path):
    levels = ["", " ", "a\r\nb", "a\nb"]
    rules = [[("a", "==", level)] for level in levels] + [[("t", "<=", "2024-02-03")], [("d", "<=", "2024-02-03")]]
    days = pd.Series(pd.date_range("2024-02-01", periods=20))
    X = pd.DataFrame({"a": levels * 5, "t": days + pd.Timedelta("10h"), "d": days})
    model = make_model(rules, [], columns=list(X))
    with pytest.warns(DataWarning):
        model._contract = learn_contract(X, None, has_names=True)[1]
    path = tmp_path / "r.html"
    report = model.report(path, X, np.arange(20) % 2)
    a, t, d = report.engine["columns"]
    assert [value for value, _ in a["options"]][:4] == levels and t["hasTime"] and not d["hasTime"]
    page = path.read_text(encoding="utf-8")
    assert '<option value="">not known</option><option value="0">' in page and '<option value="4">any other' in page


def test_what_was_not_checked_and_what_a_constant_answer_does_as_well_is_said(tmp_path):
    """Thirty-six rows with a rule for yes, of which 6 are; the commoner answer is right more often than the rules."""
    X = pd.DataFrame({"a": np.r_[np.ones(36), np.zeros(164)].astype(int), "b": np.r_[np.zeros(190), np.ones(10)]})
    y = np.r_[np.ones(6), np.zeros(194)].astype(int)
    model = make_model([[("a", ">", 0)]], [[("b", ">", 0)]], columns=["a", "b"])
    report = content_of(model, tmp_path, X, y, fresh=True)
    assert "97 times in 100, and 87 among those with an answer" in report.under
    assert "add no accuracy here" in report.under
    titles = [limit.title for limit in report.limits]
    assert "For the sake of accuracy." in titles and "Where too few were tested." in titles
    unchecked = next(limit.text for limit in report.limits if limit.title == "Where too few were tested.")
    assert report.states[1].say in unchecked and report.states[0].say not in unchecked
    if "No chance is off" in report.calibration_note or "none is off" in report.calibration_note:
        assert report.states[1].short in report.calibration_note
    better = content_of(model, tmp_path, X, 1 - y, fresh=True)  # the rules are right 30 of 46 times, "yes" 40 times
    assert "add no accuracy here" in better.under
    good = content_of(model, tmp_path, X, (X["a"] > 0).astype(int), fresh=True)
    assert "add no accuracy" not in good.under and "For the sake of accuracy." not in [z.title for z in good.limits]


def test_groups_do_not_tell_how_few_of_them_are_on_one_side(tmp_path):
    model, X, y = models.car()
    group = np.where(np.arange(len(X)) % 9 == 0, "rare", "other")
    y = np.where(group == "rare", np.isin(np.arange(len(X)), 9 * np.arange(100, 105)), y)  # 5 of 192
    X = X.assign(group=group)
    positive, negative = (
        [list(rule.literals) for rule in rules] for rules in (model.positive_rules_, model.negative_rules_)
    )
    report = content_of(make_model(positive, negative, columns=list(X.columns)), tmp_path, X, y, sensitive=["group"])
    (audit,) = report.audits
    few = [
        share
        for line in audit.lines
        for share, (name, _) in zip(line.shares, audit.groups, strict=True)
        if name == "rare"
    ]
    assert few[0].value is None and any(share.value is not None for share in few)
    assert audit.lines[0].gap is None


def test_the_card_says_what_the_page_says_and_escapes_it(tmp_path):
    bad = "*a* | <script>alert(1)</script> `b` [x](y)\n# head"
    model = make_model([[(bad, "==", bad)]], [["n", "<=", 3]] and [[("n", "<=", 3)]], classes=("no", bad))
    X = pd.DataFrame({bad: [bad, "b"] * 100, "n": np.arange(200) % 9})
    y = np.where(np.arange(200) % 3 == 0, bad, "no")
    path = tmp_path / "card.md"
    report = model.report(path, X, y, notes=bad, sensitive=[bad])
    text = path.read_text(encoding="utf-8")
    assert "<script>" not in re.sub(r"`+[^`]*`+", "", text).replace("\\<", "")
    assert not re.search(r"^# head", text, re.MULTILINE)
    assert all(f"**{rule.id}**" in text for rule in report.rules)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in tables if "scr" in line or "---" in line}
    assert widths <= {4, 5, 6}


def test_of_the_whole_table_only_the_rows_that_the_fit_held_out_are_tested_on(tmp_path):
    X, y = datasets.load_synthetic(seed=2)
    X, y = X.iloc[:300], y.iloc[:300]
    model = SOARClassifier(holdout=0.3, n_rounds=1, max_length=2).fit(X, y)
    model.save(tmp_path / "m.json")
    held = model.held_out_
    again = content_of(SOARClassifier.load(tmp_path / "m.json"), tmp_path, X, y)
    vouched = content_of(model, tmp_path, X.iloc[held], y.iloc[held], fresh=True)
    assert again.basis == vouched.basis and again.basis.is_fresh and again.states == vouched.states
    other = content_of(model, tmp_path, X.iloc[::-1], y.iloc[::-1])  # in another order nobody can tell
    assert other.basis.is_fresh is None


@pytest.mark.filterwarnings("ignore::soar_jax.UntrustedPosteriorWarning", "ignore::soar_jax.BetterPairWarning")
def test_the_page_says_that_the_draws_met_a_better_pair(make_table, tmp_path):
    X, y = make_table(0)
    model = SOARClassifier(n_rounds=1, max_patterns=20, max_length=2, grow_to=0).fit(X, y)
    posterior = model.sample_posterior(30, 2, num_temperatures=1)
    if posterior.better_pair is not None:
        model.take_better_pair()
    assert content_of(model, tmp_path).sampled.better == ""
    posterior.fitted = replace(posterior.fitted, included=np.zeros_like(posterior.fitted.included))
    posterior.__dict__.pop("better_pair")
    by = posterior.better_pair.log_joint - posterior.fitted.log_joint
    assert by > 1
    for name in ("page.html", "card.md"):
        model.report(tmp_path / name)
        said = f"The draws met a pair that scores {by:.1f} nats better than this one"
        assert said in (tmp_path / name).read_text(encoding="utf-8")


def test_a_rule_that_is_mostly_wrong_and_mostly_disputed_says_what_it_is_kept_for(tmp_path):
    rows = {(1, 1): (10, 50), (1, 0): (5, 25), (0, 1): (5, 95), (0, 0): (90, 10)}  # a, b: positives, negatives
    frame = pd.DataFrame(
        [
            {"a": a, "b": b, "outcome": y}
            for (a, b), counts in rows.items()
            for y, n in ((1, counts[0]), (0, counts[1]))
            for _ in range(n)
        ]
    )
    X, y = frame[["a", "b"]], frame["outcome"]

    def notes(model):
        return [rule.note for rule in content_of(model, tmp_path, X, y, fresh=True).rules]

    wrong, right = [("a", "==", 1)], [("b", "==", 1)]
    model = make_model([wrong], [right], columns=["a", "b"])
    said = notes(model)
    assert (
        "is wrong more often than right. Most rows that it covers are also covered by a rule for outcome = 0" in said[0]
    )
    assert "turns the answer “outcome = 0” into “the rules disagree”" in said[0] and said[1] == ""
    assert said[0] in (tmp_path / "report.html").read_text(encoding="utf-8")
    model.report(tmp_path / "card.md", X, y)
    assert "which is why it is kept" in (tmp_path / "card.md").read_text(encoding="utf-8")
    assert notes(make_model([wrong], [[("b", "==", 0)]], columns=["a", "b"]))[0] == ""  # 30 of 90 disputed
    assert notes(make_model([wrong], (), columns=["a", "b"], estimator="BOAClassifier")) == [""]
    assert [rule.note for rule in content_of(model, tmp_path).rules] == ["", ""]
