"""Columns + vocabularies -> integer codes and float numbers, the two things a network reads."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from catspace.data.bins import Bins, cut
from catspace.data.dates import DateColumns
from catspace.data.groups import Groups, first_of, tables_of
from catspace.data.hashing import HashedVocabulary
from catspace.data.lists import (
    ListColumn,
    as_fitted,
    codes_of,
    columns_of,
    fill_slots,
    split_lists,
)
from catspace.data.origin import Origin
from catspace.data.scaling import Scaling, finite_numbers
from catspace.data.table import Table
from catspace.data.vocabulary import UNSEEN, Vocabulary
from catspace.exceptions import UnknownCategoryError, shorten


@dataclass(frozen=True)
class Encoded:
    """A table as a network reads it.

    Attributes
    ----------
    codes : int32 array of shape (n_slots, n_samples)
        Column by column, so that each embedding reads a contiguous run. After those of all columns
        come the further items of columns of lists.
    numbers : float32 array of shape (n_samples, n_numbers)
    """

    codes: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Places:
    """Where a column of the user's table stands among codes and numbers."""

    codes: tuple[int, ...] = ()  # rows of ``Encoded.codes``
    numbers: tuple[int, ...] = ()  # columns of ``Encoded.numbers``

    def join(self, *others: "Places") -> "Places":
        """Return the places of several columns."""
        all_ = (self, *others)
        return Places(
            tuple(place for places in all_ for place in places.codes),
            tuple(place for places in all_ for place in places.numbers),
        )


@dataclass(frozen=True)
class TableEncoder:
    """What fit learned about the columns of a table."""

    vocabularies: Mapping[str, Vocabulary]  # the categorical columns
    scalings: Mapping[str, Scaling]  # the continuous columns
    # The columns of dates that were replaced by their parts
    dates: DateColumns = field(default_factory=DateColumns)
    # The columns of numbers that were cut into categories
    bins: Mapping[str, Bins] = field(default_factory=dict)
    groups: Groups = ()  # the categorical columns that share one vocabulary
    # The categorical columns of lists, and the items of the longest one
    lists: Mapping[str, int] = field(default_factory=dict)
    # At what the text of some of them is split
    separators: Mapping[str, str] = field(default_factory=dict)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the encoder as a JSON document and arrays by name."""
        document: dict[str, Any] = {
            "categorical": list(self.vocabularies),
            "scalings": {name: asdict(scaling) for name, scaling in self.scalings.items()},
            "date_parts": list(self.dates.parts),
            "dates": list(self.dates.names),
            "date_formats": dict(self.dates.formats),
            "first_days": dict(self.dates.first_days),
            "date_zones": dict(self.dates.zones),
            "bins": {name: list(bins.edges) for name, bins in self.bins.items()},
            "hashed": {
                name: {"n_buckets": vocabulary.n_buckets, "kinds": list(vocabulary.kinds)}
                for name, vocabulary in self.vocabularies.items()
                if isinstance(vocabulary, HashedVocabulary)
            },
        }
        if self.groups:
            document["shared"] = [list(group) for group in self.groups]
        if self.lists:
            document["lists"] = {
                name: {"longest": longest, "separator": self.separators.get(name)}
                for name, longest in self.lists.items()
            }
        arrays = {
            f"vocabulary.{i}.{name}": array
            for i, (column, vocabulary) in enumerate(self.vocabularies.items())
            if first_of([*self.vocabularies], self.groups)[column] == column
            for name, array in vocabulary.to_state().items()
        }
        return document, arrays

    @classmethod
    def from_state(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> "TableEncoder":
        """Return the encoder that `to_state` took apart."""
        hashed = document.get("hashed", {})
        vocabularies: dict[str, Vocabulary] = {}
        groups = tuple(tuple(group) for group in document.get("shared", []))
        first = first_of(document["categorical"], groups)
        states: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, array in arrays.items():
            if name.startswith("vocabulary."):
                _, position, part = name.split(".", 2)
                states[position][part] = array
        for i, column in enumerate(document["categorical"]):
            if first[column] != column:
                vocabularies[column] = vocabularies[first[column]]
                continue
            vocabulary = Vocabulary.from_state(states[str(i)])
            if column in hashed:
                vocabulary = HashedVocabulary.of(vocabulary, **hashed[column])
            vocabularies[column] = vocabulary
        scalings = {name: Scaling(**values) for name, values in document["scalings"].items()}
        bins = {name: Bins(tuple(edges)) for name, edges in document.get("bins", {}).items()}
        dates = DateColumns(
            tuple(document["dates"]),
            tuple(document["date_parts"]),
            document.get("date_formats", {}),
            document.get("first_days", {}),
            document.get("date_zones", {}),
        )
        lists = document.get("lists", {})
        return cls(
            vocabularies,
            scalings,
            dates,
            bins,
            groups,
            {name: one["longest"] for name, one in lists.items()},
            {name: one["separator"] for name, one in lists.items() if one["separator"] is not None},
        )

    @property
    def slots(self) -> tuple[int, ...]:
        """The items of the longest list of each categorical column; 0 for single values."""
        return tuple(self.lists.get(name, 0) for name in self.vocabularies)

    @property
    def n_codes(self) -> tuple[int, ...]:
        """The number of codes of each row of ``Encoded.codes``."""
        n_codes = [vocabulary.n_codes for vocabulary in self.vocabularies.values()]
        return tuple(codes_of(n_codes, self.slots))

    @property
    def table_of(self) -> tuple[int, ...]:
        """The position of each categorical column's table; empty where each has its own."""
        return tables_of([*self.vocabularies], self.groups)

    @property
    def n_values(self) -> dict[str, int]:
        """The number of values of each categorical column that fit met."""
        return {name: vocabulary.n_values for name, vocabulary in self.vocabularies.items()}

    @property
    def origins(self) -> dict[str, Origin]:
        """What each column that is embedded or scaled is made of."""
        dates = {
            name: Origin(
                raw,
                part=part,
                date_format=self.dates.formats.get(raw),
                zone=self.dates.zones.get(raw),
                first_day=self.dates.first_days.get(raw, 0.0),
            )
            for name, (raw, part) in self.dates.made.items()
        }
        return {
            name: dates.get(
                name, Origin(name, bins=self.bins.get(name), holds_lists=name in self.lists)
            )
            for name in (*self.vocabularies, *self.scalings)
        }

    @property
    def places(self) -> dict[str, Places]:
        """Where each column that is embedded or scaled stands in `Encoded`."""
        slots, start = [list[int]() for _ in self.vocabularies], 0
        for place, column in enumerate(columns_of(self.slots)):
            slots[column].append(place)
        places = {
            name: Places(codes=tuple(of_column))
            for name, of_column in zip(self.vocabularies, slots, strict=True)
        }
        for name, scaling in self.scalings.items():
            places[name] = Places(numbers=tuple(range(start, start + scaling.width)))
            start += scaling.width
        return places

    @property
    def number_names(self) -> list[str]:
        """The names of the columns of ``Encoded.numbers``."""
        return [
            name
            for column, scaling in self.scalings.items()
            for name in (column, f"{column}_missing")[: scaling.width]
        ]

    @property
    def kinds(self) -> dict[str, set[str]]:
        """What the columns of the user's table hold: "number", "text", "time" and so on.

        A column of several kinds of Python objects has several.
        """
        kinds: dict[str, set[str]] = {name: {"number"} for name in (*self.scalings, *self.bins)}
        for name, vocabulary in self.vocabularies.items():
            if name in self.lists:  # which CSV files hold as text
                kinds[name] = {"text"}
            elif name not in self.bins:
                kinds[name] = set(vocabulary.kinds)
        for name in self.dates.made:
            del kinds[name]
        formats = self.dates.formats
        return kinds | {name: {"text" if name in formats else "time"} for name in self.dates.names}

    def apply(self, table: Table) -> Table:
        """Return the columns that are looked up and scaled, made of those of a table."""
        split = as_fitted(split_lists(table, self.separators), self.lists)
        return cut(self.dates.expand(split), self.bins)

    def repeat(self, codes: np.ndarray) -> np.ndarray:
        """Return rows that have these codes in every column, which are single items of lists.

        Parameters
        ----------
        codes : int array of shape (n_samples,)

        Returns
        -------
        int32 array of shape (n_slots, n_samples)
        """
        n_columns, shape = len(self.vocabularies), (len(self.n_codes), len(codes))
        if not self.lists:
            return np.broadcast_to(codes.astype(np.int32), shape)
        found = np.empty(shape, dtype=np.int32)
        found[:n_columns] = codes
        found[n_columns:] = np.array(self.n_codes)[n_columns:, None] - 1  # absent
        return found

    def encode(self, table: Table, *, handle_unknown: str = "mean") -> Encoded:
        """Return codes and numbers of a table that has the columns of fit.

        With ``handle_unknown="error"`` a category that fit has not met raises.
        """
        columns = {column.name: column for column in self.apply(table).columns}
        codes, made = np.empty((len(self.n_codes), table.n_rows), np.int32), self.dates.made
        places = self.places
        for name, vocabulary in self.vocabularies.items():
            column, slots = columns[name], list(places[name].codes)
            found = vocabulary.encode(column.entries, is_date_part=name in made)
            if isinstance(column, ListColumn):
                codes[slots] = fill_slots(column, found, len(slots), vocabulary.n_codes)
            else:
                codes[slots[0]] = found
            if handle_unknown == "error" and (found == UNSEEN).any():
                unseen = vocabulary.unseen(column.entries)
                raise UnknownCategoryError(
                    f"Column {name!r} holds {len(unseen)} "
                    f"{'category' if len(unseen) == 1 else 'categories'} not seen in fit: "
                    f"{shorten(unseen)}.",
                    hint='handle_unknown="mean" gives them the vector of unseen categories.',
                )
        values = (finite_numbers(columns[name]) for name in self.scalings)
        return Encoded(codes, self.scale(values, table.n_rows))

    def scale(self, values: Any, n_samples: int) -> np.ndarray:
        """Return the numbers that the network reads, of the values of each column of numbers.

        Parameters
        ----------
        values : iterable of float64 arrays of shape (n_samples,)
        n_samples : int

        Returns
        -------
        float32 array of shape (n_samples, n_numbers)
        """
        numbers = np.empty((n_samples, len(self.number_names)), dtype=np.float32)
        start = 0
        for scaling, column in zip(self.scalings.values(), values, strict=True):
            numbers[:, start : start + scaling.width] = scaling.apply(column)
            start += scaling.width
        return numbers
