"""``soar report`` from a model file and a table."""

import shutil

import pytest

from soar_jax.cli.main import main


@pytest.fixture
def files(car, tmp_path):
    """A fitted model, a table and a words file in one folder."""
    shutil.copy(car.model, tmp_path / "model.json")
    shutil.copy(car.table, tmp_path / "cars.csv")
    (tmp_path / "words.yaml").write_text("rows: cars\noutcome: {yes: bought, no: left}\n", encoding="utf-8")
    return tmp_path


def test_a_page_and_a_card_are_written_and_the_verdict_said(files, capsys):
    model, cars = str(files / "model.json"), str(files / "cars.csv")
    for name in ("report.html", "card.md"):
        out = str(files / name)
        options = ["--target", "good", "--fresh", "--words", str(files / "words.yaml"), "--note", "Made up."]
        assert main(["report", model, cars, *options, "--sensitive", "doors", "--out", out]) == 0
        said = capsys.readouterr()
        assert "cars the rules give an answer" in said.out and f"written to {out}" in said.err
        text = (files / name).read_text(encoding="utf-8")
        assert "never seen" in text and "Made up." in text and "By doors" in text
    assert main(["report", model, "--out", str(files / "alone.md")]) == 0
    assert "kept out of the fit" in (files / "alone.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["cars.csv"], "--target"),
        (["cars.csv", "--target", "god"], "good"),
        (["cars.csv", "--target", "good", "--out", "report.pdf"], ".html or .md"),
        (["cars.csv", "--target", "good", "--sensitive", "door"], "doors"),
        (["--examples", "3"], "TABLE"),
        (["--words", "none.yaml"], "none.yaml"),
    ],
)
def test_bad_use_gives_one_line_and_no_file(files, options, wrong, capsys, monkeypatch):
    monkeypatch.chdir(files)
    before = set(files.iterdir())
    assert main(["report", "model.json", *options]) == 2
    said = capsys.readouterr().err
    assert wrong in said and said.count("\n") == 1
    assert set(files.iterdir()) == before


def test_a_model_of_embedded_data_is_reported_on_its_rows_and_fit_suggests_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "--dataset", "car", "--rounds", "1", "--max-length", "2", "--out", "car.json"]) == 0
    shown = capsys.readouterr().out
    assert "soar report car.json --dataset car --out car.html" in shown
    assert main(["report", "car.json", "--dataset", "car", "--out", "car.html"]) == 0
    page = (tmp_path / "car.html").read_text(encoding="utf-8")
    assert "Measured on 432 rows that the rules had never seen" in page and "Shared with other rules" in page
    assert main(["report", "car.json", "car.csv", "--target", "y", "--dataset", "car"]) == 2
    assert "either a TABLE or --dataset" in capsys.readouterr().err


def test_a_page_without_rows_says_what_was_not_counted_and_nothing_of_python(files):
    assert main(["report", str(files / "model.json"), "--out", str(files / "page.html")]) == 0
    page = (files / "page.html").read_text(encoding="utf-8")
    assert "The page was made without rows, so overlaps and clashes were not counted." in page
    assert "X and y" not in page
