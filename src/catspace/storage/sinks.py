"""Where tables go: CSV or Parquet files that appear when they are complete, or standard output."""

import codecs
import io
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.exceptions import CatspaceError
from catspace.names import visible_lines
from catspace.storage.files import is_parquet
from catspace.storage.paths import expand
from catspace.storage.spreadsheets import for_spreadsheets
from catspace.storage.streams import packing
from catspace.storage.writing import explaining, replacing

# Names of files that programs would try to open as something else than what is in them.
_FOREIGN = {
    ".arrow", ".avro", ".db", ".feather", ".html", ".ipc", ".json", ".jsonl", ".ods", ".orc",
    ".pkl", ".sqlite", ".xls", ".xlsx", ".zip",
}  # fmt: skip


class TableSink:
    """Takes a table block by block; a context manager.

    The file appears under its name only when all of it is on the disk: whatever goes wrong before
    leaves nothing behind.

    Parameters
    ----------
    path : str or Path
        Ends in .parquet for Parquet, else CSV, compressed where it ends in .csv.gz; ``-`` is
        standard output.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = expand(path)
        self._is_standard = str(path) == "-"
        self._is_parquet = is_parquet(self.path)
        self._closing = ExitStack()
        self._file: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        if not self._is_standard and not self.path.parent.is_dir():
            raise CatspaceError(f"There is no folder {str(self.path.parent)!r} to write to.")
        if self.path.suffix.lower() in _FOREIGN:
            raise CatspaceError(
                f"{str(self.path)!r} ends in {self.path.suffix}, which catspace does not write.",
                hint="name it .csv, which spreadsheets open too, or .parquet.",
            )
        with self._explaining(), ExitStack() as closing:
            if self._is_standard:
                self._file = _Terminal() if sys.stdout.isatty() else sys.stdout.buffer
                closing.callback(self._file.flush)
            else:
                temporary = closing.enter_context(replacing(self.path))
                file = closing.enter_context(temporary.open("wb"))
                self._file = packing(file, self.path)
            closing.push(self._finish)
            self._closing = closing.pop_all()
        return self

    def write(self, block: pa.Table) -> None:
        """Write some rows; all blocks have the same columns."""
        block = block if self._is_parquet else for_spreadsheets(block)
        with self._explaining():
            if self._writer is None:
                kind = pyarrow.parquet.ParquetWriter if self._is_parquet else pyarrow.csv.CSVWriter
                self._writer = kind(self._file, block.schema)
            self._writer.write_table(block.cast(self._writer.schema) if self._is_parquet else block)

    def __exit__(self, *error: Any) -> None:
        with self._explaining():
            self._closing.__exit__(*error)

    def _finish(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None and self._writer is not None:
            self._writer.close()
            if isinstance(self._file, pa.NativeFile):
                self._file.close()

    def _explaining(self) -> AbstractContextManager[None]:
        # Who closes standard output, such as head, has seen enough: that is no error to explain.
        return nullcontext() if self._is_standard else explaining(self.path)


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a whole table."""
    with TableSink(path) as sink:
        sink.write(table)


class _Terminal(io.RawIOBase):
    """Standard output that is a terminal: what it would obey is shown as an escape."""

    def __init__(self) -> None:
        super().__init__()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        sys.stdout.write(visible_lines(self._decoder.decode(bytes(content))))
        return len(content)

    def flush(self) -> None:
        sys.stdout.flush()
