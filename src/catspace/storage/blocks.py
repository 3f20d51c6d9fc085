"""Tables that need not fit in memory: files and Arrow datasets, read block by block.

What each column is, is settled once for all files, before the first block. A table is read more
than once, so it must not change in between: that is noticed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs

from catspace.data.kinds import is_text
from catspace.data.reading import read_table
from catspace.data.table import Table, describe
from catspace.exceptions import InputError
from catspace.storage.files import DataFile, find_files, open_file, read_file, without_index

_BLOCK_VALUES = 1 << 22  # fewer rows at a time where there are very many columns


class BlockSource(Protocol):
    """A table that is read block by block, as often as needed."""

    @property
    def columns(self) -> Table:
        """The columns with their types, and without rows."""

    def blocks(self, rows: int) -> Iterator[Table]:
        """Yield the rows in order, about so many at a time, and never none."""

    def check_unchanged(self) -> None:
        """Raise where the table is not what it was in the beginning."""


def is_source(source: Any) -> bool:
    """Whether something stands for files: a path, a pattern, a folder or an Arrow dataset."""
    return isinstance(source, (str, Path, pa.dataset.Dataset))


def read_any(source: Any, *, kinds: Mapping[str, Any] | None = None) -> Table:
    """Read a table whole, from memory or from a CSV or Parquet file."""
    return read_table(read_file(source) if isinstance(source, (str, Path)) else source)


def open_blocks(source: Any) -> BlockSource:
    """Return the table that a path, a pattern, a folder or an Arrow dataset stands for."""
    if isinstance(source, pa.dataset.Dataset):
        return _Dataset(source)
    return FileBlocks(source)


def check_block(found: pa.Schema, expected: pa.Schema) -> None:
    """Raise where a block of a table does not hold what its other blocks hold."""
    for field in expected:
        if field.name not in found.names:
            raise InputError(f"A part of the table has no column {field.name!r}.")
        type_ = found.field(field.name).type
        if pa.types.is_null(type_) or pa.types.is_null(field.type):
            continue
        if _family(type_) != _family(field.type):
            raise InputError(
                f"Column {field.name!r} holds {describe(field.type)} in one part of the table and "
                f"{describe(type_)} in another.",
                hint="give it the same type everywhere.",
            )


class FileBlocks:
    """The table that a path, a pattern or a folder stands for.

    Parameters
    ----------
    source : str or Path
    drop : sequence of str
        Columns to leave out.

    Attributes
    ----------
    files : list of DataFile
        They agree on what each column is.
    schema : Arrow schema
    columns : Table
        The columns with their types, and without rows.
    """

    def __init__(self, source: str | Path, *, drop: Sequence[str] = ()) -> None:
        self._source = source
        self._stamps = _stamp_files(find_files(source))
        try:
            self.files, schema = _unify([open_file(path) for path in self._stamps])
        except InputError:
            self.check_unchanged()  # that it changed says more than that it cannot be read
            raise
        self.schema = pa.schema([field for field in schema if field.name not in drop])
        self.columns = read_table(self.schema.empty_table())

    def blocks(self, rows: int) -> Iterator[Table]:
        """Yield the rows in order, about so many at a time, and never none."""
        rows = _fitting(rows, len(self.columns.columns))
        names = self.columns.names  # those of the first file, whose order counts
        try:
            for file in self.files:
                for block in _gather(file.blocks(rows), rows):
                    yield read_table(block.select(names))
        except InputError:
            self.check_unchanged()
            raise

    def check_unchanged(self) -> None:
        """Raise where the files are not what they were in the beginning."""
        try:
            now = _stamp_files(find_files(self._source))
        except (InputError, OSError):
            now = {}
        _compare_stamps(repr(str(self._source)), self._stamps, now)


class _Dataset:
    def __init__(self, dataset: "pa.dataset.Dataset") -> None:
        self._dataset = dataset
        self._stamps = self._stamp()
        self.columns = read_table(without_index(dataset.schema).empty_table())

    def blocks(self, rows: int) -> Iterator[Table]:
        rows = _fitting(rows, len(self.columns.columns))
        # Arrow reads ahead a lot, and a block at a time is enough: encoding takes longer.
        scanner = self._dataset.scanner(
            self.columns.names, batch_size=rows, batch_readahead=1, fragment_readahead=1
        )
        try:
            batches = (pa.Table.from_batches([batch]) for batch in scanner.to_batches())
            for block in _gather(batches, rows):
                yield read_table(block)
        except (pa.ArrowException, OSError) as error:
            self.check_unchanged()
            raise InputError(f"The dataset cannot be read: {error}") from None

    def check_unchanged(self) -> None:
        _compare_stamps("the dataset", self._stamps, self._stamp())

    def _stamp(self) -> dict[str, tuple[Any, ...]]:
        files = getattr(self._dataset, "files", [])  # a dataset in memory has none
        if not files:
            return {}
        return {
            info.path: (info.size, info.mtime_ns)
            for info in self._dataset.filesystem.get_file_info(files)
            if info.type != pa.fs.FileType.NotFound
        }


@dataclass(frozen=True)
class _Holding:
    """What a column holds in one file."""

    file: DataFile
    type: pa.DataType

    @property
    def family(self) -> str:
        """What the type is used as; columns of one family fit together."""
        return _family(self.type)


def _family(type_: pa.DataType) -> str:
    if pa.types.is_dictionary(type_):
        return "text" if is_text(type_.value_type) else "categories"
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return "dates"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "numbers"
    return "text" if is_text(type_) else str(type_)


def _unify(files: Sequence[DataFile]) -> tuple[list[DataFile], pa.Schema]:
    """Return files that agree on what each column is, and the schema of all.

    Numbers of several widths fit together, and whatever is missing from end to end fits with
    everything. A column of CSV files that would be several things is text.
    """
    first = files[0]
    for file in files[1:]:
        _compare_names(first, file)
    if len(set(first.schema.names)) < len(first.schema.names):
        return list(files), first.schema  # which read_table refuses
    unclear = [name for name in first.schema.names if len(_families(files, name)) > 1]
    files = [file if file.dialect is None else file.as_text(unclear) for file in files]
    fields = []
    for name in first.schema.names:
        families = _families(files, name)
        if len(families) > 1:
            one, other = list(families.values())[:2]
            raise InputError(
                f"Column {name!r} holds {_words(one)} in {str(one.file.path)!r} and "
                f"{_words(other)} in {str(other.file.path)!r}.",
                hint="write the files with the same types.",
            )
        types = [file.schema.field(name).type for file in files]
        known = [type_ for type_ in types if not pa.types.is_null(type_)] or types
        # Fractions in one file make integers in another fractions too.
        fractions = [type_ for type_ in known if pa.types.is_floating(type_)]
        fields.append(pa.field(name, (fractions or known)[0]))
    return list(files), pa.schema(fields)


def _families(files: Sequence[DataFile], name: str) -> dict[str, _Holding]:
    """Return the first file for each family of types that a column is of."""
    found: dict[str, _Holding] = {}
    for file in files:
        holding = _Holding(file, file.schema.field(name).type)
        if not pa.types.is_null(holding.type):
            found.setdefault(holding.family, holding)
    return found


def _words(holding: _Holding) -> str:
    return "categories" if holding.family == "categories" else describe(holding.type)


def _compare_names(first: DataFile, other: DataFile) -> None:
    for here, there in ((other, first), (first, other)):
        lost = [name for name in there.schema.names if name not in here.schema.names]
        if lost:
            raise InputError(
                f"{str(here.path)!r} has no column {lost[0]!r}, and {str(there.path)!r} has one.",
                hint="the files of one table have the same columns.",
            )


def _gather(blocks: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Put small blocks together until there are so many rows."""
    waiting: list[pa.Table] = []
    for block in blocks:
        if block.num_rows:
            waiting.append(block)
        if sum(map(len, waiting)) >= rows:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _fitting(rows: int, n_columns: int) -> int:
    return max(1, min(rows, _BLOCK_VALUES // max(1, n_columns)))


def _stamp_files(paths: Sequence[Path]) -> dict[Path, tuple[Any, ...]]:
    stats = {path: path.stat() for path in paths}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


def _compare_stamps(source: str, before: Mapping[Any, Any], now: Mapping[Any, Any]) -> None:
    for what, paths in (
        ("is gone", [path for path in before if path not in now]),
        ("is new", [path for path in now if path not in before]),
        ("was written to", [path for path in before if now.get(path) != before[path]]),
    ):
        if paths:
            raise InputError(
                f"The files of {source} changed during the fit: {str(paths[0])!r} {what}.",
                hint="fit again when nobody writes to them.",
            )
