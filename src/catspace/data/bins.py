"""Numbers -> ordered bins, so that a curve with bends can be learned as an embedding."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.scaling import find_unit, finite_numbers
from catspace.data.table import Column, Table
from catspace.exceptions import InputError, ParameterError
from catspace.validation import check_column_names, is_count

_DEFAULT_BINS = 20
_MOST_BINS = 100_000  # each takes a label, and an edge of its own before equal ones are joined
# A leaf of the tree that finds the edges, as a share of the rows.
_SMALLEST_LEAF = 0.005


@dataclass(frozen=True)
class Bins:
    """The bins of one column of numbers."""

    # Between the bins, rising: a bin holds what is at least its lower and less than its upper edge.
    # The first and the last bin are open.
    edges: tuple[float, ...]

    @classmethod
    def at_quantiles(cls, values: np.ndarray, n_bins: int) -> "Bins":
        """Cut so that each bin holds about as many values; repeated ones may make fewer bins."""
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(())
        unit = find_unit(present)
        inner = np.quantile(present / unit, np.linspace(0, 1, n_bins + 1)[1:-1]) * unit
        return cls(tuple(np.unique(inner[inner > present.min()]).tolist()))

    @classmethod
    def by_tree(cls, values: np.ndarray, target: np.ndarray, *, is_classification: bool) -> "Bins":
        """Cut where a decision tree on this column alone would."""
        present = ~np.isnan(values)
        if not present.any():
            return cls(())
        if np.abs(values[present]).max() > np.finfo(np.float32).max:
            raise InputError(
                'discretize="tree" cuts numbers up to 3.4e38, and a column has larger ones.',
                hint='"quantile" cuts numbers of any size.',
            )
        # Only where it is asked for: it takes a quarter of a second to import.
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeClassifier if is_classification else DecisionTreeRegressor
        smallest = max(1, int(_SMALLEST_LEAF * present.sum()))
        tree = kind(max_leaf_nodes=_DEFAULT_BINS, min_samples_leaf=smallest, random_state=0)
        tree.fit(values[present, None], target[present])
        is_split = tree.tree_.children_left >= 0
        return cls(tuple(np.unique(tree.tree_.threshold[is_split]).tolist()))

    @classmethod
    def by_rule(
        cls, rule: Any, values: np.ndarray, target: np.ndarray, *, is_classification: bool
    ) -> "Bins":
        """Cut by what ``discretize`` says of a column; values and target of some of its rows."""
        if rule == "tree":
            return cls.by_tree(values, target, is_classification=is_classification)
        return cls.at_quantiles(values, _DEFAULT_BINS if rule == "quantile" else int(rule))

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
        values = finite_numbers(column)
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


def check_discretize(discretize: Any, table: Table) -> dict[str, Any]:
    """Return which columns are to be cut, and by which rule, or say what is wrong with it.

    Parameters
    ----------
    discretize : None, or mapping of column to int, "quantile" or "tree"
    table : Table
        Its names and types count; it may have no rows.
    """
    if discretize is None:
        return {}
    if not isinstance(discretize, Mapping):
        raise ParameterError(
            f'discretize must be a dict of column to a number of bins, "quantile" or "tree"; '
            f"got {discretize!r}."
        )
    check_column_names("discretize", discretize, table.names)
    for name, rule in discretize.items():
        column = table[name]
        if column.is_category or column.is_date:
            raise InputError(f"discretize names {name!r}, which does not hold numbers.")
        is_name = isinstance(rule, str) and rule in ("quantile", "tree")
        if not is_name and not (is_count(rule) and rule >= 2):
            raise ParameterError(
                f'discretize must give {name!r} an int of at least 2, "quantile" or "tree"; '
                f"got {rule!r}."
            )
        if not is_name and rule > _MOST_BINS:
            raise ParameterError(
                f"discretize must give {name!r} at most {_MOST_BINS:,} bins; got {rule!r}."
            )
    return dict(discretize)
