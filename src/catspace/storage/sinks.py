"""Where tables go: CSV or Parquet files that appear when they are complete, or standard output."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.exceptions import CatspaceError
from catspace.storage.files import is_parquet
from catspace.storage.writing import explaining, replacing

# A spreadsheet would take a cell that begins like this for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class TableSink:
    """Takes a table block by block; a context manager.

    The file appears under its name only when all of it is on the disk: whatever goes wrong before
    leaves nothing behind.

    Parameters
    ----------
    path : str or Path
        Ends in .parquet for Parquet, else CSV; ``-`` is standard output.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self._is_standard = str(path) == "-"
        self._is_parquet = is_parquet(self.path)
        self._closing = ExitStack()
        self._file: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        if not self._is_standard and not self.path.parent.is_dir():
            raise CatspaceError(f"There is no folder {str(self.path.parent)!r} to write to.")
        with explaining(self.path), ExitStack() as closing:
            if self._is_standard:
                self._file = sys.stdout.buffer
                closing.callback(self._file.flush)
            else:
                temporary = closing.enter_context(replacing(self.path))
                self._file = closing.enter_context(temporary.open("wb"))
            closing.push(self._finish)
            self._closing = closing.pop_all()
        return self

    def write(self, block: pa.Table) -> None:
        """Write some rows; all blocks have the same columns."""
        with explaining(self.path):
            if self._writer is None:
                kind = pyarrow.parquet.ParquetWriter if self._is_parquet else pyarrow.csv.CSVWriter
                self._writer = kind(self._file, block.schema)
            self._writer.write_table(block.cast(self._writer.schema) if self._is_parquet else block)

    def __exit__(self, *error: Any) -> None:
        with explaining(self.path):
            self._closing.__exit__(*error)

    def _finish(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None and self._writer is not None:
            self._writer.close()


def without_formulas(names: pa.Array) -> pa.Array:
    """Return category names that no spreadsheet takes for formulas: an apostrophe goes before."""
    texts = [None if name is None else str(name) for name in names.to_pylist()]
    return pa.array(
        [f"'{text}" if text and text.startswith(_FORMULA_STARTS) else text for text in texts],
        pa.string(),
    )


def write_table(table: pa.Table, path: str | Path, *, names: str | None = None) -> None:
    """Write a whole table; in CSV the column of category names is made safe for spreadsheets."""
    if not is_parquet(path) and names is not None and pa.types.is_string(table[names].type):
        safe = without_formulas(table[names].combine_chunks())
        table = table.set_column(table.column_names.index(names), names, safe)
    with TableSink(path) as sink:
        sink.write(table)
