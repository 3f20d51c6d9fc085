import json

import numpy as np
import pyarrow as pa
import pytest
import safetensors.numpy

from catspace.exceptions import ModelFileError
from catspace.storage import model_file

ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "words": pa.array(["é", None])}


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "model.catspace"
    model_file.write(target, {"name": 'a "quoted" name', "sha256": "0" * 64}, ARRAYS)
    return target


def test_a_document_and_its_arrays_come_back(path):
    document, arrays = model_file.read(path)
    assert document["name"] == 'a "quoted" name'
    assert document["format_version"] == model_file.FORMAT_VERSION
    np.testing.assert_array_equal(arrays["weights"], ARRAYS["weights"])
    assert arrays["words"].equals(ARRAYS["words"])


def test_it_is_a_safetensors_file_that_other_tools_open(path):
    tensors = safetensors.numpy.load_file(path)
    np.testing.assert_array_equal(tensors["weights"], ARRAYS["weights"])


def test_every_single_flipped_byte_is_noticed(path):
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"is damaged|is not a catspace model file"):
            model_file.read(path)


def test_a_truncated_file_says_so(path):
    content = path.read_bytes()
    for length in range(9, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"is damaged|is not a catspace model file"):
            model_file.read(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04zip", b'{"json": true}' * 9])
def test_a_file_of_another_kind_says_so(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"is not a catspace model file\.\nHint: model.save"):
        model_file.read(path)


def test_a_safetensors_file_of_somebody_else_says_so(tmp_path):
    path = tmp_path / "other.safetensors"
    safetensors.numpy.save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match=r"is not a catspace model file"):
        model_file.read(path)


def test_a_newer_format_asks_for_an_upgrade(path, monkeypatch):
    monkeypatch.setattr(model_file, "FORMAT_VERSION", 99)
    model_file.write(path, {}, ARRAYS)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"has format 99, and this catspace reads up to 3\."):
        model_file.read(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    before = path.read_bytes()

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(ModelFileError, match=r"cannot be written: No space left on device"):
        model_file.write(path, {"new": 1}, ARRAYS)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["model.catspace"]


def test_a_folder_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ModelFileError, match=r"^There is no folder .*nowhere"):
        model_file.write(tmp_path / "nowhere" / "model", {}, {})
    with pytest.raises(ModelFileError, match=r"^There is no model file"):
        model_file.read(tmp_path / "nowhere")


def test_the_metadata_is_json_and_no_pickle(path):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert json.loads(header["__metadata__"]["catspace"])["name"] == 'a "quoted" name'
    assert b"pickle" not in content


def test_a_folder_in_the_place_of_the_file_is_a_sentence(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(ModelFileError, match=r"taken' cannot be written: Is a directory"):
        model_file.write(tmp_path / "taken", {}, {"a": np.zeros(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_the_same_model_is_the_same_bytes_however_often_it_is_saved(tmp_path):
    for i in range(12):
        model_file.write(tmp_path / str(i), {"name": "é\n"}, ARRAYS)
    assert len({(tmp_path / str(i)).read_bytes() for i in range(12)}) == 1
