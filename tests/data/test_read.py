"""Files that people have: packed, of other delimiters and encodings, without a header; and what is said of them."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from soar_jax import InputError
from soar_jax.data.contract import MISSING
from soar_jax.data.read import read_table

TEXT = "name,age,joined,member\nÄnne,30,2020-01-02,True\nBo,4.5,,False\nCy,NA,2021-12-31,True\n"


def expected():
    return pd.DataFrame(
        {
            "name": ["Änne", "Bo", "Cy"],
            "age": [30.0, 4.5, np.nan],
            "joined": pd.to_datetime(["2020-01-02", None, "2021-12-31"]).as_unit("us"),
            "member": [True, False, True],
        }
    ).astype({"name": object})


def zipped(data, num_files=1):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for i in range(num_files):
            archive.writestr(f"t{i}.csv", data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.replace(",", ";").encode(),
        TEXT.replace(",", "\t").encode(),
        TEXT.replace(",", "|").encode(),
        TEXT.replace("\n", "\r\n").encode(),
        gzip.compress(TEXT.encode()),
        lzma.compress(TEXT.encode()),
        bz2.compress(TEXT.encode()),
        zipped(TEXT),
    ],
    ids=["utf-8", "bom", "utf-16", "semicolon", "tab", "bar", "crlf", "gz", "xz", "bz2", "zip"],
)
def test_a_table_is_the_same_however_it_is_packed_and_written(tmp_path, data):
    (tmp_path / "t.csv").write_bytes(data)
    table = read_table(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(table, expected())
    assert table.attrs[MISSING][:2] == ("", "NA")


def test_standard_input_is_read_for_a_dash(monkeypatch):
    stdin = type("Stdin", (), {"buffer": io.BytesIO(TEXT.encode())})
    monkeypatch.setattr("sys.stdin", stdin)
    pd.testing.assert_frame_equal(read_table("-"), expected())


def test_parquet_is_known_by_its_content(tmp_path):
    pytest.importorskip("pyarrow")
    expected().to_parquet(tmp_path / "t.data")
    assert read_table(tmp_path / "t.data")["age"].tolist()[:2] == [30.0, 4.5]
    (tmp_path / "t.data").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="damaged Parquet"):
        read_table(tmp_path / "t.data")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (TEXT.encode("latin-1"), "--encoding latin-1"),
        (TEXT.encode("utf-16-le"), "--encoding utf-16"),
        (b"", "No columns"),
        (gzip.compress(TEXT.encode())[:-12], "damaged archive"),
        (zipped(TEXT, 3), "holds 3 files"),
        (b"5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n", "looks like a row of values"),
        (b"Miller,45,F,45\nJones,50,M,50\n", "looks like a row of values"),
        (b"a,b,a\n1,2,3\n", "more than once"),
        (b"a,b\n1,2,3\n1,2,3\n", "more fields"),
    ],
    ids=["latin-1", "utf-16", "empty", "cut off", "three files", "flowers", "people", "name twice", "more fields"],
)
def test_files_that_cannot_be_read_say_why_and_show_no_cell(tmp_path, data, message):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read_table(tmp_path / "t.csv")
    said = str(caught.value)
    assert "\n" not in said and len(said) < 400
    assert not any(cell in said for cell in ("Miller", "setosa", "Änne", "5.1"))


def test_latin_1_and_any_delimiter_can_be_said(tmp_path):
    (tmp_path / "t.csv").write_bytes(TEXT.replace(",", "~").encode("latin-1"))
    table = read_table(tmp_path / "t.csv", encoding="latin-1", delimiter="~")
    assert table["name"][0] == "Änne"
    with pytest.raises(InputError, match="no encoding"):
        read_table(tmp_path / "t.csv", encoding="klingon")
    with pytest.raises(InputError, match="one character"):
        read_table(tmp_path / "t.csv", encoding="latin-1", delimiter="~~")


def test_numbered_columns_and_decimal_commas_are_no_reason_to_refuse(tmp_path):
    (tmp_path / "t.csv").write_text("400,410,420,y\n1,2,3,a\n4,5,6,b\n")
    assert list(read_table(tmp_path / "t.csv")) == ["400", "410", "420", "y"]
    (tmp_path / "t.csv").write_text("a;b\n1,5;2,5\n3,5;4,5\n")
    assert read_table(tmp_path / "t.csv")["a"].tolist() == ["1,5", "3,5"]


def test_whole_columns_decide_types_and_codes_stay_text(tmp_path):
    (tmp_path / "t.csv").write_text(
        "code,whole,real,late,mixed\n007,1,0.1,2020-01-01,1\n12,2,1e3,2020-01-01T10:00Z,x\n"
    )
    table = read_table(tmp_path / "t.csv")
    assert table["code"].tolist() == ["007", "12"] and table["mixed"].tolist() == ["1", "x"]
    assert table["whole"].dtype == np.int64 and table["real"].tolist() == [0.1, 1000.0]
    assert table["late"].tolist() == ["2020-01-01", "2020-01-01T10:00Z"]  # with and without a zone: not one kind
    declared = read_table(tmp_path / "t.csv", kinds={"whole": "text"})
    assert declared["whole"].tolist() == ["1", "2"]


def test_long_names_are_shortened_in_messages():
    from soar_jax.data.table import require_columns

    frame = pd.DataFrame(columns=["x" * 900, *(f"name {i}" for i in range(90))])
    with pytest.raises(InputError) as caught:
        require_columns(frame, ["name 3", "q"], "The rules use")
    assert len(str(caught.value)) < 400 and "and 83 more" in str(caught.value)


def test_where_no_name_is_known_the_first_line_is_not_printed():
    """It may be the first patient of a file without names."""
    from soar_jax.data.table import require_columns

    frame = pd.DataFrame(columns=["John Smith", "Berlin", "ill"])
    with pytest.raises(InputError, match="3 other columns") as caught:
        require_columns(frame, ["outcome"], "The command names")
    assert "Smith" not in str(caught.value)


def test_words_for_missing_hold_in_parquet_too(tmp_path):
    pd.DataFrame({"a": ["x", "?"], "b": [1.5, -9.0]}).to_parquet(tmp_path / "table.parquet")
    whole = read_table(tmp_path / "table.parquet")
    assert whole.notna().all(axis=None)
    read = read_table(tmp_path / "table.parquet", ["?", "-9"])
    assert read["a"].isna().tolist() == read["b"].isna().tolist() == [False, True]


def test_a_first_line_with_one_number_twice_is_no_line_of_names(tmp_path):
    (tmp_path / "table.csv").write_text("1,1.0\n2,3\n")
    with pytest.raises(InputError, match="looks like a row of values"):
        read_table(tmp_path / "table.csv")


@pytest.mark.filterwarnings("ignore:Levels of.*mean a missing value")
def test_a_word_that_was_a_level_at_the_fit_stays_one_and_is_missing_elsewhere(tmp_path):
    from soar_jax.data.learn import learn_contract

    _, contract = learn_contract(pd.DataFrame({"c": ["NA", "b"] * 20, "d": ["u", "v"] * 20}), None, has_names=True)
    (tmp_path / "table.csv").write_text("c,d\nNA,NA\nb,u\n")
    read = read_table(tmp_path / "table.csv", contract=contract)
    assert read["c"].tolist() == ["NA", "b"] and read["d"].isna().tolist() == [True, False]
