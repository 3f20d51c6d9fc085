"""CSV and Parquet files -> Arrow tables.

CSV files have no types and no manners. Their separator is found, text that is not UTF-8 is read as
Windows wrote it, and a column whose values turn out to be of a wider type further down than at the
top of the file is read again as that type.
"""

import codecs
import csv
import glob
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.exceptions import InputError, warn

# What an empty cell looks like in the CSV files that people have.
MISSING_CELLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>"]
_PARQUET = {".parquet", ".pq"}
_ENDINGS = {".csv", ".tsv", ".txt", *_PARQUET}
_BLOCK_BYTES = 1 << 22
_PARQUET_BUFFER = 1 << 20  # for each column
_SEPARATORS = ",;\t|"
_SNIFFED_BYTES, _SNIFFED_LINES = 1 << 16, 20

# Arrow guesses types from the top of a file. What to try where a value further down does not fit;
# after the last of these, text holds everything.
_WIDER = {
    "null": pa.int64(),
    "int64": pa.float64(),
    "date32[day]": pa.timestamp("us"),
    "timestamp[s]": pa.timestamp("us"),
}
_WRONG_TYPE = re.compile(r"In CSV column #(\d+):.* conversion error to ([^:]+):")


def read_file(path: str | Path) -> pa.Table:
    """Read a CSV or Parquet file; what does not end in .parquet or .pq is taken for CSV."""
    path = Path(path).expanduser()
    if not path.exists():
        raise InputError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; a CSV or Parquet file is needed.")
    with _reading(path):
        return _read_parquet(path) if is_parquet(path) else _read_csv(path)


def find_files(source: str | Path) -> list[Path]:
    """Return the files that a path, a pattern with ``*`` or a folder stands for, sorted."""
    path = Path(source).expanduser()
    if path.is_dir():
        # What begins with a dot is somebody's own: half-written files among them.
        found = [
            file
            for file in path.iterdir()
            if file.suffix.lower() in _ENDINGS and not file.name.startswith(".")
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


def stream_file(path: Path, *, rows: int = 100_000) -> Iterator[pa.Table]:
    """Yield a file in blocks, so that it need not fit in memory.

    The cells of a CSV file come as the text that they are (`catspace.storage.cells` reads them);
    Parquet files have types of their own.
    """
    with _reading(path):
        if is_parquet(path):
            yield from _stream_parquet(path, rows)
        else:
            dialect = _find_dialect(path)
            text = dict.fromkeys(_read_names(path, dialect), pa.string())
            options = pyarrow.csv.ConvertOptions(column_types=text, strings_can_be_null=False)
            yield from _stream_csv(path, dialect, options)


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
    row_groups : tuple of int, or None
        Those of a Parquet file that are read; by default all.
    """

    path: Path
    schema: pa.Schema
    dialect: tuple[str, str] | None = None
    row_groups: tuple[int, ...] | None = None

    def blocks(self, rows: int) -> Iterator[pa.Table]:
        """Yield the rows, about so many at a time."""
        with _reading(self.path):
            if self.dialect is None:
                blocks = _stream_parquet(self.path, rows, self.row_groups)
            else:
                types = {field.name: field.type for field in self.schema}
                blocks = _stream_csv(self.path, self.dialect, _convert_options(types))
            for block in blocks:
                yield block.select(self.schema.names)

    def pieces(self, rows: int) -> "list[DataFile]":
        """Return the file in pieces that can be read apart, of about so many rows each."""
        if self.dialect is not None:
            return [self]  # where a row of a CSV file begins, only those before it tell
        with _reading(self.path):
            metadata = pyarrow.parquet.read_metadata(self.path)
        pieces, groups, n_rows = [], list[int](), 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            n_rows += metadata.row_group(group).num_rows
            if n_rows >= rows or group == metadata.num_row_groups - 1:
                pieces.append(replace(self, row_groups=tuple(groups)))
                groups, n_rows = [], 0
        return pieces

    def as_text(self, names: Iterable[str]) -> "DataFile":
        """Return the same CSV file with some of its columns read as text."""
        schema = self.schema
        for name in names:
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
        return replace(self, schema=schema)


def open_file(path: Path) -> DataFile:
    """Return a file with the types of its columns; for those of a CSV file it is read once."""
    with _reading(path):
        if is_parquet(path):
            with pyarrow.parquet.ParquetFile(path) as file:
                return DataFile(path, without_index(file.schema_arrow))
        dialect = _find_dialect(path)
        types: dict[str, pa.DataType] = {}
        while True:
            try:
                schema = None
                for block in _stream_csv(path, dialect, _convert_options(types)):
                    schema = block.schema
                if schema is None:  # there are names, and no rows
                    schema = pa.schema([(name, pa.null()) for name in _read_names(path, dialect)])
                return DataFile(path, schema, dialect)
            except pa.ArrowInvalid as error:
                _widen(types, error, _read_names(path, dialect))


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
    with pyarrow.parquet.ParquetFile(path, buffer_size=_PARQUET_BUFFER) as file:
        # One row group after the other: a reader of all of them takes more memory with each.
        for group in range(file.num_row_groups) if row_groups is None else row_groups:
            for batch in file.iter_batches(rows, row_groups=[group]):
                yield pa.Table.from_batches([batch])


def _stream_csv(
    path: Path, dialect: tuple[str, str], options: pyarrow.csv.ConvertOptions
) -> Iterator[pa.Table]:
    encoding, separator = dialect
    reader = pyarrow.csv.open_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(encoding=encoding, block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=options,
    )
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _find_dialect(path: Path) -> tuple[str, str]:
    """Return encoding and separator of a CSV file, judged by all of its bytes and its top."""
    with path.open("rb") as file:
        top = file.read(_SNIFFED_BYTES)
    if top.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        # The last one can read anything.
        candidates = ("utf-8", "cp1252", "latin-1")
        encoding = next(name for name in candidates if _is_encoded_as(path, name))
    if encoding in ("cp1252", "latin-1"):
        warn(
            f"{str(path)!r} is not UTF-8 text; it was read as {encoding}.",
            hint="save it as UTF-8 if letters look wrong.",
        )
    return encoding, find_separator(top.decode(encoding, errors="replace"))


def _is_encoded_as(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True


def _read_parquet(path: Path) -> pa.Table:
    table = pyarrow.parquet.read_table(path)
    return table.select(without_index(table.schema).names)


def without_index(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the index that pandas wrote along: that is not a feature."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return pa.schema([field for field in schema if field.name not in index])


def _read_csv(path: Path) -> pa.Table:
    dialect = _find_dialect(path)
    encoding, separator = dialect
    types: dict[str, pa.DataType] = {}
    while True:
        try:
            return pyarrow.csv.read_csv(
                path,
                read_options=pyarrow.csv.ReadOptions(encoding=encoding),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=separator, newlines_in_values=True
                ),
                convert_options=_convert_options(types),
            )
        except pa.ArrowInvalid as error:
            _widen(types, error, _read_names(path, dialect))


def _convert_options(types: dict[str, pa.DataType]) -> pyarrow.csv.ConvertOptions:
    return pyarrow.csv.ConvertOptions(
        null_values=MISSING_CELLS,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types=types,
    )


def _widen(types: dict[str, pa.DataType], error: pa.ArrowInvalid, names: list[str]) -> None:
    """Give a column the next wider type after a cell did not fit; other errors are raised."""
    wrong = _WRONG_TYPE.search(str(error))
    if wrong is None:
        raise error
    name = names[int(wrong[1])]
    if types.get(name) == pa.string():
        raise error
    types[name] = _WIDER.get(wrong[2], pa.string())


def _read_names(path: Path, dialect: tuple[str, str]) -> list[str]:
    """Return the names of the columns of a CSV file: its first line."""
    encoding, separator = dialect
    with path.open(encoding=encoding, newline="") as file:
        names = next(csv.reader(file, delimiter=separator), [])
    return [name.removeprefix("\ufeff") for name in names]


def find_separator(top: str) -> str:
    r"""Return what separates the cells of a CSV file, judged by its first lines.

    It is the one that cuts every line into the same number of cells, and into the most.

    Examples
    --------
    >>> find_separator("store;sales\n1;2,5\n")
    ';'
    """
    lines = top.splitlines()[:_SNIFFED_LINES]
    if len(lines) > 1 and len(top) >= _SNIFFED_BYTES // 4 and not top.endswith("\n"):
        lines = lines[:-1]  # cut off in the middle
    best, most = ",", 1
    for separator in _SEPARATORS:
        widths = {len(cells) for cells in csv.reader(lines, delimiter=separator) if cells}
        if len(widths) == 1 and (width := widths.pop()) > most:
            best, most = separator, width
    return best
