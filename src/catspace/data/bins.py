"""Numbers -> ordered bins, so that a curve with bends can be learned as an embedding."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from catspace.data.table import Column, Table
from catspace.exceptions import InputError


@dataclass(frozen=True)
class Bins:
    """The bins of one column of numbers.

    Attributes
    ----------
    edges : tuple of float
        Between the bins, rising: a bin holds what is at least its lower and less than its upper
        edge. The first and the last bin are open.
    """

    edges: tuple[float, ...]

    @classmethod
    def at_quantiles(cls, values: np.ndarray, n_bins: int) -> "Bins":
        """Cut so that each bin holds about as many values; repeated ones may make fewer bins."""
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(())
        inner = np.quantile(present, np.linspace(0, 1, n_bins + 1)[1:-1])
        return cls(tuple(np.unique(inner[inner > present.min()]).tolist()))

    @property
    def labels(self) -> list[str]:
        """A name for each bin; in alphabetical order they are in the order of the numbers."""
        if not self.edges:
            return ["all"]
        bounds = [f"{edge:.6g}" for edge in self.edges]
        inner = [f"{low} to {high}" for low, high in pairwise(bounds)]
        names = [f"below {bounds[0]}", *inner, f"from {bounds[-1]}"]
        width = len(str(len(names) - 1))
        return [f"{i:0{width}d}: {name}" for i, name in enumerate(names)]

    def apply(self, column: Column) -> Column:
        """Return the column as categories; missing stays missing."""
        values = column.to_numbers()
        missing = np.isnan(values)
        index = np.searchsorted(self.edges, values, side="right")
        indices = pa.array(np.where(missing, 0, index).astype(np.int32), mask=missing)
        binned = pa.DictionaryArray.from_arrays(indices, pa.array(self.labels))
        return Column(column.name, ((None, binned),), column.n_rows)


def cut(table: Table, bins: Mapping[str, Bins]) -> Table:
    """Return the table with some of its columns of numbers cut into bins."""
    columns = tuple(
        bins[column.name].apply(column) if column.name in bins else column
        for column in table.columns
    )
    return replace(table, columns=columns)


def numbers_to_cut(table: Table, name: str) -> np.ndarray:
    """Return the values of a column that is to be cut; shape (n_rows,)."""
    column = table.columns[table.names.index(name)]
    if column.is_category or column.is_date:
        raise InputError(f"discretize names {name!r}, which does not hold numbers.")
    return column.to_numbers()
