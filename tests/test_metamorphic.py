"""What must not matter does not, and what must matter does exactly as much as it should.

Each test changes a table in a way whose effect on the fit is known beforehand, and fits again. No oracle is needed: the
second fit is held against the first. Where the order of columns or levels breaks a tie between patterns that cover the
same rows, the pair may be written with other words; then what the rows get must still be the same.
"""

import numpy as np
import pandas as pd
import pytest

from soar_jax import Rule, SOARClassifier
from soar_jax.data.read import read_table

HOW = dict(max_length=2, grow_to=0, n_rounds=2, max_patterns=60)
LEVELS = {"c": ["ash", "elm", "oak"], "d": ["low", "mid", "top", "zero"], "e": ["no", "yes"]}


def made_table(num_rows=240):
    rng = np.random.default_rng(7)
    X = pd.DataFrame({name: rng.choice(levels, num_rows).astype(object) for name, levels in LEVELS.items()})
    X["x"] = np.round(rng.normal(10, 4, num_rows), 1)
    X["n"] = rng.integers(0, 9, num_rows)
    X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, num_rows), unit="D")
    signal = 2.0 * (X["c"] == "oak") + 1.5 * (X["x"] > 11) - 1.8 * (X["d"] == "low") * (X["n"] > 3) - 0.6
    y = np.where(rng.random(num_rows) < 1 / (1 + np.exp(-2.5 * signal)), "sick", "well")
    X.loc[rng.random(num_rows) < 0.08, "d"] = None
    X.loc[rng.random(num_rows) < 0.08, "x"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def table():
    return made_table()


def fit(X, y, weights=None, **changes):
    return SOARClassifier(**{**HOW, "positive": "sick", **changes}).fit(X, y, sample_weight=weights)


@pytest.fixture(scope="module")
def model(table):
    found = fit(*table)
    assert len(found.positive_rules_) and len(found.negative_rules_)  # or else nothing is tested
    return found


def assert_same(one, other):
    """Score, rules with all their figures, priors and taxonomy, to the bit."""
    assert one.score_ == other.score_ and one.gain_ == other.gain_
    pd.testing.assert_frame_equal(one.rules_, other.rules_)
    pd.testing.assert_frame_equal(one.pools_, other.pools_)
    pd.testing.assert_series_equal(one.training_taxonomy_, other.training_taxonomy_)
    assert one.priors_ == other.priors_


def assert_same_answers(one, X, other, changed):
    """Score, taxonomy, and the state and probability of every row; the words may differ where patterns tie."""
    assert one.score_ == pytest.approx(other.score_, rel=1e-12)
    pd.testing.assert_series_equal(one.training_taxonomy_, other.training_taxonomy_)
    assert one.predict_state(X).tolist() == other.predict_state(changed).tolist()
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(changed), rtol=1e-12)


def literal_sets(model, side):
    rules = model.rules_
    return {frozenset(literals) for literals in rules.loc[rules["side"] == side, "literals"]}


def test_row_order_changes_nothing(table, model):
    X, y = table
    order = np.random.default_rng(1).permutation(len(X))
    assert_same(model, fit(X.iloc[order], y[order]))


def test_index_labels_change_nothing(table, model):
    X, y = table
    assert_same(model, fit(X.set_axis(np.arange(len(X))[::-1] * 3), pd.Series(y, index=np.arange(len(X))[::-1] * 3)))


def test_column_order_changes_no_answer(table, model):
    X, y = table
    turned = X[X.columns[::-1]]
    other = fit(turned, y)
    assert_same_answers(model, X, other, turned)
    for side in ("positive", "negative"):
        assert literal_sets(model, side) == literal_sets(other, side)


def test_a_table_twice_is_a_table_of_weight_two(table):
    X, y = table
    twice = fit(pd.concat([X, X], ignore_index=True), np.concatenate([y, y]))
    assert_same(twice, fit(X, y, np.full(len(X), 2)))


def test_rows_of_weight_zero_are_rows_that_are_not_there(table):
    X, y = table
    kept = np.random.default_rng(2).random(len(X)) < 0.9
    assert_same(fit(X, y, kept.astype(int)), fit(X[kept], y[kept]))


def renamed(X, names):
    return X.assign(**{column: X[column].map(names[column]) for column in names})


def test_levels_renamed_in_the_same_order_give_the_same_rules_with_new_names(table, model):
    X, y = table
    names = {column: {level: f"{i}_{level.upper()}" for i, level in enumerate(LEVELS[column])} for column in LEVELS}
    other = fit(renamed(X, names), y)
    assert_same_answers(model, X, other, renamed(X, names))
    for side in ("positive", "negative"):
        expected = [
            [(column, op, names[column][value] if column in names else value) for column, op, value in literals]
            for literals in model.rules_.loc[model.rules_["side"] == side, "literals"]
        ]
        found = other.rules_.loc[other.rules_["side"] == side, "literals"]
        assert [list(literals) for literals in found] == expected


def test_levels_renamed_in_another_order_change_no_answer(table, model):
    X, y = table
    names = {column: dict(zip(levels, levels[::-1], strict=True)) for column, levels in LEVELS.items()}
    other = fit(renamed(X, names), y)
    assert_same_answers(model, X, other, renamed(X, names))
    for side in ("positive", "negative"):
        back = {
            frozenset((c, op, names[c][value] if c in names else value) for c, op, value in literals)
            for literals in literal_sets(other, side)
        }
        assert back == literal_sets(model, side)


def test_numbers_in_another_unit_change_no_answer(table, model):
    """Cuts stand at round numbers, so other cuts may be printed; they part the same training rows."""
    X, y = table
    scaled = X.assign(x=X["x"] * 2.54 + 100)
    assert_same_answers(model, X, fit(scaled, y), scaled)


def test_a_column_with_another_name_is_in_the_same_rules_by_its_new_name(table, model):
    X, y = table
    other = fit(X.rename(columns={"c": "tree"}), y)
    assert other.score_ == model.score_
    assert other.rules_["rule"].tolist() == [text.replace("c =", "tree =") for text in model.rules_["rule"]]


@pytest.mark.parametrize("value", ["same", 3, None])
def test_a_constant_column_changes_nothing(table, model, value):
    X, y = table
    assert_same(model, fit(X.assign(constant=pd.Series([value] * len(X), dtype=object)), y))


def test_the_other_class_as_the_positive_one_swaps_the_rule_sets(table, model):
    X, y = table
    swapped = fit(X, y, positive="well")
    assert swapped.score_ == pytest.approx(model.score_, rel=1e-12)
    assert literal_sets(swapped, "positive") == literal_sets(model, "negative")
    assert literal_sets(swapped, "negative") == literal_sets(model, "positive")
    turn = {"positive": "negative", "negative": "positive"}
    assert [turn.get(state, state) for state in swapped.predict_state(X)] == model.predict_state(X).tolist()
    assert swapped.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(swapped.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_flipped_labels_swap_the_rule_sets(table, model):
    X, y = table
    other = fit(X, np.where(y == "sick", "well", "sick"))
    assert literal_sets(other, "positive") == literal_sets(model, "negative")
    assert literal_sets(other, "negative") == literal_sets(model, "positive")


def test_labels_of_another_type_are_the_same_classes(table, model):
    X, y = table
    other = fit(X, y == "sick", positive=True)
    assert other.score_ == model.score_ and other.rules_["rule"].tolist() == model.rules_["rule"].tolist()


# -- one table in many forms --------------------------------------------------------------------


def as_polars(X, folder):
    return pytest.importorskip("polars").from_pandas(X)


def as_pyarrow(X, folder):
    return pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False)


def as_csv(X, folder):
    X.to_csv(folder / "table.csv", index=False)
    return read_table(folder / "table.csv")


def as_parquet(X, folder):
    pytest.importorskip("pyarrow")
    X.to_parquet(folder / "table.parquet")
    return read_table(folder / "table.parquet")


def as_categories(X, folder):
    return X.assign(**{name: X[name].astype("category") for name in LEVELS})


def as_nullable(X, folder):
    return X.convert_dtypes()


FORMS = [as_polars, as_pyarrow, as_csv, as_parquet, as_categories, as_nullable]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__[3:])
def test_the_form_of_a_table_changes_nothing_at_fit_and_at_predict(table, model, form, tmp_path):
    X, y = table
    other = form(X, tmp_path)
    assert_same(model, fit(other, y))
    assert model.predict_state(other).tolist() == model.predict_state(X).tolist()
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore")  # of Ibis about itself
def test_a_table_in_a_database_gives_the_same_fit_and_answers(table, model):
    pytest.importorskip("ibis")
    from tests.database.tables import frame_table

    X, y = table
    stored = frame_table(X.assign(outcome=y, row=np.arange(len(X))), name="metamorphic")
    other = SOARClassifier(**HOW, positive="sick").fit_table(stored.drop("row"), "outcome")
    assert_same(model, other)
    found = model.predict_table(stored).order_by("row").to_pandas()
    assert found["state"].tolist() == model.predict_state(X).tolist()
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(found["probability"], model.predict_table(X)["probability"])


def test_the_command_gives_the_fit_of_python(table, model, tmp_path):
    from soar_jax.cli.main import main

    X, y = table
    X.assign(outcome=y).to_csv(tmp_path / "table.csv", index=False)
    words = ["--target", "outcome", "--positive", "sick", "--max-length", "2", "--grow-to", "0", "--rounds", "2"]
    words += ["--max-patterns", "60", "--holdout", "0", "--out", str(tmp_path / "model.json"), "--quiet"]
    assert main(["fit", str(tmp_path / "table.csv"), *words]) == 0
    other = SOARClassifier.load(tmp_path / "model.json")
    assert other.score_ == model.score_ and other.rules_["rule"].tolist() == model.rules_["rule"].tolist()
    assert other.predict_state(X).tolist() == model.predict_state(X).tolist()


def test_of_two_equal_columns_the_first_is_printed_and_the_other_is_its_alias(table):
    """Where two patterns cover the same rows, the order of columns decides which is the rule; nothing else changes."""
    X, y = table
    X = X.assign(copy=X["c"])
    one, other = fit(X, y), fit(X[X.columns[::-1]], y)
    assert_same_answers(one, X, other, X)

    def words(model):
        rules = model.rules_
        return {
            (side, frozenset(Rule.parse(text) for text in [rule, *aliases]))
            for side, rule, aliases in zip(rules["side"], rules["rule"], rules["aliases"], strict=True)
        }

    assert words(one) == words(other)
