import json

import numpy as np
import pandas as pd
import pytest

from soar_jax.cli.main import main
from soar_jax.estimators.load import load
from tests.conftest import random_table

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A table, a model fitted to it by the command, and rows to audit."""
    folder = tmp_path_factory.mktemp("control")
    for name, seed in (("train", 0), ("fresh", 1)):
        X, y = random_table(seed, num_rows=200)
        X.assign(outcome=np.where(y, "sick", "well")).to_csv(folder / f"{name}.csv", index=False)
    args = ["fit", str(folder / "train.csv"), "--target", "outcome", "--positive", "sick"]
    assert main([*args, "--out", str(folder / "m.json"), "--rounds", "1", "--max-patterns", "20"]) == 0
    return folder


def test_audit_prints_groups_gaps_and_rules(saved, capsys):
    args = ["audit", str(saved / "m.json"), str(saved / "fresh.csv"), "--target", "outcome", "--by", "c1"]
    assert main(args) == 0
    shown = capsys.readouterr().out
    assert "Audit of 200 rows by c1, 4 groups" in shown and "no answer" in shown and "Rules that read c1" in shown
    assert main([*args, "--json", "--reference", "a"]) == 0
    content = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert {gap["against"] for gap in content["gaps"]} == {"a"} and content["rows"] == 200
    assert main([*args, "--out", str(saved / "audit.txt")]) == 0
    assert (saved / "audit.txt").read_text() == shown


def test_edit_saves_a_new_model_with_its_log_and_leaves_the_old_one(saved, capsys):
    old, new = (saved / "m.json").read_bytes(), saved / "new.json"
    args = ["--reason", "no more", "--table", str(saved / "train.csv"), "--target", "outcome", "--out", str(new)]
    assert main(["edit", str(saved / "m.json"), "--remove", "P1", *args]) == 0
    shown = capsys.readouterr().out
    assert "no more" in shown and "log joint" in shown and "by hand" in shown
    rule = json.dumps([["n", ">", 0.125], ["c2", "==", "a"]])
    first, args[-1] = str(new), str(saved / "newer.json")
    assert main(["edit", first, "--add", rule, "--side", "positive", *args, "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)
    model = load(saved / "newer.json")
    assert entry["added"] == "n > 0.125 and c2 = a" and len(model.edits_) == 2
    assert model.edits_["log_joint_change"].iloc[1] == entry["log_joint_change"]
    args[-1] = first
    assert (
        main(["edit", str(saved / "newer.json"), "--replace", "N1", '[["c0", "==", "b"], ["c2", "==", "b"]]', *args])
        == 0
    )
    assert len(load(first).edits_) == 3 and (saved / "m.json").read_bytes() == old


def test_a_model_with_rows_held_out_is_edited_by_the_whole_table(saved, capsys, tmp_path):
    """Which rows were held out follows from the seed in the model file."""
    table, model = str(saved / "train.csv"), str(tmp_path / "held.json")
    args = ["fit", table, "--target", "outcome", "--positive", "sick", "--holdout", "0.25", "--rounds", "1", "--json"]
    assert main([*args, "--max-patterns", "20", "--seed", "3", "--out", model]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["training"]["rows"] + summary["holdout"]["rows"] == 200 and summary["holdout"]["rows"] == 50
    assert sum(summary["holdout"]["taxonomy"].values()) == load(model).fresh_states_["rows"].sum() == 50
    side = "P1" if summary["positive_rules"] else "N1"
    args = ["--reason", "no", "--table", table, "--target", "outcome", "--out", str(tmp_path / "new.json")]
    assert main(["edit", model, "--remove", side, *args]) == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["audit", "{m}", "{fresh}", "--target", "outcome", "--by", "c11"], "Did you mean 'c1'"),
        (["audit", "{m}", "{fresh}", "--target", "outcom", "--by", "c1"], "Did you mean 'outcome'"),
        (["audit", "{m}", "{fresh}", "--target", "c0", "--by", "c1"], "does not know"),
        (["audit", "{m}", "{fresh}", "--target", "c0", "--by", "c0"], "another column"),
        (["audit", "{m}", "{fresh}", "--target", "outcome", "--by", "c1", "--level", "7"], "level"),
        (["audit", "nowhere.json", "{fresh}", "--target", "outcome", "--by", "c1"], "no model file"),
        (["edit", "{m}", "--remove", "P77", "{edit}"], "has no rule"),
        (["edit", "{m}", "--add", '[["n", ">", 1]]', "{edit}"], "--side"),
        (["edit", "{m}", "--add", "[[", "--side", "positive", "{edit}"], "not JSON"),
        (["edit", "{m}", "--add", '[["nn", ">", 1]]', "--side", "positive", "{edit}"], "Did you mean 'n'"),
    ],
)
def test_mistakes_give_one_line_exit_code_2_and_no_file(args, message, saved, capsys, tmp_path):
    edit = ["--reason", "x", "--table", str(saved / "train.csv"), "--target", "outcome"]
    edit += ["--out", str(tmp_path / "out.json")]
    words = []
    for arg in args:
        paths = {"m": saved / "m.json", "fresh": saved / "fresh.csv"}
        words += edit if arg == "{edit}" else [arg.format(**paths) if arg in ("{m}", "{fresh}") else arg]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.strip().splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


def test_another_table_than_the_training_table_is_refused(saved, capsys, tmp_path):
    args = ["--reason", "x", "--table", str(saved / "fresh.csv"), "--target", "outcome"]
    assert main(["edit", str(saved / "m.json"), "--remove", "P1", *args, "--out", str(tmp_path / "o.json")]) == 2
    assert "not the rows" in capsys.readouterr().err


def test_labels_are_matched_however_the_file_spells_them(tmp_path, capsys):
    X, y = random_table(0, num_rows=200)
    X.assign(outcome=y.astype(int)).to_csv(tmp_path / "a.csv", index=False)
    X.assign(outcome=y.astype(float)).to_csv(tmp_path / "b.csv", index=False)
    assert main(["fit", str(tmp_path / "a.csv"), "--target", "outcome", "--out", str(tmp_path / "m.json"),
                 "--rounds", "1", "--max-patterns", "20"]) == 0  # fmt: skip
    assert main(["audit", str(tmp_path / "m.json"), str(tmp_path / "b.csv"), "--target", "outcome", "--by", "c0"]) == 0
    assert "selection rate" in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "b.csv")["outcome"].dtype == float


def test_an_audit_of_the_table_of_the_fit_is_one_of_the_rows_held_out(saved, capsys):
    args = ["--target", "outcome", "--by", "c1"]
    model = load(saved / "m.json")
    held = int(model.fresh_states_["rows"].sum())
    assert main(["audit", str(saved / "m.json"), str(saved / "train.csv"), *args]) == 0
    shown = capsys.readouterr().out
    assert f"Audit of {held} rows that the fit held out" in " ".join(shown.split()) and "flatter" not in shown
    assert main(["audit", str(saved / "m.json"), str(saved / "train.csv"), *args, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["rows"] == held == 50 and content["rows_held_out"] is True
    active = sum(g["hits"] for g in content["groups"] if g["figure"] == "share active")
    assert active == model.fresh_states_.loc["active", "rows"]


def test_an_audit_of_other_rows_says_that_figures_flatter_if_they_were_learned_from(saved, capsys):
    args = ["audit", str(saved / "m.json"), str(saved / "fresh.csv"), "--target", "outcome", "--by", "c1"]
    assert main(args) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Audit of 200 rows by c1" in shown and "learned from any of these rows, the figures flatter them" in shown


def test_an_audit_is_told_group_by_group_with_a_legend_in_words(saved, capsys):
    args = ["audit", str(saved / "m.json"), str(saved / "fresh.csv"), "--target", "outcome", "--by", "c1"]
    assert main([*args, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert main(args) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80 and "no row of" not in shown
    rows = {g["group"]: g["rows"] for g in content["groups"] if g["figure"] == "base rate"}
    places = [shown.index(f"\n{group}: {size} rows") for group, size in rows.items()]
    assert places == sorted(places) and len(places) == 4
    clear = [g for g in content["gaps"] if g["clear"] and g["figure"] in ("error", "no answer", "base rate")]
    assert shown.count(" *") >= len(clear)
    legend = shown.partition("What the figures mean")[2]
    assert "rows labelled sick, with a label forced on every row" in legend
    assert "rows answered wrongly, among those that get an answer" in legend and "90% intervals" in legend


def test_a_figure_of_no_row_is_left_out_and_one_of_few_is_marked(saved, tmp_path, capsys):
    frame = pd.read_csv(saved / "fresh.csv").assign(place=["here"] * 190 + ["there"] * 10)
    frame.loc[frame["place"] == "there", "outcome"] = "well"
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["audit", str(saved / "m.json"), str(tmp_path / "t.csv"), "--target", "outcome", "--by", "place"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    there = shown.partition("there: 10 rows, too few to say much")[2].partition("\n\n")[0]
    assert "error" in there and "?" in there and "true-positive rate" not in there
    assert "? fewer than 30 rows." in " ".join(shown.split())
