import csv
import io
import json
import re
import sys

import pandas as pd
import pytest

from soar_jax.cli.main import main
from tests.reasons.models import make_model, settle


@pytest.fixture
def files(tmp_path):
    model = make_model(
        [[("age", ">", 30.0), ("job", "==", "cook")]],
        [[("age", "<=", 30.0)], [("day", ">", "2021-05-01")]],
        columns=["age", "job", "day"],
        classes=("fine", "sick"),
    )
    settle(model).save(tmp_path / "m.json")
    table = pd.DataFrame(
        {"age": [20, 44, None], "job": ["cook", "cook, chef", "-"], "day": ["2021-01-01", None, "2021-06-01"]}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "m.json"), str(tmp_path / "t.csv")


def test_explain_writes_a_table_json_or_sentences(files, tmp_path, capsys):
    assert main(["explain", *files]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["rules"] for line in lines] == ["N1", "", "N2"]
    assert [line["state"] for line in lines] == ["negative", "passive", "negative"]
    assert lines[1]["near_misses"].startswith("P1 fails on job = cook (cook, chef)")
    assert main(["explain", *files, "--json", "--max-reasons", "1", "--out", str(tmp_path / "r.json")]) == 0
    content = json.loads((tmp_path / "r.json").read_text(), parse_constant=pytest.fail)
    assert [row["fired"] for row in content["rows"]] == [["N1"], [], ["N2"]]
    assert "reasons of 3 rows" in capsys.readouterr().err
    assert main(["explain", *files, "--sentences", "--na", "-"]) == 0
    assert "Missing: age and job. If known, the row would be negative or active." in capsys.readouterr().out


def test_contrast_prints_what_would_change_a_row(files, capsys):
    assert main(["contrast", *files, "--row", "0", "--to", "sick"]) == 0
    assert "1. age > 30, for instance 31 (now 20). Then P1 fires." in capsys.readouterr().out
    args = ["contrast", *files, "--row", "1", "--to", "sick", "--direction", "age=+", "--json"]
    assert main(args) == 0
    (found,) = json.loads(capsys.readouterr().out)["contrasts"]
    assert [change["example"] for change in found["changes"]] == ["cook"]
    assert main(["contrast", *files, "--row", "0", "--fixed", "age"]) == 0
    assert "With age fixed there is no way." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["explain", "nowhere.json", "{table}"], "no model file"),
        (["explain", "{table}", "{table}"], "not a soar-jax model"),
        (["explain", "{model}", "{table}", "--max-reasons", "0"], "--max-reasons"),
        (["explain", "{model}", "{table}", "--out", "no/such/folder/x.csv"], "no folder"),
        (["contrast", "{model}", "{table}", "--row", "3"], "--row must lie from 0 to 2"),
        (["contrast", "{model}", "{table}", "--row", "0", "--to", "dead"], "'dead' is not one of"),
        (["contrast", "{model}", "{table}", "--row", "0", "--fixed", "ago"], "Did you mean 'age'"),
        (["contrast", "{model}", "{table}", "--row", "0", "--direction", "age"], "COLUMN=+"),
    ],
)
def test_mistakes_give_one_line_and_exit_code_2(args, message, files, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert main([a.format(model=files[0], table=files[1]) for a in args]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.strip().splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_committee_is_refused(files, tmp_path, capsys):
    path = tmp_path / "c.json"
    path.write_text(
        json.dumps(
            {
                "format": "soar-jax committee",
                "format_version": 1,
                "classes": [0, 1],
                "positive_index": 1,
                "columns": ["a"],
                "verdict": "fine",
                "is_trusted": True,
                "rules": [[[["a", "==", 1]]], []],
                "pairs": [{"weight": 1.0, "rates": [0.9, 0.1, 0.5, 0.4], "rules": [[0], []]}],
            }
        )
    )
    assert main(["explain", str(path), files[1]]) == 2
    assert "committee" in capsys.readouterr().err


class Terminal(io.StringIO):
    """Standard output that looks like a terminal."""

    def isatty(self):
        return True


def test_explain_on_a_terminal_says_ten_rows_in_sentences_and_how_to_get_all(car, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def explained(*words):
        monkeypatch.setattr(sys, "stdout", Terminal())
        assert main(["explain", car.model, car.table, "--quiet", *words]) == 0
        return sys.stdout.getvalue()

    shown = explained()
    assert shown.startswith("Row 0: ") and len(re.findall("^Row ", shown, re.MULTILINE)) == 10
    assert "and 854 rows more: --sentences prints them all" in shown and "--out" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert len(re.findall("^Row ", explained("--sentences"), re.MULTILINE)) == 864
    assert len(explained("--out", "-").splitlines()) == 865


def test_explain_says_one_row_where_one_is_asked_for(files, car, capsys):
    assert main(["explain", car.model, car.table, "--row", "7", "--sentences"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Row 7: ") and shown.count("Row ") == 1
    assert main(["explain", *files, "--row", "2"]) == 0
    (line,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert line["rules"] == "N2"
    assert main(["explain", *files, "--row", "3"]) == 2
    assert "--row must lie from 0 to 2, got 3." in capsys.readouterr().err


def test_what_contrast_says_fits_80_columns(car, capsys):
    for row in ("0", "11", "500"):
        assert main(["contrast", car.model, car.table, "--row", row]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80 and len(lines) > 1


def test_cells_in_reasons_cannot_steer_a_terminal(files, tmp_path, capsys):
    table = tmp_path / "odd.csv"
    pd.DataFrame({"age": [44], "job": ["\x1b[2J"], "day": ["2021-01-01"]}).to_csv(table, index=False)
    assert main(["explain", files[0], str(table), "--sentences"]) == 0
    assert "\x1b" not in capsys.readouterr().out
