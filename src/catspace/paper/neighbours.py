"""Nearest neighbours on one-hot input, found by counting the columns that differ."""

from collections.abc import Callable
from typing import Self

import numpy as np


class HammingNeighbours:
    """K-nearest neighbours on one-hot encoded categories, with p=1 and distance weights.

    Two one-hot rows differ in two places for each column in which the categories differ, so the
    distance is twice the number of such columns, and no one-hot matrix is needed. Many rows are
    equally far from a query; of those the ones that come first in training are taken.

    Parameters
    ----------
    n_neighbors : int
    """

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, codes: np.ndarray, y: np.ndarray) -> Self:
        """Keep the training rows; codes of shape (n_samples, n_features)."""
        # Narrow integers, one contiguous array for each column: they are compared with every query.
        self._columns = [np.ascontiguousarray(column.astype(np.int16)) for column in codes.T]
        self._y = y
        return self

    def kneighbors(self, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and positions of the neighbours of one row; shapes (n_neighbors,)."""
        n_different = np.zeros(len(self._y), dtype=np.uint8)
        for column, value in zip(self._columns, query, strict=True):
            n_different += column != value
        found: list[np.ndarray] = []
        distances: list[np.ndarray] = []
        n_missing = min(self.n_neighbors, len(self._y))
        for level in range(len(self._columns) + 1):
            rows = np.flatnonzero(n_different == level)[:n_missing]
            found.append(rows)
            distances.append(np.full(len(rows), 2.0 * level))
            n_missing -= len(rows)
            if n_missing == 0:
                break
        return np.concatenate(distances), np.concatenate(found)

    def predict(
        self, codes: np.ndarray, progress: Callable[[float], None] = lambda share: None
    ) -> np.ndarray:
        """Return the weighted mean of the neighbours' targets; shape (n_samples,)."""
        predicted = np.empty(len(codes))
        for i, query in enumerate(codes):
            distance, rows = self.kneighbors(query)
            # As in scikit-learn: where some are equal to the query, only they count.
            weight = distance == 0 if distance[0] == 0 else 1 / distance
            predicted[i] = np.average(self._y[rows], weights=weight)
            if i % 1000 == 0:
                progress(i / len(codes))
        return predicted
