"""Columns + vocabularies -> integer codes and float numbers, the two things a network reads."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.bins import Bins, cut
from catspace.data.hashing import HashedCounts, HashedVocabulary
from catspace.data.table import DATE_PARTS, Column, Table, describe
from catspace.data.vocabulary import UNSEEN, ValueCounts, Vocabulary
from catspace.exceptions import (
    InputError,
    ParameterError,
    UnknownCategoryError,
    did_you_mean,
    in_row,
    shorten,
    warn,
)

# Below this a division would overflow.
_SMALLEST_SCALE = 1e-200
# Past this many robust standard deviations a number is bent towards a limit.
BEND = 3.0


@dataclass(frozen=True)
class Scaling:
    """How one column of numbers is brought to the scale of the network.

    The median goes to 0 and the middle half of the values to about ±0.67, as for a standard
    normal; what lies far out is bent smoothly towards ±3, so that one wild value cannot drown the
    column. Missing values become 0, and where fit met any, an indicator stands beside the number.
    """

    centre: float
    scale: float
    has_missing: bool

    @classmethod
    def fit(cls, values: np.ndarray) -> "Scaling":
        """Learn centre and scale from float64 values of shape (n_rows,)."""
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(0.0, 1.0, has_missing=True)
        low, centre, high = np.percentile(present, [25, 50, 75])
        scale = (high - low) / 1.349
        if scale == 0:  # over half of the values are equal: the spread is in the rest
            scale = float(present.std())
        return cls(
            float(centre),
            float(scale) if _SMALLEST_SCALE < scale < math.inf else 1.0,
            has_missing=len(present) < len(values),
        )

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Return the features of a column; shape (n_rows, 1 or 2)."""
        missing = np.isnan(values)
        z = np.where(missing, 0.0, (values - self.centre) / self.scale)
        z /= np.hypot(1, z / BEND)
        return np.stack([z, missing] if self.has_missing else [z], axis=1).astype(np.float32)


@dataclass(frozen=True)
class Plan:
    """What each column of a table is used as.

    Attributes
    ----------
    categorical, numbers : tuple of str
        The columns that get a vocabulary, and those that get a scale, after the changes below.
    date_parts : tuple of str
        What each column of dates is replaced by.
    dates : tuple of str
        The columns of dates that are replaced.
    bins : mapping of column to Bins
        The columns of numbers that are cut into categories.
    most : mapping of column to int
        The columns of which only so many categories have a vector of their own.
    buckets : mapping of column to int
        The columns whose values are hashed into so many buckets.
    is_by_dtype : bool
        Whether the user named no column, so that identifiers may hide among the numbers.
    """

    categorical: tuple[str, ...]
    numbers: tuple[str, ...]
    date_parts: tuple[str, ...]
    dates: tuple[str, ...]
    bins: Mapping[str, Bins]
    most: Mapping[str, int]
    buckets: Mapping[str, int]
    is_by_dtype: bool

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        categorical_features: Any = "from_dtype",
        max_categories: Any = None,
        hash_buckets: Any = None,
        date_parts: Iterable[str] | None = None,
        bins: Mapping[str, Bins] | None = None,
    ) -> "Plan":
        """Decide what each column is, by the user's word and by its type."""
        parts = _check_date_parts(date_parts)
        named = _named_columns(categorical_features, table)
        is_by_dtype = not named
        hashed = _check_buckets(hash_buckets)
        named |= set(hashed)
        bins = bins or {}
        table = cut(table, bins)
        dates = tuple(c.name for c in table.columns if parts and c.is_date and c.name not in named)
        table = _expand_dates(table, dates, parts)
        categorical, numbers = [], []
        for column in table.columns:
            if column.name in named or column.is_category:
                categorical.append(column.name)
            elif column.is_date:
                raise InputError(
                    f"Column {column.name!r} holds dates.",
                    hint=f'date_parts=["year", "month", "day_of_week"] expands them, and '
                    f"categorical_features=[{column.name!r}] makes each date a category.",
                )
            else:
                numbers.append(column.name)
        return cls(
            tuple(categorical),
            tuple(numbers),
            parts,
            dates,
            bins,
            most=_most_categories(max_categories, categorical),
            buckets=_counts_by_column("hash_buckets", hashed, table.names),
            is_by_dtype=is_by_dtype,
        )

    def counts(self, column: str) -> ValueCounts:
        """Return what counts the values of a categorical column."""
        n_buckets = self.buckets.get(column)
        return ValueCounts() if n_buckets is None else HashedCounts(n_buckets)

    def apply(self, table: Table) -> Table:
        """Return the table with its dates expanded and its bins cut."""
        return cut(_expand_dates(table, self.dates, self.date_parts), self.bins)


@dataclass(frozen=True)
class Encoded:
    """A table as a network reads it.

    Attributes
    ----------
    codes : int32 array of shape (n_categorical, n_rows)
        Column by column, so that each embedding reads a contiguous run.
    numbers : float32 array of shape (n_rows, n_numbers)
    """

    codes: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class TableEncoder:
    """What fit learned about the columns of a table.

    Attributes
    ----------
    vocabularies : mapping of column to Vocabulary
        The categorical columns.
    scalings : mapping of column to Scaling
        The continuous columns.
    date_parts : tuple of str
        What each column of dates was replaced by.
    dates : tuple of str
        The columns of dates that were replaced.
    bins : mapping of column to Bins
        The columns of numbers that were cut into categories.
    """

    vocabularies: Mapping[str, Vocabulary]
    scalings: Mapping[str, Scaling]
    date_parts: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    bins: Mapping[str, Bins] = field(default_factory=dict)

    @classmethod
    def fit(cls, table: Table, **options: Any) -> "TableEncoder":
        """Learn from a table; the options are those of `fit_encode`."""
        encoder, _ = cls.fit_encode(table, **options)
        return encoder

    @classmethod
    def fit_encode(
        cls,
        table: Table,
        *,
        categorical_features: Any = "from_dtype",
        min_frequency: float = 1,
        max_categories: Any = None,
        hash_buckets: Any = None,
        date_parts: Iterable[str] | None = None,
        bins: Mapping[str, Bins] | None = None,
    ) -> tuple["TableEncoder", Encoded]:
        """Decide what each column is, learn its vocabulary or its scale, and encode the table.

        The same as `fit` and then `encode`, with half the work.
        """
        threshold = count_threshold(min_frequency, table.n_rows)
        plan = Plan.of(
            table,
            categorical_features=categorical_features,
            max_categories=max_categories,
            hash_buckets=hash_buckets,
            date_parts=date_parts,
            bins=bins,
        )
        columns = {column.name: column for column in plan.apply(table).columns}
        vocabularies, codes = {}, np.empty((len(plan.categorical), table.n_rows), dtype=np.int32)
        for i, name in enumerate(plan.categorical):
            vocabularies[name], codes[i] = plan.counts(name).learn(
                columns[name], threshold, plan.most.get(name)
            )
        scalings, features = {}, []
        for name in plan.numbers:
            values = finite_numbers(columns[name])
            if plan.is_by_dtype:
                hint_at_id(columns[name], values)
            scalings[name] = Scaling.fit(values)
            features.append(scalings[name].apply(values))
        encoder = cls(vocabularies, scalings, plan.date_parts, plan.dates, plan.bins)
        return encoder, Encoded(codes, _beside(features, table.n_rows))

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the encoder as a JSON document and arrays by name."""
        document = {
            "categorical": list(self.vocabularies),
            "scalings": {name: asdict(scaling) for name, scaling in self.scalings.items()},
            "date_parts": list(self.date_parts),
            "dates": list(self.dates),
            "bins": {name: list(bins.edges) for name, bins in self.bins.items()},
            "hashed": {
                name: {"n_buckets": vocabulary.n_buckets, "kinds": list(vocabulary.kinds)}
                for name, vocabulary in self.vocabularies.items()
                if isinstance(vocabulary, HashedVocabulary)
            },
        }
        arrays = {
            f"vocabulary.{i}.{name}": array
            for i, vocabulary in enumerate(self.vocabularies.values())
            for name, array in vocabulary.to_state().items()
        }
        return document, arrays

    @classmethod
    def from_state(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> "TableEncoder":
        """Return the encoder that `to_state` took apart."""
        vocabularies, hashed = {}, document.get("hashed", {})
        for i, column in enumerate(document["categorical"]):
            prefix = f"vocabulary.{i}."
            vocabulary = Vocabulary.from_state(
                {
                    name.removeprefix(prefix): array
                    for name, array in arrays.items()
                    if name.startswith(prefix)
                }
            )
            if column in hashed:
                vocabulary = HashedVocabulary.of(vocabulary, **hashed[column])
            vocabularies[column] = vocabulary
        scalings = {name: Scaling(**values) for name, values in document["scalings"].items()}
        bins = {name: Bins(tuple(edges)) for name, edges in document.get("bins", {}).items()}
        dates = tuple(document["dates"])
        return cls(vocabularies, scalings, tuple(document["date_parts"]), dates, bins)

    @property
    def number_names(self) -> list[str]:
        """The names of the columns of ``Encoded.numbers``."""
        names = []
        for column, scaling in self.scalings.items():
            names.append(column)
            if scaling.has_missing:
                names.append(f"{column}_missing")
        return names

    def encode(self, table: Table, *, handle_unknown: str = "mean") -> Encoded:
        """Return codes and numbers of a table that has the columns of fit.

        With ``handle_unknown="error"`` a category that fit has not met raises.
        """
        table = cut(_expand_dates(table, self.dates, self.date_parts), self.bins)
        columns = {column.name: column for column in table.columns}
        codes = np.empty((len(self.vocabularies), table.n_rows), dtype=np.int32)
        for i, (name, vocabulary) in enumerate(self.vocabularies.items()):
            codes[i] = vocabulary.encode(columns[name])
            if handle_unknown == "error" and (codes[i] == UNSEEN).any():
                unseen = vocabulary.unseen(columns[name])
                raise UnknownCategoryError(
                    f"Column {name!r} holds {len(unseen)} "
                    f"{'category' if len(unseen) == 1 else 'categories'} not seen in fit: "
                    f"{shorten(unseen)}.",
                    hint='handle_unknown="mean" gives them the average vector.',
                )
        values = (finite_numbers(columns[name]) for name in self.scalings)
        return Encoded(codes, self.scale(values, table.n_rows))

    def scale(self, values: Iterable[np.ndarray], n_rows: int) -> np.ndarray:
        """Return the numbers that the network reads, of the values of each column of numbers.

        Returns
        -------
        float32 array of shape (n_rows, n_numbers)
        """
        scalings = self.scalings.values()
        features = [scaling.apply(v) for scaling, v in zip(scalings, values, strict=True)]
        return _beside(features, n_rows)


def _beside(features: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
    return np.concatenate([np.empty((n_rows, 0), np.float32), *features], axis=1)


def finite_numbers(column: Column, *, first_row: int | None = 0) -> np.ndarray:
    """Return the values of a column of numbers, NaN where missing, or say where infinity is.

    Parameters
    ----------
    column : Column
    first_row : int or None
        Where the column begins in the whole table, if it is a block of one; None if that is not
        known.
    """
    values = column.to_numbers()
    if np.isinf(values).any():
        position = int(np.flatnonzero(np.isinf(values))[0])
        where = "" if first_row is None else f", first{in_row(first_row + position)}"
        raise InputError(
            f"Column {column.name!r} holds infinity{where}.",
            hint="replace it by a number, or by NaN where the value is not known.",
        )
    return values


def _named_columns(categorical_features: Any, table: Table) -> set[str]:
    """Return the columns that the user named, by name, position or mask."""
    if categorical_features is None or (
        isinstance(categorical_features, str) and categorical_features == "from_dtype"
    ):
        return set()
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


def _expand_dates(table: Table, dates: Sequence[str], parts: Sequence[str]) -> Table:
    """Replace the columns of dates by their parts."""
    columns: list[Column] = []
    for column in table.columns:
        columns.extend(column.date_parts(parts) if column.name in dates else [column])
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"date_parts makes a column {name!r}, and the table has one of that name.",
                hint="rename that column.",
            )
    return replace(table, columns=tuple(columns))


def _check_date_parts(date_parts: Iterable[str] | None) -> tuple[str, ...]:
    if date_parts is None:
        return ()
    if not isinstance(date_parts, Iterable):
        raise ParameterError(f"date_parts must be a list of parts; got {date_parts!r}.")
    parts = (date_parts,) if isinstance(date_parts, str) else tuple(date_parts)
    for part in parts:
        if part not in DATE_PARTS:
            raise ParameterError(
                f"date_parts holds {part!r}; it takes {', '.join(DATE_PARTS)}."
                f"{did_you_mean(part, DATE_PARTS)}"
            )
    return parts


def count_threshold(min_frequency: float, n_rows: int) -> int:
    """Return the smallest number of rows that earns a category a vector of its own."""
    if isinstance(min_frequency, (int, np.integer)) and min_frequency >= 1:
        return int(min_frequency)
    if isinstance(min_frequency, (float, np.floating)) and 0 < min_frequency < 1:
        return math.ceil(min_frequency * n_rows)
    raise ParameterError(
        f"min_frequency must be a count of at least 1 or a share between 0 and 1; "
        f"got {min_frequency!r}."
    )


def _most_categories(max_categories: Any, categorical: Sequence[str]) -> dict[str, int]:
    """Return how many categories may have a vector of their own, for columns with a limit."""
    if max_categories is None:
        return {}
    if isinstance(max_categories, Mapping):
        a_column = "a categorical column"
        return _counts_by_column("max_categories", max_categories, categorical, a_column)
    if _is_count(max_categories):
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
    for name, count in counts.items():
        if name not in columns:
            raise ParameterError(
                f"{parameter} names {name!r}, which is not {a_column}.{did_you_mean(name, columns)}"
            )
        if not _is_count(count):
            raise ParameterError(f"{parameter}[{name!r}] must be a positive int; got {count!r}.")
    return {name: int(count) for name, count in counts.items()}


def _is_count(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def hint_at_id(column: Column, values: np.ndarray) -> None:
    """Warn when a column of integers that is used as numbers looks like an identifier."""
    if column.type is None or not pa.types.is_integer(column.type):
        return
    present = values[~np.isnan(values)]
    distinct = np.unique(present)
    if len(distinct) < 3:
        return
    is_named_so = re.search(r"(^|_|[a-z])(id|Id|ID|code|Code|key|Key|nr|no)$", column.name)
    # Numbered from 0 or 1 without gaps, and each met many times: shops, not counts.
    is_numbered = (
        len(distinct) >= 100
        and distinct[0] in (0, 1)
        and distinct[-1] - distinct[0] < 1.05 * len(distinct)
        and len(present) >= 5 * len(distinct)
    )
    if is_named_so or is_numbered:
        warn(
            f"Column {column.name!r} holds {describe(column.type)} that look like identifiers "
            f"({len(distinct)} different ones, from {distinct[0]:.0f} to {distinct[-1]:.0f}) and "
            f"is used as a number.",
            hint=f"categorical_features=[{column.name!r}, …] gives each value a vector.",
        )
