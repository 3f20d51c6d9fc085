"""What a fit must know about the columns of a table, learned block by block in bounded memory.

Statistics of several blocks, made in any order and anywhere, give those of the whole table when
they are merged. Vocabularies, the moments of a target and its classes are exact. Quantiles cannot
be merged: they come from a sample of the rows, which is the whole table where that is small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catspace.data.bins import Bins
from catspace.data.encoding import TableEncoder
from catspace.data.groups import first_of
from catspace.data.hints import hint_at_dates, hint_at_id
from catspace.data.kinds import describe_kinds, naming
from catspace.data.labels import Block
from catspace.data.lists import ListColumn, check_longest
from catspace.data.roles import Roles, count_threshold
from catspace.data.scaling import Scaling, finite_numbers
from catspace.data.table import Table
from catspace.data.target_statistics import TargetStatistics
from catspace.data.vocabulary import ValueCounts, Vocabulary
from catspace.exceptions import InputError


class RowSample:
    """A uniform sample of rows; all of them, in their order, where there are few enough.

    Each row draws a random key, and the smallest keys stay. So the sample of two blocks is made
    of the samples of each.

    Parameters
    ----------
    n_most : int
        The size of the sample.
    seed : int
        Parts of one table that are sampled apart need seeds of their own.
    """

    def __init__(self, n_most: int, *, seed: int = 0) -> None:
        self.n_most = n_most
        self._random = np.random.default_rng(seed)
        self._largest_key = np.inf
        self._blocks: list[tuple[np.ndarray, ...]] = []  # keys first

    def add(self, *columns: np.ndarray) -> None:
        """Draw from a block of arrays of shape (n_samples, ...)."""
        self._extend([(self._random.random(len(columns[0])), *columns)])

    def merge(self, other: "RowSample") -> None:
        """Add what was drawn elsewhere."""
        self._extend(other._blocks)

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """The arrays of the sample, each of shape (n_sampled, ...); empty where nothing was met."""
        self._shrink()
        return self._blocks[0][1:] if self._blocks else ()

    def _extend(self, blocks: Sequence[tuple[np.ndarray, ...]]) -> None:
        for block in blocks:
            self._blocks.append(_choose(block, block[0] <= self._largest_key))
        if sum(len(block[0]) for block in self._blocks) > 2 * self.n_most:
            self._shrink()

    def _shrink(self) -> None:
        if not self._blocks:
            return
        block = self._blocks[0]
        if len(self._blocks) > 1:
            block = tuple(np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        keys = block[0]
        if len(keys) > self.n_most:
            self._largest_key = np.partition(keys, self.n_most - 1)[self.n_most - 1]
            block = _choose(block, keys <= self._largest_key)
        self._blocks = [block]


def _choose(block: tuple[np.ndarray, ...], stays: np.ndarray) -> tuple[np.ndarray, ...]:
    return block if stays.all() else tuple(values[stays] for values in block)


class ColumnStatistics:
    """What is known about the columns of a table after some blocks.

    Parameters
    ----------
    columns : Table
        Names and types; rows do not matter. Blocks may hold narrower types, such as integers in a
        column of numbers.
    roles : Roles
        What each column is used as.
    sample_rows : int
        How many rows quantiles are taken from.
    seed : int
        Of the sample.
    """

    def __init__(self, columns: Table, roles: Roles, *, sample_rows: int, seed: int = 0) -> None:
        self.roles, self.n_samples = roles, 0
        self._sample = RowSample(sample_rows, seed=seed)
        self._columns = {column.name: column for column in roles.apply(columns).columns}
        self._counts = {name: roles.counts(name) for name in roles.categorical}
        self._longest = dict.fromkeys(roles.lists, 0)  # lists
        self._has_missing = dict.fromkeys(roles.numbers, False)
        # Of the columns of elapsed days, which are counted from 1970 until all blocks were met
        self._first_days = {name: np.inf for name in roles.numbers if name in roles.dates.made}

    @property
    def numbers(self) -> np.ndarray:
        """The values of a sample of the columns of numbers; shape (n_sampled, n_columns)."""
        numbers = next(iter(self._sample.columns), np.empty((0, len(self.roles.numbers))))
        return np.asarray(numbers - self._first)

    @property
    def _first(self) -> np.ndarray:
        """What the numbers of each column are counted from: elapsed days from the first one."""
        first = np.zeros(len(self.roles.numbers))
        for i, name in enumerate(self.roles.numbers):
            if name in self._first_days and np.isfinite(self._first_days[name]):
                first[i] = self._first_days[name]
        return first

    def add(self, table: Table, first_row: int | None = 0) -> None:
        """Learn from some rows."""
        self.n_samples += table.n_rows
        by_name = {column.name: column for column in self.roles.apply(table).columns}
        for name, counts in self._counts.items():
            column = by_name[name]
            if isinstance(column, ListColumn):
                check_longest(name, column.longest)
                self._longest[name] = max(self._longest[name], column.longest)
            with naming(name):
                counts.add(column.entries)
        numbers = np.empty((table.n_rows, len(self.roles.numbers)))
        for i, name in enumerate(self.roles.numbers):
            numbers[:, i] = finite_numbers(by_name[name], first_row=first_row)
            self._has_missing[name] |= bool(np.isnan(numbers[:, i]).any())
            if name in self._first_days:
                present = numbers[:, i][~np.isnan(numbers[:, i])]
                first = np.floor(present.min(initial=np.inf))
                self._first_days[name] = min(self._first_days[name], float(first))
        self._sample.add(numbers)

    def merge(self, other: "ColumnStatistics") -> None:
        """Add what was learned elsewhere, by the same roles."""
        self.n_samples += other.n_samples
        self._sample.merge(other._sample)
        for name, counts in other._counts.items():
            with naming(name):
                self._counts[name].merge(counts)
        for name, longest in other._longest.items():
            self._longest[name] = max(self._longest[name], longest)
        for name, has_missing in other._has_missing.items():
            self._has_missing[name] |= has_missing
        for name, first in other._first_days.items():
            self._first_days[name] = min(self._first_days[name], first)

    def encoder(self, min_frequency: float = 1) -> TableEncoder:
        """Return what turns the columns into codes and numbers."""
        roles, threshold = self.roles, count_threshold(min_frequency, self.n_samples)
        scalings = {}
        for name, values in zip(roles.numbers, self.numbers.T, strict=True):
            if roles.named is None and name not in roles.dates.made:
                hint_at_id(self._columns[name], values)
            scalings[name] = replace(Scaling.fit(values), has_missing=self._has_missing[name])
        vocabularies: dict[str, Vocabulary] = {}
        for name, same in first_of(roles.categorical, roles.groups).items():
            if same == name:
                with naming(name):
                    counts = self._counts_of(name)
                    vocabularies[name] = counts.vocabulary(threshold, roles.most.get(name))
            else:
                vocabularies[name] = vocabularies[same]
            if name not in (roles.named or ()) and name not in roles.lists:
                hint_at_dates(name, vocabularies[name])
        first = dict(zip(roles.numbers, self._first.tolist(), strict=True))
        made = roles.dates.made
        first_days = {made[name][0]: first[name] for name in self._first_days}
        dates = replace(roles.dates, first_days=first_days)
        return TableEncoder(
            vocabularies,
            scalings,
            dates,
            roles.bins,
            roles.groups,
            # Where all lists are empty there is a slot that says so.
            {name: max(1, self._longest[name]) for name in vocabularies if name in roles.lists},
            roles.separators,
        )

    def _counts_of(self, name: str) -> ValueCounts:
        """Return the counts of a column, together with those of columns that share its vectors."""
        group = next((group for group in self.roles.groups if name in group), None)
        if group is None:
            return self._counts[name]
        together, kinds = self.roles.counts(name), self._counts[name].kinds
        for other in group:
            counts = self._counts[other]
            if counts.kinds and kinds and counts.kinds != kinds:
                raise InputError(
                    f"Column {name!r} holds {describe_kinds(kinds)} and column {other!r} "
                    f"{describe_kinds(counts.kinds)}, and they are to share their vectors.",
                    hint="convert both to the same type; the text '12' is not the number 12.",
                )
            kinds = kinds or counts.kinds
            together.merge(counts)
        return together


class TableStatistics:
    """What is known about the columns of a table and about its target after some blocks."""

    def __init__(self, columns: ColumnStatistics, target: TargetStatistics) -> None:
        self.columns, self.target = columns, target

    def add(self, block: Block) -> None:
        """Learn from some rows."""
        self.target.add(block.y, block.weight, block.first_row)
        self.columns.add(block.table, block.first_row)

    def merge(self, other: "TableStatistics") -> None:
        """Add what was learned elsewhere."""
        self.target.merge(other.target)
        self.columns.merge(other.columns)


class BinStatistics:
    """What the bins of ``discretize`` are made of, learned block by block.

    Parameters
    ----------
    rules : mapping of column to int, "quantile" or "tree"
    target : TargetStatistics
    sample_rows, seed : int
        Of the sample of rows.
    """

    def __init__(
        self, rules: Mapping[str, Any], target: TargetStatistics, *, sample_rows: int, seed: int = 0
    ) -> None:
        self._rules, self._target = rules, target
        self._sample = RowSample(sample_rows, seed=seed)

    def add(self, block: Block) -> None:
        """Learn from some rows."""
        self._target.add(block.y, None, block.first_row)
        columns = [
            finite_numbers(block.table[name], first_row=block.first_row) for name in self._rules
        ]
        self._sample.add(np.stack(columns, axis=1), block.y)

    def merge(self, other: "BinStatistics") -> None:
        """Add what was learned elsewhere."""
        self._target.merge(other._target)
        self._sample.merge(other._sample)

    def bins(self) -> dict[str, Bins]:
        """Return the bins of each column."""
        if not self._sample.columns:
            return {name: Bins(()) for name in self._rules}
        self._target.target()  # says what is wrong with it, if anything is
        numbers, target = self._sample.columns
        is_classification = self._target.is_class
        return {
            name: Bins.by_rule(rule, values, target, is_classification=is_classification)
            for (name, rule), values in zip(self._rules.items(), numbers.T, strict=True)
        }


def learn_encoder(table: Table, *, min_frequency: float = 1, **options: Any) -> TableEncoder:
    """Return what turns a whole table into codes and numbers; the options are those of `Roles.of`.

    For tables without a target, so that no bins can be found.
    """
    roles = Roles.of(table, **options)
    statistics = ColumnStatistics(table, roles, sample_rows=max(1, table.n_rows))
    statistics.add(table)
    return statistics.encoder(min_frequency)
