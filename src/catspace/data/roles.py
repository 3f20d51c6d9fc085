"""What each column of a table is used as: decided by names and types, before a row is read."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catspace.data.bins import Bins, check_discretize, cut
from catspace.data.dates import DateColumns, check_date_formats, check_date_parts, zone_of
from catspace.data.groups import Groups, check_groups, read_groups, spread
from catspace.data.hashing import HashedCounts
from catspace.data.lists import ListColumn, check_separators, split_lists
from catspace.data.table import Table
from catspace.data.vocabulary import ValueCounts
from catspace.exceptions import InputError, ParameterError, did_you_mean
from catspace.validation import check_column_names, is_count


@dataclass(frozen=True)
class Roles:
    """What each column of a table is used as."""

    categorical: tuple[str, ...]  # the columns that get a vocabulary, after the changes below
    numbers: tuple[str, ...]  # the columns that get a scale, likewise
    dates: DateColumns  # the columns of dates that are replaced by their parts
    # The columns of numbers that are cut into categories, and how their bins are found
    rules: Mapping[str, Any]
    # The columns of which only so many categories have a vector of their own
    most: Mapping[str, int]
    buckets: Mapping[str, int]  # the columns whose values are hashed into so many buckets
    # The columns that the user named; None where types decide, so that identifiers may hide among
    # the numbers
    named: frozenset[str] | None
    bins: Mapping[str, Bins]  # the bins, when they have been found
    groups: Groups = ()  # the columns that share one vocabulary
    lists: frozenset[str] = frozenset()  # the categorical columns of lists
    separators: Mapping[str, str] = field(default_factory=dict)  # at what text is split into them

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        categorical_features: Any = "from_dtype",
        max_categories: Any = None,
        hash_buckets: Any = None,
        date_parts: Iterable[str] | None = None,
        date_formats: Any = None,
        discretize: Any = None,
        shared_vectors: Any = None,
        list_separators: Any = None,
    ) -> "Roles":
        """Decide what each column is, by the user's word and by its type; rows do not matter."""
        separators = check_separators(list_separators, table)
        table = split_lists(table, separators)
        lists = frozenset(one.name for one in table.columns if isinstance(one, ListColumn))
        parts, formats = check_date_parts(date_parts), check_date_formats(date_formats, table)
        rules = check_discretize(discretize, table)
        named = _named_columns(categorical_features, table)
        hashed = _check_buckets(hash_buckets)
        embedded = set(named or ()) | set(hashed) | set(rules)
        is_date = {c.name: c.is_date or c.name in formats for c in table.columns}
        dated = [name for name in table.names if parts and is_date[name] and name not in embedded]
        zones = {name: zone_of(table[name]) for name in dated}
        dates = DateColumns(
            tuple(dated),
            parts,
            {name: form for name, form in formats.items() if name not in embedded},
            zones={name: zone for name, zone in zones.items() if zone is not None},
        )
        expanded = dates.expand(table)
        categorical, numbers = [], []
        for column in expanded.columns:
            # A list of columns is the last word on booleans, which could be numbers as well.
            is_decided = named is not None and column.is_boolean
            if column.name in embedded:
                categorical.append(column.name)
            elif column.name in formats or (column.is_date and not column.is_category):
                raise InputError(
                    f"Column {column.name!r} holds dates.",
                    hint=f'date_parts=["year", "month", "day_of_week"] expands them, and '
                    f"categorical_features=[{column.name!r}] makes each date a category.",
                )
            elif column.is_category and not is_decided:
                categorical.append(column.name)
            else:
                numbers.append(column.name)
        buckets = _counts_by_column("hash_buckets", hashed, expanded.names)
        groups = read_groups(shared_vectors)
        check_groups(groups, categorical, rules, buckets, lists)
        most = most_categories(max_categories, categorical)
        return cls(
            tuple(categorical),
            tuple(numbers),
            dates,
            rules,
            most=spread("max_categories", most, groups),
            buckets=buckets,
            named=None if named is None else frozenset(named),
            bins={},
            groups=groups,
            lists=lists,
            separators=separators,
        )

    def counts(self, column: str) -> ValueCounts:
        """Return what counts the values of a categorical column."""
        n_buckets = self.buckets.get(column)
        return ValueCounts() if n_buckets is None else HashedCounts(n_buckets)

    def apply(self, table: Table) -> Table:
        """Return the table with its lists split, its dates expanded and its bins cut."""
        return cut(self.dates.expand(split_lists(table, self.separators)), self.bins)


def check_min_frequency(min_frequency: Any) -> None:
    """Raise where it is neither a count nor a share."""
    count_threshold(min_frequency, n_samples=1)


def count_threshold(min_frequency: Any, n_samples: int) -> int:
    """Return the smallest number of rows that earns a category a vector of its own."""
    if is_count(min_frequency):
        return int(min_frequency)
    if isinstance(min_frequency, (float, np.floating)) and 0 < min_frequency < 1:
        return math.ceil(min_frequency * n_samples)
    raise ParameterError(
        f"min_frequency must be a count of at least 1 or a share between 0 and 1; "
        f"got {min_frequency!r}."
    )


def _named_columns(categorical_features: Any, table: Table) -> set[str] | None:
    """Return the columns that the user named, by name, position or mask; None for "from_dtype"."""
    if categorical_features is None or (
        isinstance(categorical_features, str) and categorical_features == "from_dtype"
    ):
        return None
    wanted = (
        'categorical_features must be "from_dtype" or a list of column names, of positions, or a '
        "mask"
    )
    if isinstance(categorical_features, str) or not isinstance(categorical_features, Iterable):
        raise ParameterError(
            f"{wanted}; got {categorical_features!r}.",
            hint=f"categorical_features=[{categorical_features!r}] names one column."
            if categorical_features in table.names
            else None,
        )
    chosen: Sequence[Any] = np.asarray(list(categorical_features), dtype=object).tolist()
    names = table.names
    if chosen and all(isinstance(item, (bool, np.bool_)) for item in chosen):
        if len(chosen) != len(names):
            raise ParameterError(
                f"categorical_features is a mask of {len(chosen)} values for {len(names)} columns."
            )
        return {name for name, on in zip(names, chosen, strict=True) if on}
    found = set()
    for item in chosen:
        if isinstance(item, str):
            if item not in names:
                raise ParameterError(
                    f"categorical_features names {item!r}, which is not a column."
                    f"{did_you_mean(item, names)}"
                )
            found.add(item)
        elif isinstance(item, (int, np.integer)):
            if not -len(names) <= item < len(names):
                raise ParameterError(
                    f"categorical_features holds {item}, and the table has {len(names)} columns."
                )
            found.add(names[item])
        else:
            raise ParameterError(f"{wanted}; got {item!r} in it.")
    return found


def most_categories(max_categories: Any, categorical: Sequence[str]) -> dict[str, int]:
    """Return how many vectors a column may have, for columns with a limit."""
    if max_categories is None:
        return {}
    if isinstance(max_categories, Mapping):
        a_column = "a categorical column"
        return _counts_by_column("max_categories", max_categories, categorical, a_column)
    if is_count(max_categories):
        return dict.fromkeys(categorical, int(max_categories))
    raise ParameterError(
        f"max_categories must be a positive int, a dict of column to int, or None; "
        f"got {max_categories!r}."
    )


def _check_buckets(hash_buckets: Any) -> Mapping[Any, Any]:
    """Return the columns to hash, and into how many buckets each."""
    if hash_buckets is None or isinstance(hash_buckets, Mapping):
        return hash_buckets or {}
    raise ParameterError(
        f"hash_buckets must be a dict of column to the number of its buckets, or None; "
        f"got {hash_buckets!r}."
    )


def _counts_by_column(
    parameter: str, counts: Mapping[Any, Any], columns: Sequence[str], a_column: str = "a column"
) -> dict[str, int]:
    check_column_names(parameter, counts, columns, a_column)
    for name, count in counts.items():
        if not is_count(count):
            raise ParameterError(f"{parameter}[{name!r}] must be a positive int; got {count!r}.")
    return {name: int(count) for name, count in counts.items()}
