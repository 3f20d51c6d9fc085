"""The parameter ``discretize``: where columns of numbers are cut."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from catspace.data.bins import Bins, numbers_to_cut
from catspace.data.table import Table
from catspace.exceptions import ParameterError, did_you_mean

_DEFAULT_BINS = 20
# A leaf of the tree that finds the edges, as a share of the rows.
_SMALLEST_LEAF = 0.005


def make_bins(
    discretize: Any, table: Table, target: np.ndarray, *, is_classification: bool
) -> dict[str, Bins]:
    """Return the bins of each column that ``discretize`` names.

    Parameters
    ----------
    discretize : None, or mapping of column to int, "quantile" or "tree"
    table : Table
    target : array of shape (n_rows,) or (n_rows, n_outputs)
    is_classification : bool
    """
    if discretize is None:
        return {}
    if not isinstance(discretize, Mapping):
        raise ParameterError(
            f'discretize must be a dict of column to a number of bins, "quantile" or "tree"; '
            f"got {discretize!r}."
        )
    bins = {}
    for name, rule in discretize.items():
        if name not in table.names:
            raise ParameterError(
                f"discretize names {name!r}, which is not a column."
                f"{did_you_mean(name, table.names)}"
            )
        values = numbers_to_cut(table, name)
        if isinstance(rule, str) and rule == "tree":
            bins[name] = _by_tree(values, target, is_classification)
        elif isinstance(rule, str) and rule == "quantile":
            bins[name] = Bins.at_quantiles(values, _DEFAULT_BINS)
        elif isinstance(rule, (int, np.integer)) and not isinstance(rule, bool) and rule >= 2:
            bins[name] = Bins.at_quantiles(values, int(rule))
        else:
            raise ParameterError(
                f'discretize must give {name!r} an int of at least 2, "quantile" or "tree"; '
                f"got {rule!r}."
            )
    return bins


def _by_tree(values: np.ndarray, target: np.ndarray, is_classification: bool) -> Bins:
    """Cut where a decision tree on this column alone would."""
    present = ~np.isnan(values)
    # Only where it is asked for: it takes a quarter of a second to import.
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if is_classification else DecisionTreeRegressor
    smallest = max(1, int(_SMALLEST_LEAF * present.sum()))
    tree = kind(max_leaf_nodes=_DEFAULT_BINS, min_samples_leaf=smallest, random_state=0)
    if not present.any():
        return Bins(())
    tree.fit(values[present, None], target[present])
    is_split = tree.tree_.children_left >= 0
    return Bins(tuple(np.unique(tree.tree_.threshold[is_split]).tolist()))
