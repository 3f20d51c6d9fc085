"""CSV and Parquet files -> Arrow tables.

CSV files have no types and no manners. Their separator is found, text that is not UTF-8 is read as
Windows wrote it, and a column whose values turn out to be of a wider type further down than at the
top of the file is read again as that type.
"""

import csv
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from catspace.exceptions import CatspaceWarning, InputError

# What an empty cell looks like in the CSV files that people have.
_MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>"]
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
        if path.suffix.lower() in {".parquet", ".pq"}:
            return _read_parquet(path)
        return _read_csv(path)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}") from None


def _read_parquet(path: Path) -> pa.Table:
    table = pyarrow.parquet.read_table(path)
    # A pandas index that was written along is not a feature.
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    return table.select([name for name in table.column_names if name not in index])


def _read_csv(path: Path) -> pa.Table:
    with path.open("rb") as file:
        top = file.read(_SNIFFED_BYTES)
    if top.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings: Sequence[str] = ("utf-16",)
    else:
        encodings = ("utf-8", "cp1252", "latin-1")  # the last one can read anything
    for encoding in encodings:
        separator = find_separator(top.decode(encoding, errors="replace"))
        try:
            table = _parse_csv(path, separator, encoding)
            names = table.column_names  # decoded only now
        except UnicodeDecodeError:
            continue
        # Arrow keeps text that is not valid as bytes.
        if len(names) and any(pa.types.is_binary(type_) for type_ in table.schema.types):
            continue
        if encoding in ("cp1252", "latin-1"):
            warnings.warn(
                f"{str(path)!r} is not UTF-8 text; it was read as {encoding}.\n"
                f"Hint: save it as UTF-8 if letters look wrong.",
                CatspaceWarning,
                stacklevel=4,
            )
        return table
    raise InputError(f"{str(path)!r} cannot be read: it is not text.")


def _parse_csv(path: Path, separator: str, encoding: str) -> pa.Table:
    types: dict[str, pa.DataType] = {}
    while True:
        convert = pyarrow.csv.ConvertOptions(
            null_values=_MISSING,
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
            with path.open(encoding=encoding, newline="") as file:
                name = next(csv.reader(file, delimiter=separator))[int(wrong[1])]
            name = name.removeprefix("\ufeff")
            if types.get(name) == pa.string():
                raise
            types[name] = _WIDER.get(wrong[2], pa.string())


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
