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
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.exceptions import CatspaceWarning, InputError

# What an empty cell looks like in the CSV files that people have.
MISSING_CELLS = ["", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>"]
_PARQUET = {".parquet", ".pq"}
_ENDINGS = {".csv", ".tsv", ".txt", *_PARQUET}
_BLOCK_BYTES = 1 << 23
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
    try:
        if is_parquet(path):
            return _read_parquet(path)
        return _read_csv(path)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from None


def find_files(source: str | Path) -> list[Path]:
    """Return the files that a path, a pattern with ``*`` or a folder stands for, sorted."""
    path = Path(source).expanduser()
    if path.is_dir():
        found = [file for file in path.iterdir() if file.suffix.lower() in _ENDINGS]
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

    The cells of a CSV file come as the text that they are (`catspace.data.text` reads them);
    Parquet files have types of their own.
    """
    try:
        if is_parquet(path):
            with pyarrow.parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(rows):
                    yield pa.Table.from_batches([batch])
        else:
            yield from _stream_csv(path)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from None


def _stream_csv(path: Path) -> Iterator[pa.Table]:
    encoding, separator = _find_dialect(path)
    names = _read_names(path, encoding, separator)
    reader = pyarrow.csv.open_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(encoding=encoding, block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
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
        warnings.warn(
            f"{str(path)!r} is not UTF-8 text; it was read as {encoding}.\n"
            f"Hint: save it as UTF-8 if letters look wrong.",
            CatspaceWarning,
            stacklevel=4,
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
    # A pandas index that was written along is not a feature.
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return table.select([name for name in table.column_names if name not in index])


def _read_csv(path: Path) -> pa.Table:
    encoding, separator = _find_dialect(path)
    types: dict[str, pa.DataType] = {}
    while True:
        convert = pyarrow.csv.ConvertOptions(
            null_values=MISSING_CELLS,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            column_types=types,
        )
        try:
            return pyarrow.csv.read_csv(
                path,
                read_options=pyarrow.csv.ReadOptions(encoding=encoding),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=separator, newlines_in_values=True
                ),
                convert_options=convert,
            )
        except pa.ArrowInvalid as error:
            wrong = _WRONG_TYPE.search(str(error))
            if wrong is None:
                raise
            name = _read_names(path, encoding, separator)[int(wrong[1])]
            if types.get(name) == pa.string():
                raise
            types[name] = _WIDER.get(wrong[2], pa.string())


def _read_names(path: Path, encoding: str, separator: str) -> list[str]:
    """Return the names of the columns of a CSV file: its first line."""
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
