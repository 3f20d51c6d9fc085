"""What a model that is fitted must know about more rows of its table, learned block by block.

Vocabularies grow. Everything else stays: scales of numbers, bins, and what dates are taken apart
into mean what they meant when the network learned from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from catspace.data.encoding import TableEncoder
from catspace.data.groups import first_of, spread
from catspace.data.kinds import check_kinds, naming
from catspace.data.labels import Block
from catspace.data.scaling import finite_numbers
from catspace.data.table import Table
from catspace.data.target import ClassTarget, RegressionTarget, Target
from catspace.data.target_statistics import TargetStatistics
from catspace.data.vocabulary import Growth, ValueCounts


@dataclass(frozen=True)
class GrownEncoder:
    """An encoder that has met more rows, and where the rows of its embeddings come from."""

    encoder: TableEncoder
    # For each embedded column the row that each row was before; see `Growth`
    origins: tuple[np.ndarray, ...]


class MoreColumns:
    """What is known about more rows of columns that an encoder knows already.

    Parameters
    ----------
    encoder : TableEncoder
        What fit learned about them.
    """

    def __init__(self, encoder: TableEncoder) -> None:
        self.encoder, self.n_samples = encoder, 0
        self._counts = {name: known.count() for name, known in encoder.vocabularies.items()}

    def add(self, table: Table, first_row: int | None = 0) -> None:
        """Learn from some rows, or say that a column is not what it was in fit."""
        self.n_samples += table.n_rows
        columns = {column.name: column for column in self.encoder.apply(table).columns}
        for name, counts in self._counts.items():
            with naming(name):
                counts.add(columns[name].entries)
            check_kinds(name, self.encoder.vocabularies[name].kinds, counts.kinds)
        for name in self.encoder.scalings:
            finite_numbers(columns[name], first_row=first_row)

    def merge(self, other: "MoreColumns") -> None:
        """Add what was learned elsewhere."""
        self.n_samples += other.n_samples
        for name, counts in other._counts.items():
            with naming(name):
                self._counts[name].merge(counts)

    def grow(self, min_frequency: int, most: Mapping[str, int]) -> GrownEncoder:
        """Return the encoder with the categories of these rows.

        Parameters
        ----------
        min_frequency : int
            Of these rows, that a value needs for a row of its own.
        most : mapping of column to int
            How many rows a column may have, for columns with a limit.
        """
        grown: dict[str, Growth] = {}
        groups = self.encoder.groups
        most = spread("max_categories", most, groups)
        for name, same in first_of([*self.encoder.vocabularies], groups).items():
            if same == name:
                with naming(name):
                    known = self.encoder.vocabularies[name]
                    counts = self._counts_of(name)
                    grown[name] = counts.grow(known, min_frequency, most.get(name))
            else:
                grown[name] = grown[same]
        vocabularies = {name: growth.vocabulary for name, growth in grown.items()}
        encoder = replace(self.encoder, vocabularies=vocabularies)
        return GrownEncoder(encoder, tuple(growth.origin for growth in grown.values()))

    def _counts_of(self, name: str) -> ValueCounts:
        """Return the counts of a column, together with those of columns that share its vectors."""
        group = next((group for group in self.encoder.groups if name in group), (name,))
        if len(group) == 1:
            return self._counts[name]
        together = self.encoder.vocabularies[name].count()
        for other in group:
            together.merge(self._counts[other])
        return together


class MoreRows:
    """What is known about more rows of a table, and about their target.

    Parameters
    ----------
    encoder : TableEncoder
    target : Target
    """

    def __init__(self, encoder: TableEncoder, target: Target) -> None:
        self.columns = MoreColumns(encoder)
        is_number = isinstance(target, RegressionTarget)
        transform = target.transform if isinstance(target, RegressionTarget) else None
        self.target = TargetStatistics("continuous" if is_number else "class", transform)
        self._known = target

    def add(self, block: Block) -> None:
        """Learn from some rows."""
        self.target.add(block.y, block.weight, block.first_row)
        self.columns.add(block.table, block.first_row)

    def merge(self, other: "MoreRows") -> None:
        """Add what was learned elsewhere."""
        self.target.merge(other.target)
        self.columns.merge(other.columns)

    def check(self) -> None:
        """Raise where the target holds what a model that is fitted cannot learn."""
        self.target.check()
        if isinstance(self._known, ClassTarget):
            self.target.check_known(self._known)
