import os
import stat
import subprocess
import sys

import pytest

from catspace.exceptions import CatspaceError, ModelFileError
from catspace.storage import writing
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


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


def test_a_new_file_has_the_permissions_of_any_new_file(path):
    beside, new = path.with_name("beside.txt"), path.with_name("new.txt")
    beside.write_text("")
    write_text(new, "new")
    assert mode(new) == mode(beside)


@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o444, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(path, permissions):
    path.chmod(permissions)
    with replacing(path) as temporary:
        assert mode(temporary) == 0o600
        temporary.write_text("new")
    assert (path.read_text(), mode(path)) == ("new", permissions)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link_and_the_file_behind_it_is_replaced(tmp_path, is_there):
    (tmp_path / "store").mkdir()
    (tmp_path / "links").mkdir()
    real, link = tmp_path / "store" / "m.txt", tmp_path / "links" / "latest.txt"
    if is_there:
        real.write_text("old")
    link.symlink_to("../store/m.txt")
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert (names(tmp_path / "store"), names(tmp_path / "links")) == (["m.txt"], ["latest.txt"])


def test_what_a_killed_process_left_is_removed_by_the_next_write(path):
    code = (
        "import os, sys; from pathlib import Path; from catspace.storage.writing import replacing\n"
        "with replacing(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    (left,) = [file for file in path.parent.iterdir() if file != path]
    assert left.read_text() == "half"
    kept = [left.with_name(left.name.replace("notes", "other")), left.with_name(".notes.txt.mine")]
    for file in kept:
        file.write_text("not of this place")
    write_text(path, "new")
    assert names(path.parent) == sorted(["notes.txt", *(file.name for file in kept)])


def test_what_somebody_still_writes_is_left_alone(path):
    with replacing(path) as one, replacing(path) as other:
        one.write_text("one")
        other.write_text("other")
        write_text(path, "new")
        assert (one.read_text(), other.read_text()) == ("one", "other")
    assert path.read_text() == "one"
    assert names(path.parent) == ["notes.txt"]


def test_a_file_that_was_removed_before_it_was_locked_is_made_again(path, monkeypatch):
    lock, removed = writing._lock, []

    def remove_first(file, *, wait):
        if wait and not removed:
            removed.extend(other for other in path.parent.iterdir() if other != path)
            removed[0].unlink()
        return lock(file, wait=wait)

    monkeypatch.setattr(writing, "_lock", remove_first)
    write_text(path, "new")
    assert len(removed) == 1
    assert path.read_text() == "new"


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
