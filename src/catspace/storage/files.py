"""CSV and Parquet files -> Arrow tables.

The separator of a CSV file is found, and text that is not UTF-8 is read as Windows wrote it. Its
cells are read as text, always and by one reader; what they are, `catspace.storage.cells` says.
"""

import codecs
import csv
import glob
import io
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.exceptions import InputError, warn
from catspace.storage.cells import read_column
from catspace.storage.paths import expand
from catspace.storage.shapes import MISSING_CELLS, Shape, add_shapes, find_type
from catspace.storage.streams import open_raw, open_text, plain_name

_PARQUET = {".parquet", ".pq"}
_ENDINGS = {".csv", ".tsv", ".txt", *_PARQUET}
_BLOCK_BYTES = 1 << 22
_PARQUET_BUFFER = 1 << 20  # for each column
_SEPARATORS = ",;\t|"
_SNIFFED_BYTES, _SNIFFED_LINES = 1 << 16, 20


def read_file(path: str | Path, *, as_text: bool = False) -> pa.Table:
    """Read a CSV or Parquet file; what does not end in .parquet or .pq is taken for CSV.

    With ``as_text`` the cells of a CSV file are text, as `open_file` gives them.
    """
    path = expand(path)
    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; a CSV or Parquet file is needed.")
    return open_file(path, as_text=as_text).read()


def find_files(source: str | Path) -> list[Path]:
    """Return the files that a path, a pattern with ``*`` or a folder stands for, sorted."""
    path = expand(source)
    if path.is_dir():
        # What begins with a dot is somebody's own: half-written files among them.
        found = [
            file
            for file in path.iterdir()
            if plain_name(file).suffix.lower() in _ENDINGS and not file.name.startswith(".")
        ]
        if not found:
            raise InputError(f"The folder {str(path)!r} holds no CSV or Parquet file.")
    elif path.exists():
        return [path]
    else:
        # Path.glob takes patterns below a folder only, and users write whole paths.
        found = [Path(name) for name in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        if not found:
            raise InputError(f"There is no file {str(path)!r}.")
    return sorted(found)


def is_parquet(path: str | Path) -> bool:
    """Whether a name is that of a Parquet file; all others are taken for CSV."""
    return Path(path).suffix.lower() in _PARQUET


@contextmanager
def standard_input() -> Iterator[Path]:
    """Yield a CSV file with what comes through standard input.

    The separator and the encoding are found by looking twice, and a pipe is read once.
    """
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield Path(file.name)


@dataclass(frozen=True)
class DataFile:
    """A file to be read block by block, more than once, with types that hold to its end.

    Attributes
    ----------
    path : Path
    schema : Arrow schema
        Names and types of the columns.
    dialect : tuple of str, or None
        Encoding and separator of a CSV file.
    shapes : sequence of Shape
        What the cells of each column of a CSV file look like, where that decides its type.
    row_groups : tuple of int, or None
        Those of a Parquet file that are read; by default all.
    """

    path: Path
    schema: pa.Schema
    dialect: tuple[str, str] | None = None
    shapes: tuple[Shape, ...] = ()
    row_groups: tuple[int, ...] | None = None

    def blocks(self, rows: int) -> Iterator[pa.Table]:
        """Yield the rows, about so many at a time; of a CSV file, as many as come together."""
        with _reading(self.path):
            if self.dialect is None:
                for block in _stream_parquet(self.path, rows, self.row_groups):
                    yield self._checked(block.select(self.schema.names))
                return
            for cells in _stream_csv(self.path, self.dialect, self.schema.names):
                columns = map(read_column, cells.columns, self.schema.types)
                yield pa.Table.from_arrays(list(columns), schema=self.schema)

    def read(self) -> pa.Table:
        """Return all rows."""
        if self.dialect is not None:
            return pa.concat_tables([self.schema.empty_table(), *self.blocks(_BLOCK_BYTES)])
        with _reading(self.path), open_raw(self.path) as raw:
            return self._checked(pyarrow.parquet.read_table(raw).select(self.schema.names))

    def _checked(self, block: pa.Table) -> pa.Table:
        """Return a block of a Parquet file, whose text some programs write as they please."""
        for name, column in zip(block.column_names, block.columns, strict=True):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid as error:
                raise InputError(
                    f"Column {name!r} of {str(self.path)!r} cannot be read: {error}.",
                    hint="write the file again, with text as UTF-8.",
                ) from None
        return block

    def pieces(self, rows: int) -> "list[DataFile]":
        """Return the file in pieces that can be read apart, of about so many rows each."""
        if self.dialect is not None:
            return [self]  # where a row of a CSV file begins, only those before it tell
        with _reading(self.path), open_raw(self.path) as raw:
            metadata = pyarrow.parquet.read_metadata(raw)
        pieces, groups, n_rows = [], list[int](), 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            n_rows += metadata.row_group(group).num_rows
            if n_rows >= rows or group == metadata.num_row_groups - 1:
                pieces.append(replace(self, row_groups=tuple(groups)))
                groups, n_rows = [], 0
        return pieces

    def with_shapes(self, shapes: Sequence[Shape]) -> "DataFile":
        """Return the same CSV file with the types that cells of such shapes have."""
        fields = zip(self.schema.names, map(find_type, shapes), strict=True)
        return replace(self, schema=pa.schema(list(fields)), shapes=tuple(shapes))

    def as_text(self, names: Iterable[str]) -> "DataFile":
        """Return the same CSV file with some of its columns read as text."""
        schema = self.schema
        for name in names:
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
        return replace(self, schema=schema)


def open_file(path: Path, *, as_text: bool = False) -> DataFile:
    """Return a file with the types of its columns.

    A CSV file is read for that from end to end. With ``as_text`` its columns are text, and only
    its encoding is looked for.
    """
    with _reading(path):
        if is_parquet(path):
            with open_raw(path) as raw, pyarrow.parquet.ParquetFile(raw) as file:
                return DataFile(path, without_index(file.schema_arrow))
        if as_text:
            return _open_csv(path, _find_encoding(path), as_text=True)
        guess = "utf-16" if _is_utf_16(path) else "utf-8"
        try:
            return _open_csv(path, guess)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            encoding = _find_encoding(path)
            if encoding == guess:
                raise
            return _open_csv(path, encoding)


def _open_csv(path: Path, encoding: str, *, as_text: bool = False) -> DataFile:
    with open_text(path) as file:
        top = file.read(_SNIFFED_BYTES)
    dialect = encoding, find_separator(top.decode(encoding, errors="replace"))
    with _open_reader(path, dialect, pyarrow.csv.ConvertOptions()) as reader:
        names = reader.schema.names
    opened = DataFile(path, pa.schema([(name, pa.string()) for name in names]), dialect)
    if as_text:
        return opened
    shapes = [Shape(0)] * len(names)
    for cells in _stream_csv(path, dialect, names):
        shapes = list(map(add_shapes, shapes, cells.columns))
    return opened.with_shapes(shapes)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the errors of readers into a sentence about the file."""
    try:
        if path.stat().st_size == 0 and path.is_file():
            raise InputError(f"{str(path)!r} is empty: there is not one byte in it.")
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from None


def _stream_parquet(
    path: Path, rows: int, row_groups: Sequence[int] | None = None
) -> Iterator[pa.Table]:
    # With a buffer, a row group need not fit in memory either.
    with (
        open_raw(path) as raw,
        pyarrow.parquet.ParquetFile(raw, buffer_size=_PARQUET_BUFFER) as file,
    ):
        # One row group after the other: a reader of all of them takes more memory with each.
        for group in range(file.num_row_groups) if row_groups is None else row_groups:
            for batch in file.iter_batches(rows, row_groups=[group]):
                yield pa.Table.from_batches([batch])


def _stream_csv(
    path: Path, dialect: tuple[str, str], names: Iterable[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the cells of a CSV file as text; null where they are missing without quotes."""
    options = pyarrow.csv.ConvertOptions(
        null_values=MISSING_CELLS,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=dict.fromkeys(names, pa.string()),
    )
    with _open_reader(path, dialect, options) as reader:
        yield from reader


def _open_reader(
    path: Path, dialect: tuple[str, str], options: pyarrow.csv.ConvertOptions
) -> pyarrow.csv.CSVStreamingReader:
    encoding, separator = dialect
    return pyarrow.csv.open_csv(
        open_text(path),
        read_options=pyarrow.csv.ReadOptions(encoding=encoding, block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=options,
    )


def _is_utf_16(path: Path) -> bool:
    with open_text(path) as file:
        return file.read(2) in (b"\xff\xfe", b"\xfe\xff")


def _find_encoding(path: Path) -> str:
    """Return the encoding of a CSV file, judged by all of its bytes."""
    if _is_utf_16(path):
        return "utf-16"
    # The last one can read anything.
    encoding = next(name for name in ("utf-8", "cp1252", "latin-1") if _is_encoded_as(path, name))
    if encoding != "utf-8":
        warn(
            f"{str(path)!r} is not UTF-8 text; it was read as {encoding}.",
            hint="save it as UTF-8 if letters look wrong.",
        )
    return encoding


def _is_encoded_as(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with open_text(path) as file:
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def without_index(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the index that pandas wrote along: that is not a feature."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return pa.schema([field for field in schema if field.name not in index])


def find_separator(top: str) -> str:
    r"""Return what separates the cells of a CSV file, judged by its first lines.

    It is the one that cuts every line into the same number of cells, and into the most.

    Examples
    --------
    >>> find_separator("store;sales\n1;2,5\n")
    ';'
    """
    is_whole = len(top) < _SNIFFED_BYTES // 4
    best, most = ",", 1
    for separator in _SEPARATORS:
        # A cell in quotes may have several lines.
        rows = csv.reader(io.StringIO(top, newline=""), delimiter=separator)
        first = list(islice(rows, _SNIFFED_LINES + 1))
        if len(first) > 1 and not (is_whole and len(first) <= _SNIFFED_LINES):
            first = first[:-1]  # which may be cut off in the middle
        widths = {len(cells) for cells in first if cells}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = separator, width
    return best
