"""Columns whose cells are lists of categories: genres, tags, baskets.

The items of all lists are one column, which is counted and looked up like any other. A row has a
code for each item of the longest list of fit: its slots. They are in the order of the codes, so
that the order of the items means nothing, and those past the end of a list hold a code of their
own, *absent*, which is larger than all others. An empty list is absent in all of them; a list that
is missing is one missing item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.kinds import Part, is_text
from catspace.data.table import Column, Table, describe
from catspace.exceptions import InputError, ParameterError
from catspace.validation import check_column_names

# Each item takes a code of each row, so that one very long list would make all rows long.
MOST_ITEMS = 100

_NAME = "list_separators"


@dataclass(frozen=True)
class ListColumn(Column):
    """A column of lists; it has no parts of its own, since it has no single value for a row."""

    items: Column  # those of all lists, one after the other; a missing list is a missing item
    lengths: np.ndarray  # int of shape (n_rows,): how many of them each list has

    @classmethod
    def of(cls, items: Column, lengths: np.ndarray) -> "ListColumn":
        """Return the column of lists with these items."""
        return cls(items.name, (), len(lengths), items, lengths)

    @property
    def longest(self) -> int:
        """The number of items of the longest list."""
        return int(self.lengths.max(initial=0))

    @property
    def entries(self) -> Column:
        """The column of what is counted and looked up: the items."""
        return self.items

    @cached_property
    def factors(self) -> list[Part]:
        """Raise: what asks for them takes a row for one value."""
        raise self._no_single_value("where each row has one value")

    def to_numbers(self) -> np.ndarray:
        """Raise: a list is no number."""
        raise self._no_single_value("where numbers are needed")

    def _no_single_value(self, where: str) -> InputError:
        return InputError(
            f"Column {self.name!r} holds lists {where}.",
            hint="explode it into rows, or fit with the lists, whose items are embedded.",
        )

    def renamed(self, name: str) -> "ListColumn":
        """Return the column under another name."""
        return replace(self, name=name, items=self.items.renamed(name))

    def take(self, rows: np.ndarray) -> "ListColumn":
        """Return some of the rows, each at most once."""
        lengths = self.lengths[rows]
        first = np.cumsum(self.lengths) - self.lengths
        items = np.repeat(first[rows] - (np.cumsum(lengths) - lengths), lengths)
        return ListColumn.of(self.items.take(items + np.arange(len(items))), lengths)


def insert_missing(
    items: pa.Array, lengths: np.ndarray, is_missing: np.ndarray
) -> tuple[pa.Array, np.ndarray]:
    """Return items and lengths with a missing item for each list that is missing.

    Parameters
    ----------
    items : Arrow array
        Of all lists, one after the other.
    lengths : int array of shape (n_rows,)
        Of the lists; 0 for those that are missing.
    is_missing : bool array of shape (n_rows,)
    """
    if not is_missing.any():
        return items, lengths
    lengths = np.where(is_missing, 1, lengths)
    is_new = np.repeat(is_missing, lengths)
    return items.take(pa.array(np.cumsum(~is_new) - 1, mask=is_new)), lengths


def check_separators(list_separators: Any, table: Table) -> dict[str, str]:
    """Return at what the text of columns is split into items, or say what is wrong with it.

    Parameters
    ----------
    list_separators : None, or mapping of column to str
    table : Table
        Its names and types count; it may have no rows.
    """
    if list_separators is None:
        return {}
    if not isinstance(list_separators, Mapping):
        raise ParameterError(
            f"{_NAME} must be a dict of column to what stands between its items, or None; got "
            f"{list_separators!r}.",
            hint=f'{_NAME}={{"genres": "|"}} reads the text Comedy|Drama as two items.',
        )
    check_column_names(_NAME, list_separators, table.names)
    for name, separator in list_separators.items():
        if not isinstance(separator, str) or not separator:
            raise ParameterError(
                f"{_NAME} must give {name!r} a text of one character at least; got {separator!r}."
            )
        column = table[name]
        if not isinstance(column, ListColumn) and not _is_text(column):
            raise InputError(
                f"{_NAME} names {name!r}, which holds {describe(column.type)} and no text.",
                hint="convert the column to text, or leave it out.",
            )
    return dict(list_separators)


def split_lists(table: Table, separators: Mapping[str, str]) -> Table:
    """Return a table whose columns of text with separators are lists; those that are stay so."""
    if not separators:
        return table
    columns = (
        _split(column, separators[column.name]) if column.name in separators else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _split(column: Column, separator: str) -> Column:
    if isinstance(column, ListColumn) or not _is_text(column):
        return column
    ((_, values),) = column.parts
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    lists = pc.split_pattern(values.cast(pa.large_string()), pattern=separator)
    items, row = pc.list_flatten(lists), pc.list_parent_indices(lists)
    is_item = pc.not_equal(items, "")  # nothing between two separators is no item
    row = row.filter(is_item).to_numpy(zero_copy_only=False)
    items, lengths = insert_missing(
        items.filter(is_item),
        np.bincount(row, minlength=len(values)),
        values.is_null().to_numpy(zero_copy_only=False),
    )
    return ListColumn.of(Column(column.name, ((None, items),), len(items)), lengths)


def _is_text(column: Column) -> bool:
    type_ = column.type
    return type_ is not None and (is_text(type_) or bool(pa.types.is_null(type_)))


def as_fitted(table: Table, lists: Mapping[str, int]) -> Table:
    """Return a table whose columns hold lists where they did in fit, or say that they do not."""
    if not lists and not any(isinstance(column, ListColumn) for column in table.columns):
        return table
    columns = []
    for column in table.columns:
        if column.name in lists:
            column = _as_lists(column)
        elif isinstance(column, ListColumn):
            raise InputError(
                f"Column {column.name!r} held single values in fit and holds lists now.",
                hint="give each row one value, as in fit.",
            )
        columns.append(column)
    return replace(table, columns=tuple(columns))


def _as_lists(column: Column) -> ListColumn:
    """Return a column of lists; one whose cells are all missing has no type to know it by."""
    if isinstance(column, ListColumn):
        return column
    if any(values.null_count < len(values) for _, values in column.parts):
        raise InputError(
            f"Column {column.name!r} held lists in fit and holds {describe(column.type)} now.",
            hint="give each row a list of its items, also where it has one only.",
        )
    n_rows = column.n_rows
    items = Column(column.name, ((None, pa.nulls(n_rows)),), n_rows)
    return ListColumn.of(items, np.ones(n_rows, dtype=np.int64))


def check_longest(name: str, longest: int) -> None:
    """Raise where a list of fit has more items than rows have room for."""
    if longest > MOST_ITEMS:
        raise InputError(
            f"Column {name!r} holds a list of {longest:,} items, and at most {MOST_ITEMS} are "
            "embedded.",
            hint="keep the most important or the most frequent items of each list.",
        )


def fill_slots(column: ListColumn, codes: np.ndarray, n_slots: int, absent: int) -> np.ndarray:
    """Return the codes of each row's items, in their order, and *absent* after the last.

    Parameters
    ----------
    column : ListColumn
    codes : int32 array of shape (n_items,)
        Of all items.
    n_slots : int
        The items of the longest list of fit.
    absent : int
        Larger than all codes.

    Returns
    -------
    int32 array of shape (n_slots, n_rows)
    """
    if column.longest > n_slots:
        raise InputError(
            f"Column {column.name!r} holds a list of {column.longest} items, and the longest in "
            f"fit had {n_slots}.",
            hint="shorten the list, or fit with rows whose lists are as long.",
        )
    slots = np.full((n_slots, column.n_rows), absent, dtype=np.int32)
    row = np.repeat(np.arange(column.n_rows), column.lengths)
    first = np.cumsum(column.lengths) - column.lengths
    slots[np.arange(len(codes)) - first[row], row] = codes
    slots.sort(axis=0)
    return slots


def columns_of(slots: Sequence[int]) -> list[int]:
    """Return the column of each row of codes: each column once, then the other items of lists.

    So the first rows of codes are those of the columns, whether there are lists or not.

    Parameters
    ----------
    slots : sequence of int
        For each column the items of the longest list of fit, 0 where it holds single values.

    Examples
    --------
    >>> columns_of([0, 3, 0, 1])
    [0, 1, 2, 3, 1, 1]
    """
    return [*range(len(slots)), *(i for i, n in enumerate(slots) for _ in range(n - 1))]


def codes_of(n_codes: Sequence[int], slots: Sequence[int]) -> list[int]:
    """Return the number of codes of each row of codes; lists have one more, *absent*.

    Examples
    --------
    >>> codes_of([8, 5, 9], [0, 2, 0])
    [8, 6, 9, 6]
    """
    return [n_codes[i] + (slots[i] > 0) for i in columns_of(slots)]
