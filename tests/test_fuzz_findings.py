"""What fuzzing (`experiments/fuzz`) brought to light, and the corpus that it starts from."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from soar_jax import InputError, SOARClassifier
from soar_jax._sealed import DamagedFileError, seal, unseal
from soar_jax.data.read import read_table

TOP = Path(__file__).parents[1]
CORPUS = TOP / "experiments" / "fuzz" / "corpus"


def resealed(payload):
    head = seal({}, {}).split(b"\n", 1)[0] + b"\n"
    return head + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def archive_of(**changes):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, about=np.frombuffer(b"{}", dtype=np.uint8), x=np.arange(5))
    payload = bytearray(buffer.getvalue())
    start = payload.index(b"PK\x01\x02")  # the entry of the first member in the directory of the archive
    for place, value in changes.items():
        payload[start + int(place[1:])] = value
    return bytes(payload)


@pytest.mark.parametrize("flags", [{"b8": 1}, {"b10": 99}, {"b6": 255}], ids=["encrypted", "method", "version"])
def test_archives_with_a_right_checksum_and_odd_flags_are_damaged_files(flags):
    assert unseal(resealed(archive_of())).arrays["x"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DamagedFileError):
        unseal(resealed(archive_of(**flags)))


def test_an_array_that_claims_to_be_huge_is_a_damaged_file():
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("about.npy", buffer.getvalue())
    with pytest.raises(DamagedFileError, match="memory"):
        unseal(resealed(packed.getvalue()))


def test_a_table_with_too_many_fields_is_refused_in_one_line(tmp_path):
    (tmp_path / "table.csv").write_text("c0;c1\na;b;0.5\na;b;02021-03-05T10:00;x\n;a;a;-1,4;05.03.2021;4\n")
    with pytest.raises(InputError) as refused:
        read_table(tmp_path / "table.csv")
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore::soar_jax.UnreadableValuesWarning")
@pytest.mark.parametrize("path", sorted((CORPUS / "csv_tables").iterdir()), ids=lambda path: path.name)
def test_tables_of_the_corpus_are_read_or_refused(path):
    model = SOARClassifier.load(TOP / "tests" / "files" / "model.json")
    try:
        table = read_table(path)
        assert len(model.predict_state(table)) == len(table)
    except InputError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("field", ["estimator", "soar_jax_version", "new\nfield", "parameters"])
def test_a_model_file_with_line_breaks_in_its_words_is_refused_in_one_line(field):
    content = json.loads((TOP / "tests" / "files" / "model.json").read_text(encoding="utf-8"))
    content[field] = {"a\nb": {"c\nd": 1}} if field == "parameters" else "SOAR\nClassifier"
    if field == "soar_jax_version":
        content["format_version"] = 99
    with pytest.raises(InputError) as refused:
        SOARClassifier.from_json(json.dumps(content))
    assert "\n" not in str(refused.value)
