import csv
import io
import json

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
        classes=("well", "sick"),
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
    assert "With age fixed there is no way." in capsys.readouterr().out


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
