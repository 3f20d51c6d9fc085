"""Named Arrow columns of equal length: what every table is inside of catspace."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from catspace.data.kinds import Part, factorize, is_list, is_text, naming
from catspace.exceptions import InputError, did_you_mean, shorten


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    # Almost always one part: ``(None, values)``. A column of Python objects of several kinds (say
    # numbers and text) has one part for each kind, with the rows where it occurs; rows that no part
    # names are missing.
    parts: tuple[tuple[np.ndarray | None, pa.Array], ...]
    n_rows: int

    @property
    def type(self) -> pa.DataType | None:
        """The Arrow type of the values, or None where there are several."""
        if len(self.parts) != 1:
            return None
        type_ = self.parts[0][1].type
        return type_.value_type if pa.types.is_dictionary(type_) else type_

    @property
    def is_category(self) -> bool:
        """Whether the dtype itself says category: text, category or Enum, boolean, mixed."""
        if len(self.parts) != 1:
            kinds = [values.type for _, values in self.parts if not pa.types.is_null(values.type)]
            return not kinds or not all(map(_is_number, kinds))
        type_ = self.parts[0][1].type
        return bool(
            self.is_boolean
            or pa.types.is_dictionary(type_)
            or is_text(type_)
            or pa.types.is_null(type_)
            or pa.types.is_binary(type_)
            or pa.types.is_large_binary(type_)
            or pa.types.is_time(type_)
            or pa.types.is_duration(type_)
        )

    @property
    def is_boolean(self) -> bool:
        """Whether the column holds truth values, which are categories or the numbers 0 and 1."""
        return len(self.parts) == 1 and bool(pa.types.is_boolean(self.parts[0][1].type))

    @property
    def is_date(self) -> bool:
        """Whether the column holds dates or points in time."""
        return self.type is not None and bool(
            pa.types.is_date(self.type) or pa.types.is_timestamp(self.type)
        )

    @property
    def entries(self) -> "Column":
        """The column of what is counted and looked up: this one."""
        return self

    @cached_property
    def factors(self) -> list[Part]:
        """The distinct values of each part; kept, since to find them takes most of the time."""
        with naming(self.name):
            return [(where, *factorize(values)) for where, values in self.parts]

    def renamed(self, name: str) -> "Column":
        """Return the column under another name."""
        return replace(self, name=name)

    def take(self, rows: np.ndarray) -> "Column":
        """Return some of the rows, each at most once."""
        moved_to = np.full(self.n_rows, -1)
        moved_to[rows] = np.arange(len(rows))
        parts = []
        for where, values in self.parts:
            if where is None:
                parts.append((None, values.take(pa.array(rows))))
            else:
                kept = moved_to[where] >= 0
                parts.append((moved_to[where][kept], values.filter(pa.array(kept))))
        return Column(self.name, tuple(parts), len(rows))

    def to_numbers(self) -> np.ndarray:
        """Return the values as float64, NaN where missing; shape (n_rows,)."""
        numbers = np.full(self.n_rows, np.nan)
        for where, values in self.parts:
            if pa.types.is_dictionary(values.type):
                values = values.dictionary_decode()
            if pa.types.is_boolean(values.type):
                values = values.cast(pa.int8())
            try:
                part = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise InputError(
                    f"Column {self.name!r} held numbers in fit and holds {describe(values.type)} "
                    f"now: {shorten(values.drop_null()[:3].to_pylist())}.",
                    hint="convert the column to numbers, as it was in fit.",
                ) from None
            numbers[slice(None) if where is None else where] = part
        return numbers


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and where they came from."""

    columns: tuple[Column, ...]
    n_rows: int
    backend: str  # "pandas", "polars", "pyarrow" or "numpy": the kind of frame to give back
    # Whether the names are the user's own. Arrays have none; their columns are x0, x1, ….
    named: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [column.name for column in self.columns]

    def __getitem__(self, name: str) -> Column:
        """Return the column of that name."""
        return self.columns[self.names.index(name)]

    def pop(self, name: str, what: str = "target") -> tuple["Table", Column]:
        """Return the table without the column of that name, and the column."""
        if name not in self.names:
            raise InputError(
                f"The {what} {name!r} is not a column of the table.{did_you_mean(name, self.names)}"
            )
        rest = self.select([other for other in self.names if other != name])
        return rest, self[name]

    def select(self, names: Iterable[str]) -> "Table":
        """Return some of the columns, in the order asked for."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names))

    def rename(self, names: Iterable[str]) -> "Table":
        """Return the same columns under other names."""
        renamed = (column.renamed(name) for column, name in zip(self.columns, names, strict=True))
        return replace(self, columns=tuple(renamed))

    def take(self, rows: np.ndarray) -> "Table":
        """Return some of the rows, in the order asked for."""
        columns = tuple(column.take(rows) for column in self.columns)
        return replace(self, columns=columns, n_rows=len(rows))


def _is_number(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )


def describe(type_: pa.DataType | None) -> str:
    """Return the word for a type that a user understands."""
    if type_ is None:
        return "values of several types"
    if is_text(type_):
        return "text"
    if pa.types.is_boolean(type_):
        return "booleans"
    if pa.types.is_integer(type_):
        return "integers"
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "numbers"
    if pa.types.is_temporal(type_):
        return "dates"
    if is_list(type_):
        return "lists"
    return str(type_)
