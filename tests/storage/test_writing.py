import os
import stat

import pytest

from catspace.exceptions import CatspaceError, ModelFileError
from catspace.storage.writing import explaining, replacing, write_text


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "notes.txt"
    target.write_text("old")
    return target


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_what_was_written_takes_the_place_of_the_old_file(path):
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(path.parent) == ["notes.txt"]


def test_a_file_has_the_permissions_of_any_new_file(path):
    beside = path.with_name("beside.txt")
    beside.write_text("")
    path.chmod(0o600)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(beside.stat().st_mode)


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(path, error):
    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error("halfway")

    with pytest.raises(error, match="halfway"):
        fail()
    assert path.read_text() == "old"
    assert names(path.parent) == ["notes.txt"]


def test_a_name_as_long_as_names_can_be_has_room_for_the_temporary_one(tmp_path):
    path = tmp_path / ("ü" * 127)
    write_text(path, "new")
    assert path.read_text() == "new"


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    path = tmp_path / "nowhere" / "notes.txt"
    with pytest.raises(FileNotFoundError) as caught, replacing(path) as temporary:
        temporary.write_text("new")
    assert str(path) in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_text(path, "new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert path.is_fifo()


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(
        CatspaceError, match=r"^'.*nowhere/notes.txt' cannot be written: No such file or directory"
    ):
        write_text(tmp_path / "nowhere" / "notes.txt", "new")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_closed_is_a_sentence(path):
    path.parent.chmod(0o500)
    try:
        with pytest.raises(CatspaceError, match=r"txt' cannot be written: Permission denied\.$"):
            write_text(path, "new")
    finally:
        path.parent.chmod(0o700)
    assert path.read_text() == "old"


def test_a_folder_in_the_place_of_the_file_is_a_sentence(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(CatspaceError, match=r"taken' cannot be written: Is a directory\.$"):
        write_text(tmp_path / "taken", "new")
    assert names(tmp_path) == ["taken"]


def test_the_sentence_comes_as_the_error_that_is_asked_for(path):
    with (
        pytest.raises(ModelFileError, match=r"notes.txt' cannot be written: the reason\.$"),
        explaining(path, ModelFileError),
    ):
        raise OSError("the reason")
