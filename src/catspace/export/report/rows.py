"""Rows with their target, and what the model predicts for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catspace.analysis.source import read_labelled
from catspace.data.encoding import Encoded
from catspace.data.table import Table
from catspace.data.target import COUNT
from catspace.exceptions import InputError


@dataclass(frozen=True)
class Rows:
    """A table with its target, as the page needs it."""

    model: Any
    table: Table  # the columns of fit
    # Numbers of shape (n_samples,) or (n_samples, n_outputs), or labels of shape (n_samples,)
    target: np.ndarray
    encoded: Encoded

    @property
    def codes(self) -> Mapping[str, np.ndarray]:
        """The code of each row's category, of shape (n_samples,), for each embedded column.

        Those of lists, of which a row has several or none, are left out.
        """
        encoder = self.model.fitted_.learned.encoder
        by_name = zip(encoder.vocabularies, self.encoded.codes, strict=False)
        return {name: codes for name, codes in by_name if name not in encoder.lists}

    @property
    def labels(self) -> np.ndarray | None:
        """The positions of the classes, of shape (n_samples,); -1 for one that fit has not met."""
        if not self.is_class:
            return None
        classes = self.model.classes_
        at = np.minimum(np.searchsorted(classes, self.target), len(classes) - 1)
        return np.where(classes[at] == self.target, at, -1)

    @property
    def is_class(self) -> bool:
        """Whether the target is one of several classes."""
        return bool(self.model.fitted_.learned.is_classification)

    @property
    def is_count(self) -> bool:
        """Whether the target is counted."""
        return not self.is_class and self.model.fitted_.learned.target.transform == COUNT

    @property
    def numbers(self) -> np.ndarray:
        """The target as numbers, of shape (n_samples, n_columns).

        1 for the second of two classes; no outputs where there are more.
        """
        if not self.is_class:
            return self.target.reshape(len(self.target), -1).astype(float)
        n_classes = len(self.model.classes_)
        if n_classes != 2:
            return np.empty((len(self.target), 0))
        return np.asarray(self.labels == 1, dtype=float)[:, None]

    @cached_property
    def predicted(self) -> np.ndarray:
        """What is predicted, of shape (n_samples, n_columns), or (n_samples, n_classes).

        Of several quantiles the one that is closest to the median.
        """
        points = self.model.fitted_.points(self.answers)
        return np.asarray(points.reshape(len(points), -1))

    @cached_property
    def answers(self) -> np.ndarray:
        """All that is predicted, several quantiles as well."""
        return np.asarray(self.model.predict_encoded(self.encoded))

    @cached_property
    def errors(self) -> np.ndarray:
        """How far each prediction is off, of shape (n_samples,).

        Of numbers the distance, averaged over several; of classes 1 where it is the wrong one.
        """
        if self.is_class:
            return np.asarray(self.predicted.argmax(axis=1) != self.labels, dtype=float)
        return np.asarray(np.abs(self.predicted - self.numbers).mean(axis=1))


def read_rows(model: Any, X: Any, y: Any) -> Rows | None:
    """Return the rows of a table whose target is known, or nothing where there is no table."""
    if X is None:
        if y is not None and not isinstance(y, str):
            raise InputError("A target was given without its table.", hint="pass X as well.")
        return None
    table, target = read_labelled(model, X, y)
    if target.dtype.kind == "f":
        is_known = np.isfinite(target.reshape(len(target), -1)).all(axis=1)
        table, target = table.take(np.flatnonzero(is_known)), target[is_known]
    if not len(target):
        raise InputError("The table has no rows whose target is known.")
    return Rows(model, table, target, model.encode(table))
