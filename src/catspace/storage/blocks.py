"""Tables that need not fit in memory: files and Arrow datasets, read block by block.

What each column is, is settled once for all files, before the first block. For a Parquet file that
takes a look at its end. A CSV file is read from end to end: for the types of its columns, or, where
a model knows what they hold, only to see that it is UTF-8. After that, each walk over the blocks
reads a file once. A table is read more than once, so it must not change in between: that is
noticed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs

from catspace.data.kinds import is_list, is_text
from catspace.data.reading import read_table
from catspace.data.table import Table, describe
from catspace.exceptions import InputError
from catspace.storage.cells import parse_column
from catspace.storage.files import (
    DataFile,
    find_files,
    is_parquet,
    open_file,
    read_file,
    without_index,
)
from catspace.storage.shapes import Shape

_BLOCK_VALUES = 1 << 22  # fewer rows at a time where there are very many columns

# What a fitted model knows a column to hold, as `Vocabulary` names it: "number", "text" and so on.
Kinds = Mapping[str, Collection[str]]


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


def read_any(source: Any, kinds: Kinds | None = None) -> Table:
    """Read a table whole, from memory or from a CSV or Parquet file.

    Parameters
    ----------
    source : table, str or Path
    kinds : mapping of column to collection of str, optional
        What a fitted model knows the columns to hold. The cells of a CSV file are read as that,
        and columns that it does not know stay text. All other tables have types of their own.
    """
    if not isinstance(source, (str, Path)):
        return read_table(source)
    if kinds is None or is_parquet(source):
        return read_table(read_file(source))
    return parse_table(read_file(source, as_text=True), kinds)


def read_all(source: str, kinds: Kinds) -> Table:
    """Read a file, or all files of a pattern or a folder, as one table that a model knows."""
    paths = find_files(source)
    if len(paths) == 1:
        return read_any(paths[0], kinds)
    check_same_columns([open_file(path, as_text=True) for path in paths])
    are_parquet = {is_parquet(path) for path in paths}
    if len(are_parquet) > 1:
        raise InputError(
            f"{source!r} holds CSV and Parquet files side by side.", hint="read one kind at a time."
        )
    tables = [read_file(path, as_text=True) for path in paths]
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"The files of {source!r} do not fit together: {error}") from None
    return read_table(whole) if are_parquet == {True} else parse_table(whole, kinds)


def parse_table(cells: pa.Table, kinds: Kinds) -> Table:
    """Return the cells of a CSV file as columns of what a fitted model knows them to hold."""
    table = read_table(cells)
    columns = (
        parse_column(column.name, column.parts[0][1], kinds[column.name])
        if column.name in kinds
        else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def open_blocks(source: Any, kinds: Kinds | None = None) -> BlockSource:
    """Return the table that a path, a pattern, a folder or an Arrow dataset stands for.

    With the kinds of values that a fitted model knows, as in `read_any`.
    """
    if isinstance(source, pa.dataset.Dataset):
        return _Dataset(source)
    return FileBlocks(source, kinds=kinds)


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


def share_shapes(files: Sequence[DataFile]) -> list[DataFile]:
    """Return files of which those in CSV have the types that the cells of all of them have."""
    found: dict[str, Shape] = defaultdict(lambda: Shape(0))
    for file in files:
        for name, shapes in zip(file.schema.names, file.shapes, strict=False):
            found[name] |= shapes
    return [
        file if file.dialect is None else file.with_shapes([found[n] for n in file.schema.names])
        for file in files
    ]


class FileBlocks:
    """The table that a path, a pattern or a folder stands for.

    Parameters
    ----------
    source : str or Path
    kinds : mapping of column to collection of str, optional
        What a fitted model knows the columns to hold. Those of CSV files are read as that, and
        columns that it does not know are left out.

    Attributes
    ----------
    files : list of DataFile
        They agree on what each column is. With ``kinds``, all columns of CSV files are text.
    schema : Arrow schema
        Of the files.
    columns : Table
        The columns with their types, and without rows.
    """

    def __init__(self, source: str | Path, *, kinds: Kinds | None = None) -> None:
        self._source, self._kinds = source, kinds
        self._stamps = _stamp_files(find_files(source))
        try:
            files = [open_file(path, as_text=kinds is not None) for path in self._stamps]
            check_same_columns(files)
            unified = (files, files[0].schema) if kinds is not None else _unify(files)
            self.files, self.schema = unified
        except InputError:
            self.check_unchanged()  # that it changed says more than that it cannot be read
            raise
        self.columns = self._read(self.files[0], self.schema.empty_table())

    def without(self, names: Sequence[str]) -> "FileBlocks":
        """Return the same files without some of their columns."""
        fewer = copy(self)
        fewer.schema = pa.schema([field for field in self.schema if field.name not in names])
        fewer.columns = self._read(self.files[0], fewer.schema.empty_table())
        return fewer

    def blocks(self, rows: int) -> Iterator[Table]:
        """Yield the rows in order, about so many at a time, and never none."""
        return (table for _, table in self.pairs(rows))

    def pairs(self, rows: int) -> Iterator[tuple[pa.Table, Table]]:
        """Yield what `blocks` does, each block after the same rows with all columns of the files.

        With ``kinds``, the cells of CSV files are in there as the text that they are.
        """
        rows = _fitting(rows, len(self.schema))
        names = self.schema.names  # those of the first file, whose order counts
        try:
            for file in self.files:
                for block in _gather(file.blocks(rows), rows):
                    whole = block.select(names)
                    yield whole, self._read(file, whole)
        except InputError:
            self.check_unchanged()
            raise

    def _read(self, file: DataFile, block: pa.Table) -> Table:
        if self._kinds is None:
            return read_table(block)
        known = block.select([name for name in block.column_names if name in self._kinds])
        return read_table(known) if file.dialect is None else parse_table(known, self._kinds)

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
    if pa.types.is_time(type_):
        return "times"
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "numbers"
    if is_list(type_):
        return f"lists of {_family(type_.value_type)}"
    return "text" if is_text(type_) else str(type_)


def _unify(files: Sequence[DataFile]) -> tuple[list[DataFile], pa.Schema]:
    """Return files that agree on what each column is, and the schema of all.

    A column of CSV files is what all of its cells are, whichever file they stand in. Numbers of
    several widths fit together, and whatever is missing from end to end fits with everything. A
    column that is something else in Parquet files than in CSV files is text in the latter.
    """
    files, names = share_shapes(files), files[0].schema.names
    unclear = [name for name in names if len(_families(files, name)) > 1]
    files = [file if file.dialect is None else file.as_text(unclear) for file in files]
    fields = []
    for name in names:
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
    return files, pa.schema(fields)


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


def check_same_columns(files: Sequence[DataFile]) -> None:
    """Raise where files do not have the same columns, each once."""
    for file in files[1:]:
        _compare_names(files[0], file)
    # Which refuses equal names.
    read_table(pa.schema([(name, pa.null()) for name in files[0].schema.names]).empty_table())


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
                f"The files of {source} changed while they were read: {str(paths[0])!r} {what}.",
                hint="try again when nobody writes to them.",
            )
