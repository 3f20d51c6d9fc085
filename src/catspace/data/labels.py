"""What stands beside the features of a table: the target and the weight of each row."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from catspace.data.reading import read_vector
from catspace.data.scaling import LARGEST_SQUARED
from catspace.data.schema import Schema
from catspace.data.table import Column, Table
from catspace.exceptions import InputError, in_row


@dataclass(frozen=True)
class Block:
    """Some rows of a table."""

    table: Table  # the features
    y: np.ndarray  # of shape (n_samples,) or (n_samples, n_outputs)
    # float64 of shape (n_samples,), above zero; None where all rows weigh the same
    weight: np.ndarray | None = None
    first_row: int | None = 0  # which row of the whole table is the first, if that is known

    @classmethod
    def of(
        cls, table: Table, y: Any, sample_weight: Any = None, *, first_row: int | None = 0
    ) -> "Block":
        """Join features with their labels; rows of weight zero are left out."""
        target = read_vector(y, "target")
        if target.ndim == 0 or len(target) != table.n_rows:
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: the table has "
                f"{table.n_rows} rows and the target "
                f"{len(target) if target.ndim else 'is one value'}."
            )
        if sample_weight is None:
            return cls(table, target, None, first_row)
        weight = check_weights(sample_weight, table.n_rows, first_row=first_row)
        if not weight.all():
            present = np.flatnonzero(weight)
            table, target, weight = table.take(present), target[present], weight[present]
            first_row = None  # rows that are left have other numbers than in the whole table
        return cls(table, target, weight, first_row)


@dataclass(frozen=True)
class Labels:
    """Which columns of a table are no features."""

    target: str | None  # None where the target does not stand in the table
    weight: str | None = None
    # The columns that the features must have, where a model knows them already
    schema: Schema | None = None

    def split(self, whole: Table, first_row: int | None) -> Block:
        """Return a block of the table as features and labels."""
        table, target, weight = self.pop(whole)
        return Block.of(table, target, weight, first_row=first_row)

    def features(self, columns: Table) -> Table:
        """Return the columns that are features."""
        return self.pop(columns)[0]

    def pop(self, table: Table) -> tuple[Table, Column | None, Column | None]:
        """Return the features, the target and the weight."""
        target = weight = None
        if self.target is not None:
            table, target = table.pop(self.target)
        if self.weight is not None:
            table, weight = table.pop(self.weight, "sample_weight")
        if self.schema is not None:
            table = self.schema.conform(table, "the model", is_file=True)
        return table, target, weight


def check_weights(sample_weight: Any, n_samples: int, *, first_row: int | None = 0) -> np.ndarray:
    """Return the weights of some rows of a table, all of which may be zero."""
    try:
        weight = read_vector(sample_weight, "sample_weight")
        if weight.dtype.kind in "mMc":
            raise TypeError
        weight = weight.astype(np.float64)
    except (ValueError, TypeError):
        raise InputError("sample_weight must hold numbers.") from None
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise InputError(f"Sample weights must be 1D array or scalar; got {weight.ndim}D.")
    if len(weight) != n_samples:
        raise InputError(
            f"sample_weight.shape == {weight.shape}, expected ({n_samples},): one weight for each "
            "row."
        )
    if not np.isfinite(weight).all():
        raise InputError("sample_weight contains NaN or infinity.")
    if (weight > LARGEST_SQUARED).any():
        raise InputError(
            f"sample_weight holds {weight.max():g}, and weights past {LARGEST_SQUARED:g} cannot be "
            "added.",
            hint="divide the weights by their mean; only their ratios matter.",
        )
    if (weight < 0).any():
        position = int(np.flatnonzero(weight < 0)[0])
        where = in_row(None if first_row is None else first_row + position)
        raise InputError(
            f"Negative values in data passed to sample_weight: {weight[position]:g}{where}."
        )
    return weight


def no_weight() -> InputError:
    """Return the error for a table whose rows all have weight zero."""
    return InputError("Sample weights must contain at least one non-zero number; all are zero.")
