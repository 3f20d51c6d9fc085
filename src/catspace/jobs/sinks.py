"""Where tables go: CSV or Parquet files that appear when they are complete, or standard output."""

import secrets
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.data.files import is_parquet
from catspace.exceptions import CatspaceError

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
        hidden = f".{self.path.name[:200]}.{secrets.token_hex(8)}"
        self._temporary = self.path.with_name(hidden)
        self._file: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        if self._is_standard:
            self._file = sys.stdout.buffer
            return self
        if not self.path.parent.is_dir():
            raise CatspaceError(f"There is no folder {str(self.path.parent)!r} to write to.")
        try:
            self._file = self._temporary.open("xb")
        except OSError as error:
            raise self._failed(error) from None
        return self

    def write(self, block: pa.Table) -> None:
        """Write some rows; all blocks have the same columns."""
        try:
            if self._writer is None:
                kind = pyarrow.parquet.ParquetWriter if self._is_parquet else pyarrow.csv.CSVWriter
                self._writer = kind(self._file, block.schema)
            self._writer.write_table(block.cast(self._writer.schema) if self._is_parquet else block)
        except OSError as error:
            raise self._failed(error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._writer is not None and kind is None:
                self._writer.close()
            if self._is_standard:
                self._file.flush()
                return
            self._file.close()
            if kind is None:
                self._temporary.replace(self.path)
        except OSError as failure:
            raise self._failed(failure) from None
        finally:
            if not self._is_standard:
                self._temporary.unlink(missing_ok=True)

    def _failed(self, error: OSError) -> CatspaceError:
        reason = error.strerror or str(error)
        return CatspaceError(f"{str(self.path)!r} cannot be written: {reason}.")


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
