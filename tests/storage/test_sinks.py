"""Tables on standard output: harmless on a terminal, byte for byte in a pipe."""

import io
import sys

import pyarrow as pa
import pytest

from catspace.exceptions import CatspaceError
from catspace.storage.sinks import write_table

TABLE = pa.table({"town": ["\x1b[2J", "Köln", "\u202eb", "two\nlines"], "y": [1, 2, 3, 4]})


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_shown_escapes_that_it_does_not_obey(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    write_table(TABLE, "-")
    monkeypatch.undo()
    assert terminal.getvalue() == (
        '"town","y"\n"\\x1b[2J",1\n"Köln",2\n"\\u202eb",3\n"two\nlines",4\n'
    )


def test_a_pipe_gets_the_bytes_of_a_file(monkeypatch, tmp_path):
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", pipe)
    write_table(TABLE, "-")
    monkeypatch.undo()
    write_table(TABLE, tmp_path / "t.csv")
    assert pipe.buffer.getvalue() == (tmp_path / "t.csv").read_bytes()
    assert b"\x1b[2J" in pipe.buffer.getvalue()


def test_an_output_that_was_closed_is_not_explained(monkeypatch):
    class Closed(io.RawIOBase):
        def writable(self):
            return True

        def write(self, content):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", type("Pipe", (), {"buffer": Closed(), "isatty": bool})())
    with pytest.raises(BrokenPipeError):
        write_table(TABLE, "-")


@pytest.mark.parametrize("name", ["p.xlsx", "p.XLS", "p.json", "p.feather", "p.csv.zip"])
def test_a_name_that_promises_another_format_is_refused(tmp_path, name):
    with pytest.raises(CatspaceError, match=r"ends in .*, which catspace does not wri") as caught:
        write_table(TABLE, tmp_path / name)
    assert "Hint: name it .csv" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
